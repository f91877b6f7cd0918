#include "softgpu/context.h"

#include <algorithm>

#include "common/log.h"
#include "contract/contract.h"
#include "softgpu/api.h"
#include "softgpu/array.h"
#include "softgpu/event.h"
#include "softgpu/graph/capture.h"
#include "softgpu/module.h"
#include "softgpu/pool.h"
#include "softgpu/texture.h"

namespace sluice::softgpu {
namespace {

std::atomic<uint64_t> next_context_id{1};
std::atomic<uint64_t> next_stream_id{3};  // 1 and 2 are the default streams' handles

constexpr uint64_t kDefaultLimits[CU_LIMIT_MAX] = {
    1024, uint64_t{1} << 20, uint64_t{8} << 20, 0, 2048, 64, 0, 0, 0, 0};

// Contexts that have work, of all devices.
std::mutex active_mutex;
std::set<std::shared_ptr<Context>>& active_contexts() {
  static auto* contexts = new std::set<std::shared_ptr<Context>>;
  return *contexts;
}

}  // namespace

Context::Context(Device& device_, bool primary_, unsigned flags_)
    : device(device_),
      is_primary(primary_),
      id(next_context_id.fetch_add(1)),
      flags(flags_),
      handle_(create_handle(kKind, this)) {
  std::copy(std::begin(kDefaultLimits), std::end(kDefaultLimits), limits);
}

Context::~Context() { destroy_handle(handle_); }

void Context::activate(unsigned new_flags) {
  flags.store(new_flags);
  {
    const std::unique_lock lock(streams_mutex_);
    legacy_ = std::make_shared<Stream>(shared_from_this(), CU_STREAM_DEFAULT, 0, CU_STREAM_LEGACY_VALUE);
    legacy_->is_legacy = true;
  }
  {
    const std::lock_guard lock(active_mutex);
    active_contexts().insert(shared_from_this());
  }
  driver()->shared->count_context(device.index, 1);
  active.store(true, std::memory_order_release);
}

void Context::deactivate() {
  synchronize();
  contract::context_destroyed(handle());
  active.store(false, std::memory_order_release);
  {
    const std::lock_guard lock(active_mutex);
    active_contexts().erase(shared_from_this());
  }
  {
    const std::lock_guard lock(objects_mutex);
    for (Event* event : events) delete event;
    events.clear();
    modules.clear();
    textures.reset();
    arrays.reset();
  }
  {
    const std::unique_lock lock(peers_mutex_);
    peers_.clear();
  }
  {
    const std::unique_lock lock(streams_mutex_);
    for (const auto& stream : streams_) {
      if (stream->handle != nullptr) destroy_handle(stream->handle);
      stream->handle = nullptr;
      stream->close();
    }
    if (legacy_) legacy_->close();
    legacy_.reset();
    streams_.clear();
    per_thread_.clear();
  }
  for (const Allocation& allocation : memory_registry().remove_all(this)) dispose(allocation);
  std::copy(std::begin(kDefaultLimits), std::end(kDefaultLimits), limits);
  cache_config.store(CU_FUNC_CACHE_PREFER_NONE);
  error_.store(CUDA_SUCCESS);
  driver()->shared->count_context(device.index, -1);
}

void Context::fail(CUresult code, const std::string& message) {
  CUresult expected = CUDA_SUCCESS;
  if (!error_.compare_exchange_strong(expected, code)) return;
  SLUICE_WARN("the context on device %d failed with error %d%s%s", device.index, code,
              message.empty() ? "" : ": ", message.c_str());
}

CUresult Context::resolve_stream(CUstream stream, std::shared_ptr<Stream>* out) {
  if (stream == nullptr || stream == CU_STREAM_LEGACY) {
    const std::shared_lock lock(streams_mutex_);
    if (!legacy_) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = legacy_;
    return CUDA_SUCCESS;
  }
  if (stream == CU_STREAM_PER_THREAD) {
    const auto thread = std::this_thread::get_id();
    {
      const std::shared_lock lock(streams_mutex_);
      if (const auto found = per_thread_.find(thread); found != per_thread_.end()) {
        *out = found->second;
        return CUDA_SUCCESS;
      }
    }
    auto created =
        std::make_shared<Stream>(shared_from_this(), CU_STREAM_DEFAULT, 0, next_stream_id.fetch_add(1));
    const std::unique_lock lock(streams_mutex_);
    streams_.push_back(created);
    per_thread_[thread] = created;
    *out = std::move(created);
    return CUDA_SUCCESS;
  }
  auto* found = lookup<Stream>(stream);
  if (found == nullptr || found->context.get() != this) return CUDA_ERROR_INVALID_HANDLE;
  *out = found->shared_from_this();
  return CUDA_SUCCESS;
}

// Work on the legacy default stream comes after everything in blocking streams and before everything queued
// there later.
void Context::add_order(Stream& stream, Operation& operation) {
  if (!stream.is_blocking()) return;
  const std::shared_lock lock(streams_mutex_);
  if (&stream == legacy_.get()) {
    for (const auto& other : streams_) {
      const uint64_t last = other->last_number();
      if (other->is_blocking() && !other->is_done(last)) operation.dependencies.push_back({other, last});
    }
  } else if (legacy_) {
    const uint64_t last = legacy_->last_number();
    if (!legacy_->is_done(last)) operation.dependencies.push_back({legacy_, last});
  }
}

uint64_t Context::submit(Stream& stream, std::unique_ptr<Operation> operation) {
  add_order(stream, *operation);
  return stream.enqueue(std::move(operation));
}

CUresult Context::submit_and_wait(Stream& stream, Operation& operation) {
  add_order(stream, operation);
  return stream.run_now(operation);
}

bool Context::is_done(Stream& stream) {
  if (!stream.idle()) return false;
  const std::shared_lock lock(streams_mutex_);
  if (&stream != legacy_.get()) return true;
  return std::all_of(streams_.begin(), streams_.end(),
                     [](const auto& other) { return !other->is_blocking() || other->idle(); });
}

std::vector<std::shared_ptr<Stream>> Context::all_streams() {
  const std::shared_lock lock(streams_mutex_);
  std::vector<std::shared_ptr<Stream>> out = streams_;
  if (legacy_) out.push_back(legacy_);
  return out;
}

void Context::synchronize() {
  for (const auto& stream : all_streams()) stream->synchronize();
}

CUresult Context::create_stream(unsigned stream_flags, int priority, CUstream* out) {
  auto created =
      std::make_shared<Stream>(shared_from_this(), stream_flags, priority, next_stream_id.fetch_add(1));
  created->handle = create_handle(Stream::kKind, created.get());
  *out = static_cast<CUstream>(created->handle);
  const std::unique_lock lock(streams_mutex_);
  // Destroyed streams stay here until their work is done, for the default stream's order.
  std::erase_if(streams_, [](const auto& stream) {
    return stream->handle == nullptr && stream.use_count() == 1 && stream->idle();
  });
  streams_.push_back(std::move(created));
  return CUDA_SUCCESS;
}

void Context::destroy_stream(Stream& stream) {
  const std::unique_lock lock(streams_mutex_);
  destroy_handle(stream.handle);
  stream.handle = nullptr;
  forget_stream(stream);
  stream.close();
}

bool Context::accessible(const Allocation& allocation) const {
  if (allocation.kind == MemoryKind::kArray) return false;
  if (allocation.kind == MemoryKind::kMapped) return (allocation.access >> device.index & 1) != 0;
  if (allocation.context == this || allocation.on_host() || allocation.kind == MemoryKind::kManaged)
    return true;
  if (allocation.pool != nullptr && (allocation.pool->access.load() >> device.index & 1) != 0) return true;
  const std::shared_lock lock(peers_mutex_);
  return peers_.contains(allocation.context);
}

bool Context::set_peer(const Context* peer, bool enabled) {
  const std::unique_lock lock(peers_mutex_);
  if (enabled) return peers_.insert(peer).second;
  if (peers_.erase(peer) == 0) return false;
  memory_registry().changed();
  return true;
}

ptx::Memory::Range Context::find(uint64_t address) const {
  const auto [begin, end] =
      memory_registry().span(address, [this](const Allocation& found) { return accessible(found); });
  return {begin, end};
}

void synchronize_device(const Device& device) {
  std::vector<std::shared_ptr<Context>> contexts;
  {
    const std::lock_guard lock(active_mutex);
    for (const auto& context : active_contexts()) {
      if (&context->device == &device) contexts.push_back(context);
    }
  }
  for (const auto& context : contexts) context->synchronize();
}

CUresult retain_primary(Device& target, std::shared_ptr<Context>* out, bool activate) {
  const std::lock_guard lock(target.primary_mutex);
  if (!target.primary) target.primary = std::make_shared<Context>(target, true, target.primary_flags);
  if (activate) {
    if (!target.primary->is_active()) target.primary->activate(target.primary_flags);
    ++target.primary_references;
  }
  *out = target.primary;
  return CUDA_SUCCESS;
}

// The stack is plain data: libraries still ask for the current context from exit handlers, when the
// destructors of thread-local objects have already run.
namespace {
constexpr int kMaxStack = 256;
struct ContextStack {
  CUcontext items[kMaxStack];
  int depth;
};
thread_local constinit ContextStack stack{};
}  // namespace

CUresult push_context(CUcontext context) {
  if (stack.depth == kMaxStack) return CUDA_ERROR_OUT_OF_MEMORY;
  stack.items[stack.depth++] = context;
  return CUDA_SUCCESS;
}

CUcontext pop_context() { return stack.depth == 0 ? nullptr : stack.items[--stack.depth]; }

CUcontext top_context() { return stack.depth == 0 ? nullptr : stack.items[stack.depth - 1]; }

CUresult replace_top_context(CUcontext context) {
  if (stack.depth > 0) --stack.depth;
  return context == nullptr ? CUDA_SUCCESS : push_context(context);
}

CUresult current_context(Context** out) {
  const CUcontext handle = top_context();
  if (handle == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  auto* context = lookup<Context>(handle);
  if (context == nullptr || !context->is_active()) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
  *out = context;
  return CUDA_SUCCESS;
}

CUresult healthy_context(Context** out) {
  SLUICE_TRY(current_context(out));
  return (*out)->error();
}

}  // namespace sluice::softgpu
