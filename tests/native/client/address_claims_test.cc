#include "client/address_claims.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace sluice::client {
namespace {

constexpr uintptr_t kBase = 0x3a00'0000'0000;  // nothing of this process is near
constexpr uintptr_t kMiB = uintptr_t{1} << 20;
const int first = 0;
const int second = 0;

bool is_mapped(uintptr_t address) {
  void* wanted = reinterpret_cast<void*>(address);
  void* got = mmap(wanted, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == wanted) munmap(got, 4096);
  return got != wanted;
}

TEST(AddressClaims, ClaimedAddressesAreTakenFromTheProgram) {
  AddressClaims claims;
  EXPECT_TRUE(claims.claim(kBase + 5 * kMiB, 100, &first));
  EXPECT_TRUE(is_mapped(kBase + 5 * kMiB));
  EXPECT_TRUE(is_mapped(kBase + 4 * kMiB)) << "the whole step of 2 MiB";
  EXPECT_FALSE(is_mapped(kBase + 6 * kMiB));
}

TEST(AddressClaims, TheOwnerMayClaimAgainAndMoreAround) {
  AddressClaims claims;
  const uintptr_t base = kBase + 100 * kMiB;
  EXPECT_TRUE(claims.claim(base + 4 * kMiB, 2 * kMiB, &first));
  EXPECT_TRUE(claims.claim(base + 8 * kMiB, 2 * kMiB, &first));
  EXPECT_TRUE(claims.claim(base, 16 * kMiB, &first)) << "with what lies between, before and behind";
  EXPECT_TRUE(claims.claim(base + 5 * kMiB, 1, &first));
  for (uintptr_t offset = 0; offset < 16; offset++) EXPECT_TRUE(is_mapped(base + offset * kMiB));
}

TEST(AddressClaims, WhatAnotherOwnerHasIsRefused) {
  AddressClaims claims;
  const uintptr_t base = kBase + 200 * kMiB;
  EXPECT_TRUE(claims.claim(base, 4 * kMiB, &first));
  EXPECT_FALSE(claims.claim(base + 3 * kMiB, 1, &second));
  EXPECT_FALSE(claims.claim(base - 2 * kMiB, 16 * kMiB, &second));
  EXPECT_TRUE(claims.claim(base + 4 * kMiB, 1, &second));
}

TEST(AddressClaims, WhatTheProgramHasMappedIsRefused) {
  AddressClaims claims;
  const uintptr_t base = kBase + 300 * kMiB;
  void* mapped = mmap(reinterpret_cast<void*>(base + kMiB), 4096, PROT_READ,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(mapped, reinterpret_cast<void*>(base + kMiB));
  EXPECT_FALSE(claims.claim(base, 2 * kMiB, &first));
  munmap(mapped, 4096);
  EXPECT_TRUE(claims.claim(base, 2 * kMiB, &first));
}

}  // namespace
}  // namespace sluice::client
