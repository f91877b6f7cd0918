#include "client/library_places.h"

#include "client/image_load.h"
#include "client/scope.h"
#include "generated/call_ids.h"

namespace sluice::client {
namespace {

using generated::CallId;

// Options that say where the compiler writes; the program has read that already.
bool is_output(CUjit_option option) {
  switch (option) {
    case CU_JIT_WALL_TIME:
    case CU_JIT_INFO_LOG_BUFFER:
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
    case CU_JIT_ERROR_LOG_BUFFER:
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
      return true;
    default:
      return false;
  }
}

}  // namespace

void keep_source(Library& library, const void* code, unsigned option_count, const CUjit_option* names,
                 void* const* values) {
  ImageBytes bytes;
  if (!image_at(code, &bytes)) return;
  const auto* from = static_cast<const char*>(bytes.data);
  library.source.image.assign(from, from + bytes.size);
  for (unsigned i = 0; i < option_count; i++) {
    if (!is_output(names[i])) library.source.options.emplace_back(names[i], values[i]);
  }
}

CUresult ensure_library(Session& session, Library& library, Channel* channel) {
  const std::lock_guard lock(library.mutex);
  if (channel == library.channel || library.elsewhere.contains(channel)) return CUDA_SUCCESS;
  Scope scope;
  scope.session = &session;
  scope.channel = channel;
  std::vector<CUjit_option> names;
  std::vector<void*> values;
  for (const auto& [name, value] : library.source.options) {
    names.push_back(name);
    values.push_back(value);
  }
  std::shared_ptr<Image> image;
  if (CUresult error =
          load_image(scope, CallId::cuLibraryLoadData, library.index, library.source.image.data(),
                     {static_cast<unsigned>(names.size()), names.data(), values.data()}, &image)) {
    return error;
  }
  for (const auto& [name, handle] : library.kernels) {
    const Function* kernel = session.functions.find(handle);
    if (kernel == nullptr) continue;
    wire::DynamicFrame frame(CallId::cuLibraryGetKernel);
    frame.arguments().put(library.index);
    frame.arguments().put(kernel->index);
    frame.arguments().text(name);
    frame.complete();
    if (CUresult error = scope.post(frame)) return error;
  }
  library.elsewhere.insert(channel);
  return CUDA_SUCCESS;
}

}  // namespace sluice::client
