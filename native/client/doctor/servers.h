// What the granted servers say of themselves.
#pragma once

#include "client/doctor/steps.h"

namespace sluice::doctor {

// Connects to each server of the grant in the environment, as the management library does, and prints its
// versions and the state of its image cache. A grant that is missing or does not work fails the step.
void ask_servers(Steps& steps);

}  // namespace sluice::doctor
