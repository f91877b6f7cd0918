#include "worker/calls/image.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>

#include "common/crypto.h"
#include "common/scoped_fd.h"
#include "worker/image_cache.h"

namespace sluice::worker {
namespace {

// As in the client's image.h and image_load.cc.
enum class ImageKind : uint8_t { ptx = 1, elf = 2, container = 3 };
enum class Transport : uint8_t { inline_only = 0, hash_only = 1, inline_and_kept = 2 };
enum class LoadStatus : uint8_t { need_image = 0, done = 1 };

constexpr uint32_t kMaxOptions = 64;
constexpr uint32_t kMaxLog = 1u << 20;

// Empty when nothing is kept.
std::string cache_path(const Session& session, const crypto::Bytes32& hash) {
  return session.context.cache_dir.empty() ? "" : session.context.cache_dir + "/" + crypto::to_hex(hash);
}

bool read_cached(const std::string& path, std::vector<uint8_t>* image) {
  if (path.empty()) return false;
  const ScopedFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat state {};
  if (!file.valid() || ::fstat(file.get(), &state) != 0 || state.st_size <= 0) return false;
  image->resize(static_cast<size_t>(state.st_size));
  size_t at = 0;
  while (at < image->size()) {
    const ssize_t got = ::read(file.get(), image->data() + at, image->size() - at);
    if (got <= 0) return false;
    at += static_cast<size_t>(got);
  }
  ::futimens(file.get(), nullptr);  // what was used last is kept longest
  return true;
}

// Written beside and renamed, so that no other session ever reads half of it. A full disk costs only
// the next client the sending.
void write_cached(const std::string& path, const std::vector<uint8_t>& image) {
  if (path.empty()) return;
  const std::string beside = path + "." + std::to_string(::getpid());
  const ScopedFd file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid()) return;
  size_t at = 0;
  while (at < image.size()) {
    const ssize_t put = ::write(file.get(), image.data() + at, image.size() - at);
    if (put <= 0) break;
    at += static_cast<size_t>(put);
  }
  if (at < image.size() || ::rename(beside.c_str(), path.c_str()) != 0) ::unlink(beside.c_str());
}

// Drivers trust the lengths in an image; a client must not make ours read past its end.
bool length_is_true(ImageKind kind, const std::vector<uint8_t>& image) {
  if (kind != ImageKind::container) return !image.empty();
  struct {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t body_bytes;
  } head;
  if (image.size() < sizeof head) return false;
  std::memcpy(&head, image.data(), sizeof head);
  return head.body_bytes <= image.size() && head.header_bytes + head.body_bytes == image.size();
}

}  // namespace

bool read_jit_options(wire::Reader& args, ImageRequest* out) {
  const auto info_bytes = args.get<uint32_t>();
  const auto error_bytes = args.get<uint32_t>();
  if (info_bytes > kMaxLog || error_bytes > kMaxLog) args.fail();
  const uint32_t count = args.count(kMaxOptions, sizeof(int32_t) + sizeof(uint64_t));
  for (uint32_t i = 0; i < count; i++) {
    const auto name = static_cast<CUjit_option>(args.get<int32_t>());
    const auto value = args.get<uint64_t>();
    switch (name) {  // options whose value is an address are not for another process to give
      case CU_JIT_WALL_TIME:
      case CU_JIT_INFO_LOG_BUFFER:
      case CU_JIT_ERROR_LOG_BUFFER:
      case CU_JIT_GLOBAL_SYMBOL_NAMES:
      case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
      case CU_JIT_REFERENCED_KERNEL_NAMES:
      case CU_JIT_REFERENCED_VARIABLE_NAMES:
        args.fail();
        break;
      default:
        out->option_names.push_back(name);
        out->option_values.push_back(reinterpret_cast<void*>(value));
    }
  }
  if (args.failed()) return false;
  const auto log = [out](std::vector<char>& text, uint32_t bytes, CUjit_option buffer, CUjit_option size) {
    if (bytes == 0) return;
    text.resize(bytes);
    out->option_names.insert(out->option_names.end(), {buffer, size});
    out->option_values.insert(out->option_values.end(),
                              {text.data(), reinterpret_cast<void*>(uint64_t{bytes})});
  };
  log(out->info_log, info_bytes, CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
  log(out->error_log, error_bytes, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
  return true;
}

std::string_view log_text(const std::vector<char>& log) {
  return {log.data(), log.empty() ? 0 : ::strnlen(log.data(), log.size())};
}

bool container_is_whole(const std::vector<uint8_t>& image) {
  return length_is_true(ImageKind::container, image);
}

namespace {

// One kernel: name, layout, attributes. `param` and `attribute` ask the driver.
template <typename Param, typename Attribute>
void describe(wire::Writer& table, const char* name, bool has_layout, Param&& param, Attribute&& attribute) {
  table.text(name);
  table.put(static_cast<uint8_t>(has_layout));
  wire::Writer parameters;
  uint32_t count = 0;
  size_t offset = 0;
  size_t size = 0;
  while (has_layout && count < wire::kMaxArguments && param(count, &offset, &size) == CUDA_SUCCESS) {
    parameters.put(static_cast<uint32_t>(offset));
    parameters.put(static_cast<uint32_t>(size));
    count++;
  }
  table.put(count);
  table.bytes(parameters.data(), parameters.size());
  for (int id = 0; id < CU_FUNC_ATTRIBUTE_MAX; id++) {
    int value = 0;
    if (attribute(&value, static_cast<CUfunction_attribute>(id)) != CUDA_SUCCESS) value = 0;
    table.put(int32_t{value});
  }
}

}  // namespace

ImageStatus read_image_request(Session& session, Request& request, ImageRequest* out) {
  wire::Reader& args = request.args;
  out->index = args.get<uint32_t>();
  const auto kind = static_cast<ImageKind>(args.get<uint8_t>());
  const auto transport = static_cast<Transport>(args.get<uint8_t>());
  crypto::Bytes32 hash{};
  if (const uint8_t* bytes = args.bytes(hash.size())) std::memcpy(hash.data(), bytes, hash.size());
  const bool good = read_jit_options(args, out) && args.finished() && request.sync() &&
                    transport <= Transport::inline_and_kept &&
                    (transport == Transport::hash_only) == (request.bulk_bytes == 0);
  if (!good) {
    session.bad_frame(request);
    return ImageStatus::failed;
  }
  if (transport == Transport::hash_only) {
    if (!read_cached(cache_path(session, hash), &out->image)) return ImageStatus::not_known;
  } else {
    out->image.resize(request.bulk_bytes);
    if (!session.read_bulk(request, out->image.data(), out->image.size())) return ImageStatus::failed;
  }
  if (!length_is_true(kind, out->image)) {
    session.bad_frame(request);
    return ImageStatus::failed;
  }
  // A client may only keep for others what it says it keeps.
  if (transport == Transport::inline_and_kept && crypto::sha256(out->image) == hash) {
    write_cached(cache_path(session, hash), out->image);
    trim_image_cache(session.context.cache_dir, image_cache_limit());
  }
  out->image.push_back(0);
  return ImageStatus::ready;
}

void answer_not_known(Session& session, Request& request) {
  wire::Writer answer;
  answer.put(static_cast<uint8_t>(LoadStatus::need_image));
  session.finish(request, CUDA_SUCCESS, answer);
}

void answer_load(Session& session, Request& request, CUresult result, ImageRequest& image, double seconds,
                 const wire::Writer& table) {
  wire::Writer answer;
  answer.put(static_cast<uint8_t>(LoadStatus::done));
  answer.text(log_text(image.info_log));
  answer.text(log_text(image.error_log));
  answer.put(static_cast<float>(seconds * 1000));
  if (result == CUDA_SUCCESS) answer.bytes(table.data(), table.size());
  session.finish(request, result, answer);
}

void describe_module(Session& session, CUmodule module, wire::Writer& table) {
  const auto& driver = session.driver;
  unsigned count = 0;
  const bool listed = driver.cuModuleGetFunctionCount && driver.cuModuleEnumerateFunctions &&
                      driver.cuFuncGetName && driver.cuModuleGetFunctionCount(&count, module) == CUDA_SUCCESS;
  std::vector<CUfunction> functions(count);
  const bool have = listed && (count == 0 || driver.cuModuleEnumerateFunctions(functions.data(), count,
                                                                               module) == CUDA_SUCCESS);
  table.put(static_cast<uint8_t>(have));
  table.put(have ? count : uint32_t{0});
  for (unsigned i = 0; have && i < count; i++) {
    const char* name = nullptr;
    if (driver.cuFuncGetName(&name, functions[i]) != CUDA_SUCCESS || name == nullptr) name = "";
    describe(
        table, name, driver.cuFuncGetParamInfo != nullptr,
        [&](size_t at, size_t* offset, size_t* size) {
          return driver.cuFuncGetParamInfo(functions[i], at, offset, size);
        },
        [&](int* value, CUfunction_attribute id) {
          return driver.cuFuncGetAttribute(value, id, functions[i]);
        });
  }
}

void describe_library(Session& session, CUlibrary library, wire::Writer& table) {
  const auto& driver = session.driver;
  unsigned count = 0;
  const bool listed = driver.cuLibraryGetKernelCount && driver.cuLibraryEnumerateKernels &&
                      driver.cuKernelGetName &&
                      driver.cuLibraryGetKernelCount(&count, library) == CUDA_SUCCESS;
  std::vector<CUkernel> kernels(count);
  const bool have = listed && (count == 0 || driver.cuLibraryEnumerateKernels(kernels.data(), count,
                                                                              library) == CUDA_SUCCESS);
  const CUdevice device = session.device(static_cast<int32_t>(session.current_ordinal()));
  table.put(static_cast<uint8_t>(have));
  table.put(have ? count : uint32_t{0});
  for (unsigned i = 0; have && i < count; i++) {
    const char* name = nullptr;
    if (driver.cuKernelGetName(&name, kernels[i]) != CUDA_SUCCESS || name == nullptr) name = "";
    describe(
        table, name, driver.cuKernelGetParamInfo != nullptr,
        [&](size_t at, size_t* offset, size_t* size) {
          return driver.cuKernelGetParamInfo(kernels[i], at, offset, size);
        },
        [&](int* value, CUfunction_attribute id) {
          return driver.cuKernelGetAttribute(value, id, kernels[i], device);
        });
  }
}

}  // namespace sluice::worker
