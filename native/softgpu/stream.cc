#include "softgpu/stream.h"

#include <sched.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "softgpu/context.h"

namespace sluice::softgpu {
namespace {

// A caller that is this far ahead of the device waits, as on a real one; bounds the memory of queued work.
constexpr uint64_t kMaxQueued = 16384;

constexpr auto kIdleWorkerLife = std::chrono::seconds(10);
constexpr auto kLook = std::chrono::microseconds(20);

// A worker takes no signals: they are the program's, whose threads have handlers for them.
void start_thread(std::shared_ptr<Stream> stream, void (Stream::*body)()) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([stream = std::move(stream), body] { (stream.get()->*body)(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

Stream::Stream(std::shared_ptr<Context> context_, unsigned flags_, int priority_, uint64_t id_)
    : context(std::move(context_)), flags(flags_), priority(priority_), id(id_) {}

Stream::~Stream() {
  while (head_ != nullptr) {
    Operation* next = head_->next_;
    delete head_;
    head_ = next;
  }
}

bool Stream::dependencies_done(const Operation& operation) const {
  for (const Dependency& dependency : operation.dependencies) {
    if (!dependency.stream->is_done(dependency.number)) return false;
  }
  return true;
}

uint64_t Stream::enqueue(std::unique_ptr<Operation> operation) {
  std::unique_lock lock(mutex_);
  const uint64_t number = enqueued_.load(std::memory_order_relaxed) + 1;
  operation->number_ = number;
  enqueued_.store(number, std::memory_order_release);
  if (!running_ && head_ == nullptr && operation->is_brief() && dependencies_done(*operation)) {
    running_ = true;
    lock.unlock();
    bool busy = false;
    execute(*operation, busy);
    set_busy(busy, false);
    complete(number);
    lock.lock();
    running_ = false;
    if (head_ != nullptr) work_.notify_one();
    if (waiters_.load() > 0) done_.notify_all();
    return number;
  }
  Operation* raw = operation.release();
  if (head_ == nullptr) {
    head_ = raw;
  } else {
    tail_->next_ = raw;
  }
  tail_ = raw;
  if (!has_worker_) {
    has_worker_ = true;
    lock.unlock();
    start_thread(shared_from_this(), &Stream::work);
  } else if (worker_sleeps_) {
    lock.unlock();
    work_.notify_one();
  } else if (number > completed_.load(std::memory_order_relaxed) + kMaxQueued) {
    lock.unlock();
    wait_for(number - kMaxQueued / 2);
  }
  return number;
}

CUresult Stream::run_now(Operation& operation) {
  std::unique_lock lock(mutex_);
  while (running_ || head_ != nullptr) {
    // Everything before has to be done first; what others queue meanwhile may go first too.
    const uint64_t before = enqueued_.load(std::memory_order_relaxed);
    lock.unlock();
    wait_for(before);
    lock.lock();
    if (!running_ || head_ != nullptr) continue;
    // Done, but the worker still holds the stream for the moment that it takes to go back to sleep.
    waiters_.fetch_add(1);
    done_.wait(lock, [&] { return !running_; });
    waiters_.fetch_sub(1);
  }
  const uint64_t number = enqueued_.load(std::memory_order_relaxed) + 1;
  operation.number_ = number;
  enqueued_.store(number, std::memory_order_release);
  running_ = true;
  lock.unlock();
  bool busy = false;
  execute(operation, busy);
  set_busy(busy, false);
  complete(number);
  lock.lock();
  running_ = false;
  if (head_ != nullptr) work_.notify_one();
  if (waiters_.load() > 0) done_.notify_all();
  return context->error();
}

void Stream::execute(Operation& operation, bool& busy) {
  for (const Dependency& dependency : operation.dependencies) {
    if (dependency.stream->is_done(dependency.number)) continue;
    set_busy(busy, false);
    dependency.stream->wait_for(dependency.number);
  }
  if (const CUresult failed = context->error(); failed != CUDA_SUCCESS) {
    operation.skip(*this, failed);
    return;
  }
  set_busy(busy, operation.occupies_device());
  if (const CUresult result = operation.run(*this); result != CUDA_SUCCESS) context->fail(result, {});
}

void Stream::set_busy(bool& busy, bool wanted) {
  if (busy == wanted) return;
  busy = wanted;
  SharedState& shared = *driver()->shared;
  if (wanted) {
    shared.busy_begin(context->device.index);
  } else {
    shared.busy_end(context->device.index);
  }
}

void Stream::complete(uint64_t number) {
  completed_.store(number, std::memory_order_seq_cst);
  // Whoever is about to wait has counted itself before it looked at completed_.
  if (waiters_.load(std::memory_order_seq_cst) == 0) return;
  const std::lock_guard lock(mutex_);
  done_.notify_all();
}

void Stream::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    bool looked = false;
    while (head_ == nullptr || running_) {
      if (closing_ && head_ == nullptr) {
        has_worker_ = false;
        return;
      }
      if (!looked) {
        looked = true;
        lock.unlock();
        look_for_more();
        lock.lock();
        continue;
      }
      worker_sleeps_ = true;
      const auto woken = work_.wait_for(lock, kIdleWorkerLife);
      worker_sleeps_ = false;
      if (woken == std::cv_status::timeout && head_ == nullptr) {
        has_worker_ = false;
        return;
      }
    }
    Operation* at = head_;
    head_ = tail_ = nullptr;
    running_ = true;
    lock.unlock();
    bool busy = false;
    while (at != nullptr) {
      const std::unique_ptr<Operation> operation(at);
      execute(*operation, busy);
      at = operation->next_;
      // Before the last completion is seen, so that an idle stream is never counted as busy.
      if (at == nullptr) set_busy(busy, false);
      complete(operation->number_);
    }
    lock.lock();
    running_ = false;
    if (waiters_.load() > 0) done_.notify_all();
  }
}

// Whoever launches in a row would otherwise have to wake this thread for each launch.
void Stream::look_for_more() const {
  const uint64_t before = enqueued_.load(std::memory_order_relaxed);
  const auto end = std::chrono::steady_clock::now() + kLook;
  do {
    ::sched_yield();
  } while (enqueued_.load(std::memory_order_relaxed) == before && std::chrono::steady_clock::now() < end);
}

void Stream::wait_for(uint64_t number) {
  if (is_done(number)) return;
  std::unique_lock lock(mutex_);
  waiters_.fetch_add(1, std::memory_order_seq_cst);
  done_.wait(lock, [&] { return is_done(number); });
  waiters_.fetch_sub(1, std::memory_order_seq_cst);
}

void Stream::close() {
  const std::lock_guard lock(mutex_);
  closing_ = true;
  work_.notify_one();
}

}  // namespace sluice::softgpu
