// Spreads the blocks of a launch over host threads. Helpers live as long as the process and are woken
// only when a launch turns out to be more than a few microseconds of work, so that small launches cost
// their caller nothing but their own blocks.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <new>
#include <thread>

#include "softgpu/ptx/exec/launch.h"

namespace sluice::ptx {
namespace {

// What a host thread keeps between launches: block storage is expensive to make.
struct Worker {
  Thread thread;
  std::vector<std::unique_ptr<Block>> blocks;
  ~Worker() {
    for (const auto& block : blocks) {
      for (const auto& warp : block->warps) drop_frames(*warp);
    }
  }
};

// The host's memory for registers, local and shared memory has run out: the launch's fault, not ours.
void out_of_host_memory(Launch& launch) {
  launch.fail(CUDA_ERROR_OUT_OF_MEMORY, "no host memory is left for the threads of " + launch.kernel->name);
}

// Blocks that a thread keeps alive at once in a cooperative launch are as many as its share of the grid.
void run_cooperative(Launch& launch, Worker& worker, uint64_t begin, uint64_t step) try {
  std::vector<Block*> mine;
  for (uint64_t number = begin; number < launch.blocks; number += step) {
    if (worker.blocks.size() <= mine.size()) worker.blocks.push_back(std::make_unique<Block>());
    Block* block = worker.blocks[mine.size()].get();
    block->start(launch, worker.thread, number);
    mine.push_back(block);
  }
  while (!mine.empty() && !launch.stop.load(std::memory_order_relaxed)) {
    for (size_t i = 0; i < mine.size();) {
      if (mine[i]->run(true)) {
        mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(i));
        if (launch.stop.load(std::memory_order_relaxed)) return;
      } else {
        ++i;
      }
    }
    if (step > 1) std::this_thread::yield();
  }
} catch (const std::bad_alloc&) {
  out_of_host_memory(launch);
}

// A launch that helpers may join. `seats` is how many more may; `active` how many are inside.
struct Job {
  Launch* launch = nullptr;
  int seats = 0;
  int active = 0;
};

class Helpers {
 public:
  static Helpers& instance() {
    static Helpers* const helpers = new Helpers;  // never destroyed: threads outlive static destruction
    return *helpers;
  }

  void offer(Job& job) {
    const std::lock_guard lock(lock_);
    jobs_.push_back(&job);
    while (threads_ < job.seats && threads_ < kMaxHelpers) {
      std::thread([this] { serve(); }).detach();
      ++threads_;
    }
    wake_.notify_all();
  }

  void withdraw(Job& job) {
    std::unique_lock lock(lock_);
    std::erase(jobs_, &job);
    job.seats = 0;
    done_.wait(lock, [&] { return job.active == 0; });
  }

 private:
  static constexpr int kMaxHelpers = 256;

  void serve();

  std::mutex lock_;
  std::condition_variable wake_;
  std::condition_variable done_;
  std::deque<Job*> jobs_;
  int threads_ = 0;
};

void begin(Worker& worker, Launch& launch, uint32_t seat) {
  Thread& thread = worker.thread;
  thread.launch = &launch;
  thread.memory = launch.environment->memory;
  thread.sm = launch.environment->sm_count != 0 ? seat % launch.environment->sm_count : 0;
  thread.epoch = thread.memory != nullptr ? thread.memory->epoch() : 0;
  for (CachedRange& range : thread.ranges) range = CachedRange{};
}

void run_blocks(Launch& launch, Worker& worker, bool (*enough)(void*), void* context) try {
  if (worker.blocks.empty()) worker.blocks.push_back(std::make_unique<Block>());
  Block& block = *worker.blocks.front();
  for (;;) {
    const uint64_t number = launch.next_block.fetch_add(1, std::memory_order_relaxed);
    if (number >= launch.blocks || launch.stop.load(std::memory_order_relaxed)) return;
    if (worker.thread.memory != nullptr) {
      const uint64_t epoch = worker.thread.memory->epoch();
      if (epoch != worker.thread.epoch) {
        worker.thread.epoch = epoch;
        for (CachedRange& range : worker.thread.ranges) range = CachedRange{};
      }
    }
    block.start(launch, worker.thread, number);
    block.run(false);
    if (enough != nullptr && enough(context)) enough = nullptr;
  }
} catch (const std::bad_alloc&) {
  out_of_host_memory(launch);
}

void Helpers::serve() {
  Worker worker;
  std::unique_lock lock(lock_);
  for (;;) {
    Job* job = nullptr;
    wake_.wait(lock, [&] {
      for (Job* candidate : jobs_) {
        if (candidate->seats > 0) {
          job = candidate;
          return true;
        }
      }
      return false;
    });
    const auto seat = static_cast<uint32_t>(job->seats--);
    ++job->active;
    lock.unlock();
    begin(worker, *job->launch, seat);
    switch_float_mode(worker.thread, kNearest);
    run_blocks(*job->launch, worker, nullptr, nullptr);
    lock.lock();
    if (--job->active == 0) done_.notify_all();
  }
}

Worker& this_threads_worker() {
  static thread_local Worker worker;
  return worker;
}

}  // namespace

Fault run_launch(Launch& launch) {
  Worker& worker = this_threads_worker();
  const unsigned saved = __builtin_ia32_stmxcsr();
  begin(worker, launch, 0);
  switch_float_mode(worker.thread, kNearest);
  const int threads = launch.environment->threads;
  if (launch.cooperative) {
    run_cooperative(launch, worker, 0, 1);
  } else if (launch.blocks == 1 || threads <= 1) {
    run_blocks(launch, worker, nullptr, nullptr);
  } else {
    struct Context {
      Job job;
      std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
      bool offered = false;
    } context;
    context.job.launch = &launch;
    context.job.seats =
        static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(threads) - 1, launch.blocks - 1));
    run_blocks(
        launch, worker,
        [](void* raw) {
          auto& at = *static_cast<Context*>(raw);
          if (std::chrono::steady_clock::now() - at.start < std::chrono::microseconds(20)) return false;
          if (at.job.launch->next_block.load(std::memory_order_relaxed) >= at.job.launch->blocks) return true;
          at.offered = true;
          Helpers::instance().offer(at.job);
          return true;
        },
        &context);
    if (context.offered) Helpers::instance().withdraw(context.job);
  }
  __builtin_ia32_ldmxcsr(saved);
  return launch.fault;
}

}  // namespace sluice::ptx
