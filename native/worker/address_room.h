// Which addresses the driver of a session may give to device memory.
#pragma once

#include <cstdint>

namespace sluice::worker {

// Most servers of one grant whose addresses are kept apart.
inline constexpr uint64_t kMaxAddressPlaces = 5;

// Call before the driver is loaded. A client uses the addresses of all its servers' GPUs beside those of its
// own memory, and drivers choose them without knowing of each other. A driver takes what is free in its
// process, from the top of the address space down or from a fixed place up: so what lies at the top, where
// the client has its own memory, is occupied here, and beside it the parts that are left to the servers with
// other places in the grant. What overlaps all the same is found by the client, which allocates again.
// `place`: the server's place among those of the grant, from 0.
void leave_addresses_to_others(uint64_t place);

}  // namespace sluice::worker
