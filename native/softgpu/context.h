// A context: address space, streams, modules and the sticky error of one program on one device.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/cuda_types.h"
#include "softgpu/device.h"
#include "softgpu/handle.h"
#include "softgpu/memory.h"
#include "softgpu/ptx/engine.h"
#include "softgpu/stream.h"

namespace sluice::softgpu {

class Event;
class Module;
struct ArrayObjects;
struct TextureObjects;

class Context : public ptx::Memory, public std::enable_shared_from_this<Context> {
 public:
  static constexpr HandleKind kKind = HandleKind::kContext;

  Context(Device& device_, bool primary_, unsigned flags_);
  ~Context() override;

  // Makes it usable (primary contexts exist before they are retained).
  void activate(unsigned new_flags);
  // Waits for all work, then destroys streams, events, modules and memory, and clears the sticky error.
  void deactivate();
  bool is_active() const { return active.load(std::memory_order_acquire); }

  // The sticky error, else success.
  CUresult error() const { return error_.load(std::memory_order_acquire); }
  void fail(CUresult code, const std::string& message);

  // The stream that a handle means in this context: its own, or a default stream.
  CUresult resolve_stream(CUstream handle, std::shared_ptr<Stream>* out);
  // Queues work with the ordering between default and blocking streams.
  uint64_t submit(Stream& stream, std::unique_ptr<Operation> operation);
  // The same, run in the calling thread once everything before it is done.
  CUresult submit_and_wait(Stream& stream, Operation& operation);
  void synchronize();
  std::vector<std::shared_ptr<Stream>> all_streams();
  // Whether all work is done that a synchronisation with the stream would wait for.
  bool is_done(Stream& stream);

  CUresult create_stream(unsigned stream_flags, int priority, CUstream* out);
  void destroy_stream(Stream& stream);

  // ptx::Memory
  Range find(uint64_t address) const override;
  uint64_t epoch() const override { return memory_registry().epoch(); }
  // The allocation at the address, when work in this context may use it.
  bool accessible(const Allocation& allocation) const;

  // Grants or takes back the use of another context's memory; false when that changes nothing.
  bool set_peer(const Context* peer, bool enabled);

  CUcontext handle() const { return static_cast<CUcontext>(handle_); }

  Device& device;
  const bool is_primary;
  const uint64_t id;
  std::atomic<bool> active{false};
  std::atomic<bool> ending{false};  // streams that wait for values in memory are not waited for
  std::atomic<unsigned> flags;
  std::atomic<uint64_t> limits[CU_LIMIT_MAX];
  std::atomic<int> cache_config{CU_FUNC_CACHE_PREFER_NONE};
  std::atomic<int> shared_config{CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE};
  unsigned api_version = 3020;
  std::atomic<int> attachments{0};

  std::mutex objects_mutex;
  std::unordered_set<Event*> events;
  std::unordered_map<Module*, std::unique_ptr<Module>> modules;
  std::shared_ptr<ArrayObjects> arrays;      // null until there is one
  std::shared_ptr<TextureObjects> textures;  // null until there is one

 private:
  void add_order(Stream& stream, Operation& operation);

  void* handle_;
  std::atomic<CUresult> error_{CUDA_SUCCESS};
  mutable std::shared_mutex peers_mutex_;
  std::set<const Context*> peers_;  // contexts whose memory this one may use
  mutable std::shared_mutex streams_mutex_;
  std::shared_ptr<Stream> legacy_;
  std::vector<std::shared_ptr<Stream>> streams_;  // all others
  std::unordered_map<std::thread::id, std::shared_ptr<Stream>> per_thread_;
};

// The calling thread's context stack, top last. Handles, since contexts may be destroyed while they are on
// it.
CUresult push_context(CUcontext context);
CUcontext pop_context();
CUcontext top_context();
CUresult replace_top_context(CUcontext context);

// The current context, active, whatever its error: INVALID_CONTEXT without one, CONTEXT_IS_DESTROYED if gone.
CUresult current_context(Context** out);
// The current context, or its sticky error.
CUresult healthy_context(Context** out);
// Waits for the work of all contexts of the device.
void synchronize_device(const Device& device);
CUresult retain_primary(Device& device, std::shared_ptr<Context>* out, bool activate);

}  // namespace sluice::softgpu
