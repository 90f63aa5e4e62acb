#include "records/sender_rule.hpp"

#include "support/record_view.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using core::BlockedSender;
using core::SenderKind;
using core::SenderLimit;
using core::SenderRule;

namespace {

const std::string kHash(64, 'a');

std::optional<SenderRule> read_back(const SenderRule& rule) {
    const auto record = core::encode(rule);
    return core::decode_sender_rule(*test::ReadBack{record});
}

}  // namespace

TEST_CASE("a rule about senders is read back as it was written") {
    const std::vector<SenderRule> rules{
        BlockedSender{.kind = SenderKind::vapid,
                      .name = kHash,
                      .since = core::Timestamp{std::chrono::milliseconds{1'790'000'000'000}},
                      .why = "spam, \"tickets 17\""},
        BlockedSender{.kind = SenderKind::subscription, .name = kHash},
        BlockedSender{.kind = SenderKind::owner, .name = "vapid-0f", .blocked = false},
        SenderLimit{.kind = SenderKind::vapid, .per_second = 100},
        SenderLimit{.kind = SenderKind::subscription}};
    for (const auto& rule : rules) {
        CAPTURE(core::encode(rule).key);
        CHECK(core::check(rule));
        CHECK(read_back(rule) == rule);
    }
}

TEST_CASE("a rule that names nobody is refused, and passed over in the log") {
    const std::vector<SenderRule> wrong{
        BlockedSender{.kind = SenderKind::vapid, .name = "BPk"},
        BlockedSender{.kind = SenderKind::subscription, .name = std::string(64, 'A')},
        BlockedSender{.kind = SenderKind::owner, .name = ""},
        BlockedSender{.kind = SenderKind::owner, .name = "Shop"},
        BlockedSender{.kind = SenderKind::owner, .name = std::string(65, 'a')},
        BlockedSender{.kind = SenderKind::owner,
                      .name = "shop",
                      .why = std::string(core::kBlockedWhyMax + 1, 'w')},
        SenderLimit{.kind = SenderKind::owner, .per_second = 1},
        SenderLimit{.kind = SenderKind::vapid, .per_second = core::kSenderLimitMax + 1}};
    for (const auto& rule : wrong) {
        CAPTURE(core::encode(rule).key);
        CHECK_FALSE(core::check(rule));
        CHECK_FALSE(read_back(rule));
    }
    for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{
             {"log", "{}"},
             {"blocked/vapid", "{}"},
             {"blocked/nobody/" + kHash, R"({"since":1,"why":""})"},
             {"blocked/vapid/" + kHash, "[]"},
             {"blocked/vapid/" + kHash, "{}"},
             {"limit/vapid", R"({"per_second":-1})"},
             {"limit/vapid", R"({"per_second":1.5})"}}) {
        CAPTURE(key, value);
        const core::Record record{.key = key, .value = value, .headers = {}};
        CHECK_FALSE(core::decode_sender_rule(*test::ReadBack{record}));
    }
}

TEST_CASE("the name of a subscription shows neither the client nor the channel") {
    const core::Uaid uaid{core::random_uuid4()};
    const core::ChannelId channel{core::random_uuid4()};
    const auto name = core::subscription_name(uaid, channel);
    CHECK(name.size() == 64);
    CHECK(name.find(core::to_hex(uaid)) == std::string::npos);
    CHECK(name == core::subscription_name(uaid, channel));
    CHECK(name != core::subscription_name(uaid, core::ChannelId{core::random_uuid4()}));
}
