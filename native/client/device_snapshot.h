// Reading the device descriptions of the welcome.
#pragma once

#include <memory>

#include "client/session.h"
#include "common/json.h"

namespace sluice::client {

// Null when the description lacks what a program must know.
std::unique_ptr<Device> read_device(const json::Value& value);

}  // namespace sluice::client
