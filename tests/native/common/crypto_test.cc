#include "common/crypto.h"

#include <gtest/gtest.h>

#include <vector>

namespace sluice::crypto {
namespace {

TEST(Crypto, Sha256OfKnownTexts) {  // FIPS 180-4 examples
  EXPECT_EQ(to_hex(sha256(bytes_of(""))), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256(bytes_of("abc"))),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Crypto, HmacOfKnownTexts) {  // RFC 4231, cases 1, 2 and 6
  EXPECT_EQ(to_hex(hmac_sha256(std::vector<uint8_t>(20, 0x0b), {bytes_of("Hi There")})),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(to_hex(hmac_sha256(bytes_of("Jefe"), {bytes_of("what do ya want "), bytes_of("for nothing?")})),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(to_hex(hmac_sha256(std::vector<uint8_t>(131, 0xaa),
                               {bytes_of("Test Using Larger Than Block-Size Key - Hash Key First")})),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Crypto, HexIsStrict) {
  const std::string good(64, 'a');
  EXPECT_TRUE(hex32(good));
  EXPECT_EQ(to_hex(*hex32(good)), good);
  EXPECT_TRUE(hex32(std::string(64, 'F')));
  for (const std::string& bad :
       {std::string(), std::string(63, 'a'), std::string(65, 'a'), std::string(63, 'a') + "g",
        std::string(1, ' ').append(63, 'a'), std::string("0x").append(62, 'a')}) {
    EXPECT_FALSE(hex32(bad)) << bad;
  }
}

TEST(Crypto, ComparesEveryByte) {
  const Bytes32 a = random32();
  EXPECT_TRUE(equal_in_constant_time(a, a));
  for (size_t i = 0; i < a.size(); i++) {
    Bytes32 b = a;
    b[i] ^= 1;
    EXPECT_FALSE(equal_in_constant_time(a, b));
  }
  EXPECT_FALSE(equal_in_constant_time(random32(), random32()));
}

}  // namespace
}  // namespace sluice::crypto
