// What NVIDIA's runtime libraries do with a driver when they start, step by step.
#pragma once

#include "client/doctor/steps.h"

namespace sluice::doctor {

// The order and the demands were measured on runtime libraries 11.8, 12.4 and 13.0; names of private tables
// are those that ZLUDA published (native/contract/README.md).
// Whether a context is current after it.
bool run_start_sequence(Steps& steps, Driver& driver);

}  // namespace sluice::doctor
