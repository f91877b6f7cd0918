#include "client/doctor/servers.h"

#include "wire/hello.h"
#include "wire/hello_message.h"

namespace sluice::doctor {

void ask_servers(Steps& steps) {
  const auto grant = wire::grant_from_environment();
  if (!grant || !grant->has_value()) {
    steps.step("grant", [&]() -> std::string {
      fail(grant ? "Neither SLUICE_GRANT nor SLUICE_GRANT_FILE is set." : grant.error());
    });
    return;
  }
  json::Value servers = json::Value::array();
  for (const wire::GrantServer& server : (*grant)->servers) {
    steps.step("server " + server.address, [&] {
      const auto connect = wire::connect_and_hello(server, **grant, wire::this_program(),
                                                   {.features = {std::string(wire::kNvmlFeature)}});
      if (!connect.connection) fail(connect.message);
      const json::Value& said = connect.welcome.body;
      servers.push(json::Value::object({{"address", server.address},
                                        {"workerVersion", connect.welcome.worker_version},
                                        {"protocol", uint64_t{connect.welcome.protocol}},
                                        {"driverRelease", said["driverRelease"]},
                                        {"imageCache", said["imageCache"]}}));
      return "Sluice " + connect.welcome.worker_version + ", protocol " +
             std::to_string(connect.welcome.protocol) + ", driver " +
             said["driverRelease"].string_or("of unknown release") + ".";
    });
  }
  steps.value("servers", std::move(servers));
}

}  // namespace sluice::doctor
