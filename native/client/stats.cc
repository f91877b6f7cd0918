#include "client/stats.h"

#include <fcntl.h>
#include <unistd.h>

#include <string>

#include "common/env.h"
#include "common/json.h"
#include "common/log.h"
#include "common/scoped_fd.h"

namespace sluice::client {
namespace {

// Read once: programs change their environment, and reading it is not thread-safe then.
const std::optional<std::string>& destination() {
  static const auto* text = new std::optional<std::string>(env::text("SLUICE_STATS"));
  return *text;
}

}  // namespace

Stats& stats() {
  static auto* figures = new Stats;  // outlives the exit handlers of the program
  return *figures;
}

bool stats_wanted() { return destination().has_value(); }

void write_stats(uint64_t bytes_sent, uint64_t bytes_received) {
  if (!destination()) return;
  json::Value figures;
  figures.set("calls", stats().calls.load());
  figures.set("roundTrips", stats().round_trips.load());
  figures.set("launches", stats().launches.load());
  figures.set("bytesSent", bytes_sent);
  figures.set("bytesReceived", bytes_received);
  figures.set("bulkCopies", stats().bulk_copies.load());
  const std::string line = figures.dump() + "\n";
  ScopedFd file;
  int fd = STDERR_FILENO;
  if (*destination() != "-") {
    file.reset(::open(destination()->c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    fd = file.get();
  }
  if (fd < 0 || ::write(fd, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    SLUICE_WARN("The figures cannot be written to %s.", destination()->c_str());
  }
}

}  // namespace sluice::client
