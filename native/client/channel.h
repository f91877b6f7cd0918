// The client's end of a connection to a session process.
//
// Sending: asynchronous calls are appended to a batch that goes out with the next synchronous call,
// when it is large, or within some 100 µs by the flusher thread. Receiving: the thread that waits for an
// answer reads the connection itself and serves the others while it does; a watcher thread reads only
// when nobody waits and something may arrive unasked (callbacks, asynchronous copies, the end).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/cuda_types.h"
#include "wire/connection.h"
#include "wire/frame.h"
#include "wire/frame_input.h"
#include "wire/stripes.h"

namespace sluice::client {

// Where an answer goes. Fixed memory of the caller, or a table that grows to the answer's size.
struct Reply {
  void* into = nullptr;
  size_t capacity = 0;
  std::vector<uint8_t>* table = nullptr;
  size_t received = 0;
};

// Told about what arrives unasked. Called by the reading thread, which must not be held up.
class Channel;

class ChannelEvents {
 public:
  virtual ~ChannelEvents() = default;
  // A stream of the worker has reached the task.
  virtual void host_task(uint32_t task) = 0;
  // Where bytes of an asynchronous copy go; null when there is no such copy or they do not fit.
  virtual void* download_target(uint32_t download, uint64_t offset, uint64_t bytes) = 0;
  virtual void downloaded(uint32_t download, uint64_t offset, uint64_t bytes) = 0;
  // Whether anything of that kind is outstanding: `soon` for tasks, which somebody may wait for
  // without calling us.
  virtual bool expects_tasks() = 0;
  // The channel has ended. Called once, by whichever thread found out.
  virtual void lost(const Channel* channel) = 0;
  virtual bool expects_downloads() = 0;
};

// By which another server reaches the session.
struct ChannelIdentity {
  std::string address;
  std::string session;
  crypto::Bytes32 key{};
};

class Channel {
 public:
  // `server` names the other side in sentences for people, `protocol` is the version that was agreed on.
  // Lives until the process ends.
  Channel(std::unique_ptr<wire::Connection> connection, std::string server, unsigned protocol);

  // How to open the further connection of that index; null when it cannot be.
  using OpenStripe = std::function<std::unique_ptr<wire::Connection>(uint8_t index)>;
  // For a long pipe: large data goes over several connections, which are opened when there is some for the
  // first time. Before start.
  void allow_stripes(OpenStripe open) { open_stripe_ = std::move(open); }

  void start(ChannelEvents* events);

  // Sends a frame without waiting. `context` 0: whatever context the previous call was made in.
  CUresult post(uint32_t context, const uint8_t* frame, size_t size);
  // The same with bulk data, which may be changed once the call has returned.
  CUresult post(uint32_t context, const uint8_t* frame, size_t size, const void* bulk, size_t bulk_bytes);
  // Sends a frame with kSync, and waits. The result is the worker's, or that the connection is lost.
  // `number`: which frame it was, counted from 1.
  CUresult call(uint32_t context, uint8_t* frame, size_t size, Reply* reply, const void* bulk = nullptr,
                size_t bulk_bytes = 0, uint64_t* number = nullptr);
  // How many frames there were so far.
  uint64_t frames_sent() const { return frames_.load(std::memory_order_acquire); }
  // Sends what is in the batch.
  void flush();
  // Lets the watcher know that something may now arrive unasked.
  void expect();
  // Sends what is left and ends; later calls return CUDA_ERROR_DEINITIALIZED.
  void close();

  bool lost() const { return state_.load(std::memory_order_acquire) != CUDA_SUCCESS; }
  CUresult state() const { return state_.load(std::memory_order_acquire); }
  const wire::Connection& connection() const { return *connection_; }
  // Nothing when the worker takes no further connections. Set before the channel is used.
  void set_identity(ChannelIdentity identity) { identity_ = std::move(identity); }
  const std::optional<ChannelIdentity>& identity() const { return identity_; }
  uint64_t bytes_sent() const { return connection_->bytes_written() + stripes_.bytes_written(); }
  uint64_t bytes_received() const { return connection_->bytes_read() + stripes_.bytes_read(); }
  // In the child of a fork: the connections stay the parent's.
  void close_in_child();
  unsigned protocol() const { return protocol_; }

 private:
  struct Waiter;

  // Under append_mutex_; false when the batch has no room.
  bool append(uint32_t context, const uint8_t* frame, size_t size, const void* bulk, size_t bulk_bytes);
  // Appends with flushing as needed and sends all of it, the bulk data from where it lies.
  bool send(uint32_t context, const uint8_t* frame, size_t size, const void* bulk, size_t bulk_bytes,
            uint64_t* number = nullptr);
  // Under both mutexes: makes the batch the one to be written.
  void take_batch();
  // Under write_mutex_: writes what was taken, and the bulk data after it.
  bool write_taken(const void* bulk, size_t bulk_bytes, bool striped = false);
  void wake_flusher();
  void run_flusher();

  // Opens the further connections if this much data is worth it and they have not been tried.
  void want_stripes(size_t bytes);
  // The frame with its data announced instead of attached, when the data is to be striped.
  bool announce_striped(const uint8_t* frame, size_t size, size_t bulk_bytes,
                        std::vector<uint8_t>* out) const;
  // Reads the data of a message to where it belongs.
  bool receive_data(void* into, size_t size, bool striped);
  // The size of the data in a message of which `left` bytes are left; false when it cannot be.
  bool data_size(uint32_t left, bool striped, size_t* size);

  void wait(Waiter& waiter);
  void run_watcher();
  // Reads one message, polling for it first where it is an answer that may come soon. False when the
  // connection has ended.
  bool receive_one(bool poll);
  bool receive_reply(uint32_t length, bool striped);
  bool receive_download(uint32_t length, bool striped);
  // Ends everything: each waiting and later call returns an error. Only the first sentence is printed.
  void lose(const std::string& sentence);

  std::optional<ChannelIdentity> identity_;
  std::unique_ptr<wire::Connection> connection_;
  const std::string server_;
  const unsigned protocol_;
  ChannelEvents* events_ = nullptr;
  std::atomic<CUresult> state_{CUDA_SUCCESS};

  OpenStripe open_stripe_;
  std::once_flag stripes_tried_;
  wire::Stripes stripes_;
  wire::AdaptivePoll stripe_poll_;

  // Taken in this order.
  std::mutex write_mutex_;
  std::mutex append_mutex_;
  std::unique_ptr<uint8_t[]> filling_;
  size_t filled_ = 0;
  std::atomic<bool> unsent_{false};
  std::unique_ptr<uint8_t[]> sending_;
  size_t taken_ = 0;
  uint32_t context_on_wire_ = 0;
  std::atomic<uint64_t> frames_{0};  // written under append_mutex_
  std::atomic<uint32_t> flusher_awake_{0};

  std::mutex receive_mutex_;
  std::condition_variable received_;
  std::condition_variable watch_;
  bool reading_ = false;  // some thread has the reading role
  Waiter* waiters_ = nullptr;
  uint32_t next_sequence_ = 1;
  wire::FrameInput input_;
};

}  // namespace sluice::client
