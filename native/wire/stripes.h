// More connections of a session for its bulk data.
//
// One TCP connection carries no more than its buffers hold in a round trip: some megabytes, which fill a
// long and fast pipe to a tenth. So where the round trip is long, bulk data is cut into blocks that go over
// several connections in turn. Frames stay on the session's own connection, in their order; who reads one
// with striped data then takes the blocks, in the same turn.
//
// Such a connection begins with a prelude that names the session and proves the key which the welcome gave
// its client, and is handed to the session's process. protocol/wire-format.md describes it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/crypto.h"
#include "wire/connection.h"

namespace sluice::wire {

// Feature of the hello; the welcome then has "stripeKey", 64 hexadecimal digits.
inline constexpr std::string_view kStripesFeature = "stripes";
// How a prelude begins; no hello and no TLS handshake does.
inline constexpr char kPreludeFirstByte = 'D';
inline constexpr size_t kStripes = 8;
// Indices of connections that come from sessions on other servers.
inline constexpr size_t kFirstPeer = 64;
inline constexpr size_t kPeers = 64;
// Data below this goes with its frame.
inline constexpr uint64_t kLeastStriped = 512u << 10;

struct StripePrelude {
  std::string session;  // at most 32 bytes
  uint8_t index = 0;
  crypto::Bytes32 proof{};
};

crypto::Bytes32 stripe_proof(const crypto::Bytes32& key, uint8_t index);
// The key of one connection from another server, made from the session's: the client gives it to that server,
// which can open that connection with it and nothing else.
crypto::Bytes32 peer_key(const crypto::Bytes32& key, uint8_t index);
bool send_prelude(Connection& connection, const StripePrelude& prelude);
// Nothing when what comes is no prelude.
std::optional<StripePrelude> read_prelude(Connection& connection);

// Takes over a socket after its prelude. Under TLS the data is sealed with keys of its own, made from the
// session's. Null when the cipher cannot be set up.
std::unique_ptr<Connection> stripe_connection(ScopedFd socket, const crypto::Bytes32& key, uint8_t index,
                                              bool encrypted, bool server);

// One thread may write and one read at the same time, each under its side's lock.
class Stripes {
 public:
  // All at once, at least one, in the order of their indices, once.
  void set(std::vector<std::unique_ptr<Connection>> connections);
  // Data may be sent from now on. Receiving needs no word of ours: the frames say it.
  void use() { in_use_.store(true, std::memory_order_release); }
  bool in_use() const { return in_use_.load(std::memory_order_acquire); }
  bool is_set() const { return set_.load(std::memory_order_acquire); }

  bool write(const void* data, size_t size);
  bool read(void* into, size_t size, AdaptivePoll* poll);

  // Ends all of them; from any thread.
  void shutdown();
  // In the child of a fork: the connections are the parent's.
  void close_in_child();
  uint64_t bytes_read() const;
  uint64_t bytes_written() const;

 private:
  std::vector<std::unique_ptr<Connection>> connections_;
  std::atomic<bool> set_{false};
  std::atomic<bool> in_use_{false};
  uint64_t written_ = 0;
  uint64_t read_ = 0;
};

}  // namespace sluice::wire
