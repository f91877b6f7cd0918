// Memory that the program and its GPUs both touch: managed, mapped and registered host memory.
//
// The program's pages stay readable and writable throughout: no access faults, so none can happen in a
// callback or in a system call. Beside each range lies a copy of what both sides have. Before work that may
// touch memory goes to the worker, what the program has changed since is sent ahead of it, without waiting;
// after a call that has waited for work, what the GPUs have changed is asked for, once for all ranges.
// README.md says what a program may rely on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "client/channel.h"
#include "common/cuda_types.h"
#include "common/managed_advice.h"

namespace sluice::client {

struct SharedRange {
  uintptr_t host = 0;      // the program's address
  size_t bytes = 0;        // that are kept the same
  CUdeviceptr device = 0;  // the GPU's address
  Channel* channel = nullptr;
  uint32_t context = 0;     // whose the worker's part is
  bool mapped = false;      // host memory to the GPU: both sides may touch it at any time
  bool always = false;      // compared before all work, not only when the host has had it since the last
  uint8_t* base = nullptr;  // what both sides have; set by `add`
};

class Coherence {
 public:
  static Coherence& instance();
  // Whether there is any range: all that a program without such memory pays for.
  static bool active() { return active_.load(std::memory_order_relaxed); }

  // Call for every frame that is sent: brings what the program has changed ahead of work that may read it.
  static void before(Channel& channel, const uint8_t* frame) {
    if (active()) [[unlikely]]
      instance().before_frame(channel, frame);
  }
  // Call when the frame is on its way, after which whatever is asked of the worker comes after it.
  static void sent(const uint8_t* frame) {
    if (active()) [[unlikely]]
      instance().after_sending(frame);
  }
  // Call with what a frame with an answer came to: brings what the GPUs have changed, when it has waited.
  static void after(Channel& channel, const uint8_t* frame, CUresult result) {
    if (active()) [[unlikely]]
      instance().after_frame(channel, frame, result);
  }

  // From now on the range is kept the same; both sides hold zeros, or `holds_data` of the program's. False
  // when there is no memory for the copy.
  bool add(SharedRange range, bool holds_data);
  // What begins at the address, which is no longer kept the same.
  std::optional<SharedRange> remove(uintptr_t host);
  // The range that holds the address.
  std::optional<SharedRange> find(const void* host);
  // cuStreamAttachMemAsync: false when no range begins there.
  bool attach(uintptr_t host, bool global);

  // A function of the program is about to run between the work of a stream: what the GPUs wrote before comes.
  void before_host_function(Channel& channel);

  // In the child of a fork: the memory is the parent's.
  static void forget_in_child() { active_.store(false); }

  ManagedAdvice& advice() { return advice_; }

 private:
  void before_frame(Channel& channel, const uint8_t* frame);
  void after_sending(const uint8_t* frame);
  void note_work();
  void after_frame(Channel& channel, const uint8_t* frame, CUresult result);
  void send_host_changes(Channel& channel);
  void after_wait(Channel& channel);
  // Under the mutex.
  void send_changes(const SharedRange& range);
  bool fetch(Channel& channel, bool mapped_only, bool* idle);
  void receive_pieces(const std::vector<uint8_t>& answer, bool* idle);
  void refresh();

  static std::atomic<bool> active_;

  std::mutex mutex_;
  std::map<uintptr_t, SharedRange> ranges_;     // by the program's address
  std::map<CUdeviceptr, uintptr_t> by_device_;  // the same by the GPU's
  std::atomic<bool> host_has_written_{false};   // the program may have, since the last work was sent
  std::atomic<int> always_{0};                  // ranges that are compared before all work
  std::atomic<int> mapped_{0};
  std::atomic<bool> device_has_written_{false};  // work may have, since the last fetch
  std::atomic<uint64_t> work_{0};                // grows with each piece of work that may touch memory
  std::condition_variable refresh_;
  bool refreshing_ = false;
  ManagedAdvice advice_;
};

}  // namespace sluice::client
