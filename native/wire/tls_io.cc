#include "wire/tls_io.h"

#include <algorithm>
#include <cstring>

namespace sluice::wire {

namespace {

// Sent with one system call; small enough to stay in the cache.
constexpr size_t kRecordsPerSend = 4;
constexpr size_t kSealed = kRecordsPerSend * (kTlsMostContent + kTlsOverhead);
constexpr size_t kReceived = 128u << 10;
// RFC 8446, section 5.5, allows 2^24.5 full records under one key of AES-GCM.
constexpr uint64_t kRecordsPerKey = uint64_t{1} << 23;
// Parts of one record: more are put into the next one.
constexpr size_t kMostParts = 16;

constexpr uint8_t kKeyUpdate = 24;
constexpr uint8_t kNewSessionTicket = 4;
constexpr uint8_t kCloseNotify = 0;

size_t body_bytes(const uint8_t* header) { return static_cast<size_t>(header[3]) << 8 | header[4]; }

// Whether a peer after the handshake could have sent it. One kind is still sent in the clear, for the sake
// of old devices in between.
bool is_possible(const uint8_t* header) {
  const size_t body = body_bytes(header);
  if (header[0] == static_cast<uint8_t>(TlsContent::change_cipher_spec)) return body == 1;
  return header[0] == static_cast<uint8_t>(TlsContent::application) && body <= kTlsMostBody;
}

}  // namespace

TlsWriter::TlsWriter(std::unique_ptr<TlsRecords> records, Send send)
    : records_(std::move(records)), send_(std::move(send)), sealed_(new uint8_t[kSealed]) {}

bool TlsWriter::write(std::span<const iovec> parts) {
  size_t skip = 0;  // bytes of parts[0] that are sealed
  while (!parts.empty()) {
    if ((records_->records() >= kRecordsPerKey || key_wanted_.load(std::memory_order_relaxed)) &&
        !change_key()) {
      return false;
    }
    iovec content[kMostParts];
    size_t count = 0;
    size_t size = 0;
    while (!parts.empty() && count < kMostParts && size < kTlsMostContent) {
      const size_t here = std::min(parts[0].iov_len - skip, kTlsMostContent - size);
      content[count++] = {static_cast<uint8_t*>(parts[0].iov_base) + skip, here};
      size += here;
      skip += here;
      if (skip == parts[0].iov_len) {
        parts = parts.subspan(1);
        skip = 0;
      }
    }
    if (size == 0) continue;
    if (filled_ + size + kTlsOverhead > kSealed && !flush()) return false;
    const size_t sealed =
        records_->seal(TlsContent::application, std::span(content, count), sealed_.get() + filled_);
    if (sealed == 0) return false;
    filled_ += sealed;
  }
  return flush();
}

bool TlsWriter::flush() {
  const size_t size = std::exchange(filled_, 0);
  return size == 0 || send_(sealed_.get(), size);
}

bool TlsWriter::change_key() {
  key_wanted_.store(false, std::memory_order_relaxed);
  uint8_t message[] = {kKeyUpdate, 0, 0, 1, 0};
  const iovec part{message, sizeof message};
  if (filled_ + sizeof message + kTlsOverhead > kSealed && !flush()) return false;
  const size_t sealed = records_->seal(TlsContent::handshake, std::span(&part, 1), sealed_.get() + filled_);
  filled_ += sealed;
  return sealed > 0 && records_->update_key();
}

TlsReader::TlsReader(std::unique_ptr<TlsRecords> records)
    : records_(std::move(records)), sealed_(new uint8_t[kReceived]), opened_(new uint8_t[kTlsMostBody]) {}

// Bytes that are missing to the first record; 0 when all of it has been received. Where not even its header
// is there, what the header lacks.
size_t TlsReader::missing() const {
  const size_t held = end_ - begin_;
  if (held < kTlsHeader) return kTlsHeader - held;
  const size_t record = kTlsHeader + body_bytes(sealed_.get() + begin_);
  return record > held ? record - held : 0;
}

bool TlsReader::ready() const { return opened_end_ > opened_begin_ || missing() == 0; }

TlsReader::Result TlsReader::read(void* into, size_t size, const Receive& receive, size_t* bytes) {
  for (;;) {
    if (opened_end_ > opened_begin_) {
      *bytes = std::min(size, opened_end_ - opened_begin_);
      std::memcpy(into, opened_.get() + opened_begin_, *bytes);
      opened_begin_ += *bytes;
      return Result::data;
    }
    while (const size_t lacking = missing()) {
      if (end_ - begin_ >= kTlsHeader && !is_possible(sealed_.get() + begin_)) return Result::broken;
      make_room(lacking);
      const ssize_t got = receive(sealed_.get() + end_, kReceived - end_);
      if (got <= 0) return Result::no_bytes;
      end_ += static_cast<size_t>(got);
    }
    const uint8_t* record = sealed_.get() + begin_;
    if (!is_possible(record)) return Result::broken;
    const size_t body = body_bytes(record);
    begin_ += kTlsHeader + body;
    if (record[0] == static_cast<uint8_t>(TlsContent::change_cipher_spec)) continue;
    const bool in_place = body <= size + kTlsOverhead - kTlsHeader;
    auto* const target = in_place ? static_cast<uint8_t*>(into) : opened_.get();
    TlsContent type{};
    size_t content = 0;
    if (!records_->open(record, body, target, &type, &content)) return Result::broken;
    if (type != TlsContent::application) {
      const Result result = handle(type, target, content);
      if (result != Result::data) return result;
    } else if (!in_place) {
      opened_begin_ = 0;
      opened_end_ = content;
    } else if (content > 0) {
      *bytes = content;
      return Result::data;
    }
  }
}

// Moves what is there to the front when `more` bytes would not fit behind it.
void TlsReader::make_room(size_t more) {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ + more <= kReceived) return;
  std::memmove(sealed_.get(), sealed_.get() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
}

TlsReader::Result TlsReader::handle(TlsContent type, const uint8_t* content, size_t bytes) {
  if (type == TlsContent::alert && bytes == 2) {
    return content[1] == kCloseNotify ? Result::closed : Result::broken;
  }
  if (type != TlsContent::handshake || bytes < 4) return Result::broken;
  if (content[0] == kNewSessionTicket) return Result::data;
  if (content[0] != kKeyUpdate || bytes != 5 || content[4] > 1) return Result::broken;
  key_requested_ = key_requested_ || content[4] == 1;
  return records_->update_key() ? Result::data : Result::broken;
}

}  // namespace sluice::wire
