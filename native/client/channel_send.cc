#include <sys/prctl.h>
#include <sys/uio.h>
#include <time.h>

#include <cstring>

#include "client/channel.h"
#include "client/coherence.h"
#include "client/stats.h"
#include "client/threads.h"
#include "common/log.h"
#include "wire/keepalive.h"

namespace sluice::client {
namespace {

constexpr size_t kBatchCapacity = 256u << 10;
static_assert(kBatchCapacity > wire::kMaxArguments);
// Enough for a system call to cost little per call; small enough that the worker starts early.
constexpr size_t kSendAt = 16u << 10;
// Below this, copying into the batch is cheaper than a system call of its own.
constexpr size_t kInlineBulk = 4u << 10;
constexpr size_t kSetContextBytes = sizeof(wire::RequestHeader) + sizeof(uint32_t);

constexpr long kFlushIntervalNs = 50'000;
// Idle intervals before the flusher sleeps until it is woken: a wake-up costs the caller a system call.
constexpr int kIdleIntervals = 100;

}  // namespace

Channel::Channel(std::unique_ptr<wire::Connection> connection, std::string server, unsigned protocol)
    : connection_(std::move(connection)),
      server_(std::move(server)),
      protocol_(protocol),
      filling_(new uint8_t[kBatchCapacity]),
      sending_(new uint8_t[kBatchCapacity]),
      input_(*connection_) {}

void Channel::start(ChannelEvents* events) {
  events_ = events;
  start_thread([this] { run_flusher(); });
  start_thread([this] { run_watcher(); });
  if (protocol_ >= wire::kKeepaliveProtocol) start_thread([this] { run_keepalive(); });
}

bool Channel::append(uint32_t context, const uint8_t* frame, size_t size, const void* bulk,
                     size_t bulk_bytes) {
  if (filled_ + kSetContextBytes + size + bulk_bytes > kBatchCapacity) return false;
  uint8_t* at = filling_.get() + filled_;
  if (context != 0 && context != context_on_wire_) {
    wire::AsyncFrame<sizeof(uint32_t)> change(wire::ControlCall::set_context);
    change.put(context);
    std::memcpy(at, change.data(), change.size());
    at += change.size();
    filled_ += change.size();
    context_on_wire_ = context;
  }
  std::memcpy(at, frame, size);
  if (bulk_bytes > 0) std::memcpy(at + size, bulk, bulk_bytes);
  filled_ += size + bulk_bytes;
  frames_.store(frames_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  return true;
}

CUresult Channel::post(uint32_t context, const uint8_t* frame, size_t size) {
  return post(context, frame, size, nullptr, 0);
}

CUresult Channel::post(uint32_t context, const uint8_t* frame, size_t size, const void* bulk,
                       size_t bulk_bytes) {
  if (CUresult gone = state()) return gone;
  Coherence::before(*this, frame);
  if (bulk_bytes > 0) stats().bulk_copies.fetch_add(1, std::memory_order_relaxed);
  if (bulk_bytes > kInlineBulk) {
    want_stripes(bulk_bytes);
    if (!send(context, frame, size, bulk, bulk_bytes)) return state();
    Coherence::sent(frame);
    return CUDA_SUCCESS;
  }
  for (;;) {
    bool fits = false;
    bool send_now = false;
    {
      const std::lock_guard lock(append_mutex_);
      fits = append(context, frame, size, bulk, bulk_bytes);
      send_now = filled_ >= kSendAt;
      if (fits) unsent_.store(true, std::memory_order_relaxed);
    }
    if (!fits || send_now) {
      flush();
    } else {
      wake_flusher();
    }
    if (fits) {
      Coherence::sent(frame);
      return CUDA_SUCCESS;
    }
    if (CUresult gone = state()) return gone;
  }
}

bool Channel::send(uint32_t context, const uint8_t* frame, size_t size, const void* bulk, size_t bulk_bytes,
                   uint64_t* number) {
  std::vector<uint8_t> announced;
  const bool striped = announce_striped(frame, size, bulk_bytes, &announced);
  if (striped) {
    frame = announced.data();
    size = announced.size();
  }
  const std::lock_guard writing(write_mutex_);
  for (;;) {
    {
      const std::lock_guard lock(append_mutex_);
      if (append(context, frame, size, nullptr, 0)) {
        if (number != nullptr) *number = frames_.load(std::memory_order_relaxed);
        // Taken at once: a frame that another thread appended now would come between ours and its data.
        take_batch();
        break;
      }
      take_batch();
    }
    if (!write_taken(nullptr, 0)) return false;
  }
  return write_taken(bulk, bulk_bytes, striped);
}

void Channel::flush() {
  const std::lock_guard writing(write_mutex_);
  {
    const std::lock_guard lock(append_mutex_);
    take_batch();
  }
  write_taken(nullptr, 0);
}

void Channel::take_batch() {
  filling_.swap(sending_);
  taken_ = filled_;
  filled_ = 0;
  unsent_.store(false, std::memory_order_relaxed);
}

bool Channel::write_taken(const void* bulk, size_t bulk_bytes, bool striped) {
  if (taken_ + bulk_bytes == 0) return true;
  if (lost()) return false;
  const iovec parts[] = {{sending_.get(), taken_}, {const_cast<void*>(bulk), bulk_bytes}};
  bool sent = connection_->write_all(std::span(parts, bulk_bytes > 0 && !striped ? 2u : 1u));
  if (sent && striped) sent = stripes_.write(bulk, bulk_bytes);
  if (sent) return true;
  const std::string why = connection_->failure();
  lose("The connection to " + server_ +
       " was lost: " + (why.empty() ? "one of its connections for data ended" : why) + ".");
  return false;
}

void Channel::wake_flusher() {
  if (flusher_awake_.load(std::memory_order_seq_cst) != 0) return;
  flusher_awake_.store(1, std::memory_order_seq_cst);
  flusher_awake_.notify_one();
}

void Channel::run_flusher() {
  ::prctl(PR_SET_TIMERSLACK, 1UL);  // else the kernel may stretch each interval by another 50 µs
  int idle = 0;
  while (!lost()) {
    if (unsent_.load(std::memory_order_seq_cst)) {
      idle = 0;
      flush();
    } else if (++idle > kIdleIntervals) {
      flusher_awake_.store(0, std::memory_order_seq_cst);
      if (!unsent_.load(std::memory_order_seq_cst)) flusher_awake_.wait(0, std::memory_order_seq_cst);
      flusher_awake_.store(1, std::memory_order_seq_cst);
      idle = 0;
    }
    const timespec interval{0, kFlushIntervalNs};
    ::nanosleep(&interval, nullptr);
  }
}

}  // namespace sluice::client
