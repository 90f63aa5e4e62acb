#include "core/hmac.hpp"

#include "core/base64url.hpp"

#include <catch2/catch.hpp>

using namespace beckon;

TEST_CASE("HMAC-SHA-256 is that of RFC 4231") {
    CHECK(core::hex(core::hmac_sha256("Jefe", "what do ya want for nothing?")) ==
          "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    const std::string long_key(131, '\xaa');
    CHECK(core::hex(core::hmac_sha256(long_key,
                                      "Test Using Larger Than Block-Size Key - Hash Key First")) ==
          "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    CHECK(core::hex(core::hmac_sha256("", "")) ==
          "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST_CASE("a proof is the same only if it is whole") {
    CHECK(core::same_proof("right", "right"));
    CHECK_FALSE(core::same_proof("right", "rigid"));
    CHECK_FALSE(core::same_proof("right", "righ"));
    CHECK_FALSE(core::same_proof("right", ""));
    CHECK(core::same_proof("", ""));
}
