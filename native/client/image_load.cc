#include "client/image_load.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "common/crypto.h"

namespace sluice::client {
namespace {

// Sending this much costs less than asking first whether it is known.
constexpr size_t kAlwaysSend = 16u << 10;
constexpr size_t kMaxImage = size_t{1} << 30;
constexpr uint32_t kMaxKernels = 1u << 20;
constexpr uint32_t kMaxParameters = 4096;
constexpr size_t kMaxName = 64u << 10;
constexpr size_t kMaxLog = 1u << 20;

// How the image travels; the worker's calls/image.cc reads these.
enum class Transport : uint8_t { inline_only = 0, hash_only = 1, inline_and_kept = 2 };
enum class LoadStatus : uint8_t { need_image = 0, done = 1 };

KernelInfo read_kernel(wire::Reader& reader, uint32_t place) {
  KernelInfo kernel;
  kernel.place = place;
  kernel.name = reader.text(kMaxName);
  kernel.has_layout = reader.get<uint8_t>() != 0;
  const uint32_t count = reader.count(kMaxParameters, 2 * sizeof(uint32_t));
  kernel.parameters.reserve(count);
  for (uint32_t i = 0; i < count; i++) {
    const auto offset = reader.get<uint32_t>();
    const auto size = reader.get<uint32_t>();
    if (offset > wire::kMaxArguments || size > wire::kMaxArguments) reader.fail();
    kernel.parameters.push_back({offset, size});
    kernel.parameter_bytes = std::max(kernel.parameter_bytes, offset + size);
  }
  for (int& value : kernel.attributes) value = reader.get<int32_t>();
  return kernel;
}

// The worker writes this in calls/image.cc.
std::shared_ptr<Image> read_table(wire::Reader& reader) {
  auto image = std::make_shared<Image>();
  image->listed = reader.get<uint8_t>() != 0;
  const uint32_t count = reader.count(kMaxKernels, sizeof(uint32_t));
  image->kernels.reserve(count);
  for (uint32_t place = 0; place < count && !reader.failed(); place++) {
    image->kernels.push_back(read_kernel(reader, place));
    image->by_name.emplace(image->kernels.back().name, place);
  }
  return reader.finished() ? image : nullptr;
}

}  // namespace

CUresult load_image(Scope& scope, generated::CallId call, uint32_t index, const void* pointer,
                    const JitOptions& options, std::shared_ptr<Image>* image) {
  ImageBytes bytes;
  if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (options.count > 0 && (options.names == nullptr || options.values == nullptr))
    return CUDA_ERROR_INVALID_VALUE;
  if (!image_at(pointer, &bytes) || bytes.size > kMaxImage) return CUDA_ERROR_INVALID_IMAGE;

  const bool small = bytes.size <= kAlwaysSend;
  crypto::Bytes32 hash{};
  if (!small) hash = crypto::sha256({static_cast<const uint8_t*>(bytes.data), bytes.size});
  JitOutputs outputs;
  const auto ask = [&](Transport transport, std::vector<uint8_t>* answer) {
    const bool sends = transport != Transport::hash_only;
    wire::DynamicFrame frame(call, sends ? wire::kSync | wire::kBulk : wire::kSync);
    wire::Writer& arguments = frame.arguments();
    arguments.put(index);
    arguments.put(static_cast<uint8_t>(bytes.kind));
    arguments.put(static_cast<uint8_t>(transport));
    arguments.bytes(hash.data(), hash.size());
    if (!put_options(options, arguments, &outputs)) return CUDA_ERROR_NOT_SUPPORTED;
    frame.complete(sends ? bytes.size : 0);
    Reply reply{nullptr, 0, answer};
    return scope.call_raw(frame.data(), frame.size(), &reply, sends ? bytes.data : nullptr,
                          sends ? bytes.size : 0);
  };

  std::vector<uint8_t> answer;
  CUresult result = ask(small ? Transport::inline_only : Transport::hash_only, &answer);
  if (result == CUDA_SUCCESS && !small && answer.size() == 1 &&
      answer[0] == static_cast<uint8_t>(LoadStatus::need_image)) {
    result = ask(Transport::inline_and_kept, &answer);
  }
  if (answer.empty()) return result;
  wire::Reader reader(answer.data(), answer.size());
  if (reader.get<uint8_t>() != static_cast<uint8_t>(LoadStatus::done)) return CUDA_ERROR_UNKNOWN;
  write_log(reader.text(kMaxLog), outputs.info, outputs.info_bytes, outputs.info_size);
  write_log(reader.text(kMaxLog), outputs.error, outputs.error_bytes, outputs.error_size);
  const float wall_time = reader.get<float>();
  if (outputs.wall_time != nullptr) *outputs.wall_time = wall_time;
  if (result != CUDA_SUCCESS) return result;
  *image = read_table(reader);
  return *image ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN;
}

Function* mint_function(Session& session, std::shared_ptr<Image> image, const KernelInfo* info) {
  Function* function = nullptr;
  if (session.functions.mint(&function) == nullptr) return nullptr;
  function->image = std::move(image);
  function->info = info;
  for (size_t i = 0; i < function->attributes.size(); i++) function->attributes[i].store(info->attributes[i]);
  return function;
}

std::vector<char> read_image_file(const char* path) {
  std::ifstream stream(path, std::ios::binary);
  std::vector<char> bytes;
  if (stream) bytes.assign(std::istreambuf_iterator<char>(stream), {});
  if (!bytes.empty()) bytes.push_back('\0');
  return bytes;
}

}  // namespace sluice::client
