// Comparing memory that two sides may have changed with what both had before, in words of eight bytes, so
// that a flag that the other side polls is never half of one value and half of another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sluice::client {

// Changed pieces closer to each other than this travel as one.
inline constexpr size_t kMergeGap = 64;
// What is skipped at once while nothing differs.
inline constexpr size_t kCompareBlock = 4096;

// Calls `emit(offset, bytes)` for each piece in which `now` differs from `base`, and makes `base` the same.
template <typename Emit>
void take_changes(const uint8_t* now, uint8_t* base, size_t bytes, const Emit& emit) {
  size_t begin = 0;  // of the piece under way
  size_t end = 0;    // the same as begin when there is none
  const auto finish = [&] {
    if (end > begin) emit(begin, end - begin);
    begin = end = 0;
  };
  for (size_t block = 0; block < bytes; block += kCompareBlock) {
    const size_t block_end = std::min(bytes, block + kCompareBlock);
    if (std::memcmp(now + block, base + block, block_end - block) == 0) continue;
    for (size_t at = block; at < block_end; at += sizeof(uint64_t)) {
      const size_t size = std::min(sizeof(uint64_t), block_end - at);
      uint64_t word = 0;
      std::memcpy(&word, now + at, size);
      if (std::memcmp(&word, base + at, size) == 0) continue;
      std::memcpy(base + at, &word, size);
      if (end > begin && at - end >= kMergeGap) finish();
      if (end == begin) begin = at;
      end = at + size;
    }
  }
  finish();
}

// Brings what the other side has into `now`: where that side changed a byte and ours did not. Its version
// becomes the base; what ours changed and it has not seen stays different from it.
inline void merge_changes(uint8_t* now, uint8_t* base, const uint8_t* theirs, size_t bytes) {
  for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
    const size_t size = std::min(sizeof(uint64_t), bytes - at);
    if (std::memcmp(theirs + at, base + at, size) == 0) continue;
    if (size == sizeof(uint64_t) && std::memcmp(now + at, base + at, size) == 0) {
      std::memcpy(now + at, theirs + at, size);  // one store of a word
    } else {
      for (size_t i = at; i < at + size; i++) {
        if (now[i] == base[i]) now[i] = theirs[i];
      }
    }
    std::memcpy(base + at, theirs + at, size);
  }
}

}  // namespace sluice::client
