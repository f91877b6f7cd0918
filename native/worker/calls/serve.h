// What the session process calls to serve its client.
#pragma once

#include <string>
#include <string_view>

#include "generated/driver_table.h"
#include "worker/session.h"

namespace sluice::worker {

// Serves until the client goes away; the process's exit status: 0 when it left in good order, 1 when it
// sent nonsense.
int serve_calls(SessionContext& context);

// Tells the client that its session ends and why. Thread-safe; does nothing before serve_calls.
void send_goodbye(std::string_view reason);

// A further connection of the client. Thread-safe; also before serve_calls.
void add_stripe(size_t index, std::unique_ptr<wire::Connection> connection);

// What the hello tells a client about a device: name, memory, all attributes, as a JSON object.
std::string device_snapshot_json(generated::DriverTable& driver, CUdevice device);

}  // namespace sluice::worker
