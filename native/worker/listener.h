// The worker's listener: one thread, one poll loop. It accepts, forks and keeps the books; it never
// loads the driver, never reads a byte that a client sent, and never waits for anybody.
//
//   connection ──► hello ──► admitted ──► running ──► gone
//                    │          │            │
//                    └──────────┴────────────┴─────► ending ──► gone
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/json.h"
#include "common/scoped_fd.h"
#include "worker/control_socket.h"
#include "worker/limits.h"
#include "worker/session_channel.h"
#include "worker/session_process.h"

namespace sluice::worker {

// Connections that have not proved themselves yet, at once. Others wait in the kernel's queue.
inline constexpr size_t kMaxStrangers = 64;

struct ListenerSettings {
  std::string driver_path;
  std::string cache_dir;
  std::shared_ptr<wire::TlsServer> tls;  // null: off
  CallServer calls;
  std::chrono::milliseconds hello_time = kHelloTime;
};

class Listener {
 public:
  // Takes over the sockets. `probe` is what probe_driver found.
  Listener(ListenerSettings settings, ScopedFd socket, ControlSocket control, json::Value probe);

  // Serves until it is told to stop, by SIGTERM, SIGINT or the agent; the process's exit status.
  int run();

 private:
  enum class Phase { hello, admitted, running };

  // A session process.
  struct Session {
    pid_t pid = 0;
    SessionChannel channel;
    std::string address;
    Phase phase = Phase::hello;
    bool nvml = false;       // serves NVML only: no task in anybody's eyes
    std::string allocation;  // empty during the hello
    std::shared_ptr<AllocationMemory> memory;
    std::vector<WorkerGpu> gpus;
    size_t slot = 0;
    bool has_slot = false;
    std::string id;
    json::Value program;
    int64_t started_ms = 0;
    bool told_to_end = false;
    bool killed_here = false;  // it did not end in time
    Deadline kill_at;          // when patience ends
  };

  struct GrantState {
    WorkerGrant grant;
    bool ending = false;
    std::string reason;
    Deadline tell_at;  // when the sessions are told; none once they were
    Deadline kill_at;
  };

  // listener.cc
  Deadline next_deadline() const;
  void on_signals();
  void on_deadlines();
  void begin_shutdown(const std::string& why);
  std::string new_session_id() const;
  void report(const char* level, const std::string& message);

  // listener_sessions.cc
  void accept_clients();
  void fork_session(ScopedFd socket);
  size_t strangers() const;
  void on_session_message(Session& session);
  void hand_over(const json::Value& message, const ScopedFd& socket);
  void admit(Session& session, const json::Value& message);
  void refuse_session(Session& session, const char* code, const std::string& message);
  void tell_to_end(Session& session, const std::string& reason, const Deadline& kill_at);
  void reap();
  void forget(Session& session, int status);
  void report_refused(const std::string& address, const std::string& reason);
  json::Value describe(const Session& session) const;
  json::Value stats_of(const Session& session) const;

  // listener_grants.cc
  void greet_agent();
  void on_agent_message(const json::Value& message);
  void set_grants(const json::Value& grants);
  void add_grant(const json::Value& grant);
  Result<WorkerGrant> parse_grant(const json::Value& grant) const;
  void end_grant(const std::string& allocation, const std::string& reason, std::chrono::milliseconds grace);
  void announce_ended();
  void send_stats();

  ListenerSettings settings_;
  ScopedFd socket_;
  std::string address_;
  ControlSocket control_;
  json::Value probe_;
  ScopedFd signals_;
  std::map<pid_t, Session> sessions_;
  std::map<std::string, GrantState> grants_;
  SteadyClock::time_point next_stats_;
  Deadline accept_again_;  // after the process ran out of descriptors
  bool stopping_ = false;
  SteadyClock::time_point refusals_since_{};
  unsigned refusals_ = 0;
};

}  // namespace sluice::worker
