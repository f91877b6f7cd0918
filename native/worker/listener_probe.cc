#include "worker/listener_probe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>

#include "common/clock.h"
#include "common/scoped_fd.h"
#include "worker/session_driver.h"

namespace sluice::worker {

namespace {

// Drivers of large hosts take some seconds for the first process; the agent waits 10 s for a worker.
constexpr std::chrono::milliseconds kProbeTime{8'000};

// NVIDIA's driver is installed as libcuda.so.<release>, and the names that are loaded are links to it.
json::Value release_of(const std::string& path) {
  static constexpr std::string_view kStem = "libcuda.so.";
  std::error_code error;
  const std::string name = std::filesystem::canonical(path, error).filename();
  const std::string release = name.starts_with(kStem) ? name.substr(kStem.size()) : "";
  return release.find('.') == std::string::npos ? json::Value() : json::Value(release);
}

json::Value look(const std::string& path, const CallServer& calls) {
  auto driver = SessionDriver::open(path);
  if (!driver) return json::Value::object({{"error", driver.error()}});
  json::Value devices = json::Value::array();
  for (const DriverDevice& device : driver->devices()) devices.push(driver->snapshot(device, calls));
  return json::Value::object(
      {{"driverVersion", driver->version()}, {"driverRelease", release_of(path)}, {"devices", devices}});
}

[[noreturn]] void run_probe(int out, const std::string& path, const CallServer& calls) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string text = look(path, calls).dump();
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = ::write(out, text.data() + done, text.size() - done);
    if (written < 0 && errno != EINTR) break;
    if (written > 0) done += static_cast<size_t>(written);
  }
  ::_exit(0);
}

std::string read_until_closed(int in, const Deadline& deadline) {
  std::string text;
  char buffer[16 << 10];
  for (;;) {
    pollfd wait{in, POLLIN, 0};
    if (::poll(&wait, 1, poll_timeout_ms(deadline)) == 0) return text;
    const ssize_t got = ::read(in, buffer, sizeof buffer);
    if (got == 0 || (got < 0 && errno != EINTR)) return text;
    if (got > 0) text.append(buffer, static_cast<size_t>(got));
  }
}

}  // namespace

json::Value probe_driver(const std::string& driver_path, const CallServer& calls) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return json::Value::object({{"error", "The driver cannot be probed: no descriptors left."}});
  const ScopedFd in(ends[0]);
  ScopedFd out(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) run_probe(out.get(), driver_path, calls);
  out.reset();
  const auto found = json::parse(pid > 0 ? read_until_closed(in.get(), deadline_in(kProbeTime)) : "");
  int status = 0;
  if (pid > 0) {
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (found) return *found;
  const std::string how = WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL
                              ? "crashed (signal " + std::to_string(WTERMSIG(status)) + ")"
                              : "did not answer in time";
  return json::Value::object(
      {{"error", "The CUDA driver " + driver_path + " " + how + " when it was probed."}});
}

}  // namespace sluice::worker
