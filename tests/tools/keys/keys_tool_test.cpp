#include "app/installation/key_ring_guard.hpp"
#include "client/vapid.hpp"
#include "core/base64url.hpp"
#include "core/time_text.hpp"
#include "core/tokens.hpp"
#include "support/memory_log.hpp"
#include "tools/new_installation.hpp"

#include <fstream>
#include <memory>

#include <sys/stat.h>

using namespace beckon;
using namespace beckon::app;
using namespace beckon::tools;
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

/// The output of `beckon keys convert`, without the last line end.
std::string converted(const std::string& input) {
    const Quiet quiet;
    REQUIRE(keys_convert(input) == 0);
    auto text = quiet.output();
    if (text.ends_with('\n')) text.pop_back();
    return text;
}

}  // namespace

TEST_CASE("a key ring is made once, for its owner alone") {
    NewInstallation home;
    struct stat info {};
    REQUIRE(::stat(home.config.key_ring_file().c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);
    const auto before = home.ring().fingerprint();
    CHECK_THROWS_WITH(keys_generate(home.config, false), Contains("exists already"));
    CHECK(home.ring().fingerprint() == before);
    CHECK_THAT(home.quiet.output(), Contains(before));
}

TEST_CASE("a rotation lets old endpoints live") {
    NewInstallation home;
    const core::Uaid uaid{core::random_uuid4()};
    const core::ChannelId channel{core::random_uuid4()};
    const auto old_ring = std::make_shared<core::KeyRing>(home.ring());
    const auto old_token = core::Tokens{old_ring}.seal_endpoint(uaid, channel);

    CHECK(keys_rotate(home.config) == 0);
    const auto ring = std::make_shared<core::KeyRing>(home.ring());
    CHECK(ring->keys().size() == 2);
    core::Tokens tokens{ring};
    const auto opened =
        tokens.open_endpoint(old_token, core::Tokens::Form::any, core::SystemClock{}.wall());
    REQUIRE(opened);
    CHECK(opened->uaid == uaid);
    CHECK(tokens.seal_endpoint(uaid, channel) != old_token);

    keys_list(home.config);
    CHECK_THAT(home.quiet.output(), Contains("key 0  created") && Contains("still read"));
    CHECK_THAT(home.quiet.output(), Contains("key 1  created") && Contains("encrypts"));
    for (const auto& auth_key : ring->auth_keys()) {
        CHECK_THAT(home.quiet.output(), !Contains(auth_key));
    }
}

TEST_CASE("a public key is converted from PEM to the raw point and back") {
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

TEST_CASE("a key of another curve than P-256 is refused") {
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

TEST_CASE("a ring is recognised after keys were added, and another ring is not") {
    const auto ring = core::KeyRing::generate();
    const auto print = ring.fingerprint();
    CHECK(match(ring, print) == RingMatch::same);
    const auto rotated = ring.rotated()->rotated();
    REQUIRE(rotated);
    CHECK(match(*rotated, print) == RingMatch::grown);
    CHECK(match(rotated->imported({}, {"auth"}), print) == RingMatch::grown);
    CHECK(match(core::KeyRing::generate(), print) == RingMatch::other);
    CHECK(match(ring, rotated->fingerprint()) == RingMatch::other);  // a key is missing
}

TEST_CASE("a ring to which old keys were added again is recognised, one without a key is not") {
    using core::KeyRing;
    auto keys = KeyRing::generate().keys();
    while (keys.size() < 5) {
        const auto next = KeyRing{keys, {}, {}}.rotated();
        keys = next->keys();
    }
    const auto with = [&](std::initializer_list<std::size_t> ids) {
        std::vector<KeyRing::Key> some;
        for (const auto id : ids) some.push_back(keys[id]);
        return KeyRing{some, {}, {"auth"}};
    };
    const auto of = [&](const KeyRing& ring) { return ring.fingerprint(); };
    CHECK(match(with({0, 1, 2}), of(with({1, 2}))) == RingMatch::grown);
    CHECK(match(with({0, 1, 2}), of(with({0, 2}))) == RingMatch::grown);
    CHECK(match(with({0, 1, 2, 3}), of(with({0, 2}))) == RingMatch::grown);  // and rotated
    CHECK(match(with({0, 1, 2, 3, 4}), of(with({0, 2, 4}))) == RingMatch::grown);
    CHECK(match(with({0, 1, 2, 3, 4}), of(with({4}))) == RingMatch::grown);
    CHECK(app::part_of(with({0, 1, 2, 3}), of(with({0, 2})))->newest().id == 2);

    CHECK(match(with({0, 2}), of(with({0, 1, 2}))) == RingMatch::other);
    CHECK(match(with({1, 2}), of(with({0, 1, 2}))) == RingMatch::other);
    CHECK(match(with({0, 1}), of(with({0, 1, 2}))) == RingMatch::other);
}

TEST_CASE("no ring is made beside a log whose own ring is missing, unless an option says so") {
    NewInstallation home;
    const auto lost = home.ring().fingerprint();
    keys_publish(home.config, false);
    std::filesystem::remove(home.config.key_ring_file());
    CHECK(find_key_ring(home.config, false) == nullptr);
    CHECK_THROWS_WITH(make_key_ring(home.config, true),
                      Contains("there is no key ring at") && Contains("keys publish --force"));
    CHECK_THROWS_WITH(keys_generate(home.config, false), Contains("holds the log"));
    CHECK_THROWS_WITH(keys_import(home.config, {.auth_keys = "[a]"}), Contains("holds the log"));
    CHECK_FALSE(std::filesystem::exists(home.config.key_ring_file()));

    CHECK(keys_generate(home.config, true) == 0);
    CHECK_THROWS_WITH(keys_publish(home.config, false),
                      Contains(lost) && Contains("--force") && Contains("every endpoint URL"));
    CHECK(Installation{home.config}.control().keyring_fingerprint == lost);
    CHECK(keys_publish(home.config, true) == 0);
    CHECK_THAT(home.quiet.output(), Contains("this kills every endpoint URL"));
    CHECK(Installation{home.config}.control().keyring_fingerprint == home.ring().fingerprint());
}

TEST_CASE(
    "an empty log beside a key ring is taken for a missing volume, unless an option says so") {
    const TempDir dir;
    const Quiet quiet;
    Config config;
    config.data = dir.path();
    CHECK(find_key_ring(config, false) == nullptr);  // a first start
    const auto made = make_key_ring(config, false);
    CHECK_THROWS_WITH(find_key_ring(config, false), Contains("--new-log") && Contains("volume"));
    CHECK(find_key_ring(config, true)->fingerprint() == made->fingerprint());
}

TEST_CASE("a rotation beside a running standalone is published by its next start") {
    NewInstallation home;
    keys_publish(home.config, false);
    const auto before = home.ring().fingerprint();
    {
        const DataDirectory running{home.config.data};
        CHECK(keys_rotate(home.config) == 0);
    }
    const auto ring = home.ring();
    CHECK(ring.keys().size() == 2);
    Installation installation{home.config};
    auto control = installation.control();
    CHECK(control.keyring_fingerprint == before);
    hold_to_embedded_log(installation.log(), control, ring, home.config);
    CHECK(control.keyring_fingerprint == ring.fingerprint());
}

TEST_CASE("a second rotation waits until the first one is published") {
    NewInstallation home;
    keys_publish(home.config, false);
    CHECK(keys_rotate(home.config) == 0);
    const auto once = home.ring().fingerprint();
    CHECK_THROWS_WITH(keys_rotate(home.config), Contains("beckon keys publish"));
    CHECK(home.ring().fingerprint() == once);
    keys_publish(home.config, false);
    CHECK(keys_rotate(home.config) == 0);
}

TEST_CASE("a key that was added encrypts once the log names its ring") {
    const core::SystemClock clock;
    const auto log = log::make_memory_log({.partitions = 4, .clock = &clock});
    const auto before = core::KeyRing::generate();
    log::Control control{
        .log_id = "1", .created = {}, .tiers = {}, .keyring_fingerprint = before.fingerprint()};
    auto ring = *before.rotated();
    hold_to_cluster_log(*log, control, ring, {});
    CHECK(ring.sealing().id == 0);
    CHECK(ring.newest().id == 1);
    CHECK(control.keyring_fingerprint == before.fingerprint());  // only the operator publishes it
    control.keyring_fingerprint = ring.fingerprint();
    hold_to_cluster_log(*log, control, ring, {});
    CHECK(ring.sealing().id == 1);
}

TEST_CASE("keys rotate refuses a ring that is not the log's, and leaves it as it is") {
    NewInstallation home;
    keys_publish(home.config, false);
    const auto other = core::KeyRing::generate();
    REQUIRE(other.save(home.config.key_ring_file()));
    CHECK_THROWS_WITH(keys_rotate(home.config), Contains(other.fingerprint()));
    CHECK(home.ring().fingerprint() == other.fingerprint());
}

TEST_CASE("the first role publishes the fingerprint, and the next one is held to it") {
    const core::SystemClock clock;
    const auto log = log::make_memory_log({.partitions = 4, .clock = &clock});
    log::Control control{.log_id = "a",
                         .created = core::time_text_in_seconds(core::SystemClock{}.wall()),
                         .partitions = 4,
                         .tiers = {},
                         .keyring_fingerprint = {}};
    REQUIRE(log::write_control(*log, control, std::nullopt, std::chrono::seconds{10}));
    auto first = core::KeyRing::generate();
    auto other = core::KeyRing::generate();
    hold_to_cluster_log(*log, control, first, {});
    const auto read = log::read_control(*log, std::chrono::seconds{10});
    REQUIRE(read);
    CHECK(read->keyring_fingerprint == first.fingerprint());
    CHECK_THROWS_WITH(hold_to_cluster_log(*log, control, other, {}),
                      Contains("this log names " + first.fingerprint()));
}

TEST_CASE("a ring that is older than the topics is not published unasked") {
    const core::SystemClock clock;
    const auto log = log::make_memory_log({.partitions = 4, .clock = &clock});
    log::Control control{.log_id = "a",
                         .created = "2126-01-01T00:00:00Z",
                         .partitions = 4,
                         .tiers = {},
                         .keyring_fingerprint = {}};
    auto other = core::KeyRing::generate();
    CHECK_THROWS_WITH(hold_to_cluster_log(*log, control, other, {}),
                      Contains("later than the key ring") && Contains("beckon keys publish"));
}

TEST_CASE("a ring file is replaced behind its symbolic link and keeps its mode") {
    const TempDir dir;
    const auto real = dir / "real.json";
    const auto link = dir / "keys.json";
    REQUIRE(core::KeyRing::generate().save(real));
    std::filesystem::create_symlink(real, link);
    REQUIRE(::chmod(real.c_str(), 0640) == 0);
    CHECK_FALSE(core::KeyRing::load(link));
    const auto ring = core::KeyRing::load(link, core::KeyRing::Access::group);
    REQUIRE(ring);
    REQUIRE(ring->rotated()->save(link));
    CHECK(std::filesystem::is_symlink(link));
    struct stat info {};
    REQUIRE(::stat(real.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0640);
    CHECK(core::KeyRing::load(link, core::KeyRing::Access::group)->keys().size() == 2);
}

TEST_CASE("keys vapid makes a pair once, in the forms that pages and libraries want") {
    const TempDir dir;
    const Quiet quiet;
    CHECK(keys_vapid(dir / "vapid.json", {}) == 0);
    CHECK(keys_vapid(dir / "vapid.json", dir / "vapid.pem") == 0);
    const auto json = client::load_vapid_key(dir / "vapid.json", client::IfMissing::fail);
    const auto pem = client::load_vapid_key(dir / "vapid.pem", client::IfMissing::fail);
    REQUIRE((json && pem));
    CHECK(json->public_point() == pem->public_point());
    CHECK_THAT(quiet.output(), Contains("applicationServerKey for pages: " +
                                        core::base64url(json->public_point())));
    CHECK_THAT(quiet.output(), !Contains(core::base64url(json->private_scalar())));
}
