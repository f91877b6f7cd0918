// Configuration, fatbin parsing against damage, the address window.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "fatbin_builder.h"
#include "softgpu/config.h"
#include "softgpu/handle.h"
#include "softgpu/image.h"
#include "softgpu/window.h"

namespace sluice::softgpu {
namespace {

TEST(Config, Understood) {
  const Config two = parse_config("2x(memory=8GiB,cc=10.0,sms=16)");
  ASSERT_EQ(two.devices.size(), 2u);
  EXPECT_EQ(two.devices[1].memory_bytes, uint64_t{8} << 30);
  EXPECT_EQ(two.devices[1].cc_major, 10);
  EXPECT_EQ(two.devices[1].cc_minor, 0);
  EXPECT_EQ(two.devices[1].sms, 16);
  EXPECT_EQ(parse_config("").devices.size(), 1u);
  EXPECT_EQ(parse_config("3x").devices.size(), 3u);
  const Config mixed = parse_config(" 1x( memory = 512MiB ) + 2x(cc=8.6)");
  ASSERT_EQ(mixed.devices.size(), 3u);
  EXPECT_EQ(mixed.devices[0].memory_bytes, uint64_t{512} << 20);
  EXPECT_EQ(mixed.devices[2].cc_minor, 6);
}

TEST(Config, BadInputIsNamed) {
  const std::pair<const char*, const char*> rows[] = {
      {"2x(memory=8GB)", "memory=8GB"}, {"0x", "the count 0"},         {"17x", "the count 17"},
      {"2", "start with a count"},      {"1x(memory=8GiB", "partner"}, {"1x(cc=4.0)", "cc=4.0"},
      {"1x(cc=10)", "cc=10"},           {"1x(speed=9)", "\"speed\""},  {"1x(sms=0)", "sms=0"},
      {"1x(memory)", "key=value"},      {"9x+9x", "at most 16"},       {"1x(sms=4x)", "sms=4x"},
  };
  for (const auto& [text, part] : rows) {
    const Config config = parse_config(text);
    EXPECT_TRUE(config.devices.empty()) << text;
    EXPECT_NE(config.error.find(part), std::string::npos) << text << " → " << config.error;
  }
}

TEST(Config, UuidsAreStableAndDistinct) {
  EXPECT_EQ(uuid_text(device_uuid("/tmp", 0)), uuid_text(device_uuid("/tmp/", 0)));
  EXPECT_NE(uuid_text(device_uuid("/tmp", 0)), uuid_text(device_uuid("/tmp", 1)));
  EXPECT_NE(uuid_text(device_uuid("/tmp", 0)), uuid_text(device_uuid("/var", 0)));
  EXPECT_EQ(uuid_text(device_uuid("/tmp", 0)).size(), 40u);
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Damage must be refused or survive as other text; nothing may be read outside (sanitizers watch), nothing
// crash.
TEST(Fatbin, SurvivesDamageAndTruncation) {
  const std::string text = ".version 8.0\n.target sm_80\n" + std::string(3000, 'x');
  const std::string whole =
      fatbin({fatbin_entry(1, 80, text, Packing::kLz4), fatbin_entry(1, 70, text, Packing::kZstd),
              fatbin_entry(2, 80, text, Packing::kPlain)});
  Images images;
  std::string why;
  ASSERT_EQ(read_container(bytes_of(whole), &images, &why), CUDA_SUCCESS);
  ASSERT_EQ(images.ptx.size(), 2u);
  EXPECT_EQ(images.ptx[0].text, text);
  EXPECT_EQ(images.ptx[1].text, text);
  EXPECT_TRUE(images.has_elf);
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::vector<char> exact(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    Images out;
    EXPECT_EQ(read_container({reinterpret_cast<const std::byte*>(exact.data()), exact.size()}, &out, &why),
              CUDA_ERROR_INVALID_IMAGE);
  }
  std::mt19937 random(20261130);
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = whole;
    for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    Images out;
    read_container(bytes_of(damaged), &out, &why);
  }
}

TEST(Fatbin, AnAbsurdUncompressedSizeIsRefused) {
  std::string entry = fatbin_entry(1, 80, std::string(100, 'a'), Packing::kZstd);
  const uint64_t absurd = uint64_t{1} << 50;
  std::memcpy(entry.data() + 0x38, &absurd, 8);
  Images out;
  std::string why;
  EXPECT_EQ(read_container(bytes_of(fatbin({entry})), &out, &why), CUDA_ERROR_INVALID_IMAGE);
}

TEST(Window, RangesDoNotOverlapAndComeBack) {
  Window window(9);
  ASSERT_EQ(window.reserve(), "");
  std::mt19937 random(7);
  std::map<uint64_t, uint64_t> live;
  for (int round = 0; round < 3000; ++round) {
    if (live.empty() || random() % 3 != 0) {
      const uint64_t bytes =
          round_up(random() % 4 == 0 ? random() % (8 << 20) + 1 : random() % 5000 + 1, 512);
      const uint64_t address = window.allocate(bytes);
      ASSERT_NE(address, 0u);
      ASSERT_EQ(address % 512, 0u);
      const auto next = live.lower_bound(address);
      ASSERT_TRUE(next == live.end() || address + bytes <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= address);
      *reinterpret_cast<char*>(address) = 1;
      *reinterpret_cast<char*>(address + bytes - 1) = 1;
      live[address] = bytes;
    } else {
      auto at = live.begin();
      std::advance(at, random() % live.size());
      window.release(at->first, at->second);
      live.erase(at);
    }
  }
  for (const auto& [address, bytes] : live) window.release(address, bytes);
  EXPECT_EQ(window.allocate(kWindowBytes), kWindowsBegin + 9 * kWindowBytes);
}

TEST(Handle, StaleAndForeignValuesAreInvalid) {
  int object = 0;
  void* handle = create_handle(HandleKind::kEvent, &object);
  EXPECT_EQ(handle_object(HandleKind::kEvent, handle), &object);
  EXPECT_EQ(handle_object(HandleKind::kStream, handle), nullptr);
  EXPECT_EQ(handle_object(HandleKind::kEvent, static_cast<char*>(handle) + 1), nullptr);
  EXPECT_EQ(handle_object(HandleKind::kEvent, &object), nullptr);
  destroy_handle(handle);
  EXPECT_EQ(handle_object(HandleKind::kEvent, handle), nullptr);
}

}  // namespace
}  // namespace sluice::softgpu

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
