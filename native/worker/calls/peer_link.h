// Copies from a GPU of this server to one of another, or the other way round, over a connection between the
// two sessions. The client has told both of it; see protocol/wire-format.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "wire/connection.h"

namespace sluice::worker {

class Session;
struct Request;

struct PeerLink {
  std::unique_ptr<wire::Connection> connection;
  std::atomic<bool> failed{false};
};

class PeerLinks {
 public:
  bool add(uint32_t number, std::unique_ptr<wire::Connection> connection);
  std::shared_ptr<PeerLink> find(uint32_t number);
  // The session ends: streams that stand before a connection go on.
  void shutdown();

 private:
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<PeerLink>> links_;
};

namespace calls {

// u32 link, u8 index, u8 encrypted, 32 bytes key, text session, text address: connects to the other session.
void peer_open(Session& session, Request& request);
// u32 link, u8 index: the other session has connected.
void peer_accept(Session& session, Request& request);
// u32 link, u64 device address, u64 bytes, u32 stream: what lies there goes over the link, in stream order.
void peer_send(Session& session, Request& request);
// The same: what comes over the link goes there.
void peer_receive(Session& session, Request& request);

}  // namespace calls
}  // namespace sluice::worker
