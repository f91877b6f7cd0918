#include "worker/listener.h"

#include <signal.h>
#include <sys/signalfd.h>

#include <cerrno>

#include "common/log.h"
#include "worker/listener_socket.h"

namespace sluice::worker {

namespace {

constexpr std::chrono::milliseconds kStatsPeriod{1'000};
constexpr std::chrono::milliseconds kEndTime{1'000};  // for a session to say goodbye and exit
constexpr int kDrainMs = 500;

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  return set;
}

}  // namespace

Listener::Listener(ListenerSettings settings, ScopedFd socket, ControlSocket control, json::Value probe)
    : settings_(std::move(settings)),
      socket_(std::move(socket)),
      address_(local_address(socket_.get())),
      control_(std::move(control)),
      probe_(std::move(probe)),
      next_stats_(SteadyClock::now() + kStatsPeriod) {
  const sigset_t handled = handled_signals();
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_.reset(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
}

int Listener::run() {
  std::vector<pollfd> wanted;
  while (!stopping_ || !sessions_.empty()) {
    wanted.clear();
    wanted.push_back({signals_.get(), POLLIN, 0});
    control_.add_to(wanted);
    const bool accepting = socket_.valid() && !accept_again_ && strangers() < kMaxStrangers;
    if (accepting) wanted.push_back({socket_.get(), POLLIN, 0});
    const size_t first_session = wanted.size();
    for (const auto& [pid, session] : sessions_) wanted.push_back({session.channel.fd(), POLLIN, 0});
    ::poll(wanted.data(), wanted.size(), poll_timeout_ms(next_deadline()));

    size_t at = first_session;
    for (auto& [pid, session] : sessions_) {
      if (wanted[at++].revents) on_session_message(session);
    }
    if (control_.progress()) greet_agent();
    while (const auto message = control_.next()) on_agent_message(*message);
    on_signals();
    if (accepting) accept_clients();
    on_deadlines();
    announce_ended();
  }
  control_.drain(kDrainMs);
  return 0;
}

Deadline Listener::next_deadline() const {
  Deadline next = earlier(next_stats_, accept_again_);
  for (const auto& [pid, session] : sessions_) next = earlier(next, session.kill_at);
  for (const auto& [id, state] : grants_) next = earlier(next, state.tell_at);
  return next;
}

void Listener::on_signals() {
  signalfd_siginfo signal{};
  bool children = false;
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGCHLD) {
      children = true;
    } else if (signal.ssi_signo !=
               SIGHUP) {  // the end of the agent's terminal does not concern running programs
      begin_shutdown("The Sluice worker on this server was stopped.");
    }
  }
  if (children) reap();
}

void Listener::on_deadlines() {
  const auto now = SteadyClock::now();
  if (accept_again_ && *accept_again_ <= now) accept_again_.reset();
  for (auto& [id, state] : grants_) {
    if (!state.tell_at || *state.tell_at > now) continue;
    state.tell_at.reset();
    for (auto& [pid, session] : sessions_) {
      if (session.allocation == id) tell_to_end(session, state.reason, state.kill_at);
    }
  }
  for (auto& [pid, session] : sessions_) {
    if (!session.kill_at || *session.kill_at > now) continue;
    session.kill_at.reset();
    session.killed_here = true;
    ::kill(pid, SIGKILL);
  }
  if (next_stats_ <= now) {
    // Not the time of the last plus a second: after a stop of the machine there is nothing to catch up with.
    next_stats_ = now + kStatsPeriod;
    send_stats();
  }
}

void Listener::begin_shutdown(const std::string& why) {
  if (stopping_) {
    for (const auto& [pid, session] : sessions_) ::kill(pid, SIGKILL);
    return;
  }
  stopping_ = true;
  socket_.reset();
  for (auto& [id, state] : grants_) {
    state.ending = true;
    state.tell_at.reset();
  }
  for (auto& [pid, session] : sessions_) tell_to_end(session, why, deadline_in(kEndTime));
}

void Listener::report(const char* level, const std::string& message) {
  SLUICE_WARN("%s", message.c_str());
  control_.send(json::Value::object({{"type", "log"}, {"level", level}, {"message", message}}));
}

std::string Listener::new_session_id() const {
  std::array<uint8_t, 8> bytes{};
  crypto::random_bytes(bytes);
  return "s-" + crypto::to_hex(bytes);
}

}  // namespace sluice::worker
