// A client's session: its objects, the reading of its requests, the answers.
//
// One thread at a time leads: it reads requests and runs them in order, so that the driver sees them as
// one thread would make them. A call that waits for the GPU gives the lead to another thread first.
#pragma once

#include <sched.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "common/clock.h"
#include "generated/call_ids.h"
#include "generated/driver_table.h"
#include "generated/worker_calls.h"
#include "wire/frame.h"
#include "wire/frame_input.h"
#include "wire/stripes.h"
#include "worker/calls/graph_store.h"
#include "worker/calls/handle_table.h"
#include "worker/calls/host_task.h"
#include "worker/calls/host_visible.h"
#include "worker/calls/peer_link.h"
#include "worker/calls/shared_memory.h"
#include "worker/calls/staging.h"
#include "worker/calls/stream_waits.h"
#include "worker/calls/virtual_memory.h"
#include "worker/session.h"

namespace sluice::worker {

struct Request {
  generated::CallId call{};
  uint16_t flags = 0;
  uint32_t sequence = 0;
  wire::Reader args;
  uint64_t bulk_bytes = 0;  // data that follows; the call reads it with Session::read_bulk
  bool striped = false;     // it comes over further connections

  bool sync() const { return (flags & wire::kSync) != 0; }
};

struct LinkJob;  // calls/image.h
// Events and graph nodes in launch attributes are handles of the client, which the driver must not see.
inline bool names_a_handle(CUlaunchAttributeID id) {
  return id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT ||
         id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
}

class Session {
 public:
  explicit Session(SessionContext& context);
  ~Session();

  // Serves until the client has gone or has sent nonsense; true when it left in good order.
  bool run();
  // Says that the worker is here while nothing else is sent, and ends the connection of a client that has not
  // been heard of for too long. Returns when the connection has ended.
  void keep_alive();
  // Tells the client why the session ends. Thread-safe.
  void send_goodbye(std::string_view reason);

  // The driver's handle for an index. Index 0 is the default stream, and nothing else.
  template <typename Handle>
  bool find(uint32_t index, Handle* handle) {
    if constexpr (std::is_same_v<Handle, CUstream>) {
      if (index == 0) {
        *handle = nullptr;
        return true;
      }
    }
    return table_of(handle).find(index, reinterpret_cast<void**>(handle));
  }
  template <typename Handle>
  bool take(uint32_t index, Handle* handle) {
    const bool found = table_of(handle).take(index, reinterpret_cast<void**>(handle));
    if constexpr (std::is_same_v<Handle, CUstream>) {
      if (found) staging.close_part(*handle);
    }
    return found;
  }
  template <typename Handle>
  void bind(uint32_t index, Handle handle) {
    if constexpr (std::is_same_v<Handle, CUstream>) note_stream(handle);
    if (!table_of(&handle).bind(index, reinterpret_cast<void*>(handle))) broken_ = true;
  }
  void forget_function(uint32_t index) { functions_.forget(index); }
  // The other way round, for what the driver tells about graphs that it made.
  std::map<void*, uint32_t> function_indices() const { return functions_.indices(); }
  uint32_t event_index(CUevent event) const { return events_.index_of(event); }
  uint32_t array_index(CUarray array) const { return arrays_.index_of(array); }
  // The graph that the stream is captured into; null when it is not captured.
  GraphRecord* capturing_graph(CUstream stream);

  // The driver's device for the session's ordinal; one that no driver has for a wrong ordinal.
  CUdevice device(int32_t ordinal) const;
  bool device_exists(int32_t ordinal) const {
    return ordinal >= 0 && static_cast<size_t>(ordinal) < context.devices.size();
  }
  // The ordinal of the device of the context that calls are made in now.
  size_t current_ordinal() const { return current_ordinal_; }
  void bind_context(uint32_t index, CUcontext handle, size_t ordinal, bool primary);
  // Makes the context current in this thread if it exists.
  void enter_context(uint32_t index);
  // The context, which is current, is about to go and everything in it as well. Waits for its work.
  void leave_context(uint32_t index);

  // Answers a synchronous request, or keeps the error of an asynchronous one for a later answer.
  void finish(const Request& request, CUresult result);
  void finish(const Request& request, CUresult result, const wire::Writer& answer);
  // An error of a call that was not waited for.
  void keep_error(CUresult error);
  // Takes the kept error out, for a call that answers with data when there is none.
  CUresult take_error();
  // The client sent what this call cannot be: the session ends.
  void bad_frame(const Request& request);

  // The next `size` bytes of the request's bulk data.
  bool read_bulk(Request& request, void* into, size_t size);
  bool skip_bulk(Request& request);

  // Sends the head of an answer of `bytes`, and its first `part_bytes` with it; the others follow with
  // send_raw. The caller keeps the lock in between. False when the connection has ended.
  bool send_head(const Request& request, CUresult result, uint64_t bytes, const void* part = nullptr,
                 size_t part_bytes = 0);
  bool send(wire::ResponseKind kind, const void* head, size_t head_bytes, const void* data,
            size_t data_bytes);
  std::mutex& write_mutex() { return write_mutex_; }
  bool send_raw(const void* data, size_t size);

  // Whether `query`, which asks the driver how far it is, says within some tens of microseconds that there
  // is nothing to wait for, or an error. The leader can wait that long; handing the lead to another thread
  // costs as much. False at once while a stream waits for the client.
  template <typename Query>
  bool done_soon(Query&& query) {
    if (host_tasks.outstanding()) return false;
    const auto end = SteadyClock::now() + kSoon;
    while (query() == CUDA_ERROR_NOT_READY) {
      if (SteadyClock::now() >= end) return false;
      ::sched_yield();  // a software GPU may need this very core
    }
    return true;
  }
  // Whether there may be streams that the default one does not wait for.
  bool has_free_streams() const { return has_free_streams_; }
  // Another thread leads from here on; the calling one may wait for the GPU, answer, and must then
  // return from its call without touching anything else of the session.
  void give_lead();
  // Before a driver call that may wait for all work of a context while a stream waits for the client:
  // reads on until the client has done what it was asked for, keeping other requests for later.
  void settle_host_tasks();

  SessionContext& context;
  generated::DriverTable& driver;
  Staging staging;
  DownloadBuffers downloads;
  LateCopies late_copies;
  const HostVisible host_visible;
  HostTaskTable host_tasks;
  GraphStore graphs;
  PeerLinks peer_links;
  // Device memory by address: which device it was counted for, and how much.
  struct Allocation {
    size_t ordinal;
    uint64_t bytes;
    uint32_t context;
  };
  std::map<CUdeviceptr, Allocation> allocations;
  // The same of arrays and mipmapped arrays, by their index.
  std::map<uint32_t, Allocation> array_memory;
  std::map<uint32_t, Allocation> mipmap_memory;
  // The texture and surface objects that were made here, with their context.
  std::map<uint64_t, uint32_t> texture_objects;
  std::map<uint64_t, uint32_t> surface_objects;
  VirtualMemory virtual_memory;
  std::map<uint32_t, std::unique_ptr<LinkJob>> links;  // by the client's index
  StreamWaits stream_waits;
  SharedMemory shared_memory{*this};
  uint32_t current_context() const { return current_context_; }

 private:
  static constexpr std::chrono::microseconds kSoon{50};

  void note_stream(CUstream stream);
  HandleTable& table_of(CUcontext*) { return contexts_; }
  HandleTable& table_of(CUstream*) { return streams_; }
  HandleTable& table_of(CUevent*) { return events_; }
  HandleTable& table_of(CUmodule*) { return modules_; }
  HandleTable& table_of(CUlibrary*) { return libraries_; }
  HandleTable& table_of(CUfunction*) { return functions_; }
  HandleTable& table_of(CUkernel*) { return functions_; }
  HandleTable& table_of(CUmemoryPool*) { return pools_; }
  HandleTable& table_of(CUarray*) { return arrays_; }
  HandleTable& table_of(CUmipmappedArray*) { return mipmaps_; }
  HandleTable& table_of(CUtexref*) { return texture_references_; }
  HandleTable& table_of(CUsurfref*) { return surface_references_; }

  void lead();
  bool serve_one();
  // Serves a frame whose header was read from the connection, before what is kept.
  bool serve_at_once(const wire::RequestHeader& header);
  bool read_header(wire::RequestHeader* header);
  const uint8_t* read_bytes(size_t size);
  bool read_into(void* into, size_t size);
  void run_request(Request& request, uint16_t call);
  void host_task_done(Request& request);
  void use_stripes(Request& request);
  bool write_striped(const void* data, size_t size);
  void park();
  void count_call(const Request& request);

  wire::FrameInput input_;
  HandleTable contexts_, streams_, events_, modules_, libraries_, functions_, pools_;
  HandleTable arrays_, mipmaps_, texture_references_, surface_references_;
  struct ContextInfo {
    CUcontext handle;
    size_t ordinal;
    bool primary;
  };
  std::map<uint32_t, ContextInfo> context_info_;
  uint32_t current_context_ = 0;
  size_t current_ordinal_ = 0;
  bool has_free_streams_ = false;

  std::mutex lead_mutex_;
  std::condition_variable lead_free_;
  std::condition_variable over_;
  bool leading_ = false;
  int parked_ = 0;
  bool ended_ = false;
  bool broken_ = false;
  static thread_local bool gave_lead_;

  // Requests that were read while host tasks were settled, in order, and where in them we are.
  std::vector<uint8_t> kept_;
  size_t kept_at_ = 0;
  std::vector<uint8_t> kept_frame_;

  wire::Stripes stripes_;
  wire::AdaptivePoll stripe_poll_;
  std::mutex write_mutex_;
  bool answer_is_striped_ = false;  // the one that is being sent; under write_mutex_
  std::mutex error_mutex_;
  CUresult kept_error_ = CUDA_SUCCESS;
};

}  // namespace sluice::worker
