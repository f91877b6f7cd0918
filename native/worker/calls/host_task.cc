#include "worker/calls/host_task.h"

#include "worker/calls/session.h"

namespace sluice::worker {

std::shared_ptr<HostTask> HostTaskTable::add(Session* session, uint32_t number, uint64_t bytes) {
  auto task = std::make_shared<HostTask>();
  task->session = session;
  task->number = number;
  task->bytes = bytes;
  const std::lock_guard lock(mutex_);
  if (abandoned_) task->done = true;
  return tasks_.emplace(number, task).second ? task : nullptr;
}

std::shared_ptr<HostTask> HostTaskTable::add_run(Session* session, uint8_t* target, uint64_t bytes) {
  auto task = std::make_shared<HostTask>();
  task->session = session;
  task->target = target;
  task->bytes = bytes;
  const std::lock_guard lock(mutex_);
  if (abandoned_) task->done = true;
  do {
    task->number = wire::kFirstRun | next_run_++;
  } while (!tasks_.emplace(task->number, task).second);
  return task;
}

std::shared_ptr<HostTask> HostTaskTable::find(uint32_t number) {
  const std::lock_guard lock(mutex_);
  const auto at = tasks_.find(number);
  return at == tasks_.end() ? nullptr : at->second;
}

void HostTaskTable::finish(HostTask& task) {
  {
    const std::lock_guard lock(task.mutex);
    task.done = true;
    task.changed.notify_all();
  }
  const std::lock_guard lock(mutex_);
  tasks_.erase(task.number);
}

void HostTaskTable::abandon() {
  std::map<uint32_t, std::shared_ptr<HostTask>> tasks;
  {
    const std::lock_guard lock(mutex_);
    abandoned_ = true;
    tasks.swap(tasks_);
  }
  for (const auto& [number, task] : tasks) {
    const std::lock_guard lock(task->mutex);
    task->done = true;
    task->changed.notify_all();
  }
}

bool HostTaskTable::outstanding() {
  const std::lock_guard lock(mutex_);
  return !tasks_.empty();
}

void run_host_task(void* argument) {
  const std::unique_ptr<std::shared_ptr<HostTask>> holder(static_cast<std::shared_ptr<HostTask>*>(argument));
  wait_for_client(**holder, wire::ResponseKind::host_task, {(*holder)->number});
}

void wait_for_client(HostTask& task, wire::ResponseKind kind, std::initializer_list<uint32_t> words) {
  std::unique_lock lock(task.mutex);
  if (task.done) return;
  lock.unlock();
  const bool sent = task.session->send(kind, words.begin(), words.size() * sizeof(uint32_t), nullptr, 0);
  lock.lock();
  if (sent) task.changed.wait(lock, [&] { return task.done; });
}

}  // namespace sluice::worker
