#include "wire/keepalive.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <thread>

#include "common/log.h"
#include "worker/calls/session.h"

namespace sluice::worker {
namespace {

// A client that its user has stopped takes no data. It may be stopped for a minute in the middle of a copy;
// connections allow less otherwise.
constexpr unsigned kUnacknowledgedMs = 120'000;

}  // namespace

void Session::keep_alive() {
  wire::Connection& connection = context.connection;
  ::setsockopt(connection.fd(), IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnacknowledgedMs, sizeof kUnacknowledgedMs);
  const wire::ResponseHeader frame{0, static_cast<uint16_t>(wire::ResponseKind::keepalive), 0};
  wire::Keepalive keepalive(connection);
  while (keepalive.look(write_mutex_, &frame, sizeof frame, wire::client_silence(),
                        connection.bytes_read() + stripes_.bytes_read())) {
    if (!connection.failure().empty()) return;
    std::this_thread::sleep_for(wire::keepalive_interval() / 4);
  }
  SLUICE_WARN("Nothing has come from the client for %lld seconds; its session ends.",
              static_cast<long long>(wire::client_silence().count() / 1000));
  connection.shutdown();
}

}  // namespace sluice::worker
