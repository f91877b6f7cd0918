// One direction each of a connection under TLS: records and the buffers around them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "wire/tls_records.h"

namespace sluice::wire {

// Content to records. One thread at a time.
class TlsWriter {
 public:
  // Sends bytes as they are; false on failure.
  using Send = std::function<bool(const uint8_t* data, size_t size)>;

  TlsWriter(std::unique_ptr<TlsRecords> records, Send send);

  // Seals and sends the parts' bytes. False on failure.
  bool write(std::span<const iovec> parts);
  // The peer asks for fresh keys: the next write changes ours first. From any thread.
  void want_fresh_key() { key_wanted_.store(true, std::memory_order_relaxed); }

 private:
  bool change_key();
  bool flush();

  std::unique_ptr<TlsRecords> records_;
  Send send_;
  std::unique_ptr<uint8_t[]> sealed_;
  size_t filled_ = 0;
  std::atomic<bool> key_wanted_{false};
};

// Records to content. One thread at a time.
class TlsReader {
 public:
  // Receives at least one byte, or returns what recv does at the end and on failure.
  using Receive = std::function<ssize_t(void* into, size_t size)>;

  explicit TlsReader(std::unique_ptr<TlsRecords> records);

  enum class Result { data, closed, broken, no_bytes };
  // Reads what is there, at least one byte. `no_bytes`: `receive` has failed and said why.
  Result read(void* into, size_t size, const Receive& receive, size_t* bytes);
  // Whether a read needs nothing from the network.
  bool ready() const;
  // Whether the peer has asked for fresh keys of ours since the last question.
  bool take_key_request() { return std::exchange(key_requested_, false); }

 private:
  size_t missing() const;
  void make_room(size_t more);
  // A record that is no content of the application's.
  Result handle(TlsContent type, const uint8_t* content, size_t bytes);

  std::unique_ptr<TlsRecords> records_;
  std::unique_ptr<uint8_t[]> sealed_;  // as received
  size_t begin_ = 0;
  size_t end_ = 0;
  std::unique_ptr<uint8_t[]> opened_;  // what was more than the caller had room for
  size_t opened_begin_ = 0;
  size_t opened_end_ = 0;
  bool key_requested_ = false;
};

}  // namespace sluice::wire
