// The run-time linker.
#include "worker/calls/image.h"

namespace sluice::worker::calls {
namespace {

constexpr size_t kMaxName = 4096;
constexpr size_t kMaxLinks = 4096;

LinkJob* find(Session& session, uint32_t index) {
  const auto known = session.links.find(index);
  return known == session.links.end() ? nullptr : known->second.get();
}

// Logs as they are now, then what comes behind them.
void answer(Session& session, Request& request, CUresult result, const LinkJob& job, const void* image,
            size_t bytes) {
  wire::Writer reply;
  reply.text(log_text(job.options.info_log));
  reply.text(log_text(job.options.error_log));
  reply.bytes(image, bytes);
  session.finish(request, result, reply);
}

}  // namespace

void cuLinkCreate_v2(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  auto job = std::make_unique<LinkJob>();
  if (!read_jit_options(request.args, &job->options) || !request.args.finished() || index == 0 ||
      index >= wire::kMaxHandles || session.links.contains(index))
    return session.bad_frame(request);
  if (session.driver.cuLinkCreate_v2 == nullptr) return session.finish(request, CUDA_ERROR_NOT_SUPPORTED);
  if (session.links.size() >= kMaxLinks) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  job->context = session.current_context();
  const CUresult result = session.driver.cuLinkCreate_v2(
      static_cast<unsigned>(job->options.option_names.size()), job->options.option_names.data(),
      job->options.option_values.data(), &job->state);
  if (result == CUDA_SUCCESS) session.links[index] = std::move(job);
  session.finish(request, result);
}

void cuLinkAddData_v2(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  const auto type = static_cast<CUjitInputType>(request.args.get<int32_t>());
  const std::string name = request.args.text(kMaxName);
  ImageRequest input;
  if (!read_jit_options(request.args, &input) || !request.args.finished() || !request.sync() ||
      request.bulk_bytes == 0 || type < 0 || type >= CU_JIT_NUM_INPUT_TYPES)
    return session.bad_frame(request);
  input.image.resize(request.bulk_bytes);
  if (!session.read_bulk(request, input.image.data(), input.image.size())) return;
  if (type == CU_JIT_INPUT_FATBINARY && !container_is_whole(input.image)) return session.bad_frame(request);
  const size_t bytes = input.image.size();
  input.image.push_back(0);
  LinkJob* job = find(session, index);
  if (job == nullptr) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult result = session.driver.cuLinkAddData_v2(
      job->state, type, input.image.data(), type == CU_JIT_INPUT_PTX ? bytes + 1 : bytes,
      name.empty() ? nullptr : name.c_str(), static_cast<unsigned>(input.option_names.size()),
      input.option_names.data(), input.option_values.data());
  answer(session, request, result, *job, nullptr, 0);
}

void cuLinkComplete(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished() || !request.sync()) return session.bad_frame(request);
  LinkJob* job = find(session, index);
  if (job == nullptr) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  void* image = nullptr;
  size_t bytes = 0;
  const CUresult result = session.driver.cuLinkComplete(job->state, &image, &bytes);
  if (result != CUDA_SUCCESS) return answer(session, request, result, *job, nullptr, 0);
  constexpr size_t kHead = 2 * ((1u << 20) + sizeof(uint32_t));
  if (bytes > wire::kMaxReplyTable - kHead) return session.finish(request, CUDA_ERROR_OUT_OF_MEMORY);
  answer(session, request, result, *job, image, bytes);
}

void cuLinkDestroy(Session& session, Request& request) {
  const auto index = request.args.get<uint32_t>();
  if (!request.args.finished()) return session.bad_frame(request);
  LinkJob* job = find(session, index);
  if (job == nullptr) return session.finish(request, CUDA_ERROR_INVALID_HANDLE);
  const CUresult result = session.driver.cuLinkDestroy(job->state);
  session.links.erase(index);
  session.finish(request, result);
}

}  // namespace sluice::worker::calls
