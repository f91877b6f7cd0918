// One stream between a client process and its session process: TCP, or TLS 1.3 over TCP.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/scoped_fd.h"

namespace sluice::wire {

class AdaptivePoll;
class TlsReader;
class TlsRecords;
class TlsStream;
class TlsWriter;

// One reading thread and one writing thread may use a connection at the same time; shutdown()
// may be called from any thread and ends both at once. After the first failure every later
// call fails, and failure() says why. No call raises SIGPIPE.
class Connection {
 public:
  // Takes over a connected socket and sets it up: no delay, keepalive (10 s idle, then 3 probes 5 s
  // apart), closed on exec. `tls` is null for plain TCP, else a finished handshake on that socket, made
  // by wire/tls.h.
  Connection(ScopedFd socket, std::unique_ptr<TlsStream> tls);
  // The same with keys that both sides have already.
  Connection(ScopedFd socket, std::unique_ptr<TlsRecords> sends, std::unique_ptr<TlsRecords> receives);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Reads exactly `size` bytes. False at the end of the stream, on failure or past the deadline. With `poll`
  // it looks for a while before it sleeps, each time that nothing is there.
  bool read_exact(void* into, size_t size, AdaptivePoll* poll = nullptr);
  // Reads what is there, at least one byte, at most `size`. 0 at the end of the stream, -1 on failure.
  // With `poll` it looks for a while before it sleeps.
  ssize_t read_some(void* into, size_t size, AdaptivePoll* poll = nullptr);
  // Writes all parts in order. False on failure.
  bool write_all(std::span<const iovec> parts);
  bool write_all(const void* data, size_t size);

  // Whether a read would return at once (data, end of stream or failure), waiting up to `timeout`;
  // a negative timeout waits for ever, zero only looks.
  bool readable(std::chrono::microseconds timeout);

  // Ends both directions for good: blocked and later calls on either side return. Bytes already
  // written still reach the peer.
  void shutdown();
  // Ends only our direction; the peer reads what was written and then the end of the stream.
  void finish_writing();

  // Reads and writes fail once this has passed. Set it before there are two threads.
  void set_deadline(const Deadline& deadline) { deadline_ = deadline; }

  int fd() const { return socket_.get(); }
  bool encrypted() const { return tls_writer_ != nullptr; }
  // Payload bytes so far, without what TCP and TLS add.
  uint64_t bytes_read() const { return bytes_read_.load(std::memory_order_relaxed); }
  uint64_t bytes_written() const { return bytes_written_.load(std::memory_order_relaxed); }
  // Why the first call failed, for example "connection reset by peer"; empty while all is well.
  std::string failure() const;
  // The peer as "address:port".
  std::string peer() const;

 private:
  void encrypt(std::unique_ptr<TlsRecords> sends, std::unique_ptr<TlsRecords> receives);
  void set_up();
  // As recv does, with the deadline and polling; counts nothing.
  ssize_t receive(void* into, size_t size, AdaptivePoll* poll);
  ssize_t read_tls(void* into, size_t size, AdaptivePoll* poll);
  bool write_plain(std::span<const iovec> parts);
  bool send_bytes(const unsigned char* data, size_t size);
  // False when the deadline passed first.
  bool wait_for(short events);
  void fail(std::string why);

  ScopedFd socket_;
  std::unique_ptr<TlsReader> tls_reader_;  // both null without TLS
  std::unique_ptr<TlsWriter> tls_writer_;
  Deadline deadline_;
  std::atomic<bool> failed_{false};
  std::atomic<uint64_t> bytes_read_{0};
  std::atomic<uint64_t> bytes_written_{0};
  mutable std::mutex failure_mutex_;
  std::string failure_;
};

}  // namespace sluice::wire
