// Opening a TCP connection with a time limit.
#pragma once

#include <string>

#include "common/clock.h"
#include "common/result.h"
#include "common/scoped_fd.h"

namespace sluice::wire {

struct HostPort {
  std::string host;
  std::string port;
};

// "host:port", "1.2.3.4:port" or "[v6]:port".
Result<HostPort> parse_address(const std::string& address);

// A connected socket, closed on exec. Tries each of the name's addresses until the deadline. The
// sentence in a failure names the address and what to check.
Result<ScopedFd> connect_tcp(const std::string& address, const Deadline& deadline);

}  // namespace sluice::wire
