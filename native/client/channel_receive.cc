#include <algorithm>
#include <cstdio>
#include <cstring>

#include "client/channel.h"
#include "client/coherence.h"
#include "client/stats.h"
#include "common/log.h"
#include "wire/keepalive.h"

namespace sluice::client {
namespace {

// How often the watcher looks for the end of the session while nobody reads.
constexpr std::chrono::milliseconds kWatchInterval{50};
// The same while asynchronous copies to the host are outstanding: nobody may be reading, and the
// worker must not be stopped by a full connection.
constexpr std::chrono::milliseconds kDownloadInterval{1};
// What the program gets for calls after the end: the GPU cannot be used by it any more.
constexpr CUresult kLost = CUDA_ERROR_DEVICE_UNAVAILABLE;

}  // namespace

struct Channel::Waiter {
  uint32_t sequence;
  Reply* reply;
  CUresult result = CUDA_SUCCESS;
  bool done = false;
  Waiter* next = nullptr;
};

CUresult Channel::call(uint32_t context, uint8_t* frame, size_t size, Reply* reply, const void* bulk,
                       size_t bulk_bytes, uint64_t* number) {
  if (CUresult gone = state()) return gone;
  Coherence::before(*this, frame);
  stats().round_trips.fetch_add(1, std::memory_order_relaxed);
  if (bulk_bytes > 0) stats().bulk_copies.fetch_add(1, std::memory_order_relaxed);
  want_stripes(std::max(bulk_bytes, reply != nullptr ? reply->capacity : 0));
  Waiter waiter{0, reply};
  {
    const std::lock_guard lock(receive_mutex_);
    waiter.sequence = next_sequence_++;
    waiter.next = waiters_;
    waiters_ = &waiter;
  }
  std::memcpy(frame + sizeof(wire::RequestHeader), &waiter.sequence, sizeof waiter.sequence);
  const auto asked = SteadyClock::now();
  send(context, frame, size, bulk, bulk_bytes, number);  // a failure wakes the waiter too
  Coherence::sent(frame);
  wait(waiter);
  note_answer(asked);
  Coherence::after(*this, frame, waiter.result);
  return waiter.result;
}

void Channel::wait(Waiter& waiter) {
  std::unique_lock lock(receive_mutex_);
  while (!waiter.done && !lost()) {
    if (reading_) {
      received_.wait(lock);
      continue;
    }
    reading_ = true;
    while (!waiter.done && !lost()) {
      lock.unlock();
      receive_one(true);
      lock.lock();
    }
    reading_ = false;
    received_.notify_all();  // another waiter reads on
  }
  if (waiter.done) return;
  for (Waiter** at = &waiters_; *at != nullptr; at = &(*at)->next) {
    if (*at == &waiter) {
      *at = waiter.next;
      break;
    }
  }
  // The reader may still be filling our memory; it gives up the role when it has noticed the end.
  received_.wait(lock, [&] { return !reading_; });
  if (!waiter.done) waiter.result = state();
}

void Channel::expect() {
  const std::lock_guard lock(receive_mutex_);
  watch_.notify_one();
}

// A thread of its own: all others may be waiting for the worker.
void Channel::run_keepalive() {
  const wire::AsyncFrame<0> frame(wire::ControlCall::keepalive);
  const auto longest = wire::worker_silence();
  wire::Keepalive keepalive(*connection_);
  do {
    std::unique_lock lock(receive_mutex_);
    if (ended_.wait_for(lock, wire::keepalive_interval() / 4, [this] { return lost(); })) return;
  } while (keepalive.look(write_mutex_, frame.data(), frame.size(), longest, bytes_received()));
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%.3g", static_cast<double>(longest.count()) / 1000);
  lose("The connection to " + server_ + " was lost: nothing has come from it for " + seconds + " seconds.");
}

void Channel::run_watcher() {
  std::unique_lock lock(receive_mutex_);
  while (!lost()) {
    const bool tasks = events_->expects_tasks();
    if (reading_) {
      // Whoever reads serves everything; look again when the role is free.
      if (tasks) {
        received_.wait_for(lock, kDownloadInterval);
      } else {
        watch_.wait_for(lock, kWatchInterval);
      }
      continue;
    }
    if (!tasks) {
      watch_.wait_for(lock, events_->expects_downloads() ? kDownloadInterval : kWatchInterval);
      if (reading_ || lost()) continue;
    }
    reading_ = true;
    lock.unlock();
    while (!lost() && (events_->expects_tasks() || input_.buffered() ||
                       connection_->readable(std::chrono::microseconds(0)))) {
      receive_one(false);
    }
    lock.lock();
    reading_ = false;
    received_.notify_all();
  }
}

bool Channel::receive_one(bool poll) {
  const uint8_t* bytes = input_.take(sizeof(wire::ResponseHeader), poll);
  if (bytes == nullptr) {
    lose("The connection to " + server_ + " was lost: " + connection_->failure() + ".");
    return false;
  }
  wire::ResponseHeader header;
  std::memcpy(&header, bytes, sizeof header);
  bool good = false;
  switch (static_cast<wire::ResponseKind>(header.kind)) {
    case wire::ResponseKind::reply:
      good = receive_reply(header.length, (header.flags & wire::kStriped) != 0);
      break;
    case wire::ResponseKind::download:
      good = receive_download(header.length, (header.flags & wire::kStriped) != 0);
      break;
    case wire::ResponseKind::host_task:
      if (header.length == sizeof(uint32_t) && (bytes = input_.take(sizeof(uint32_t))) != nullptr) {
        events_->host_task(wire::Reader(bytes, sizeof(uint32_t)).get<uint32_t>());
        good = true;
      }
      break;
    case wire::ResponseKind::graph_task:
      if (header.length == 2 * sizeof(uint32_t) && (bytes = input_.take(2 * sizeof(uint32_t))) != nullptr) {
        wire::Reader words(bytes, 2 * sizeof(uint32_t));
        const auto run = words.get<uint32_t>();
        events_->graph_task(run, words.get<uint32_t>());
        good = true;
      }
      break;
    case wire::ResponseKind::keepalive:
      good = header.length == 0;
      break;
    case wire::ResponseKind::goodbye:
      if (header.length <= wire::kMaxGoodbye && (bytes = input_.take(header.length)) != nullptr) {
        lose("The session on " + server_ +
             " was ended: " + std::string(reinterpret_cast<const char*>(bytes), header.length));
        return false;
      }
      break;
  }
  if (!good) {
    const std::string why = connection_->failure();
    lose("The connection to " + server_ + " was lost: " + (why.empty() ? "it sent a broken message" : why) +
         ".");
  }
  return good;
}

bool Channel::receive_reply(uint32_t length, bool striped) {
  constexpr uint32_t kPrefix = sizeof(uint32_t) + sizeof(int32_t);
  if (length < kPrefix) return false;
  const uint8_t* bytes = input_.take(kPrefix);
  if (bytes == nullptr) return false;
  wire::Reader prefix(bytes, kPrefix);
  const auto sequence = prefix.get<uint32_t>();
  const auto result = prefix.get<int32_t>();
  size_t size = 0;
  if (!data_size(length - kPrefix, striped, &size)) return false;
  Waiter* waiter = nullptr;
  {
    const std::lock_guard lock(receive_mutex_);
    for (Waiter** at = &waiters_; *at != nullptr; at = &(*at)->next) {
      if ((*at)->sequence == sequence) {
        waiter = *at;
        *at = waiter->next;
        break;
      }
    }
  }
  if (waiter == nullptr) return false;
  bool good = true;
  if (size > 0) {
    Reply* reply = waiter->reply;
    if (reply != nullptr && reply->table != nullptr && size <= wire::kMaxReplyTable) {
      reply->table->resize(size);
      good = receive_data(reply->table->data(), size, striped);
    } else if (reply != nullptr && size <= reply->capacity) {
      good = receive_data(reply->into, size, striped);
    } else {
      good = false;
    }
    if (good) reply->received = size;
    if (size > wire::kMaxArguments) stats().bulk_copies.fetch_add(1, std::memory_order_relaxed);
  }
  const std::lock_guard lock(receive_mutex_);
  if (good) {
    waiter->result = static_cast<CUresult>(result);
    waiter->done = true;
    received_.notify_all();
  } else {
    waiter->next = waiters_;  // it takes itself out when the channel is lost
    waiters_ = waiter;
  }
  return good;
}

bool Channel::receive_download(uint32_t length, bool striped) {
  constexpr uint32_t kPrefix = sizeof(uint32_t) + sizeof(uint64_t);
  if (length < kPrefix) return false;
  const uint8_t* bytes = input_.take(kPrefix);
  if (bytes == nullptr) return false;
  wire::Reader prefix(bytes, kPrefix);
  const auto download = prefix.get<uint32_t>();
  const auto offset = prefix.get<uint64_t>();
  size_t size = 0;
  if (!data_size(length - kPrefix, striped, &size)) return false;
  void* target = events_->download_target(download, offset, size);
  if (target == nullptr || !receive_data(target, size, striped)) return false;
  stats().bulk_copies.fetch_add(1, std::memory_order_relaxed);
  events_->downloaded(download, offset, size);
  return true;
}

void Channel::lose(const std::string& sentence) {
  CUresult well = CUDA_SUCCESS;
  if (!state_.compare_exchange_strong(well, kLost)) return;
  SLUICE_ERROR("%s", sentence.c_str());
  connection_->shutdown();
  stripes_.shutdown();
  {
    const std::lock_guard lock(receive_mutex_);
    received_.notify_all();
    watch_.notify_all();
    ended_.notify_all();
  }
  wake_flusher();
  if (events_ != nullptr) events_->lost(this);
}

void Channel::close() {
  flush();
  CUresult well = CUDA_SUCCESS;
  state_.compare_exchange_strong(well, CUDA_ERROR_DEINITIALIZED);
  connection_->finish_writing();
}

}  // namespace sluice::client
