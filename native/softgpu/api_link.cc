// Linking: cuLinkCreate, cuLinkAddData, cuLinkComplete. The result of a link is PTX text again, which
// cuModuleLoadData takes as it takes a cubin from a real driver.
#include <unordered_map>

#include "common/log.h"
#include "softgpu/api.h"
#include "softgpu/context.h"
#include "softgpu/image.h"
#include "softgpu/module.h"

namespace sluice::softgpu {
namespace {

class Link {
 public:
  static constexpr HandleKind kKind = HandleKind::kLink;
  explicit Link(int compute_capability) : cc(compute_capability), handle(create_handle(kKind, this)) {}
  ~Link() { destroy_handle(handle); }
  const int cc;
  void* const handle;
  std::vector<std::string> inputs;
  std::string output;
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

CUresult create(CUlinkState* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Context* context;
  SLUICE_TRY(healthy_context(&context));
  auto created = std::make_unique<Link>(context->device.cc());
  *out = static_cast<CUlinkState>(created->handle);
  const std::lock_guard lock(links_mutex);
  Link* key = created.get();
  links()[key] = std::move(created);
  return CUDA_SUCCESS;
}

CUresult add(CUlinkState handle, CUjitInputType type, const void* data, size_t bytes, const char* name) {
  if (data == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  Link* link;
  SLUICE_TRY(find_link(handle, &link));
  const auto* first = static_cast<const std::byte*>(data);
  Images images;
  std::string why;
  if (type == CU_JIT_INPUT_PTX) {
    std::string text(reinterpret_cast<const char*>(first), bytes);
    text.resize(std::char_traits<char>::length(text.c_str()));
    images.ptx.push_back({ptx_target(text), 0, std::move(text)});
  } else if (type == CU_JIT_INPUT_FATBINARY) {
    if (const CUresult result = read_container({first, bytes}, &images, &why); result != CUDA_SUCCESS) {
      SLUICE_WARN("softgpu: %s was not linked: %s", name == nullptr ? "an input" : name, why.c_str());
      return result;
    }
  } else {
    SLUICE_WARN("softgpu: %s was not linked: only PTX can be", name == nullptr ? "an input" : name);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  std::vector<const PtxImage*> usable;
  SLUICE_TRY(select_images(images, link->cc, &usable));
  link->inputs.push_back(usable.front()->text);
  return CUDA_SUCCESS;
}

bool starts_with(std::string_view line, std::string_view directive) {
  const size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line.substr(first, directive.size()) == directive;
}

// One text of all: the newest version and target at the head, then every body without its own head.
std::string merge(const std::vector<std::string>& inputs) {
  if (inputs.size() == 1) return inputs.front();
  std::string version, target, body;
  for (const std::string& text : inputs) {
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      at = end + 1;
      if (starts_with(line, ".version")) {
        if (line.size() > version.size() || (line.size() == version.size() && line > version)) version = line;
      } else if (starts_with(line, ".target")) {
        if (ptx_target(line) > ptx_target(target)) target = line;
      } else if (!starts_with(line, ".address_size")) {
        body += line + "\n";
      }
    }
  }
  return version + "\n" + target + "\n.address_size 64\n" + body;
}

}  // namespace
}  // namespace sluice::softgpu

using namespace sluice::softgpu;

SLUICE_API cuLinkCreate_v2(unsigned, CUjit_option*, void**, CUlinkState* out) {
  return api([&] { return create(out); });
}
SLUICE_API cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data, size_t bytes,
                            const char* name, unsigned, CUjit_option*, void**) {
  return api([&] { return add(handle, type, data, bytes, name); });
}
SLUICE_API cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type, const char* path, unsigned,
                            CUjit_option*, void**) {
  return api([&]() -> CUresult {
    std::vector<char> bytes;
    SLUICE_TRY(read_file(path, &bytes));
    return add(handle, type, bytes.data(), bytes.size(), path);
  });
}
SLUICE_API cuLinkComplete(CUlinkState handle, void** image, size_t* bytes) {
  return api([&]() -> CUresult {
    if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Link* link;
    SLUICE_TRY(find_link(handle, &link));
    if (link->inputs.empty()) return CUDA_ERROR_INVALID_VALUE;
    link->output = merge(link->inputs);
    sluice::ptx::CompileOptions options;
    options.compute_capability = link->cc;
    const sluice::ptx::CompileResult checked = sluice::ptx::compile(link->output, options);
    if (!checked.status.ok()) {
      SLUICE_WARN("softgpu: the link failed: %s", checked.status.message.c_str());
      return checked.status.code;
    }
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

namespace sluice::softgpu {

std::span<const Entry> link_entries() {
  static const Entry entries[] = {
      SLUICE_ENTRY("cuLinkCreate", 6050, cuLinkCreate_v2),
      SLUICE_ENTRY("cuLinkAddData", 6050, cuLinkAddData_v2),
      SLUICE_ENTRY("cuLinkAddFile", 6050, cuLinkAddFile_v2),
      SLUICE_ENTRY("cuLinkComplete", 5050, cuLinkComplete),
      SLUICE_ENTRY("cuLinkDestroy", 5050, cuLinkDestroy),
  };
  return entries;
}

}  // namespace sluice::softgpu
