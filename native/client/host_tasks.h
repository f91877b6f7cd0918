// What streams of the worker wait for the client to do: host functions of the program, and sending bytes
// that are not there before the stream has come to the copy. Also where asynchronous copies to the host go.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "client/channel.h"
#include "client/gate.h"
#include "client/host_shape.h"
#include "common/cuda_types.h"

namespace sluice::client {

struct Context;
struct GraphTask;
struct Session;

struct HostTask {
  Channel* channel = nullptr;
  CUhostFn function = nullptr;
  CUstreamCallback callback = nullptr;
  CUstream stream = nullptr;
  void* user_data = nullptr;
  const void* source = nullptr;  // bytes to be sent, when neither function is set
  size_t bytes = 0;
  HostShape shape;  // of the source; of no width when its bytes lie packed
  // Of the client's own work between servers: what is done when the stream has come here (`failed`: it never
  // will, the connection is gone), what the stream then stands before, and what opens when it goes on.
  std::function<void(bool failed)> action;
  std::shared_ptr<Gate> after;
  std::shared_ptr<Gate> opens;
  Context* context = nullptr;                         // which a gate that failed ends
  bool lost = false;                                  // the stream never came here: its connection has ended
  std::function<void(std::vector<uint8_t>*)> gather;  // makes the bytes to be sent, instead of `source`
  std::shared_ptr<const void> keeps;                  // until the task is done
};

class HostTasks final : public ChannelEvents {
 public:
  void start(Session* session) { session_ = session; }

  // The number by which the worker will call the task. Numbers grow: a stream that is ordered after a
  // task is ordered after all of its earlier ones.
  uint32_t add(const HostTask& task);
  // The frame that told the worker could not be sent.
  void forget(uint32_t task);
  // Whether a task up to that number is not done.
  bool pending_up_to(uint64_t task);

  // The number by which the worker will call the task of a graph, again and again while it lives.
  uint32_t add_graph_task(const std::shared_ptr<GraphTask>& task);
  void forget_graph_task(uint32_t task);
  std::shared_ptr<GraphTask> find_graph_task(uint32_t task);
  // Runs a function of the program in the thread of host functions.
  void run_later(CUhostFn function, void* user_data);

  uint32_t add_download(void* target, size_t bytes);
  // Rows that do not touch each other; their bytes come packed, a piece at a time.
  uint32_t add_download(void* target, const HostShape& shape);
  void forget_download(uint32_t download);
  // Bytes that may still come go nowhere: the program has its memory back.
  void abandon_download(uint32_t download);
  bool is_outstanding(uint32_t download);
  // Whether an outstanding download writes into the range.
  bool downloads_into(const void* start, size_t bytes);

  // Streams that stand before the gate go on. `failed`: with an error that ends their contexts, because
  // what they waited for did not happen.
  void open(const std::shared_ptr<Gate>& gate, bool failed);

  void host_task(uint32_t task) override;
  void graph_task(uint32_t run, uint32_t task) override;
  void lost(const Channel* channel) override;
  void* download_target(uint32_t download, uint64_t offset, uint64_t bytes) override;
  void downloaded(uint32_t download, uint64_t offset, uint64_t bytes) override;
  bool expects_tasks() override { return tasks_expected_.load() > 0; }
  bool expects_downloads() override { return downloads_expected_.load() > 0; }

 private:
  struct Download {
    uint8_t* target;
    size_t bytes;
    size_t left;
    HostShape shape;               // of no width for bytes that lie packed
    std::vector<uint8_t> arrived;  // the piece under way, unless it goes straight to its place
    bool abandoned = false;
    size_t span() const { return shape.extent.width == 0 ? bytes : shape.span(); }
  };
  // Functions may block for as long as they like; sending must go on meanwhile.
  struct Queue {
    std::deque<std::pair<uint32_t, HostTask>> ready;
    std::condition_variable filled;
    bool running = false;
  };

  // Under the mutex.
  void start(Queue& queue);
  Queue& queue_of(const HostTask& task);
  // Under the mutex: the task's stream has come to it.
  void make_ready(uint32_t number, HostTask task);
  void open_locked(Gate& gate, bool failed);
  void run(Queue& queue);
  void perform(uint32_t number, const HostTask& task);

  Session* session_ = nullptr;
  std::mutex mutex_;
  uint32_t next_task_ = 1;
  uint32_t next_download_ = 1;
  std::map<uint32_t, HostTask> tasks_;     // told to the worker, not called by it yet
  std::map<uint32_t, HostTask> standing_;  // called, and before a gate
  std::set<uint32_t> unfinished_;          // not done yet
  std::map<uint32_t, Download> downloads_;
  std::map<uint32_t, std::weak_ptr<GraphTask>> graph_tasks_;
  uint32_t next_graph_task_ = 1;
  Queue functions_;
  Queue sends_;
  std::atomic<int> tasks_expected_{0};
  std::atomic<int> downloads_expected_{0};
};

}  // namespace sluice::client
