// Tasks that streams wait for the client to do.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "wire/frame.h"

namespace sluice::worker {

class Session;

// One task: the stream's callback waits in it until the client's answer has come.
struct HostTask {
  Session* session = nullptr;
  uint32_t number = 0;
  uint8_t* target = nullptr;  // where the bytes that the client sends go; null when it sends none
  uint64_t bytes = 0;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
};

class HostTaskTable {
 public:
  // A task that the driver has not come to yet; null when the number is taken.
  std::shared_ptr<HostTask> add(Session* session, uint32_t number, uint64_t bytes);
  // One of the many runs of a graph's task, under a number of the worker's own.
  std::shared_ptr<HostTask> add_run(Session* session, uint8_t* target, uint64_t bytes);
  std::shared_ptr<HostTask> find(uint32_t number);
  // The client has done it: the stream goes on.
  void finish(HostTask& task);
  // The session ends: every stream goes on, so that the driver can be left.
  void abandon();
  bool outstanding();

 private:
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<HostTask>> tasks_;
  uint32_t next_run_ = 0;
  bool abandoned_ = false;
};

// Tells the client of the task, with `words` as the message, and returns when the client has done it.
void wait_for_client(HostTask& task, wire::ResponseKind kind, std::initializer_list<uint32_t> words);

// For cuLaunchHostFunc; the argument is a new std::shared_ptr<HostTask>, which it deletes.
void run_host_task(void* argument);

}  // namespace sluice::worker
