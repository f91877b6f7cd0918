// Copies that count bytes from an array's beginning, over the ends of rows and slices; batches; and copies to
// the device that wait for no answer.
// Round trips: 28.
#include <cstring>
#include <numeric>
#include <vector>

#include "check.h"

using namespace sluice::programs;

namespace {

constexpr size_t kRow = 24, kRows = 5, kSlices = 3, kBytes = kRow * kRows * kSlices;

CUarray make_array() {
  const CUDA_ARRAY3D_DESCRIPTOR d{kRow / 4, kRows, kSlices, CU_AD_FORMAT_UNSIGNED_INT8, 4, 0};
  CUarray array{};
  CHECK(cu.cuArray3DCreate_v2(&array, &d));
  return array;
}

std::vector<unsigned char> read_all(CUarray array) {
  std::vector<unsigned char> out(kBytes);
  CHECK(cu.cuMemcpyAtoH_v2(out.data(), array, 0, kBytes));
  return out;
}

void check_offsets(CUstream stream) {
  CUarray array = make_array(), other = make_array();
  std::vector<unsigned char> expected(kBytes), source(kBytes);
  std::iota(source.begin(), source.end(), 1);
  CHECK(cu.cuMemcpyHtoA_v2(array, 0, expected.data(), kBytes));
  const auto place = [&](size_t offset, size_t bytes) {
    std::memcpy(expected.data() + offset, source.data() + offset, bytes);
  };
  // Inside a row, over a row's end, over a slice's end, whole rows.
  for (const auto& [offset, bytes] : {std::pair<size_t, size_t>{4, 8}, {20, 12}, {108, 40}, {240, 72}}) {
    CHECK(cu.cuMemcpyHtoA_v2(array, offset, source.data() + offset, bytes));
    place(offset, bytes);
  }
  EXPECT(read_all(array) == expected);
  CUdeviceptr device{};
  CHECK(cu.cuMemAlloc_v2(&device, kBytes));
  CHECK(cu.cuMemcpyHtoD_v2(device, source.data(), kBytes));
  CHECK(cu.cuMemcpyDtoA_v2(array, 60, device + 60, 120));
  place(60, 120);
  EXPECT(read_all(array) == expected);
  CHECK(cu.cuMemcpyAtoA_v2(other, 0, array, 0, kBytes));
  EXPECT(read_all(other) == expected);
  CHECK(cu.cuMemcpyAtoD_v2(device, other, 12, 200));
  std::vector<unsigned char> part(200);
  CHECK(cu.cuMemcpyDtoH_v2(part.data(), device, part.size()));
  EXPECT(std::memcmp(part.data(), expected.data() + 12, part.size()) == 0);
  CHECK(cu.cuMemcpyHtoAAsync_v2(array, 0, source.data(), kBytes, stream));
  std::vector<unsigned char> back(kBytes);
  CHECK(cu.cuMemcpyAtoHAsync_v2(back.data(), array, 0, kBytes, stream));
  CHECK(cu.cuStreamSynchronize(stream));
  EXPECT(back == source);
  constexpr CUresult kInvalid = CUDA_ERROR_INVALID_VALUE;
  EXPECT_RESULT(kInvalid, cu.cuMemcpyHtoA_v2(array, kBytes - 4, source.data(), 8));
  EXPECT_RESULT(kInvalid, cu.cuMemcpyHtoA_v2(array, 2, source.data(), 8));
  EXPECT_RESULT(kInvalid, cu.cuMemcpyHtoA_v2(array, 0, source.data(), 7));
  EXPECT_RESULT(kInvalid, cu.cuMemcpyAtoA_v2(array, SIZE_MAX - 3, other, 0, 8));
  EXPECT_RESULT(CUDA_ERROR_INVALID_HANDLE, cu.cuMemcpyHtoA_v2(nullptr, 0, source.data(), 8));
  CHECK(cu.cuMemFree_v2(device));
  CHECK(cu.cuArrayDestroy(array));
  CHECK(cu.cuArrayDestroy(other));
  say("offsets");
}

void fill(void* bytes) { std::memset(bytes, 0x5a, 64); }

void check_batch(CUstream stream) {
  std::vector<unsigned char> source(256), late(64), back(256), pageable(64);
  std::iota(source.begin(), source.end(), 3);
  CUdeviceptr device{};
  CHECK(cu.cuMemAlloc_v2(&device, 512));
  CUdeviceptr to[] = {device, device + 64, device + 128};
  CUdeviceptr from[] = {reinterpret_cast<CUdeviceptr>(source.data()),
                        reinterpret_cast<CUdeviceptr>(late.data()), device + 256};
  size_t sizes[] = {64, 64, 64};
  CUmemcpyAttributes attributes[2] = {};
  attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  size_t first[] = {0, 1};
  CHECK(cu.cuMemsetD8Async(device + 256, 7, 64, stream));
  // The second source is written by the stream itself, before the batch.
  CHECK(cu.cuLaunchHostFunc(stream, fill, late.data()));
  size_t failed = 1;
  CHECK(cu.cuMemcpyBatchAsync(to, from, sizes, 3, attributes, first, 2, &failed, stream));
  EXPECT(failed == SIZE_MAX);
  CUdeviceptr out[] = {reinterpret_cast<CUdeviceptr>(pageable.data())};
  CUdeviceptr in[] = {device + 64};
  CHECK(cu.cuMemcpyBatchAsync_v2(out, in, sizes, 1, &attributes[1], first, 1, stream));
  CHECK(cu.cuStreamSynchronize(stream));
  for (const unsigned char byte : pageable) EXPECT(byte == 0x5a);
  CHECK(cu.cuMemcpyDtoH_v2(back.data(), device, 192));
  for (size_t i = 0; i < 64; i++) EXPECT(back[i] == source[i] && back[64 + i] == 0x5a && back[128 + i] == 7);
  constexpr CUresult kInvalid = CUDA_ERROR_INVALID_VALUE;
  EXPECT_RESULT(kInvalid, cu.cuMemcpyBatchAsync(to, from, sizes, 3, attributes, first, 2, &failed, nullptr));
  first[0] = 1;
  EXPECT_RESULT(kInvalid, cu.cuMemcpyBatchAsync(to, from, sizes, 3, attributes, first, 2, &failed, stream));
  first[0] = 0;
  to[1] = 0x1000;
  from[1] = device;
  attributes[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
  EXPECT_RESULT(kInvalid, cu.cuMemcpyBatchAsync(to, from, sizes, 3, attributes, first, 2, &failed, stream));
  EXPECT(failed == 1);

  CUarray array = make_array();
  CUDA_MEMCPY3D_BATCH_OP operations[2] = {};
  operations[0].src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  operations[0].src.op.ptr.ptr = reinterpret_cast<CUdeviceptr>(source.data());
  operations[0].dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  operations[0].dst.op.array.array = array;
  operations[0].dst.op.array.offset = {1, 2, 0};
  operations[0].extent = {4, 2, 2};
  operations[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  operations[1] = operations[0];
  operations[1].src = operations[0].dst;
  operations[1].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  operations[1].dst.op.ptr.ptr = reinterpret_cast<CUdeviceptr>(back.data());
  operations[1].dst.op.ptr.rowLength = 6;
  CHECK(cu.cuMemcpy3DBatchAsync(2, operations, &failed, 0, stream));
  CHECK(cu.cuStreamSynchronize(stream));
  for (size_t row = 0; row < 4; row++)
    EXPECT(std::memcmp(back.data() + row * 24, source.data() + row * 16, 16) == 0);
  operations[1].extent.depth = 0;
  EXPECT_RESULT(kInvalid, cu.cuMemcpy3DBatchAsync(2, operations, &failed, 0, stream));
  EXPECT(failed == 1);
  CHECK(cu.cuStreamSynchronize(stream));
  CHECK(cu.cuArrayDestroy(array));
  CHECK(cu.cuMemFree_v2(device));
  say("batches");
}

// None of these waits for an answer: the budget has no room for them.
void check_latency(CUstream stream) {
  constexpr size_t kPitch = 512, kHeight = 64;
  std::vector<unsigned char> source(400 * kHeight);
  for (size_t i = 0; i < source.size(); i++) source[i] = static_cast<unsigned char>(i * 11);
  CUdeviceptr device{};
  CHECK(cu.cuMemAlloc_v2(&device, kPitch * kHeight));
  CUDA_MEMCPY2D up{};
  up.srcMemoryType = CU_MEMORYTYPE_HOST;
  up.srcHost = source.data();
  up.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  up.dstDevice = device;
  up.dstPitch = kPitch;
  up.WidthInBytes = 400;
  up.Height = kHeight;
  for (int i = 0; i < 100; i++) CHECK(cu.cuMemcpy2DAsync_v2(&up, stream));
  void* pinned = nullptr;
  CHECK(cu.cuMemHostAlloc(&pinned, 400 * kHeight + 8, 0));
  CUDA_MEMCPY2D down{};
  down.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  down.srcDevice = device;
  down.srcPitch = kPitch;
  down.dstMemoryType = CU_MEMORYTYPE_HOST;
  down.dstHost = pinned;
  down.WidthInBytes = 400;
  down.Height = kHeight;
  for (int i = 0; i < 10; i++) CHECK(cu.cuMemcpy2DAsync_v2(&down, stream));
  CHECK(cu.cuStreamSynchronize(stream));
  EXPECT(std::memcmp(pinned, source.data(), source.size()) == 0);
  CHECK(cu.cuMemFreeHost(pinned));
  CHECK(cu.cuMemFree_v2(device));
  say("copies that wait for nothing");
}

// Larger than any piece in which rows travel, with rows that do and do not touch.
void check_large() {
  constexpr size_t kWidth = (size_t{3} << 20) + 40, kHeight = 5;
  std::vector<unsigned char> source(kWidth * kHeight), back((kWidth + 24) * kHeight);
  for (size_t i = 0; i < source.size(); i++) source[i] = static_cast<unsigned char>(i * 7 + i / 4099);
  CUdeviceptr device{};
  CHECK(cu.cuMemAlloc_v2(&device, (kWidth + 8) * kHeight));
  CUDA_MEMCPY2D up{};
  up.srcMemoryType = CU_MEMORYTYPE_HOST;
  up.srcHost = source.data();
  up.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  up.dstDevice = device;
  up.dstPitch = kWidth + 8;
  up.WidthInBytes = kWidth;
  up.Height = kHeight;
  CHECK(cu.cuMemcpy2D_v2(&up));
  CUDA_MEMCPY2D down{};
  down.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  down.srcDevice = device;
  down.srcPitch = kWidth + 8;
  down.dstMemoryType = CU_MEMORYTYPE_HOST;
  down.dstHost = back.data();
  down.dstPitch = kWidth + 24;
  down.WidthInBytes = kWidth;
  down.Height = kHeight;
  CHECK(cu.cuMemcpy2D_v2(&down));
  for (size_t row = 0; row < kHeight; row++)
    EXPECT(std::memcmp(back.data() + row * (kWidth + 24), source.data() + row * kWidth, kWidth) == 0);
  CHECK(cu.cuMemFree_v2(device));
  say("large rows");
}

}  // namespace

int main() {
  open_device();
  CUstream stream{};
  CHECK(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  check_offsets(stream);
  check_batch(stream);
  check_latency(stream);
  check_large();
  CHECK(cu.cuStreamDestroy_v2(stream));
}
