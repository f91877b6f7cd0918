// A stream: a queue of operations that one thread runs in order. Order between streams is kept by
// dependencies, each on the number of an operation in another stream.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "common/cuda_types.h"
#include "softgpu/handle.h"

namespace sluice::softgpu {

class Context;
class Stream;

struct Dependency {
  std::shared_ptr<Stream> stream;
  uint64_t number;
};

class Operation {
 public:
  virtual ~Operation() = default;
  // Runs to the end. What it returns other than success becomes the context's sticky error.
  virtual CUresult run(Stream& stream) = 0;
  // Called instead of run when the context has failed.
  virtual void skip(Stream&, CUresult) {}
  // Work of the device as NVML's utilization counts it.
  virtual bool occupies_device() const { return false; }
  // So short that the calling thread may run it itself when the stream is idle.
  virtual bool is_brief() const { return false; }

  std::vector<Dependency> dependencies;

 private:
  friend class Stream;
  Operation* next_ = nullptr;
  uint64_t number_ = 0;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  static constexpr HandleKind kKind = HandleKind::kStream;

  Stream(std::shared_ptr<Context> context, unsigned flags, int priority, uint64_t id);
  ~Stream();

  // Queues the operation and returns its number; with the dependencies that it already carries.
  uint64_t enqueue(std::unique_ptr<Operation> operation);
  // Waits for its turn and runs the operation in the calling thread.
  CUresult run_now(Operation& operation);
  void wait_for(uint64_t number);
  void synchronize() { wait_for(last_number()); }

  uint64_t last_number() const { return enqueued_.load(std::memory_order_acquire); }
  bool is_done(uint64_t number) const { return completed_.load(std::memory_order_seq_cst) >= number; }
  bool idle() const { return is_done(last_number()); }
  bool is_blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
  // The worker thread ends as soon as nothing is left to do.
  void close();

  // Emptied when the context goes away, from then on nothing is queued.
  const std::shared_ptr<Context> context;
  const unsigned flags;
  const int priority;
  const uint64_t id;
  void* handle = nullptr;  // null for default streams
  bool is_legacy = false;  // the default stream that blocking streams are ordered with

 private:
  void work();
  void look_for_more() const;
  void execute(Operation& operation, bool& busy);
  void set_busy(bool& busy, bool wanted);
  void complete(uint64_t number);
  bool dependencies_done(const Operation& operation) const;

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  Operation* head_ = nullptr;
  Operation* tail_ = nullptr;
  std::atomic<uint64_t> enqueued_{0};
  std::atomic<uint64_t> completed_{0};
  std::atomic<int> waiters_{0};
  bool running_ = false;  // an operation is executed, by the worker or by a caller
  bool has_worker_ = false;
  bool worker_sleeps_ = false;
  bool closing_ = false;
};

}  // namespace sluice::softgpu
