#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "transport/testing.h"
#include "wire/hello_connect.h"
#include "wire/hello_grant.h"

namespace sluice::wire {
namespace {

const std::string kSecret(64, 'b');
const std::string kPin = "sha256:" + std::string(64, 'c');

std::string grant_text(const std::string& server) {
  return R"({"version":1,"allocation":"a1","secret":")" + kSecret + R"(","tls":true,"servers":[)" + server +
         "]}";
}

std::string good_server() {
  return R"({"address":"127.0.0.1:56001","fingerprint":")" + kPin +
         R"(","gpus":[{"uuid":"GPU-1","memoryMib":2048},{"uuid":"GPU-2","memoryMib":null}]})";
}

TEST(Grant, IsRead) {
  const auto grant = parse_grant(grant_text(good_server()));
  ASSERT_TRUE(grant) << grant.error();
  EXPECT_EQ(grant->allocation, "a1");
  EXPECT_EQ(crypto::to_hex(grant->secret), kSecret);
  ASSERT_EQ(grant->servers.size(), 1u);
  EXPECT_EQ(grant->servers[0].gpus[0].memory_mib, 2048u);
  EXPECT_FALSE(grant->servers[0].gpus[1].memory_mib);
}

TEST(Grant, SaysWhatIsWrongAndNotTheSecret) {
  const struct {
    std::string text;
    const char* problem;
  } cases[] = {
      {"", "not JSON"},
      {"{", "not JSON"},
      {"[]", "\"version\" is not 1"},
      {R"({"version":2})", "\"version\" is not 1"},
      {R"({"version":1})", "\"allocation\" is missing"},
      {R"({"version":1,"allocation":"a","secret":"xyz"})", "\"secret\" is not 64"},
      {grant_text(""), "no \"servers\""},
      {grant_text("{}"), "no \"address\""},
      {grant_text(R"({"address":"h:1","fingerprint":""})"), "no certificate fingerprint"},
      {grant_text(R"({"address":"h:1","fingerprint":")" + kPin + R"("})"), "no \"gpus\""},
      {grant_text(R"({"address":"h:1","fingerprint":")" + kPin + R"(","gpus":[{}]})"), "no \"uuid\""},
      {grant_text(R"({"address":"h:1","fingerprint":")" + kPin +
                  R"(","gpus":[{"uuid":"x","memoryMib":-1}]})"),
       "\"memoryMib\" is neither"},
  };
  for (const auto& [text, problem] : cases) {
    const auto grant = parse_grant(text);
    ASSERT_FALSE(grant) << text;
    EXPECT_NE(grant.error().find(problem), std::string::npos) << grant.error();
    EXPECT_EQ(grant.error().find(kSecret), std::string::npos);
  }
}

TEST(Grant, ComesFromTheEnvironment) {
  ::unsetenv("SLUICE_GRANT");
  ::unsetenv("SLUICE_GRANT_FILE");
  EXPECT_FALSE(*grant_from_environment());
  testing::TemporaryFolder folder;
  ::setenv("SLUICE_GRANT_FILE", folder.file("grant").c_str(), 1);
  EXPECT_FALSE(grant_from_environment());
  std::ofstream(folder.file("grant")) << grant_text(good_server());
  EXPECT_EQ((*grant_from_environment())->allocation, "a1");
  ::setenv("SLUICE_GRANT", "{}", 1);
  EXPECT_FALSE(grant_from_environment());
  ::unsetenv("SLUICE_GRANT");
  ::unsetenv("SLUICE_GRANT_FILE");
}

TEST(Address, IsHostAndPort) {
  EXPECT_EQ(parse_address("10.0.0.1:56001")->host, "10.0.0.1");
  EXPECT_EQ(parse_address("[::1]:5")->host, "::1");
  EXPECT_EQ(parse_address("gpu-7.lab:5")->port, "5");
  for (const char* bad : {"", "host", ":5", "host:", "host:x", "host:70000", "::1:5", "[]:5"}) {
    EXPECT_FALSE(parse_address(bad)) << bad;
  }
}

}  // namespace
}  // namespace sluice::wire
