#include "contract/integrity.h"

#include <cstring>
#include <vector>

#include "contract/md2.h"

namespace sluice::contract {
namespace {

// Key and constant answers: published by ZLUDA (dark_api/src/lib.rs).
constexpr uint8_t kKey[16] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                              0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};
constexpr uint64_t kAnswerForVersion = 0x3341181c03cb675c;      // version ends in 0
constexpr uint64_t kAnswerForNextVersion = 0x1841181c03cb675c;  // version ends in 1
constexpr uint64_t kAnswerSecondWord = 0x8ed383aa1f4cd1e8;

template <typename T>
void append(std::vector<uint8_t>& out, const T& value) {
  const size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

}  // namespace

void integrity_answer(const IntegrityInput& input, std::span<const DeviceIdentity> devices,
                      uint64_t answer[2]) {
  const uint32_t last_digit = input.version % 10;
  if (last_digit <= 1) {
    answer[0] = last_digit == 0 ? kAnswerForVersion : kAnswerForNextVersion;
    answer[1] = kAnswerSecondWord;
    return;
  }
  std::vector<uint8_t> message;
  append(message, input.driver_version);
  append(message, input.version);
  append(message, input.process_id);
  append(message, input.thread_low);
  append(message, input.runtime_table);
  append(message, input.integrity_table);
  append(message, input.integrity_function);
  append(message, input.unix_seconds);
  for (const DeviceIdentity& device : devices) {
    append(message, device.uuid);
    append(message, device.pci_domain);
    append(message, device.pci_bus);
    append(message, device.pci_device);
  }
  const Md2Digest digest = hmac_md2(kKey, message);
  std::memcpy(answer, digest.data(), digest.size());
}

}  // namespace sluice::contract
