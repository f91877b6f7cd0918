// The data plane's listening socket.
#pragma once

#include <string>

#include "common/result.h"
#include "common/scoped_fd.h"

namespace sluice::worker {

// Listens on "addr:port" (port 0: any free one). When the port is taken the sentence names it and,
// where /proc shows it, the process that has it.
Result<ScopedFd> listen_on(const std::string& address);

// Where the socket listens, as "addr:port".
std::string local_address(int socket);
// Who is at the other end.
std::string peer_address(int socket);

}  // namespace sluice::worker
