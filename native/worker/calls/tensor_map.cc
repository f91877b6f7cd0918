// Tensor maps: the driver encodes, in memory of ours. Addresses in them are the device's and are not followed
// here.
#include "worker/calls/session.h"

namespace sluice::worker::calls {
namespace {

constexpr unsigned kMostRank = 5;

struct alignas(64) Map {
  CUtensorMap map{};
};

// Tensor::put in the client's calls/tensor_map.cc.
struct Tensor {
  CUtensorMapDataType type{};
  uint32_t rank = 0;
  void* address = nullptr;
  unsigned long long dimensions[kMostRank] = {};
  unsigned long long strides[kMostRank - 1] = {};
  unsigned element_strides[kMostRank] = {};
  CUtensorMapInterleave interleave{};
  CUtensorMapSwizzle swizzle{};
  CUtensorMapL2promotion promotion{};
  CUtensorMapFloatOOBfill fill{};
};

template <typename T, size_t kCount>
void read_array(wire::Reader& args, T (&out)[kCount]) {
  for (T& value : out) value = args.get<T>();
}

Tensor read_tensor(wire::Reader& args) {
  Tensor tensor;
  tensor.type = static_cast<CUtensorMapDataType>(args.get<int32_t>());
  tensor.rank = args.get<uint32_t>();
  tensor.address = reinterpret_cast<void*>(args.get<uint64_t>());
  read_array(args, tensor.dimensions);
  read_array(args, tensor.strides);
  read_array(args, tensor.element_strides);
  tensor.interleave = static_cast<CUtensorMapInterleave>(args.get<int32_t>());
  tensor.swizzle = static_cast<CUtensorMapSwizzle>(args.get<int32_t>());
  tensor.promotion = static_cast<CUtensorMapL2promotion>(args.get<int32_t>());
  tensor.fill = static_cast<CUtensorMapFloatOOBfill>(args.get<int32_t>());
  if (tensor.rank == 0 || tensor.rank > kMostRank) args.fail();
  return tensor;
}

void answer(Session& session, Request& request, CUresult result, const Map& map) {
  wire::Writer out;
  if (result == CUDA_SUCCESS) out.bytes(&map.map, sizeof map.map);
  session.finish(request, result, out);
}

bool read_map(wire::Reader& args, Map* map) {
  const uint8_t* bytes = args.bytes(sizeof map->map);
  if (bytes != nullptr) std::memcpy(&map->map, bytes, sizeof map->map);
  return bytes != nullptr;
}

}  // namespace

void cuTensorMapEncodeTiled(Session& session, Request& request) {
  const Tensor t = read_tensor(request.args);
  unsigned box[kMostRank];
  read_array(request.args, box);
  if (!request.args.finished()) return session.bad_frame(request);
  const auto encode = session.driver.cuTensorMapEncodeTiled;
  if (encode == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  Map map;
  const CUresult result = encode(&map.map, t.type, t.rank, t.address, t.dimensions, t.strides, box,
                                 t.element_strides, t.interleave, t.swizzle, t.promotion, t.fill);
  answer(session, request, result, map);
}

void cuTensorMapEncodeIm2col(Session& session, Request& request) {
  const Tensor t = read_tensor(request.args);
  int lower[kMostRank - 2];
  int upper[kMostRank - 2];
  read_array(request.args, lower);
  read_array(request.args, upper);
  const auto channels = request.args.get<uint32_t>();
  const auto pixels = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  const auto encode = session.driver.cuTensorMapEncodeIm2col;
  if (encode == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  Map map;
  const CUresult result =
      encode(&map.map, t.type, t.rank, t.address, t.dimensions, t.strides, lower, upper, channels, pixels,
             t.element_strides, t.interleave, t.swizzle, t.promotion, t.fill);
  answer(session, request, result, map);
}

void cuTensorMapEncodeIm2colWide(Session& session, Request& request) {
  const Tensor t = read_tensor(request.args);
  const auto lower = request.args.get<int32_t>();
  const auto upper = request.args.get<int32_t>();
  const auto channels = request.args.get<uint32_t>();
  const auto pixels = request.args.get<uint32_t>();
  const auto mode = static_cast<CUtensorMapIm2ColWideMode>(request.args.get<int32_t>());
  if (!request.args.finished()) return session.bad_frame(request);
  const auto encode = session.driver.cuTensorMapEncodeIm2colWide;
  if (encode == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  Map map;
  const CUresult result =
      encode(&map.map, t.type, t.rank, t.address, t.dimensions, t.strides, lower, upper, channels, pixels,
             t.element_strides, t.interleave, mode, t.swizzle, t.promotion, t.fill);
  answer(session, request, result, map);
}

void cuTensorMapReplaceAddress(Session& session, Request& request) {
  Map map;
  read_map(request.args, &map);
  const auto address = request.args.get<uint64_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  if (session.driver.cuTensorMapReplaceAddress == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  const CUresult result =
      session.driver.cuTensorMapReplaceAddress(&map.map, reinterpret_cast<void*>(address));
  answer(session, request, result, map);
}

void cuTensorMapSetAllocationClass(Session& session, Request& request) {
  Map map;
  read_map(request.args, &map);
  const auto wanted = static_cast<CUtensorMapAllocClass>(request.args.get<int32_t>());
  if (!request.args.finished()) return session.bad_frame(request);
  if (session.driver.cuTensorMapSetAllocationClass == nullptr)
    return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  CUtensorMapAllocClass effective = CU_TENSOR_MAP_ALLOC_CLASS_SMALL;
  const CUresult result = session.driver.cuTensorMapSetAllocationClass(&map.map, wanted, &effective);
  wire::Writer out;
  if (result == CUDA_SUCCESS) {
    out.bytes(&map.map, sizeof map.map);
    out.put(static_cast<int32_t>(effective));
    out.put(int32_t{0});
  }
  session.finish(request, result, out);
}

}  // namespace sluice::worker::calls
