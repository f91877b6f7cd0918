#include "worker/session_nvml.h"

#include <algorithm>
#include <cstring>

#include "wire/hello_message.h"

namespace sluice::worker {

namespace {

json::Value processes_on(AllocationMemory& memory, size_t gpu, uint64_t host) {
  json::Value processes = json::Value::array();
  for (size_t i = 0; i < memory.slots_ever(); i++) {
    const SessionSlot& slot = memory.slot(i);
    if (!slot.taken.load() || slot.client_host.load() != host || slot.used[gpu].load() == 0) continue;
    processes.push(
        json::Value::object({{"pid", slot.client_pid.load()}, {"usedBytes", slot.used[gpu].load()}}));
  }
  return processes;
}

json::Value memory_answer(const WorkerGrant& grant, const json::Value& devices, uint64_t host) {
  json::Value gpus = json::Value::array();
  for (size_t i = 0; i < grant.gpus.size(); i++) {
    const uint64_t total = devices.items()[i]["totalBytes"].uint_or(0);
    gpus.push(json::Value::object({{"uuid", grant.gpus[i].uuid},
                                   {"totalBytes", total},
                                   {"usedBytes", std::min(grant.memory->used(i), total)},
                                   {"processes", processes_on(*grant.memory, i, host)}}));
  }
  return json::Value::object({{"gpus", gpus}});
}

json::Value figures_answer(const WorkerGrant& grant, const ServerNvml& nvml) {
  json::Value gpus = json::Value::array();
  for (const WorkerGpu& gpu : grant.gpus) gpus.push(nvml.figures(gpu.uuid));
  return json::Value::object({{"gpus", gpus}});
}

}  // namespace

uint64_t host_hash(const std::string& host) {
  const crypto::Bytes32 hash = crypto::sha256(crypto::bytes_of(host));
  uint64_t value = 0;
  std::memcpy(&value, hash.data(), sizeof value);
  return value;
}

void answer_nvml_queries(wire::Connection& connection, const WorkerGrant& grant, const json::Value& devices,
                         const std::string& client_host, const ServerNvml& nvml) {
  const uint64_t host = host_hash(client_host);
  for (;;) {
    const auto query = wire::read_message(connection, wire::kMaxHelloBytes);
    if (query.status != wire::ReadStatus::ok || query.message != wire::HelloMessage::query) return;
    const std::string wanted = query.body["query"].string_or("");
    const json::Value answer = wanted == "memory"    ? memory_answer(grant, devices, host)
                               : wanted == "figures" ? figures_answer(grant, nvml)
                                                     : json::Value::object({{"error", "unknown query"}});
    if (!wire::send_message(connection, wire::HelloMessage::answer, answer)) return;
  }
}

}  // namespace sluice::worker
