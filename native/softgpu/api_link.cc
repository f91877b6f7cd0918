// Linking: cuLinkCreate, cuLinkAddData, cuLinkComplete. The result of a link is PTX text again, which
// cuModuleLoadData takes as it takes a cubin from a real driver.
#include <cstring>
#include <unordered_map>

#include "common/log.h"
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/image.h"
#include "softgpu/link_text.h"
#include "softgpu/module.h"

namespace sluice::softgpu {
namespace {

// Where messages go: a buffer of the caller, and the option's value, which becomes the length.
struct Log {
  char* buffer = nullptr;
  size_t bytes = 0;
  void** length = nullptr;
  std::string text;

  void add(const std::string& line) {
    text += line + "\n";
    if (buffer != nullptr && bytes > 0) {
      const size_t shown = std::min(text.size(), bytes - 1);
      std::memcpy(buffer, text.data(), shown);
      buffer[shown] = '\0';
      if (length != nullptr) *length = reinterpret_cast<void*>(shown);
    }
  }
};

class Link {
 public:
  static constexpr HandleKind kKind = HandleKind::kLink;
  explicit Link(int compute_capability) : cc(compute_capability), handle(create_handle(kKind, this)) {}
  ~Link() { destroy_handle(handle); }
  const int cc;
  void* const handle;
  std::vector<LinkInput> inputs;
  std::string output;
  Log info;
  Log error;
};

std::mutex links_mutex;
std::unordered_map<Link*, std::unique_ptr<Link>>& links() {
  static auto* all = new std::unordered_map<Link*, std::unique_ptr<Link>>;
  return *all;
}

CUresult find_link(CUlinkState handle, Link** out) {
  *out = lookup<Link>(handle);
  return *out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult read_options(Link& link, unsigned count, const CUjit_option* names, void** values) {
  if (count > 0 && (names == nullptr || values == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    switch (names[i]) {
      case CU_JIT_INFO_LOG_BUFFER:
        link.info.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        link.info.bytes = reinterpret_cast<size_t>(values[i]) & UINT32_MAX;
        link.info.length = &values[i];
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        link.error.buffer = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        link.error.bytes = reinterpret_cast<size_t>(values[i]) & UINT32_MAX;
        link.error.length = &values[i];
        break;
      default:
        break;  // how to compile: there is one way
    }
  }
  return CUDA_SUCCESS;
}

CUresult create(unsigned count, const CUjit_option* names, void** values, CUlinkState* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  auto created = std::make_unique<Link>(context->device.cc());
  SLUICE_TRY(read_options(*created, count, names, values));
  *out = static_cast<CUlinkState>(created->handle);
  const std::lock_guard lock(links_mutex);
  Link* key = created.get();
  links()[key] = std::move(created);
  return CUDA_SUCCESS;
}

CUresult refuse(Link& link, CUresult code, const std::string& why) {
  SLUICE_WARN("softgpu: nothing was linked: %s", why.c_str());
  link.error.add("error : " + why);
  return code;
}

CUresult add(CUlinkState handle, CUjitInputType type, const void* data, size_t bytes, const char* name) {
  if (data == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Link* link;
  SLUICE_TRY(find_link(handle, &link));
  const std::string title = name == nullptr ? "input " + std::to_string(link->inputs.size() + 1) : name;
  const auto* first = static_cast<const std::byte*>(data);
  Images images;
  std::string why;
  if (type == CU_JIT_INPUT_PTX) {
    std::string text(reinterpret_cast<const char*>(first), bytes);
    text.resize(std::char_traits<char>::length(text.c_str()));
    if (ptx_target(text) == 0) return refuse(*link, CUDA_ERROR_INVALID_PTX, title + " is not PTX");
    images.ptx.push_back({ptx_target(text), 0, std::move(text)});
  } else if (type == CU_JIT_INPUT_FATBINARY) {
    if (const CUresult result = read_container({first, bytes}, &images, &why); result != CUDA_SUCCESS)
      return refuse(*link, result, title + ": " + why);
  } else {
    return refuse(*link, CUDA_ERROR_NO_BINARY_FOR_GPU, title + ": this GPU links PTX only");
  }
  std::vector<const PtxImage*> usable;
  if (const CUresult result = select_images(images, link->cc, &usable); result != CUDA_SUCCESS)
    return refuse(*link, result, title + " holds no PTX for this GPU");
  link->inputs.push_back({title, usable.front()->text});
  return CUDA_SUCCESS;
}

CUresult complete(Link& link) {
  if (link.inputs.empty()) return CUDA_ERROR_INVALID_VALUE;
  std::string why;
  if (!link_text(link.inputs, &link.output, &why)) return refuse(link, CUDA_ERROR_INVALID_PTX, why);
  sluice::ptx::CompileOptions options;
  options.compute_capability = link.cc;
  const sluice::ptx::CompileResult checked = sluice::ptx::compile(link.output, options);
  if (!checked.status.ok()) return refuse(link, checked.status.code, checked.status.message);
  link.info.add("info : linked " + std::to_string(link.inputs.size()) + " inputs");
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  return api([&] { return create(count, options, values, out); });
}
SLUICE_API cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, size_t bytes,
                            const char* name, unsigned, CUjit_option*, void**) {
  return api([&] { return add(handle, type, data, bytes, name); });
}
SLUICE_API cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char* path, unsigned,
                            CUjit_option*, void**) {
  return api([&]() -> CUresult {
    std::vector<char> bytes;
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    SLUICE_TRY(read_file(path, &bytes));
    return add(handle, type, bytes.data(), bytes.size(), path);
  });
}
SLUICE_API cuLinkComplete(CUlinkState handle, void** image, size_t* bytes) {
  return api([&]() -> CUresult {
    if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Link* link;
    SLUICE_TRY(find_link(handle, &link));
    SLUICE_TRY(complete(*link));
    *image = link->output.data();
    if (bytes != nullptr) *bytes = link->output.size() + 1;
    return CUDA_SUCCESS;
  });
}
SLUICE_API cuLinkDestroy(CUlinkState handle) {
  return api([&]() -> CUresult {
    Link* link;
    SLUICE_TRY(find_link(handle, &link));
    const std::lock_guard lock(links_mutex);
    links().erase(link);
    return CUDA_SUCCESS;
  });
}

// The first forms have the same parameters on 64-bit systems.
SLUICE_API cuLinkCreate(unsigned count, CUjit_option* options, void** values, CUlinkState* out) {
  return cuLinkCreate_v2(count, options, values, out);
}
SLUICE_API cuLinkAddData(CUlinkState handle, CUjitInputType type, void* data, size_t bytes, const char* name,
                         unsigned count, CUjit_option* options, void** values) {
  return cuLinkAddData_v2(handle, type, data, bytes, name, count, options, values);
}
SLUICE_API cuLinkAddFile(CUlinkState handle, CUjitInputType type, const char* path, unsigned count,
                         CUjit_option* options, void** values) {
  return cuLinkAddFile_v2(handle, type, path, count, options, values);
}

namespace sluice::softgpu {

std::span<const Entry> link_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuLinkCreate", 5050, cuLinkCreate),
      SLUICE_ENTRY("cuLinkAddData", 5050, cuLinkAddData),
      SLUICE_ENTRY("cuLinkAddFile", 5050, cuLinkAddFile),
      SLUICE_ENTRY("cuLinkCreate", 6050, cuLinkCreate_v2),
      SLUICE_ENTRY("cuLinkAddData", 6050, cuLinkAddData_v2),
      SLUICE_ENTRY("cuLinkAddFile", 6050, cuLinkAddFile_v2),
      SLUICE_ENTRY("cuLinkComplete", 5050, cuLinkComplete),
      SLUICE_ENTRY("cuLinkDestroy", 5050, cuLinkDestroy),
  };
  return entries;
}

}  // namespace sluice::softgpu
