// Modules: the kernels that a PTX text declares, with their parameters, so that launches can be packed. Other
// images hold none.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "generated/cuda_functions.h"
#include "noop_driver/answer.h"

namespace {

struct Kernel {
  std::string name;
  std::vector<size_t> offsets, sizes;
};

struct Module {
  std::vector<std::unique_ptr<Kernel>> kernels;
};

size_t size_of(std::string_view type) {
  const size_t digits = type.find_first_of("0123456789");
  return digits == std::string_view::npos ? 4 : std::strtoul(type.data() + digits, nullptr, 10) / 8;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  size_t at = 0;
  while ((at = text.find_first_not_of(" \t\r\n,", at)) != std::string_view::npos) {
    const size_t end = std::min(text.find_first_of(" \t\r\n,", at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

/// `.param .u64 name`, `.param .align 8 .b8 name[16]`: the parameters between a kernel's parentheses.
void read_parameters(std::string_view list, Kernel* kernel) {
  size_t offset = 0, align = 0, size = 0;
  for (const std::string& word : words_of(list)) {
    if (word == ".param") {
      align = size = 0;
    } else if (word == ".align") {
      align = 1;  // its value is the next word
    } else if (align == 1 && std::isdigit(static_cast<unsigned char>(word[0]))) {
      align = std::strtoul(word.c_str(), nullptr, 10) + 1;
    } else if (word[0] == '.') {
      if (word != ".ptr" && word != ".global") size = size_of(word);
    } else {
      const size_t count = word.find('[');
      const size_t bytes =
          count == std::string::npos ? size : size * std::strtoul(word.c_str() + count + 1, nullptr, 10);
      const size_t boundary = std::max<size_t>(align > 1 ? align - 1 : size, 1);
      offset = (offset + boundary - 1) / boundary * boundary;
      kernel->offsets.push_back(offset);
      kernel->sizes.push_back(bytes);
      offset += bytes;
    }
  }
}

std::string without_comments(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "//") at = std::min(text.find('\n', at), text.size() - 1);
    out += text[at];
  }
  return out;
}

Module* read_module(const void* image) {
  auto* module = new Module;
  const auto* bytes = static_cast<const char*>(image);
  // A fat binary and an ELF file begin with a byte that no text has.
  if (bytes == nullptr || bytes[0] == '\x7f' || bytes[0] == '\x50') return module;
  const std::string text = without_comments(bytes);
  size_t at = 0;
  while ((at = text.find(".entry", at)) != std::string::npos) {
    at = text.find_first_not_of(" \t\r\n", at + 6);
    if (at == std::string::npos) break;
    const size_t end = std::min(text.find_first_of(" \t\r\n({", at), text.size());
    auto kernel = std::make_unique<Kernel>();
    kernel->name = text.substr(at, end - at);
    const size_t open = text.find_first_of("({", end);
    if (open != std::string::npos && text[open] == '(') {
      const size_t close = std::min(text.find(')', open), text.size());
      read_parameters(std::string_view(text).substr(open + 1, close - open - 1), kernel.get());
    }
    module->kernels.push_back(std::move(kernel));
    at = end;
  }
  return module;
}

template <typename Handle>
CUresult find_kernel(const void* handle, const char* name, Handle* out) {
  for (const auto& kernel : static_cast<const Module*>(handle)->kernels) {
    if (kernel->name != name) continue;
    *out = reinterpret_cast<Handle>(kernel.get());
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}

template <typename Handle>
CUresult list_kernels(const void* handle, Handle* out, unsigned int count) {
  const auto& kernels = static_cast<const Module*>(handle)->kernels;
  for (size_t i = 0; i < kernels.size() && i < count; ++i)
    out[i] = reinterpret_cast<Handle>(kernels[i].get());
  return CUDA_SUCCESS;
}

CUresult parameter(const void* handle, size_t index, size_t* offset, size_t* size) {
  const auto* kernel = static_cast<const Kernel*>(handle);
  if (index >= kernel->offsets.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = kernel->offsets[index];
  if (size != nullptr) *size = kernel->sizes[index];
  return CUDA_SUCCESS;
}

int attribute(CUfunction_attribute id) {
  if (id == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) return 1024;
  return id == CU_FUNC_ATTRIBUTE_NUM_REGS ? 32 : 0;
}

}  // namespace

NOOP_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  *module = reinterpret_cast<CUmodule>(read_module(image));
  return CUDA_SUCCESS;
}
NOOP_EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int, CUjit_option*,
                                        void**) {
  return cuModuleLoadData(module, image);
}
NOOP_EXPORT CUresult cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<Module*>(module);
  return CUDA_SUCCESS;
}
NOOP_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  return find_kernel(module, name, function);
}
NOOP_EXPORT CUresult cuModuleGetFunctionCount(unsigned int* count, CUmodule module) {
  *count = static_cast<unsigned int>(reinterpret_cast<Module*>(module)->kernels.size());
  return CUDA_SUCCESS;
}
NOOP_EXPORT CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned int count, CUmodule module) {
  return list_kernels(module, functions, count);
}
NOOP_EXPORT CUresult cuFuncGetName(const char** name, CUfunction function) {
  *name = reinterpret_cast<Kernel*>(function)->name.c_str();
  return CUDA_SUCCESS;
}
NOOP_EXPORT CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* size) {
  return parameter(function, index, offset, size);
}
NOOP_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute id, CUfunction) {
  *value = attribute(id);
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**,
                                       unsigned int, CUlibraryOption*, void**, unsigned int) {
  *library = reinterpret_cast<CUlibrary>(read_module(image));
  return CUDA_SUCCESS;
}
NOOP_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
  delete reinterpret_cast<Module*>(library);
  return CUDA_SUCCESS;
}
NOOP_EXPORT CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return find_kernel(library, name, kernel);
}
NOOP_EXPORT CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}
NOOP_EXPORT CUresult cuLibraryGetKernelCount(unsigned int* count, CUlibrary library) {
  return cuModuleGetFunctionCount(count, reinterpret_cast<CUmodule>(library));
}
NOOP_EXPORT CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned int count, CUlibrary library) {
  return list_kernels(library, kernels, count);
}
NOOP_EXPORT CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}
NOOP_EXPORT CUresult cuKernelGetName(const char** name, CUkernel kernel) {
  return cuFuncGetName(name, reinterpret_cast<CUfunction>(kernel));
}
NOOP_EXPORT CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  return parameter(kernel, index, offset, size);
}
NOOP_EXPORT CUresult cuKernelGetAttribute(int* value, CUfunction_attribute id, CUkernel, CUdevice) {
  *value = attribute(id);
  return CUDA_SUCCESS;
}
