// Writing values into frames and reading them back. Integers are little-endian and unaligned.
//
// Readers work on bytes from the other side of a network: each read is checked against what is
// left, and the first one that does not fit sets a failure that stays. After it every read gives
// zero, so that decoding code needs one check at its end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace sluice::wire {

static_assert(std::endian::native == std::endian::little, "values are copied as they lie in memory");

// Bytes that grow.
class Writer {
 public:
  template <typename T>
  void put(T value) {
    static_assert(std::is_arithmetic_v<T>);
    bytes(&value, sizeof value);
  }
  void bytes(const void* data, size_t size) {
    if (size == 0) return;
    const size_t at = bytes_.size();
    bytes_.resize(at + size);
    std::memcpy(bytes_.data() + at, data, size);
  }
  // u32 length, then the characters.
  void text(std::string_view text) {
    put(static_cast<uint32_t>(text.size()));
    bytes(text.data(), text.size());
  }

  const uint8_t* data() const { return bytes_.data(); }
  uint8_t* data() { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }

 private:
  std::vector<uint8_t> bytes_;
};

// Reads from bytes that it does not own.
class Reader {
 public:
  Reader() = default;
  Reader(const void* data, size_t size) : at_(static_cast<const uint8_t*>(data)), left_(size) {}

  // The next value, or zero after a failure.
  template <typename T>
  T get() {
    static_assert(std::is_arithmetic_v<T>);
    T value{};
    if (const uint8_t* from = take(sizeof value)) std::memcpy(&value, from, sizeof value);
    return value;
  }

  // The next `size` bytes where they lie, or null after a failure.
  const uint8_t* bytes(size_t size) { return take(size); }

  // A text of at most `max_bytes`; a longer one is a failure.
  std::string text(size_t max_bytes);

  // A number of elements that follow, each at least `element_bytes` long. More than `cap`, or more
  // than the bytes that are left can hold, is a failure: nothing is allocated for a count that lies.
  uint32_t count(uint32_t cap, size_t element_bytes);

  // Everything that is left.
  std::string_view rest();

  // Marks what was read as nonsense.
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }
  size_t left() const { return failed_ ? 0 : left_; }
  // Whether all was read and all was well.
  bool finished() const { return !failed_ && left_ == 0; }

 private:
  const uint8_t* take(size_t size) {
    if (failed_ || size > left_) {
      failed_ = true;
      return nullptr;
    }
    const uint8_t* from = at_;
    at_ += size;
    left_ -= size;
    return from;
  }

  const uint8_t* at_ = nullptr;
  size_t left_ = 0;
  bool failed_ = false;
};

}  // namespace sluice::wire
