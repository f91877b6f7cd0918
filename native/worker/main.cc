// sluice-worker: serves the GPUs of this host to programs elsewhere. Started by the agent.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "common/env.h"
#include "common/log.h"
#include "common/version.h"
#include "worker/calls/serve.h"
#include "worker/control_socket.h"
#include "worker/listener.h"
#include "worker/listener_probe.h"
#include "worker/listener_socket.h"

namespace sluice::worker {

namespace {

constexpr const char* kUsage =
    "usage: sluice-worker --listen ADDR:PORT --control PATH --driver LIBCUDA --cert FILE --key FILE\n"
    "                     [--tls on|off] [--cache FOLDER]\n"
    "  --listen   where programs connect, such as 0.0.0.0:56001\n"
    "  --control  Unix socket on which the agent announces grants\n"
    "  --driver   the libcuda.so.1 that sessions load\n"
    "  --cert, --key  PEM files of the certificate that grants pin; not needed with --tls off\n"
    "  --cache    folder for program images; default ~/.cache/sluice/images\n";

using Arguments = std::map<std::string, std::string, std::less<>>;

Result<Arguments> read_arguments(int count, char** values) {
  Arguments arguments{{"--tls", "on"}, {"--cert", ""}, {"--key", ""}, {"--cache", ""}};
  for (int i = 1; i < count; i += 2) {
    const std::string name = values[i];
    static constexpr std::string_view kKnown[] = {"--listen", "--control", "--driver", "--cert",
                                                  "--key",    "--tls",     "--cache"};
    bool known = false;
    for (const std::string_view candidate : kKnown) known = known || candidate == name;
    if (!known) return Failure{"Unknown argument \"" + name + "\"."};
    if (i + 1 >= count) return Failure{"The argument " + name + " needs a value."};
    arguments[name] = values[i + 1];
  }
  for (const char* needed : {"--listen", "--control", "--driver"}) {
    if (arguments[needed].empty()) return Failure{std::string("The argument ") + needed + " is missing."};
  }
  const std::string& tls = arguments["--tls"];
  if (tls != "on" && tls != "off") return Failure{"--tls must be on or off, not \"" + tls + "\"."};
  if (tls == "on" && (arguments["--cert"].empty() || arguments["--key"].empty())) {
    return Failure{"TLS needs --cert and --key (or turn it off on a trusted network: --tls off)."};
  }
  return arguments;
}

// The folder for images; empty when none can be made, and then nothing is remembered.
std::string prepare_cache(const std::string& wanted) {
  namespace fs = std::filesystem;
  fs::path folder = wanted;
  if (wanted.empty()) {
    const auto base = env::text("XDG_CACHE_HOME");
    const auto home = env::text("HOME");
    if (!base && !home) return "";
    folder = (base ? fs::path(*base) : fs::path(*home) / ".cache") / "sluice" / "images";
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) fs::permissions(folder, fs::perms::owner_all, error);
  if (!error) return folder;
  SLUICE_WARN("the image cache %s cannot be used: %s", folder.c_str(), error.message().c_str());
  return "";
}

// Each session takes two descriptors here.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

int fail(const std::string& sentence) {
  std::fprintf(stderr, "sluice-worker: %s\n", sentence.c_str());
  return 1;
}

int run(Arguments& arguments) {
  raise_descriptor_limit();
  ListenerSettings settings{.driver_path = arguments["--driver"],
                            .cache_dir = prepare_cache(arguments["--cache"]),
                            .tls = nullptr,
                            .calls = {&device_snapshot_json, &serve_calls, &send_goodbye, &add_stripe}};
  if (arguments["--tls"] == "on") {
    auto tls = wire::TlsServer::load(arguments["--cert"], arguments["--key"]);
    if (!tls) return fail(tls.error());
    settings.tls = std::move(*tls);
  }
  auto socket = listen_on(arguments["--listen"]);
  if (!socket) return fail(socket.error());
  // Before the control socket exists: the first line on it says what the driver is.
  json::Value probe = probe_driver(settings.driver_path, settings.calls);
  auto control = ControlSocket::bind(arguments["--control"]);
  if (!control) return fail(control.error());
  if (const auto* error = probe["error"].as_string()) SLUICE_ERROR("%s", error->c_str());
  return Listener(std::move(settings), std::move(*socket), std::move(*control), std::move(probe)).run();
}

}  // namespace

}  // namespace sluice::worker

int main(int count, char** values) {
  const std::string_view first = count > 1 ? values[1] : "";
  if (first == "--version") {
    std::printf("sluice-worker %s\n", std::string(sluice::version()).c_str());
    return 0;
  }
  if (first == "--help" || first == "-h") {
    std::fputs(sluice::worker::kUsage, stdout);
    return 0;
  }
  auto arguments = sluice::worker::read_arguments(count, values);
  if (!arguments) {
    std::fprintf(stderr, "sluice-worker: %s\n%s", arguments.error().c_str(), sluice::worker::kUsage);
    return 2;
  }
  return sluice::worker::run(*arguments);
}
