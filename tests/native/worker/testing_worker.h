// A worker for tests: the real listener in a process of its own, with a fake driver and a tiny
// protocol in place of the calls, and the agent's and the clients' sides of it.
//
// The tiny protocol: the client sends a letter and a u64, the session answers with a u64.
//   r bytes  reserve on device 0: 1 or 0      f bytes  release: 1
//   u 0      bytes used by the allocation     x 0      crashes
// A further connection for data gives back what it gets.
// When the session is ended the client gets the letter g, u64 length and the reason.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "common/json.h"
#include "common/scoped_fd.h"
#include "transport/testing.h"
#include "wire/hello.h"

namespace sluice::testing {

inline constexpr const char* kGpu1 = "GPU-00000000-0000-0000-0000-000000000001";
inline constexpr const char* kGpu2 = "GPU-00000000-0000-0000-0000-000000000002";

// The agent's end of the control socket.
class Agent {
 public:
  explicit Agent(const std::string& path);
  bool connected() const { return socket_.valid(); }
  void send(const std::string& line);
  // The next message of that type; others are dropped. Null when none comes in time or the worker hangs up.
  json::Value expect(const std::string& type, std::chrono::milliseconds within = std::chrono::seconds(10));
  // Whether the worker closes the connection in time.
  bool expect_end(std::chrono::milliseconds within = std::chrono::seconds(10));

 private:
  std::optional<json::Value> next(const Deadline& deadline);
  ScopedFd socket_;
  std::string buffer_;
};

class TestWorker {
 public:
  struct Options {
    bool tls = false;
    std::string driver = FAKE_DRIVER;
    std::chrono::milliseconds hello_time = std::chrono::seconds(10);
  };
  TestWorker() : TestWorker(Options{}) {}
  explicit TestWorker(const Options& options);
  ~TestWorker();

  pid_t pid() const { return pid_; }
  const std::string& address() const { return address_; }
  std::string control_path() const { return folder_.file("control"); }
  // The grant that clients use.
  wire::Grant grant(const std::string& allocation = kAllocation) const;
  // {"type":"grant",…} for GPU 1 with 1 GiB.
  std::string grant_line(const std::string& allocation = kAllocation) const;
  // Waits for the worker's exit; its status as waitpid gives it.
  int wait();
  // Descriptors that the listener has open.
  size_t open_descriptors() const;

 private:
  TemporaryFolder folder_;
  std::string address_;
  std::string fingerprint_;
  pid_t pid_ = 0;
};

// A grant as SLUICE_GRANT carries it.
std::string grant_text(const wire::Grant& grant);

// A client's session.
class Client {
 public:
  explicit Client(const wire::Grant& grant, std::vector<std::string> features = {});
  bool welcomed() const { return connect_.connection != nullptr; }
  const std::string& message() const { return connect_.message; }
  const wire::Welcome& welcome() const { return connect_.welcome; }
  wire::Connection& connection() { return *connect_.connection; }
  // The answer to a letter of the tiny protocol; nothing when the session is gone.
  std::optional<uint64_t> call(char letter, uint64_t argument = 0);
  // The reason of the goodbye that comes next; nothing when the connection ends without.
  std::optional<std::string> goodbye();
  void close() { connect_.connection.reset(); }

 private:
  wire::Connect connect_;
};

}  // namespace sluice::testing
