// Whether the pool computes, and how fast it is from here.
#pragma once

#include "client/doctor/steps.h"

namespace sluice::doctor {

// Loads a library, runs a kernel and looks at its result; then measures the round trip, the bandwidth of
// 64 MiB both ways, and what the server's image cache spares. Needs a current context and some 130 MiB of
// device memory.
void run_measurements(Steps& steps, Driver& driver);

}  // namespace sluice::doctor
