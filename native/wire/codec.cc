#include "wire/codec.h"

namespace sluice::wire {

std::string Reader::text(size_t max_bytes) {
  const uint32_t size = get<uint32_t>();
  if (size > max_bytes) failed_ = true;
  const uint8_t* from = take(size);
  return from ? std::string(reinterpret_cast<const char*>(from), size) : std::string();
}

uint32_t Reader::count(uint32_t cap, size_t element_bytes) {
  const uint32_t count = get<uint32_t>();
  if (count > cap || (element_bytes > 0 && count > left_ / element_bytes)) failed_ = true;
  return failed_ ? 0 : count;
}

std::string_view Reader::rest() {
  const size_t size = left();
  const uint8_t* from = take(size);
  return from ? std::string_view(reinterpret_cast<const char*>(from), size) : std::string_view();
}

}  // namespace sluice::wire
