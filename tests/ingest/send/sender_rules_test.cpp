// The rules of an operator about senders: who is blocked, and how much the others may send.
#include "ingest/ingest_world.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using namespace std::chrono_literals;
using core::BlockedSender;
using core::SenderKind;
using core::SenderLimit;

namespace {

struct RulesWorld : IngestWorld {
    RulesWorld() : IngestWorld({.matrix_gateway = true, .follows_senders = true}) { run_loops(1s); }
    void write(const core::SenderRule& rule) {
        publish({log::Topic::kControl, 0}, core::encode(rule));
        run_loops();
    }
    std::string key_hash() const {
        const auto hash = core::sha256(vapid_.public_point());
        return core::hex({reinterpret_cast<const char*>(hash.data()), hash.size()});
    }
    TestRequest from(const std::string& path, const std::string& authorization) const {
        auto request = post(path);
        return authorization.empty() ? request : request.with("Authorization", authorization);
    }
    int status(const std::string& path, const std::string& authorization = {}) {
        return ask(from(path, authorization)).status;
    }
};

std::string header_in(const HttpReply& reply, std::string_view name) {
    const auto found = std::find_if(reply.headers.begin(), reply.headers.end(),
                                    [&](const auto& header) { return header.name == name; });
    return found == reply.headers.end() ? std::string{} : found->value;
}

}  // namespace

TEST_CASE("a VAPID key that is blocked gets 403, and every other sender 201") {
    RulesWorld world;
    const auto to = world.subscribed();
    const auto signed_by = world.vapid_header();
    CHECK(world.status(to.path, signed_by) == 201);
    world.write(BlockedSender{.kind = SenderKind::vapid, .name = world.key_hash()});
    const auto refused = world.ask(world.from(to.path, signed_by));
    CHECK(refused.status == 403);
    CHECK(refused.body.find("has blocked this VAPID key") != std::string::npos);
    CHECK(world.status(to.path) == 201);
    world.write(
        BlockedSender{.kind = SenderKind::vapid, .name = world.key_hash(), .blocked = false});
    CHECK(world.status(to.path, signed_by) == 201);
}

TEST_CASE("nobody can send to a subscription that is blocked") {
    RulesWorld world;
    const auto to = world.subscribed();
    const auto other = world.subscribed();
    world.write(BlockedSender{.kind = SenderKind::subscription,
                              .name = core::subscription_name(to.uaid, to.channel)});
    const auto refused = world.ask(world.from(to.path, world.vapid_header()));
    CHECK(refused.status == 403);
    CHECK(refused.body.find("has blocked this subscription") != std::string::npos);
    CHECK(world.status(to.path) == 403);
    CHECK(world.status(other.path) == 201);
}

TEST_CASE("a VAPID key and a subscription have a limit each, and are told when to come back") {
    RulesWorld world;
    const auto to = world.subscribed();
    const auto other = world.subscribed();
    SECTION("of a key, over all its subscriptions") {
        world.write(SenderLimit{.kind = SenderKind::vapid, .per_second = 2});
        const auto signed_by = world.vapid_header();
        CHECK(world.status(to.path, signed_by) == 201);
        CHECK(world.status(other.path, signed_by) == 201);
        const auto refused = world.ask(world.from(to.path, signed_by));
        CHECK(refused.status == 429);
        CHECK(header_in(refused, "Retry-After") == "1");
        CHECK(refused.body.find("of this VAPID key") != std::string::npos);
        CHECK(world.status(to.path) == 201);  // another sender
        world.clock_.advance(1s);
        CHECK(world.status(to.path, signed_by) == 201);
    }
    SECTION("of a subscription, over all its senders") {
        world.write(SenderLimit{.kind = SenderKind::subscription, .per_second = 1});
        CHECK(world.status(to.path) == 201);
        CHECK(world.status(to.path, world.vapid_header()) == 429);
        CHECK(world.status(other.path) == 201);
    }
    SECTION("taken back") {
        world.write(SenderLimit{.kind = SenderKind::subscription, .per_second = 1});
        CHECK(world.status(to.path) == 201);
        world.write(SenderLimit{.kind = SenderKind::subscription});
        CHECK(world.status(to.path) == 201);
        CHECK(world.status(to.path) == 201);
    }
}
