#include "cli/new_installation.hpp"
#include "core/tokens.hpp"

#include <fstream>
#include <memory>

#include <sys/stat.h>

using namespace beckon;
using namespace beckon::cli;
using namespace beckon::test;
using Catch::Contains;

namespace {

// One key pair of openssl's making, in three forms.
const std::string kPrivatePem =
    "-----BEGIN EC PRIVATE KEY-----\n"
    "MHcCAQEEINPEjKdvi6E5dhMDtsltUjOz6C/qrPf+cECIMQQs67q3oAoGCCqGSM49\n"
    "AwEHoUQDQgAEnW/08u4dXAjcinBFiuAIDczu0aQylGyfCMGDL29BPLZ5Gbst2Ugv\n"
    "axmGbCJErDlGzEi0DeFhpxKVDz9H2Owz6A==\n"
    "-----END EC PRIVATE KEY-----\n";
const std::string kCompressedPem =
    "-----BEGIN PUBLIC KEY-----\n"
    "MDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgACnW/08u4dXAjcinBFiuAIDczu0aQy\n"
    "lGyfCMGDL29BPLY=\n"
    "-----END PUBLIC KEY-----\n";
const std::string kPoint =
    "BJ1v9PLuHVwI3IpwRYrgCA3M7tGkMpRsnwjBgy9vQTy2eRm7LdlIL2sZhmwiRKw5RsxItA3hYacSlQ8_R9jsM-g";

/// What `beckon keys convert` prints, without the last line end.
std::string converted(const std::string& input) {
    const Quiet quiet;
    REQUIRE(keys_convert(input) == 0);
    auto text = quiet.said();
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

}  // namespace

TEST_CASE("a key ring is made once, for its owner alone", "[keys]") {
    NewInstallation home;
    struct stat info {};
    REQUIRE(::stat(home.config.key_ring_file().c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    const auto before = home.ring().fingerprint();
    CHECK_THROWS_WITH(keys_generate(home.config), Contains("exists already"));
    CHECK(home.ring().fingerprint() == before);
    CHECK_THAT(home.quiet.said(), Contains(before));
}

TEST_CASE("a rotation lets old endpoints live and tells the log", "[keys]") {
    NewInstallation home;
    const core::Uaid uaid{core::random_uuid4()};
    const core::ChannelId channel{core::random_uuid4()};
    const auto old_ring = std::make_shared<core::KeyRing>(home.ring());
    const auto old_token = core::Tokens{old_ring}.seal_endpoint(uaid, channel);

    CHECK(keys_rotate(home.config) == 0);
    const auto ring = std::make_shared<core::KeyRing>(home.ring());
    CHECK(ring->keys().size() == 2);
    CHECK(Installation{home.config}.control().keyring_fingerprint == ring->fingerprint());
    core::Tokens tokens{ring};
    const auto opened =
        tokens.open_endpoint(old_token, core::Tokens::Form::any, core::SystemClock{}.wall());
    REQUIRE(opened);
    CHECK(opened->uaid == uaid);
    CHECK(tokens.seal_endpoint(uaid, channel) != old_token);

    keys_list(home.config);
    CHECK_THAT(home.quiet.said(), Contains("key 0  created") && Contains("still read"));
    CHECK_THAT(home.quiet.said(), Contains("key 1  created") && Contains("encrypts"));
    for (const auto& auth_key : ring->auth_keys()) {
        CHECK_THAT(home.quiet.said(), !Contains(auth_key));
    }
}

TEST_CASE("a public key is converted from PEM to the raw point and back", "[keys]") {
    const TempDir dir;
    const auto file = dir / "key.pem";
    const auto point_of = [&](const std::string& pem) {
        std::ofstream{file} << pem;
        return converted(file);
    };
    const auto pem = converted(kPoint);
    CHECK_THAT(pem, Catch::StartsWith("-----BEGIN PUBLIC KEY-----\n"));
    CHECK(point_of(pem) == kPoint);
    CHECK(point_of(kCompressedPem) == kPoint);
    CHECK(point_of(kPrivatePem) == kPoint);
}

TEST_CASE("what is no P-256 key is refused", "[keys]") {
    const TempDir dir;
    const auto file = dir / "other.pem";
    // Made with `openssl ecparam -name secp384r1 -genkey -noout | openssl ec -pubout`.
    std::ofstream{file} << "-----BEGIN PUBLIC KEY-----\n"
                           "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEDNtLJM0A2PIi2BtYXsc1krmFTZiMo/2x\n"
                           "q6MJzrHxJ1+fTEp4s/nKWoYzPYLuynUnd5tIG8Kl2kKS060UcLB/2vc6i6biqucd\n"
                           "30Zz/5aZMDu16GTkZN+W4bmP8pWRiJk6\n"
                           "-----END PUBLIC KEY-----\n";
    CHECK_THROWS_WITH(keys_convert(file), Contains("no PEM key on the curve P-256"));
    CHECK_THROWS_WITH(keys_convert("nonsense"), Contains("neither a PEM file nor a P-256 point"));
    // The right length, not on the curve.
    CHECK_THROWS_WITH(keys_convert("BA" + std::string(85, 'A')), Contains("neither a PEM file"));
}
