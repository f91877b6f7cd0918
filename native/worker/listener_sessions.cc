// The listener's part that forks, admits, ends and buries session processes.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "common/log.h"
#include "worker/listener.h"
#include "worker/listener_socket.h"
#include "worker/session_nvml.h"

namespace sluice::worker {

namespace {

// The session's own deadline comes first; this catches one that hangs in the handshake's code.
constexpr std::chrono::milliseconds kHelloKillTime{2'000};
constexpr std::chrono::milliseconds kNoDescriptorsWait{100};
constexpr unsigned kRefusalsPerSecond = 10;  // reported to the agent; a storm must not drown the rest

// In the fresh child: nothing of the listener stays open but what the session needs.
void close_all_but(int a, int b) {
  const int low = std::min(a, b);
  const int high = std::max(a, b);
  if (low > 3) ::close_range(3, static_cast<unsigned>(low - 1), 0);
  if (high > low + 1) ::close_range(static_cast<unsigned>(low + 1), static_cast<unsigned>(high - 1), 0);
  ::close_range(static_cast<unsigned>(high + 1), ~0U, 0);
}

const char* how_it_ended(int status, bool ended_by_us) {
  // Its program had left by itself before the end reached it.
  if (WIFEXITED(status) && WEXITSTATUS(status) == kExitClosed) return "closed";
  if (ended_by_us) return "revoked";
  if (WIFSIGNALED(status))
    return WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM ? "killed" : "crashed";
  return "crashed";
}

json::Value how_in_words(int status) {
  if (WIFSIGNALED(status)) return std::string("signal ") + ::strsignal(WTERMSIG(status));
  if (WEXITSTATUS(status) == kExitClosed || WEXITSTATUS(status) == kExitEnded) return nullptr;
  if (WEXITSTATUS(status) == kExitNonsense) return "the client sent what no client sends";
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

size_t Listener::strangers() const {
  return static_cast<size_t>(std::count_if(sessions_.begin(), sessions_.end(), [](const auto& entry) {
    return entry.second.phase == Phase::hello;
  }));
}

void Listener::accept_clients() {
  while (strangers() < kMaxStrangers) {
    ScopedFd client(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client.valid()) {
      fork_session(std::move(client));
      continue;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      accept_again_ = deadline_in(kNoDescriptorsWait);
    }
    if (errno != EINTR && errno != ECONNABORTED) return;
  }
}

void Listener::fork_session(ScopedFd socket) {
  Session session;
  session.address = peer_address(socket.get());
  auto [ours, theirs] = SessionChannel::make();
  const pid_t listener = ::getpid();
  const pid_t pid = ours.valid() ? ::fork() : -1;
  if (pid < 0) {
    report("error", "No process could be started for a client at " + session.address + ": " +
                        std::strerror(errno) + ".");
    accept_again_ = deadline_in(kNoDescriptorsWait);
    return;
  }
  if (pid == 0) {
    // A session without its listener has nobody who ends it or knows what it uses.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != listener) ::_exit(kExitRefused);
    close_all_but(socket.get(), theirs.fd());
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::prctl(PR_SET_NAME, "sluice-session");
    run_session({.socket = std::move(socket),
                 .channel = std::move(theirs),
                 .tls = settings_.tls,
                 .driver_path = settings_.driver_path,
                 .cache_dir = settings_.cache_dir,
                 .probe = probe_,
                 .calls = settings_.calls,
                 .hello_time = settings_.hello_time,
                 .find_grant = [this](const std::string& id) -> const WorkerGrant* {
                   const auto found = grants_.find(id);
                   return found == grants_.end() ? nullptr : &found->second.grant;
                 }});
  }
  session.pid = pid;
  session.channel = std::move(ours);
  session.kill_at = deadline_in(settings_.hello_time + kHelloKillTime);
  sessions_.emplace(pid, std::move(session));
}

void Listener::on_session_message(Session& session) {
  ScopedFd socket;
  while (const auto message = session.channel.receive(SteadyClock::now(), &socket)) {
    const std::string type = (*message)["type"].string_or("");
    if (type == "authenticated" && session.phase == Phase::hello) {
      admit(session, *message);
    } else if (type == "started" && session.phase == Phase::admitted) {
      session.phase = Phase::running;
      if (!session.told_to_end) session.kill_at.reset();
      if (!session.nvml) {
        control_.send(json::Value::object({{"type", "session_started"}, {"session", describe(session)}}));
      }
    } else if (type == "stripe" && session.phase == Phase::hello && socket.valid()) {
      hand_over(*message, socket);
    } else if (type == "refused") {
      report_refused(session.address, (*message)["reason"].string_or(""));
    }
  }
}

// A further connection of a running session goes to its process, which judges the proof.
void Listener::hand_over(const json::Value& message, const ScopedFd& socket) {
  const std::string id = message["session"].string_or("");
  for (auto& [pid, session] : sessions_) {
    if (session.id != id || session.phase == Phase::hello || session.nvml || session.told_to_end) continue;
    session.channel.send(
        json::Value::object({{"type", "stripe"}, {"index", message["index"]}, {"proof", message["proof"]}}),
        socket.get());
    return;
  }
}

void Listener::admit(Session& session, const json::Value& message) {
  const std::string allocation = message["allocation"].string_or("");
  const auto found = grants_.find(allocation);
  if (stopping_ || found == grants_.end() || found->second.ending) {
    return refuse_session(session, "ended",
                          found != grants_.end() && !found->second.reason.empty()
                              ? found->second.reason
                              : "The allocation " + allocation + " has ended. Request GPUs again.");
  }
  const WorkerGrant& grant = found->second.grant;
  session.nvml = message["kind"].string_or("") == "nvml";
  const auto count = std::count_if(sessions_.begin(), sessions_.end(), [&](const auto& entry) {
    return entry.second.allocation == allocation && entry.second.nvml == session.nvml;
  });
  std::optional<size_t> slot;
  if (!session.nvml) slot = grant.memory->take_slot();
  if (static_cast<size_t>(count) >= kMaxSessions || (!session.nvml && !slot)) {
    return refuse_session(session, "too_many_sessions",
                          "The allocation " + allocation + " already serves " + std::to_string(kMaxSessions) +
                              " processes, the most that one allocation may. End some of them first.");
  }
  session.phase = Phase::admitted;
  session.allocation = allocation;
  session.memory = grant.memory;
  session.gpus = grant.gpus;
  session.has_slot = slot.has_value();
  session.slot = slot.value_or(0);
  session.id = new_session_id();
  session.program = message["program"];
  session.started_ms = unix_ms();
  // Loading the driver takes its time on a large host.
  session.kill_at = deadline_in(std::chrono::seconds(60));
  if (slot) {
    SessionSlot& shared = grant.memory->slot(*slot);
    shared.client_pid.store(static_cast<int32_t>(session.program["pid"].int_or(0)));
    shared.client_host.store(host_hash(session.program["host"].string_or("")));
  }
  session.channel.send(
      json::Value::object({{"type", "go"}, {"slot", session.slot}, {"session", session.id}}));
}

void Listener::refuse_session(Session& session, const char* code, const std::string& message) {
  session.channel.send(json::Value::object({{"type", "no"}, {"code", code}, {"message", message}}));
}

void Listener::tell_to_end(Session& session, const std::string& reason, const Deadline& kill_at) {
  session.told_to_end = true;
  session.kill_at = kill_at;
  session.channel.send(json::Value::object({{"type", "end"}, {"reason", reason}}));
}

void Listener::reap() {
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    const auto found = sessions_.find(pid);
    if (found == sessions_.end()) continue;
    on_session_message(found->second);  // what it said last
    forget(found->second, status);
    sessions_.erase(found);
  }
}

void Listener::forget(Session& session, int status) {
  const bool was_session = session.phase == Phase::running && !session.nvml;
  const json::Value stats = was_session ? stats_of(session) : json::Value();
  // Before anybody is told: who hears of the end may count on the memory.
  if (session.has_slot) session.memory->free_slot(session.slot);
  if (was_session) {
    json::Value ended = json::Value::object({{"type", "session_ended"},
                                             {"id", session.id},
                                             {"allocation", session.allocation},
                                             {"how", how_it_ended(status, session.told_to_end)},
                                             {"detail", how_in_words(status)}});
    for (const char* figure : {"peakBytes", "calls", "launches", "roundTrips", "bytesIn", "bytesOut"}) {
      ended.set(figure, stats[figure]);
    }
    control_.send_or_keep(std::move(ended));
  } else if (WIFSIGNALED(status) && !session.told_to_end) {
    report_refused(session.address, session.killed_here
                                        ? std::string("the hello took too long")
                                        : std::string("the session process ended during the hello: ") +
                                              ::strsignal(WTERMSIG(status)));
  }
}

void Listener::report_refused(const std::string& address, const std::string& reason) {
  const auto now = SteadyClock::now();
  if (now - refusals_since_ >= std::chrono::seconds(1)) {
    refusals_since_ = now;
    refusals_ = 0;
  }
  if (++refusals_ > kRefusalsPerSecond) return;
  SLUICE_INFO("refused %s: %s", address.c_str(), reason.c_str());
  control_.send(json::Value::object({{"type", "refused"}, {"address", address}, {"reason", reason}}));
}

json::Value Listener::describe(const Session& session) const {
  json::Value client = session.program;
  client.set("address", session.address);
  return json::Value::object({{"id", session.id},
                              {"allocation", session.allocation},
                              {"pid", session.pid},
                              {"client", client},
                              {"startedMs", session.started_ms}});
}

json::Value Listener::stats_of(const Session& session) const {
  const SessionSlot& slot = session.memory->slot(session.slot);
  json::Value gpus = json::Value::array();
  for (size_t i = 0; i < session.gpus.size(); i++) {
    gpus.push(json::Value::object({{"uuid", session.gpus[i].uuid}, {"usedBytes", slot.used[i].load()}}));
  }
  const int64_t last_call = slot.counters.last_call_unix_ms.load();
  return json::Value::object({{"id", session.id},
                              {"gpus", gpus},
                              {"peakBytes", slot.peak.load()},
                              {"calls", slot.counters.calls.load()},
                              {"launches", slot.counters.launches.load()},
                              {"roundTrips", slot.counters.round_trips.load()},
                              {"bytesIn", slot.counters.bytes_in.load()},
                              {"bytesOut", slot.counters.bytes_out.load()},
                              {"lastCallMs", last_call ? json::Value(last_call) : json::Value()}});
}

}  // namespace sluice::worker
