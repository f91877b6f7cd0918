// Addresses of device memory must mean nothing else in this process: not memory of the program, because
// copies with unified addresses look at the address to tell host from device, and not memory of a GPU on
// another server, whose driver chooses addresses without knowing of the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace sluice::client {

class AddressClaims {
 public:
  // Takes the addresses for `owner` by mapping them without access. False when something else is there: the
  // caller then allocates again, keeping what it got until it has found better. Addresses stay claimed,
  // because a driver hands out the same ones again. Where the system refuses to map them for want of address
  // space (ulimit -v) they count as claimed: nothing is there.
  bool claim(uintptr_t base, size_t bytes, const void* owner);

 private:
  struct Span {
    uintptr_t end;
    const void* owner;
  };
  std::mutex mutex_;
  std::map<uintptr_t, Span> spans_;  // by start; apart from each other
};

}  // namespace sluice::client
