#include "softgpu/config.h"

#include <unistd.h>

#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <optional>

#include "common/env.h"
#include "contract/md2.h"

namespace sluice::softgpu {
namespace {

constexpr int kMaxSms = 1024;

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

template <typename Number>
std::optional<Number> take_number(std::string_view& text) {
  Number value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::optional<uint64_t> parse_bytes(std::string_view text) {
  const auto number = take_number<uint64_t>(text);
  if (!number || *number == 0 || *number > (uint64_t{1} << 24)) return std::nullopt;
  if (text == "MiB") return *number << 20;
  if (text == "GiB") return *number << 30;
  if (text == "TiB") return *number << 40;
  return std::nullopt;
}

// Pieces joined; operator+ on strings trips a false warning of GCC 12.
std::string join(std::initializer_list<std::string_view> pieces) {
  std::string out;
  for (const std::string_view piece : pieces) out.append(piece);
  return out;
}

std::string quoted(std::string_view text) { return join({"\"", text, "\""}); }

// One key=value; returns a sentence when it is not understood.
std::string apply_setting(std::string_view setting, DeviceConfig& device) {
  const size_t equals = setting.find('=');
  if (equals == std::string_view::npos) return join({quoted(setting), " is not of the form key=value"});
  const std::string_view key = trim(setting.substr(0, equals));
  std::string_view value = trim(setting.substr(equals + 1));
  if (key == "memory") {
    const auto bytes = parse_bytes(value);
    if (!bytes || *bytes > (uint64_t{1} << 40)) {
      return join({"memory=", value, " is not a size such as 8GiB (at most 1TiB)"});
    }
    device.memory_bytes = *bytes;
  } else if (key == "cc") {
    const std::string given(value);
    const int major = take_number<int>(value).value_or(-1);
    int minor = -1;
    if (!value.empty() && value.front() == '.') {
      value.remove_prefix(1);
      minor = take_number<int>(value).value_or(-1);
    }
    if (!value.empty() || major < 5 || major > 12 || minor < 0 || minor > 9) {
      return join({"cc=", given, " is not a compute capability from 5.0 to 12.9, such as 10.0"});
    }
    device.cc_major = major;
    device.cc_minor = minor;
  } else if (key == "sms") {
    const std::string given(value);
    const auto count = take_number<int>(value);
    if (!count || !value.empty() || *count < 1 || *count > kMaxSms) {
      return join({"sms=", given, " is not a number from 1 to 1024"});
    }
    device.sms = *count;
  } else {
    return join({"the key ", quoted(key), " is not one of memory, cc, sms"});
  }
  return {};
}

std::string parse_group(std::string_view group, std::vector<DeviceConfig>& devices) {
  group = trim(group);
  int count = 1;
  std::string_view rest = group;
  if (const auto number = take_number<int>(rest)) {
    if (rest.empty() || rest.front() != 'x')
      return join({quoted(group), " should start with a count and an x, such as 2x(…)"});
    if (*number < 1 || *number > kMaxDevices)
      return join({"the count ", std::to_string(*number), " is not from 1 to 16"});
    count = *number;
    rest = trim(rest.substr(1));
  }
  DeviceConfig device;
  if (!rest.empty()) {
    const bool opened = rest.front() == '(';
    if (opened != (rest.back() == ')'))
      return join({quoted(group), " has a parenthesis without its partner"});
    if (opened) rest = rest.substr(1, rest.size() - 2);
    while (!trim(rest).empty()) {
      const size_t comma = rest.find(',');
      const std::string problem = apply_setting(trim(rest.substr(0, comma)), device);
      if (!problem.empty()) return problem;
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
  }
  if (devices.size() + static_cast<size_t>(count) > kMaxDevices) return "there can be at most 16 devices";
  devices.insert(devices.end(), static_cast<size_t>(count), device);
  return {};
}

}  // namespace

Config parse_config(std::string_view text) {
  Config out;
  text = trim(text);
  if (text.empty()) text = "1x";
  while (true) {
    const size_t plus = text.find('+');
    out.error = parse_group(text.substr(0, plus), out.devices);
    if (!out.error.empty()) {
      out.devices.clear();
      out.error = join({"SLUICE_SOFTGPU is not understood: ", out.error,
                        ". A valid value is 2x(memory=8GiB,cc=10.0,sms=16)."});
      return out;
    }
    if (plus == std::string_view::npos) return out;
    text = text.substr(plus + 1);
  }
}

const Config& config() {
  static const auto* parsed = new Config(parse_config(env::text("SLUICE_SOFTGPU").value_or("")));
  return *parsed;
}

std::string state_directory() {
  if (auto configured = env::text("SLUICE_SOFTGPU_DIR")) return *configured;
  return "/dev/shm/sluice-softgpu-" + std::to_string(getuid());
}

CUuuid device_uuid(std::string_view directory, int index) {
  std::string machine;
  std::ifstream("/etc/machine-id") >> machine;
  if (machine.empty()) {
    char host[HOST_NAME_MAX + 1] = {};
    if (gethostname(host, sizeof(host) - 1) == 0) machine = host;
  }
  std::string path(directory);
  if (char* real = realpath(path.c_str(), nullptr)) {
    path = real;
    std::free(real);
  }
  const std::string text = join({"sluice-softgpu\n", machine, "\n", path, "\n", std::to_string(index)});
  const contract::Md2Digest digest =
      contract::md2({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  CUuuid uuid;
  std::memcpy(uuid.bytes, digest.data(), sizeof(uuid.bytes));
  uuid.bytes[6] =
      static_cast<char>((uuid.bytes[6] & 0x0f) | 0x80);  // version 8: made by a scheme of one's own
  uuid.bytes[8] = static_cast<char>((uuid.bytes[8] & 0x3f) | 0x80);  // the variant of RFC 9562
  return uuid;
}

std::string uuid_text(const CUuuid& uuid) {
  std::string out = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", static_cast<unsigned>(static_cast<unsigned char>(uuid.bytes[i])));
    out += two;
  }
  return out;
}

std::string pci_bus_id(int index) {
  char text[16];
  std::snprintf(text, sizeof(text), "0000:%02X:00.0", static_cast<unsigned>(pci_bus(index)) & 0xffu);
  return text;
}

}  // namespace sluice::softgpu
