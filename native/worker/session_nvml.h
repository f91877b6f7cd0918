// Answers the client's NVML library, which has a connection of its own.
#pragma once

#include "common/json.h"
#include "wire/connection.h"
#include "worker/server_nvml.h"
#include "worker/session_process.h"

namespace sluice::worker {

// Serves {"query":"memory"} with
// {"gpus":[{"uuid","totalBytes","usedBytes","processes":[{"pid","usedBytes"}]}]}, and {"query":"figures"}
// with
// {"gpus":[…]} of what `nvml` says, until the client goes away. `devices` is what the welcome said; the
// processes are those of the allocation on the client's own host that have memory on the GPU.
void answer_nvml_queries(wire::Connection& connection, const WorkerGrant& grant, const json::Value& devices,
                         const std::string& client_host, const ServerNvml& nvml);

// Identifies a client's host in shared memory.
uint64_t host_hash(const std::string& host);

}  // namespace sluice::worker
