#include "contract/contract.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "contract/md2.h"

namespace sluice::contract {
namespace {

std::string hex(std::span<const uint8_t> bytes) {
  std::string out;
  char two[3];
  for (const uint8_t byte : bytes) {
    std::snprintf(two, sizeof(two), "%02x", byte);
    out += two;
  }
  return out;
}

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The test suite of RFC 1319, appendix A.5.
TEST(Md2, RfcVectors) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "8350e5a3e24c153df2275c9f80692773"},
      {"a", "32ec01ec4a6dac72c0ab96fb34c0b5d1"},
      {"abc", "da853b0d3f88d99b30283a69e6ded6bb"},
      {"message digest", "ab4f496bfb2a530b219ff33031fe06b0"},
      {"abcdefghijklmnopqrstuvwxyz", "4e8ddff3650292ab5a4108c3aa47940b"},
      {"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", "da33def2a42df13975352846c30338cd"},
      {"12345678901234567890123456789012345678901234567890123456789012345678901234567890",
       "d5976f79d83d3a0dc9806c3c66f3efd8"},
  };
  for (const auto& [text, digest] : rows) EXPECT_EQ(hex(md2(bytes_of(text))), digest) << text;
}

TEST(Md2, HmacIsTheTwoNestedHashes) {
  const std::string key = "0123456789abcdef";
  std::string inner(16, 0);
  std::string outer(16, 0);
  for (size_t i = 0; i < 16; ++i) {
    inner[i] = static_cast<char>(key[i] ^ 0x36);
    outer[i] = static_cast<char>(key[i] ^ 0x5c);
  }
  inner += "what do ya want for nothing?";
  const Md2Digest first = md2(bytes_of(inner));
  outer.append(reinterpret_cast<const char*>(first.data()), first.size());
  EXPECT_EQ(hex(hmac_md2(bytes_of(key), bytes_of("what do ya want for nothing?"))),
            hex(md2(bytes_of(outer))));
}

CUcontext fake_context(uintptr_t n) { return reinterpret_cast<CUcontext>(n); }
thread_local CUcontext current = nullptr;

class Tables : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    Host host{};
    host.driver_version = [] { return 13000; };
    host.device_count = [] { return 1; };
    host.device_identity = [](int ordinal, DeviceIdentity* out) {
      if (ordinal != 0) return CUDA_ERROR_INVALID_DEVICE;
      std::memset(out->uuid.bytes, 7, sizeof(out->uuid.bytes));
      out->pci_domain = 0;
      out->pci_bus = 3;
      out->pci_device = 0;
      return CUDA_SUCCESS;
    };
    host.current_context = [](CUcontext* out) {
      *out = current;
      return CUDA_SUCCESS;
    };
    host.primary_context = [](CUcontext* out, CUdevice device) {
      *out = fake_context(0x1000 + static_cast<uintptr_t>(device));
      return CUDA_SUCCESS;
    };
    host.context_device = [](CUcontext, CUdevice* out) {
      *out = 0;
      return CUDA_SUCCESS;
    };
    host.context_id = [](CUcontext context, unsigned long long* out) {
      *out = reinterpret_cast<uintptr_t>(context) + 5;
      return CUDA_SUCCESS;
    };
    host.stream_id = [](CUstream stream, unsigned long long* out) {
      *out = reinterpret_cast<uintptr_t>(stream) + 7;
      return CUDA_SUCCESS;
    };
    host.load_module = [](CUmodule* out, const void* image) {
      *out = reinterpret_cast<CUmodule>(const_cast<void*>(image));
      return CUDA_SUCCESS;
    };
    install(host);
  }

  static CUuuid id(const std::string& text) {
    CUuuid out;
    for (size_t i = 0; i < 16; ++i)
      out.bytes[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
    return out;
  }

  static const void* const* table(const std::string& text) {
    const CUuuid wanted = id(text);
    const void* out = nullptr;
    EXPECT_EQ(export_table(&out, &wanted), CUDA_SUCCESS);
    return static_cast<const void* const*>(out);
  }

  template <typename Function>
  static Function* slot(const std::string& text, size_t index) {
    return reinterpret_cast<Function*>(const_cast<void*>(table(text)[index]));
  }

  static constexpr const char* kRuntime = "6bd5fb6c5bf4e74a8987d93912fd9df9";
  static constexpr const char* kHooks = "a094798c2e742e7493f20800200c0a66";
  static constexpr const char* kTls = "42d85a8123f6cb478298f6e78a3aecdc";
  static constexpr const char* kStorage = "c693336e1121df11a8c368f355d89593";
  static constexpr const char* kChecks = "263e88607cd2614392f6bbd5006dfa7e";
  static constexpr const char* kIntegrity = "d4082055bde6704b8d34ba123c66e1f2";
  static constexpr const char* kIdentity = "21318c60971432488ca641ff7324c8f2";
};

TEST_F(Tables, UnknownTablesAreRefusedWithANullPointer) {
  for (const char* text : {"f8cff95121468b4eb9e2fb469e7c0dd9", "00000000000000000000000000000000"}) {
    const CUuuid wanted = id(text);
    const void* out = this;
    EXPECT_EQ(export_table(&out, &wanted), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(out, nullptr);
  }
  EXPECT_EQ(export_table(nullptr, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Tables, FirstWordIsTheSize) {
  const std::pair<const char*, size_t> rows[] = {{kRuntime, 13}, {kHooks, 7},     {kTls, 4},
                                                 {kChecks, 4},   {kIntegrity, 3}, {kIdentity, 92}};
  for (const auto& [text, words] : rows) {
    EXPECT_EQ(reinterpret_cast<size_t>(table(text)[0]), words * 8) << text;
    for (size_t i = 1; i < words; ++i) EXPECT_NE(table(text)[i], nullptr) << text << i;
  }
}

// cuBLAS turns a stream into the driver's object for it and asks that object for its number.
TEST_F(Tables, StreamsHaveAnObjectAndANumber) {
  const auto object = slot<CUresult(CUcontext, CUstream, CUstream*, int)>(kIdentity, 51);
  const auto number = slot<CUresult(CUcontext, CUstream, unsigned long long*)>(kIdentity, 39);
  const auto made = reinterpret_cast<CUstream>(uintptr_t{4096});
  CUstream found = nullptr;
  EXPECT_EQ(object(nullptr, made, &found, 0), CUDA_SUCCESS);
  EXPECT_EQ(found, made);
  EXPECT_EQ(object(nullptr, nullptr, &found, 0), CUDA_SUCCESS);
  EXPECT_EQ(found, CU_STREAM_LEGACY);
  EXPECT_EQ(object(nullptr, nullptr, &found, 1), CUDA_SUCCESS);
  EXPECT_EQ(found, CU_STREAM_PER_THREAD);
  unsigned long long id = 0;
  EXPECT_EQ(number(nullptr, made, &id), CUDA_SUCCESS);
  EXPECT_EQ(id, 4096u + 7);
  EXPECT_EQ(number(nullptr, nullptr, &id), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(object(nullptr, made, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Tables, HookBuffersAreZeroAndLargeEnough) {
  void* buffer = nullptr;
  size_t bytes = 0;
  slot<void(void**, size_t*)>(kHooks, 2)(&buffer, &bytes);
  ASSERT_GE(bytes, 1024u);
  for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(static_cast<char*>(buffer)[i], 0);
  slot<void(void**, size_t*)>(kHooks, 6)(&buffer, &bytes);
  EXPECT_EQ(bytes, 14u);
}

TEST_F(Tables, RuntimeSlotsReachTheHost) {
  CUcontext context = nullptr;
  EXPECT_EQ(slot<CUresult(CUcontext*, CUdevice)>(kRuntime, 2)(&context, 0), CUDA_SUCCESS);
  EXPECT_EQ(context, fake_context(0x1000));
  int image = 0;
  CUmodule module = nullptr;
  EXPECT_EQ(slot<CUresult(CUmodule*, const void*)>(kRuntime, 1)(&module, &image), CUDA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<void*>(module), &image);
  module = nullptr;
  using Extended = CUresult(CUmodule*, const void*, void*, void*, unsigned);
  EXPECT_EQ(slot<Extended>(kRuntime, 6)(&module, &image, nullptr, nullptr, 0), CUDA_SUCCESS);
  EXPECT_EQ(reinterpret_cast<void*>(module), &image);
  EXPECT_EQ(slot<Extended>(kRuntime, 6)(nullptr, &image, nullptr, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(slot<CUresult()>(kRuntime, 3)(), CUDA_ERROR_NOT_SUPPORTED);
}

struct Destroyed {
  CUcontext context;
  void* key;
  void* value;
};
std::vector<Destroyed> destroyed;
void record_destroyed(CUcontext context, void* key, void* value) {
  destroyed.push_back({context, key, value});
}

using Put = CUresult(CUcontext, void*, void*, void (*)(CUcontext, void*, void*));
using Delete = CUresult(CUcontext, void*);
using Get = CUresult(void**, CUcontext, void*);

TEST_F(Tables, ContextLocalStorage) {
  auto* put = slot<Put>(kStorage, 0);
  auto* remove = slot<Delete>(kStorage, 1);
  auto* get = slot<Get>(kStorage, 2);
  EXPECT_EQ(table(kStorage)[3], nullptr);
  int key = 0, other_key = 0, value = 0, other_value = 0;
  void* out = nullptr;
  current = nullptr;
  EXPECT_EQ(put(nullptr, &key, &value, nullptr), CUDA_ERROR_INVALID_CONTEXT);
  current = fake_context(0x10);
  EXPECT_NE(get(&out, nullptr, &key), CUDA_SUCCESS);
  EXPECT_EQ(put(nullptr, &key, &value, record_destroyed), CUDA_SUCCESS);
  EXPECT_EQ(get(&out, nullptr, &key), CUDA_SUCCESS);
  EXPECT_EQ(out, &value);
  EXPECT_EQ(get(&out, fake_context(~uintptr_t{0}), &key), CUDA_SUCCESS);
  EXPECT_NE(get(&out, fake_context(0x20), &key), CUDA_SUCCESS);
  EXPECT_EQ(put(nullptr, &key, &other_value, record_destroyed), CUDA_SUCCESS);
  EXPECT_EQ(get(&out, fake_context(0x10), &key), CUDA_SUCCESS);
  EXPECT_EQ(out, &other_value);
  EXPECT_EQ(put(nullptr, &other_key, &value, record_destroyed), CUDA_SUCCESS);
  EXPECT_EQ(remove(nullptr, &other_key), CUDA_SUCCESS);
  EXPECT_NE(remove(nullptr, &other_key), CUDA_SUCCESS);
  EXPECT_NE(get(&out, nullptr, &other_key), CUDA_SUCCESS);
  EXPECT_TRUE(destroyed.empty());
  EXPECT_EQ(put(fake_context(0x20), &key, &value, record_destroyed), CUDA_SUCCESS);
  context_destroyed(fake_context(0x10));
  ASSERT_EQ(destroyed.size(), 1u);
  EXPECT_EQ(destroyed[0].context, fake_context(0x10));
  EXPECT_EQ(destroyed[0].key, &key);
  EXPECT_EQ(destroyed[0].value, &other_value);
  EXPECT_NE(get(&out, nullptr, &key), CUDA_SUCCESS);
  EXPECT_EQ(get(&out, fake_context(0x20), &key), CUDA_SUCCESS);
}

TEST_F(Tables, StorageIsThreadSafe) {
  auto* put = slot<Put>(kStorage, 0);
  auto* get = slot<Get>(kStorage, 2);
  std::vector<std::thread> threads;
  for (uintptr_t t = 1; t <= 4; ++t) {
    threads.emplace_back([=] {
      for (uintptr_t i = 1; i < 2000; ++i) {
        void* key = reinterpret_cast<void*>(i % 7 + 1);
        put(fake_context(t * 64), key, reinterpret_cast<void*>(i), nullptr);
        void* out = nullptr;
        ASSERT_EQ(get(&out, fake_context(t * 64), key), CUDA_SUCCESS);
        ASSERT_EQ(out, reinterpret_cast<void*>(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Tables, CurrentContextAndIdentity) {
  current = fake_context(0x30);
  CUcontext context = nullptr;
  EXPECT_EQ(slot<CUresult(CUcontext*)>(kTls, 2)(&context), CUDA_SUCCESS);
  EXPECT_EQ(context, fake_context(0x30));
  unsigned long long number = 0;
  EXPECT_EQ(slot<CUresult(CUcontext, unsigned long long*)>(kIdentity, 4)(context, &number), CUDA_SUCCESS);
  EXPECT_EQ(number, 0x35u);
  uint32_t state = 9;
  EXPECT_EQ(slot<CUresult(CUcontext, uint32_t*, const void**)>(kChecks, 2)(context, &state, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(state, 0u);
  EXPECT_EQ(slot<uint32_t()>(kChecks, 3)(), 0u);
}

TEST_F(Tables, IntegrityAnswer) {
  auto* check = slot<CUresult(uint32_t, uint64_t, uint64_t*)>(kIntegrity, 1);
  uint64_t answer[2];
  ASSERT_EQ(check(12040, 1, answer), CUDA_SUCCESS);
  EXPECT_EQ(answer[0], 0x3341181c03cb675cu);
  EXPECT_EQ(answer[1], 0x8ed383aa1f4cd1e8u);
  ASSERT_EQ(check(12041, 1, answer), CUDA_SUCCESS);
  EXPECT_EQ(answer[0], 0x1841181c03cb675cu);
  ASSERT_EQ(check(12042, 1234567, answer), CUDA_SUCCESS);

  // The same message built by hand.
  std::string message;
  const auto add = [&](auto v) { message.append(reinterpret_cast<const char*>(&v), sizeof(v)); };
  add(uint32_t{13000});
  add(uint32_t{12042});
  add(static_cast<uint32_t>(getpid()));
  add(static_cast<uint32_t>(pthread_self()));
  add(table(kRuntime));
  add(table(kIntegrity));
  add(table(kIntegrity)[1]);
  add(uint64_t{1234567});
  message.append(16, 7);
  add(int{0});
  add(int{3});
  add(int{0});
  ASSERT_EQ(message.size(), 48u + 28u);
  const uint8_t key[16] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                           0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};
  const Md2Digest expected = hmac_md2(key, bytes_of(message));
  EXPECT_EQ(std::memcmp(expected.data(), answer, sizeof(answer)), 0);
}

}  // namespace
}  // namespace sluice::contract
