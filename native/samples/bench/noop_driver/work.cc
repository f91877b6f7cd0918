// Host functions run in order in a thread of the driver's, as CUDA has it; all other work is done when it is
// asked for, so that waiting is waiting for that thread.
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "generated/cuda_functions.h"
#include "noop_driver/answer.h"

namespace {

class HostFunctions {
 public:
  void add(std::function<void()> function) {
    const std::lock_guard lock(mutex_);
    if (!started_) std::thread([this] { run(); }).detach();
    started_ = true;
    waiting_.push_back(std::move(function));
    outstanding_.fetch_add(1, std::memory_order_release);
    changed_.notify_all();
  }

  bool idle() const { return outstanding_.load(std::memory_order_acquire) == 0; }

  void wait() {
    if (idle()) return;
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return idle(); });
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return !waiting_.empty(); });
      const auto function = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      function();
      lock.lock();
      outstanding_.fetch_sub(1, std::memory_order_release);
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::atomic<int> outstanding_{0};
  bool started_ = false;
};

HostFunctions& host_functions() {
  static auto* all = new HostFunctions;  // its thread runs until the process ends
  return *all;
}

CUresult wait() {
  host_functions().wait();
  return CUDA_SUCCESS;
}

CUresult query() { return host_functions().idle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY; }

}  // namespace

NOOP_EXPORT CUresult cuLaunchHostFunc(CUstream, CUhostFn function, void* data) {
  host_functions().add([=] { function(data); });
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                                         unsigned int) {
  host_functions().add([=] { callback(stream, CUDA_SUCCESS, data); });
  return CUDA_SUCCESS;
}

NOOP_EXPORT CUresult cuCtxSynchronize() { return wait(); }
NOOP_EXPORT CUresult cuCtxSynchronize_v2(CUcontext) { return wait(); }
NOOP_EXPORT CUresult cuStreamSynchronize(CUstream) { return wait(); }
NOOP_EXPORT CUresult cuEventSynchronize(CUevent) { return wait(); }
NOOP_EXPORT CUresult cuStreamQuery(CUstream) { return query(); }
NOOP_EXPORT CUresult cuEventQuery(CUevent) { return query(); }
