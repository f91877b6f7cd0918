// The listener's conversation with the agent.
#include <unistd.h>

#include <algorithm>
#include <set>

#include "common/log.h"
#include "wire/hello.h"
#include "worker/listener.h"

namespace sluice::worker {

namespace {

// The last second of a grace belongs to the goodbye: after it sessions that are left are killed.
constexpr std::chrono::milliseconds kGoodbyeTime{1'000};
constexpr std::chrono::milliseconds kMaxGrace = std::chrono::hours(1);
constexpr uint64_t kNoLimit = 1ull << 62;  // more than any GPU has; a sum with it cannot overflow

json::Value failed(const std::string& allocation, const std::string& message) {
  return json::Value::object({{"type", "grant_failed"}, {"allocation", allocation}, {"message", message}});
}

}  // namespace

void Listener::greet_agent() {
  json::Value grants = json::Value::array();
  for (const auto& [id, state] : grants_) {
    if (!state.ending) grants.push(id);
  }
  json::Value sessions = json::Value::array();
  for (const auto& [pid, session] : sessions_) {
    if (session.phase == Phase::running && !session.nvml) sessions.push(describe(session));
  }
  control_.send(json::Value::object(
      {{"type", "ready"},
       {"pid", static_cast<int>(::getpid())},
       {"address", address_},
       {"protocol", json::Value::object({{"min", wire::kProtocolMin}, {"max", wire::kProtocolMax}})},
       {"driver", settings_.driver_path},
       {"driverVersion", probe_["driverVersion"]},
       {"driverError", probe_["error"]},
       {"grants", grants},
       {"sessions", sessions}}));
  control_.send_kept();
  if (const auto* error = probe_["error"].as_string()) {
    control_.send(json::Value::object({{"type", "log"}, {"level", "error"}, {"message", *error}}));
  }
}

void Listener::on_agent_message(const json::Value& message) {
  const std::string type = message["type"].string_or("");
  if (type == "grants") {
    set_grants(message["grants"]);
  } else if (type == "grant") {
    add_grant(message["grant"]);
  } else if (type == "end") {
    const auto grace =
        std::chrono::milliseconds(std::clamp<int64_t>(message["graceMs"].int_or(0), 0, kMaxGrace.count()));
    end_grant(message["allocation"].string_or(""), message["reason"].string_or("The allocation has ended."),
              grace);
  } else if (type == "shutdown") {
    begin_shutdown("The Sluice worker on this server was shut down.");
  } else {
    report("warn", "The agent sent a message that this worker does not know: \"" + type + "\".");
  }
}

void Listener::set_grants(const json::Value& grants) {
  if (!grants.is_array()) return report("error", "The agent sent \"grants\" without a list.");
  std::set<std::string> named;
  for (const json::Value& grant : grants.items()) {
    named.insert(grant["allocation"].string_or(""));
    add_grant(grant);
  }
  std::vector<std::string> gone;
  for (const auto& [id, state] : grants_) {
    if (!named.contains(id)) gone.push_back(id);
  }
  for (const std::string& id : gone) end_grant(id, "The allocation " + id + " has ended.", kGoodbyeTime);
}

void Listener::add_grant(const json::Value& json) {
  const std::string id = json["allocation"].string_or("");
  auto parsed = parse_grant(json);
  if (!parsed) return control_.send(failed(id, parsed.error()));
  const auto existing = grants_.find(id);
  if (existing != grants_.end()) {
    GrantState& state = existing->second;
    if (state.ending)
      return control_.send(failed(id, "The allocation " + id + " is just being ended on this server."));
    if (state.grant.gpus != parsed->gpus) {
      return control_.send(
          failed(id, "The allocation " + id + " is already granted here with other GPUs or memory."));
    }
    state.grant.stored_key = parsed->stored_key;
  } else {
    auto memory = AllocationMemory::create(parsed->gpus.size());
    if (!memory) return control_.send(failed(id, memory.error()));
    parsed->memory = std::move(*memory);
    grants_[id].grant = std::move(*parsed);
  }
  control_.send(json::Value::object({{"type", "granted"}, {"allocation", id}}));
}

Result<WorkerGrant> Listener::parse_grant(const json::Value& json) const {
  WorkerGrant grant;
  grant.allocation = json["allocation"].string_or("");
  const auto key = crypto::hex32(json["storedKey"].string_or(""));
  if (grant.allocation.empty() || !key) return Failure{"The grant lacks an allocation or a stored key."};
  grant.stored_key = *key;
  for (const json::Value& item : json["gpus"].items()) {
    WorkerGpu gpu{item["uuid"].string_or(""), item["memoryBytes"].as_uint()};
    if (gpu.uuid.empty() ||
        (!item["memoryBytes"].is_null() && gpu.memory_bytes.value_or(kNoLimit) >= kNoLimit)) {
      return Failure{"The grant " + grant.allocation +
                     " names a GPU without a UUID or with a wrong memory limit."};
    }
    // Without a working driver the session says what is wrong with it.
    const auto& known = probe_["devices"].items();
    const bool here = std::any_of(known.begin(), known.end(), [&](const json::Value& device) {
      return device["uuid"].string_or("") == gpu.uuid;
    });
    if (!here && !probe_.has("error")) return Failure{"The GPU " + gpu.uuid + " is not on this server."};
    grant.gpus.push_back(std::move(gpu));
  }
  if (grant.gpus.empty()) return Failure{"The grant " + grant.allocation + " names no GPU."};
  return grant;
}

void Listener::end_grant(const std::string& allocation, const std::string& reason,
                         std::chrono::milliseconds grace) {
  const auto found = grants_.find(allocation);
  if (found == grants_.end()) {
    // Asked again, or by an agent that does not know that it is over.
    return control_.send_or_keep(json::Value::object({{"type", "ended"}, {"allocation", allocation}}));
  }
  GrantState& state = found->second;
  const auto kill_at = SteadyClock::now() + std::max(grace, kGoodbyeTime);
  if (state.ending && (!state.tell_at || *state.tell_at <= kill_at - kGoodbyeTime)) return;
  state.ending = true;
  state.reason = reason;
  state.tell_at = kill_at - kGoodbyeTime;
  state.kill_at = kill_at;
}

void Listener::announce_ended() {
  for (auto at = grants_.begin(); at != grants_.end();) {
    const bool in_use = std::any_of(sessions_.begin(), sessions_.end(),
                                    [&](const auto& entry) { return entry.second.allocation == at->first; });
    if (!at->second.ending || in_use) {
      ++at;
      continue;
    }
    control_.send_or_keep(json::Value::object({{"type", "ended"}, {"allocation", at->first}}));
    at = grants_.erase(at);
  }
}

void Listener::send_stats() {
  if (!control_.connected()) return;
  json::Value sessions = json::Value::array();
  for (const auto& [pid, session] : sessions_) {
    if (session.phase == Phase::running && !session.nvml) sessions.push(stats_of(session));
  }
  control_.send(json::Value::object({{"type", "stats"}, {"sessions", sessions}}));
}

}  // namespace sluice::worker
