#include "client/host_tasks.h"

#include <utility>
#include <vector>

#include "client/coherence.h"
#include "client/graph_copy.h"
#include "client/objects.h"
#include "client/thread_state.h"
#include "client/threads.h"

namespace sluice::client {

uint32_t HostTasks::add(const HostTask& task) {
  uint32_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_task_++;
    tasks_[number] = task;
    unfinished_.insert(number);
    tasks_expected_.fetch_add(1);
    start(queue_of(task));
  }
  task.channel->expect();
  return number;
}

void HostTasks::start(Queue& queue) {
  if (!queue.running) queue.running = start_thread([this, &queue] { run(queue); });
}

uint32_t HostTasks::add_graph_task(const std::shared_ptr<GraphTask>& task) {
  const std::lock_guard lock(mutex_);
  // Below the bit that marks the bytes of graph tasks; old numbers may still be in use after a long time.
  while (graph_tasks_.contains(next_graph_task_)) next_graph_task_++;
  const uint32_t number = next_graph_task_;
  next_graph_task_ = number + 1 < wire::kGraphDownload ? number + 1 : 1;
  graph_tasks_[number] = task;
  start(functions_);
  start(sends_);
  return number;
}

void HostTasks::forget_graph_task(uint32_t task) {
  const std::lock_guard lock(mutex_);
  graph_tasks_.erase(task);
}

std::shared_ptr<GraphTask> HostTasks::find_graph_task(uint32_t task) {
  const std::lock_guard lock(mutex_);
  const auto at = graph_tasks_.find(task);
  return at == graph_tasks_.end() ? nullptr : at->second.lock();
}

void HostTasks::run_later(CUhostFn function, void* user_data) {
  HostTask task;
  task.function = function;
  task.user_data = user_data;
  const std::lock_guard lock(mutex_);
  start(functions_);
  make_ready(0, std::move(task));
}

void HostTasks::graph_task(uint32_t run, uint32_t number) {
  const std::shared_ptr<GraphTask> graph_task = find_graph_task(number);
  if (graph_task == nullptr) return;  // a worker that calls what it was not told of is not answered
  HostTask task;
  task.channel = graph_task->channel;
  task.keeps = graph_task;
  if (!graph_task->is_copy) {
    task.function = graph_task->function;
    task.user_data = graph_task->user_data;
  } else if (!is_sent(graph_task->copy)) {
    task.action = [graph_task](bool) { copy_within_client(graph_task->copy); };
  } else {
    task.gather = [graph_task](std::vector<uint8_t>* bytes) { gather_rows(graph_task->copy, bytes); };
  }
  const std::lock_guard lock(mutex_);
  make_ready(run, std::move(task));
}

void HostTasks::forget(uint32_t task) {
  HostTask dropped;  // what it keeps ends outside the lock
  const std::lock_guard lock(mutex_);
  const auto at = tasks_.find(task);
  if (at != tasks_.end()) {
    dropped = std::move(at->second);
    tasks_.erase(at);
    tasks_expected_.fetch_sub(1);
  }
  unfinished_.erase(task);
}

bool HostTasks::pending_up_to(uint64_t task) {
  if (task == 0) return false;
  const std::lock_guard lock(mutex_);
  return !unfinished_.empty() && *unfinished_.begin() <= task;
}

uint32_t HostTasks::add_download(void* target, size_t bytes) {
  const std::lock_guard lock(mutex_);
  const uint32_t number = next_download_++;
  downloads_[number] = {static_cast<uint8_t*>(target), bytes, bytes, {}, {}};
  downloads_expected_.fetch_add(1);
  return number;
}

uint32_t HostTasks::add_download(void* target, const HostShape& shape) {
  const size_t bytes = shape.extent.bytes();
  if (shape.is_packed()) return add_download(target, bytes);
  const std::lock_guard lock(mutex_);
  const uint32_t number = next_download_++;
  downloads_[number] = {static_cast<uint8_t*>(target), bytes, bytes, shape, {}};
  downloads_expected_.fetch_add(1);
  return number;
}

void HostTasks::abandon_download(uint32_t download) {
  const std::lock_guard lock(mutex_);
  const auto at = downloads_.find(download);
  if (at != downloads_.end()) at->second.abandoned = true;
}

void HostTasks::forget_download(uint32_t download) {
  const std::lock_guard lock(mutex_);
  if (downloads_.erase(download) > 0) downloads_expected_.fetch_sub(1);
}

bool HostTasks::is_outstanding(uint32_t download) {
  const std::lock_guard lock(mutex_);
  return downloads_.contains(download);
}

bool HostTasks::downloads_into(const void* start, size_t bytes) {
  if (downloads_expected_.load() == 0) return false;
  const auto* from = static_cast<const uint8_t*>(start);
  const std::lock_guard lock(mutex_);
  for (const auto& [number, download] : downloads_) {
    if (!download.abandoned && from < download.target + download.span() && download.target < from + bytes)
      return true;
  }
  return false;
}

void HostTasks::host_task(uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto at = tasks_.find(number);
  if (at == tasks_.end()) return;  // a worker that calls what it was not told of is not answered
  HostTask task = std::move(at->second);
  tasks_.erase(at);
  tasks_expected_.fetch_sub(1);
  if (task.after != nullptr && !task.after->open) {
    task.after->waiting.push_back(number);
    standing_.emplace(number, std::move(task));
  } else {
    make_ready(number, std::move(task));
  }
}

HostTasks::Queue& HostTasks::queue_of(const HostTask& task) {
  return task.function != nullptr || task.callback != nullptr ? functions_ : sends_;
}

void HostTasks::make_ready(uint32_t number, HostTask task) {
  if (task.after != nullptr && task.after->failed && task.context != nullptr) {
    task.context->sticky.store(CUDA_ERROR_DEVICE_UNAVAILABLE);
  }
  Queue& queue = queue_of(task);
  queue.ready.emplace_back(number, std::move(task));
  queue.filled.notify_one();
}

void HostTasks::open(const std::shared_ptr<Gate>& gate, bool failed) {
  const std::lock_guard lock(mutex_);
  open_locked(*gate, failed);
}

void HostTasks::open_locked(Gate& gate, bool failed) {
  if (gate.open) return;
  gate.open = true;
  gate.failed = failed;
  for (const uint32_t number : gate.waiting) {
    auto standing = standing_.extract(number);
    if (!standing.empty()) make_ready(number, std::move(standing.mapped()));
  }
  gate.waiting.clear();
}

// Nothing will be called by that worker any more: what waits elsewhere for it must not wait for ever.
void HostTasks::lost(const Channel* channel) {
  const std::lock_guard lock(mutex_);
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    HostTask& task = at->second;
    const bool others_wait = task.action || task.opens != nullptr;
    if (task.channel != channel || !others_wait) {
      ++at;
      continue;
    }
    task.lost = true;
    make_ready(at->first, std::move(task));
    at = tasks_.erase(at);
    tasks_expected_.fetch_sub(1);
  }
}

void* HostTasks::download_target(uint32_t number, uint64_t offset, uint64_t bytes) {
  if ((number & wire::kGraphDownload) != 0) {
    const auto task = find_graph_task(number & ~wire::kGraphDownload);
    return task ? row_target(*task, offset, bytes) : nullptr;
  }
  const std::lock_guard lock(mutex_);
  const auto at = downloads_.find(number);
  if (at == downloads_.end() || offset > at->second.bytes || bytes > at->second.bytes - offset ||
      bytes > at->second.left) {
    return nullptr;
  }
  Download& download = at->second;
  if (download.shape.extent.width == 0 && !download.abandoned) return download.target + offset;
  // Another thread adds and removes downloads meanwhile, but never this one: its bytes are still to come.
  if (download.arrived.size() < bytes) download.arrived.resize(bytes);
  return download.arrived.data();
}

void HostTasks::downloaded(uint32_t number, uint64_t offset, uint64_t bytes) {
  if ((number & wire::kGraphDownload) != 0) {
    if (const auto task = find_graph_task(number & ~wire::kGraphDownload))
      rows_arrived(*task, offset + bytes);
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto at = downloads_.find(number);
  if (at == downloads_.end()) return;
  Download& download = at->second;
  if (download.shape.extent.width != 0 && !download.abandoned && download.arrived.size() >= bytes)
    scatter(download.shape, download.target, offset, bytes, download.arrived.data());
  download.left -= bytes;
  if (download.left > 0) return;
  downloads_.erase(at);
  downloads_expected_.fetch_sub(1);
}

void HostTasks::run(Queue& queue) {
  thread_state().in_host_function = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    queue.filled.wait(lock, [&] { return !queue.ready.empty(); });
    auto [number, task] = std::move(queue.ready.front());
    queue.ready.pop_front();
    lock.unlock();
    perform(number, task);
    const std::shared_ptr<Gate> opens = task.opens;
    const bool failed = task.lost || (task.after != nullptr && task.after->failed);
    task = {};  // may be the last to know a task of a graph, or an object that ends with it
    lock.lock();
    unfinished_.erase(number);
    if (opens != nullptr) open_locked(*opens, failed);
  }
}

void HostTasks::perform(uint32_t number, const HostTask& task) {
  if (task.gather) {
    std::vector<uint8_t> bytes;
    task.gather(&bytes);
    wire::DynamicFrame done(wire::ControlCall::host_task_done, wire::kBulk);
    done.arguments().put(number);
    done.complete(bytes.size());
    task.channel->post(0, done.data(), done.size(), bytes.data(), bytes.size());
  } else if (task.source == nullptr) {
    if (Coherence::active() && !task.lost) Coherence::instance().before_host_function(*task.channel);
    if (task.function != nullptr) {
      task.function(task.user_data);
    } else if (task.callback != nullptr) {
      task.callback(task.stream, CUDA_SUCCESS, task.user_data);
    } else if (task.action) {
      task.action(task.lost);
    }
    if (task.channel == nullptr) return;
    wire::AsyncFrame<sizeof(uint32_t)> done(wire::ControlCall::host_task_done);
    done.put(number);
    task.channel->post(0, done.data(), done.size());
  } else {
    wire::DynamicFrame done(wire::ControlCall::host_task_done, wire::kBulk);
    done.arguments().put(number);
    done.complete(task.bytes);
    const void* source = task.source;
    std::vector<uint8_t> packed;
    if (task.shape.extent.width != 0) {
      packed.resize(task.bytes);
      gather(task.shape, static_cast<const uint8_t*>(task.source), 0, task.bytes, packed.data());
      source = packed.data();
    }
    task.channel->post(0, done.data(), done.size(), source, task.bytes);
  }
  task.channel->flush();  // a stream stands still until it is there
}

}  // namespace sluice::client
