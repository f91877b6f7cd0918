// The run-time linker: the worker's driver links, image and logs come back.
#include <algorithm>
#include <cstring>

#include "client/image.h"
#include "client/image_load.h"
#include "client/jit_options.h"
#include "client/scope.h"
#include "generated/call_ids.h"
#include "generated/client_calls.h"

namespace sluice::client::calls {

using generated::CallId;

namespace {

constexpr size_t kMaxInput = wire::kMaxBulk;
constexpr size_t kMaxName = 4096;
constexpr size_t kMaxLog = 1u << 20;

struct LinkScope : Scope {
  Link* link = nullptr;
  CUresult begin(CUlinkState handle) {
    if (CUresult error = enter()) return error;
    link = session->links.find(handle);
    if (link == nullptr || !link->alive()) return CUDA_ERROR_INVALID_HANDLE;
    context = link->context;
    return need_context();
  }
};

// Every answer of a link begins with its logs.
void read_logs(wire::Reader& reader, const JitOutputs& outputs) {
  write_log(reader.text(kMaxLog), outputs.info, outputs.info_bytes, outputs.info_size);
  write_log(reader.text(kMaxLog), outputs.error, outputs.error_bytes, outputs.error_size);
}

// The bytes of a fatbin that the caller names by its wrapper, as loads take it.
CUresult unwrap(CUjitInputType type, const void** data, size_t* size) {
  if (type != CU_JIT_INPUT_FATBINARY) return CUDA_SUCCESS;
  ImageBytes bytes;
  if (!image_at(*data, &bytes)) return CUDA_ERROR_INVALID_IMAGE;
  *data = bytes.data;
  *size = bytes.size;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuLinkCreate_v2(unsigned int numOptions, CUjit_option* options, void** optionValues,
                         CUlinkState* stateOut) {
  if (stateOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (numOptions > 0 && (options == nullptr || optionValues == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  Scope scope;
  if (CUresult error = scope.enter()) return error;
  if (CUresult error = scope.need_context()) return error;
  JitOutputs outputs;
  wire::DynamicFrame frame(CallId::cuLinkCreate_v2);
  Link* link = nullptr;
  if (scope.session->links.mint(&link) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  link->belong_to(scope.context);
  frame.arguments().put(link->index);
  const bool carried = put_options({numOptions, options, optionValues}, frame.arguments(), &outputs);
  frame.complete();
  const CUresult result = carried ? scope.post(frame) : CUDA_ERROR_NOT_SUPPORTED;
  if (result != CUDA_SUCCESS) {
    scope.session->links.release(link);
    return result;
  }
  link->outputs = outputs;
  link->image.clear();
  *stateOut = static_cast<CUlinkState>(link->handle);
  return CUDA_SUCCESS;
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data, size_t size, const char* name,
                          unsigned int numOptions, CUjit_option* options, void** optionValues) {
  if (data == nullptr || size == 0 || type < 0 || type >= CU_JIT_NUM_INPUT_TYPES || size > kMaxInput)
    return CUDA_ERROR_INVALID_VALUE;
  if (numOptions > 0 && (options == nullptr || optionValues == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  LinkScope scope;
  if (CUresult error = scope.begin(state)) return error;
  const void* bytes = data;
  if (CUresult error = unwrap(type, &bytes, &size)) return error;
  JitOutputs ignored;  // logs go where the link's own options say
  wire::DynamicFrame frame(CallId::cuLinkAddData_v2, wire::kSync | wire::kBulk);
  frame.arguments().put(scope.link->index);
  frame.arguments().put(static_cast<int32_t>(type));
  frame.arguments().text(name == nullptr ? std::string_view()
                                         : std::string_view(name, ::strnlen(name, kMaxName)));
  if (!put_options({numOptions, options, optionValues}, frame.arguments(), &ignored))
    return CUDA_ERROR_NOT_SUPPORTED;
  frame.complete(size);
  std::vector<uint8_t> answer;
  Reply reply{nullptr, 0, &answer};
  const CUresult result = scope.call_raw(frame.data(), frame.size(), &reply, bytes, size);
  if (answer.empty()) return result;
  wire::Reader reader(answer.data(), answer.size());
  read_logs(reader, scope.link->outputs);
  return reader.finished() ? result : CUDA_ERROR_UNKNOWN;
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char* path, unsigned int numOptions,
                          CUjit_option* options, void** optionValues) {
  if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LinkScope scope;
  if (CUresult error = scope.begin(state)) return error;
  std::vector<char> bytes = read_image_file(path);
  if (bytes.empty()) return CUDA_ERROR_FILE_NOT_FOUND;
  const size_t size =
      type == CU_JIT_INPUT_PTX ? bytes.size() : bytes.size() - 1;  // without the zero after it
  return cuLinkAddData_v2(state, type, bytes.data(), size, path, numOptions, options, optionValues);
}

CUresult cuLinkComplete(CUlinkState state, void** cubinOut, size_t* sizeOut) {
  if (cubinOut == nullptr) return CUDA_ERROR_INVALID_VALUE;
  LinkScope scope;
  if (CUresult error = scope.begin(state)) return error;
  wire::SyncFrame<4> frame(CallId::cuLinkComplete);
  frame.put(scope.link->index);
  std::vector<uint8_t> answer;
  Reply reply{nullptr, 0, &answer};
  const CUresult result = scope.call_raw(frame.data(), frame.size(), &reply);
  if (answer.empty()) return result;
  wire::Reader reader(answer.data(), answer.size());
  read_logs(reader, scope.link->outputs);
  const std::string_view image = reader.rest();
  if (reader.failed()) return CUDA_ERROR_UNKNOWN;
  if (result != CUDA_SUCCESS) return result;
  scope.link->image.assign(image.begin(), image.end());
  const size_t size = scope.link->image.size();
  scope.link->image.push_back(0);
  *cubinOut = scope.link->image.data();
  if (sizeOut != nullptr) *sizeOut = size;
  return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState state) {
  LinkScope scope;
  if (CUresult error = scope.begin(state)) return error;
  wire::AsyncFrame<4> frame(CallId::cuLinkDestroy);
  frame.put(scope.link->index);
  const CUresult result = scope.post(frame);
  std::vector<uint8_t>().swap(scope.link->image);
  scope.session->links.release(scope.link);
  return result;
}

}  // namespace sluice::client::calls
