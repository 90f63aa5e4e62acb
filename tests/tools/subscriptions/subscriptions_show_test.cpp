#include "app/process/process.hpp"
#include "tools/new_installation.hpp"
#include "tools/subscriptions/subscriptions_tool.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace beckon;
using namespace beckon::inspect;
using namespace beckon::tools;
using Catch::Contains;
using std::chrono::seconds;

namespace {

const core::Uaid kUaid{*core::parse_uuid("0f1e2d3c4b5a49788796a5b4c3d2e1f0")};
const core::ChannelId kChannel{*core::parse_uuid("11112222333344445555666677778888")};
const core::Timestamp kNow{seconds{1'790'000'000}};

ClientState client_with(std::size_t messages) {
    ClientState state;
    state.at = kNow;
    state.client = store::StoredClient{};
    state.client->last_seen = kNow - seconds{60};
    store::StoredChannel channel;
    channel.channel = kChannel;
    state.channels.push_back(channel);
    for (std::size_t i = 0; i < messages; ++i) {
        state.waiting.push_back({.key = {},
                                 .channel = kChannel,
                                 .offset = static_cast<core::Offset>(i),
                                 .appended = kNow - seconds{90},
                                 .expires = kNow + seconds{30},
                                 .topic = "",
                                 .bytes = 12});
    }
    return state;
}

}  // namespace

TEST_CASE("a client is shown with its channels and waiting messages") {
    const auto text = state_text(kUaid, kChannel, client_with(1));
    CHECK_THAT(text, Contains("last seen at 2026-09-21T"));
    CHECK_THAT(text, Contains("channel 11112222-3333-4444-5555-666677778888") &&
                         Contains("<- the endpoint's"));
    CHECK_THAT(text, Contains("12 bytes, accepted 90 s ago, expires in 30 s"));
    CHECK_THAT(text, !Contains(core::to_hex(kUaid)));  // the UAID is a credential
}

TEST_CASE("of many messages the first are shown, and the rest counted") {
    const auto text = state_text(kUaid, std::nullopt, client_with(23));
    CHECK_THAT(text, Contains("23 messages wait for it") && Contains("and 3 more"));
    CHECK_THAT(state_text(kUaid, std::nullopt, client_with(0)), Contains("Nothing waits for it."));
}

TEST_CASE("a channel that is gone, and a client that is unknown, are shown as such") {
    const core::ChannelId other{};
    CHECK_THAT(state_text(kUaid, other, client_with(0)),
               Contains("is not among them: senders get 410 for it"));
    CHECK_THAT(state_text(kUaid, kChannel, {}), Contains("has no such client"));
}

TEST_CASE("a client's connection is shown as its edge knows it") {
    using nlohmann::json;
    const json discarded = json::value_t::discarded;
    CHECK(connection_text(discarded, "no process answers") ==
          "Whether it is connected is not known: no process answers\n");
    CHECK(connection_text({{"served", true}, {"connected", false}}, "") ==
          "It is not connected now.\n");
    json page{{"served", true},
              {"connected", true},
              {"attached_since", 1'790'000'000'000},
              {"edge", "e1"},
              {"unanswered", 0}};
    CHECK_THAT(connection_text(page, ""),
               Contains("at least since 2026-09-21T") && Contains("at the edge e1.\n"));
    page["unanswered"] = 2;
    page["sent"] = json::array({{{"message", "m"}, {"at", 1'790'000'060'000}}});
    CHECK_THAT(connection_text(page, ""),
               Contains("has not answered 2 messages that were sent, the first at 2026-09-21T"));
}

TEST_CASE("a text that names no client is refused before the log is asked") {
    const test::NewInstallation home;
    CHECK_THROWS_WITH(subscriptions_show(home.config, "nobody", false),
                      Contains("neither a UAID (32 hex digits"));
}
