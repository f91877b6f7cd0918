// What the driver says about this host, found out by a process of its own: a driver that crashes or
// hangs takes nothing down, and the listener never loads one.
#pragma once

#include <string>

#include "common/json.h"
#include "worker/session.h"

namespace sluice::worker {

// {"driverVersion":n,"driverRelease":"580.65.06" or null,"devices":[…]} with the devices as the hello shows
// them, or {"error":"a sentence"}.
json::Value probe_driver(const std::string& driver_path, const CallServer& calls);

}  // namespace sluice::worker
