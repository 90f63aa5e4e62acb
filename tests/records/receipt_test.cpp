#include "records/receipt.hpp"

#include "core/tokens.hpp"
#include "records/events.hpp"
#include "records/subscription_gone.hpp"
#include "support/record_view.hpp"

#include <memory>

#include <catch2/catch.hpp>

using namespace beckon;
using core::FinishReason;
using core::ReceiptRef;

namespace {

ReceiptRef anonymous() { return {.id = {core::random_uuid4()}, .sender = std::nullopt}; }
ReceiptRef authenticated() {
    return {.id = {core::random_uuid4()}, .sender = core::SenderId{core::random_uuid4()}};
}

}  // namespace

TEST_CASE("a receipt's text and token decode to their values") {
    core::Tokens tokens{std::make_shared<core::KeyRing>(core::KeyRing::generate())};
    for (const auto& receipt : {anonymous(), authenticated()}) {
        CHECK(core::parse_receipt(core::to_text(receipt)) == receipt);
        const auto token = tokens.seal_receipt(receipt);
        CHECK(token.size() == 66);
        CHECK(tokens.open_receipt(token).value() == receipt);
    }
}

TEST_CASE("a malformed text of a receipt is refused") {
    const auto good = core::to_text(authenticated());
    for (const auto& text : {std::string{}, good.substr(1), good + "0", good.substr(0, 33),
                             good.substr(0, 32) + "-" + good.substr(33), std::string(65, '.')}) {
        CHECK_FALSE(core::parse_receipt(text));
    }
}

TEST_CASE("the token of a receipt subscription is no other token, and no other is one") {
    core::Tokens tokens{std::make_shared<core::KeyRing>(core::KeyRing::generate())};
    const auto token = tokens.seal_receipt(anonymous());
    CHECK_FALSE(tokens.open_message(token));
    CHECK_FALSE(tokens.open_endpoint(token, core::Tokens::Form::any, {}));
    const core::Uaid uaid{core::random_uuid4()};
    CHECK_FALSE(tokens.open_receipt(tokens.seal_message({uaid, {}})));
    CHECK_FALSE(tokens.open_receipt(tokens.seal_endpoint(uaid, {})));
    CHECK_FALSE(tokens.open_receipt(token.substr(1)));
    CHECK_FALSE(tokens.open_receipt(std::string(66, '!')));
    core::Tokens strange{std::make_shared<core::KeyRing>(core::KeyRing::generate())};
    CHECK_FALSE(strange.open_receipt(token));
}

TEST_CASE("an outcome reads back from its event, and other events are none") {
    for (const auto reason : {FinishReason::acked, FinishReason::expired, FinishReason::replaced,
                              FinishReason::unregistered}) {
        const core::ReceiptOutcome reported{
            .to = authenticated(), .message_id = "message", .reason = reason};
        CHECK(core::decode_receipt(*test::ReadBack{core::encode(reported)}) == reported);
    }
    auto record = core::encode(core::ReceiptOutcome{.to = anonymous(), .message_id = "m"});
    record.headers.pop_back();
    CHECK_FALSE(core::decode_receipt(*test::ReadBack{record}));
    record = core::encode(core::ReceiptOutcome{.to = anonymous(), .message_id = "m"});
    for (const auto* value : {"", "[]", "{}", R"({"data":[]})", R"({"data":{"message":1}})",
                              R"({"data":{"message":"m","reason":"unheard"}})"}) {
        record.value = value;
        CHECK_FALSE(core::decode_receipt(*test::ReadBack{record}));
    }
}

TEST_CASE("acknowledged is 204, and everything else is 410") {
    CHECK(core::status_of(core::outcome_of(FinishReason::acked)) == 204);
    CHECK(core::status_of(core::outcome_of(FinishReason::expired)) == 410);
    CHECK(core::outcome_of(FinishReason::replaced) == core::Outcome::gone);
    CHECK(core::outcome_of(FinishReason::dropped) == core::Outcome::gone);
}

TEST_CASE("an event's owner is the sender's key, or nobody") {
    const std::string hash(64, 'a');
    CHECK(core::owner_name_of_hash(hash) == "vapid-" + std::string(32, 'a'));
    CHECK_FALSE(core::owner_name_of_hash(hash.substr(1)));
    CHECK_FALSE(core::owner_name_of_hash(""));
    const auto receipt = authenticated();
    CHECK(core::event_of(core::ReceiptOutcome{.to = receipt, .message_id = "m"}).owner ==
          core::owner_name(*receipt.sender));
    const auto nobody = core::event_of(core::ReceiptOutcome{.to = anonymous(), .message_id = "m"});
    CHECK(nobody.owner.find(':') != std::string::npos);
}

TEST_CASE("an event has the same id however often it is published") {
    const core::SubscriptionGone gone{.uaid = {core::random_uuid4()},
                                      .channel = {core::random_uuid4()},
                                      .owner = "o",
                                      .endpoint = {}};
    auto other = gone;
    other.reason = core::GoneReason::answered_410;
    CHECK(core::event_of(gone).id == core::event_of(other).id);
    CHECK(core::event_of(gone).id.find(core::to_hex(gone.uaid)) == std::string::npos);
    other.channel = {core::random_uuid4()};
    CHECK(core::event_of(gone).id != core::event_of(other).id);
}
