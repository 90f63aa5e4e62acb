#include "ingest/ingest_world.hpp"

#include <catch2/catch.hpp>

// The holes that a read barrier closes (docs/design.md#read-barriers, docs/design.md#the-view).

using namespace beckon;
using namespace beckon::test;

TEST_CASE("a subscription is usable the instant its record is in the log") {
    IngestWorld world;
    const auto target = world.new_target();
    const auto where = world.subscriptions_of(target.uaid);
    // The register is in the log, but this endpoint's readers have not seen it yet.
    world.log_->hold_readers(where, true);
    world.subscribe(target.uaid, target.channel);
    world.run_loops();
    const auto asked = world.begin(IngestWorld::post_data(target.path));
    world.run_loops(std::chrono::milliseconds{500});
    CHECK_FALSE(asked->answer);  // without a read barrier this would be a false 410
    world.log_->hold_readers(where, false);
    world.run_loops();
    REQUIRE(asked->answer);
    CHECK(asked->answer->status == 201);
}

TEST_CASE("a 410 asked while the register is being written waits for what is in the log") {
    IngestWorld world;
    const auto target = world.new_target();
    const auto where = world.subscriptions_of(target.uaid);
    world.log_->hold_readers(where, true);
    const auto before = world.begin(IngestWorld::post_data(target.path));
    world.run_loops();  // its read barrier is in the log, and then the register
    world.subscribe(target.uaid, target.channel);
    world.run_loops();
    // This query came after the register: it may not use the read barrier that is under way.
    const auto after = world.begin(IngestWorld::post_data(target.path));
    world.log_->hold_readers(where, false);
    world.run_loops();
    REQUIRE(before->answer);
    REQUIRE(after->answer);
    CHECK(after->answer->status == 201);
}

TEST_CASE("a view that lags too long answers 503, never 410") {
    IngestWorld world;
    const auto target = world.new_target();
    world.log_->hold_readers(world.subscriptions_of(target.uaid), true);
    const auto reply = world.ask(IngestWorld::post_data(target.path));
    HttpReply like;
    like.add("Retry-After", "10");
    CHECK(reply == error(503, "null", "Service Unavailable",
                         "Whether this exists cannot be decided at present; try again later.",
                         like));
}

TEST_CASE("a read barrier that fails is a 503, never a 410") {
    IngestWorld world;
    const auto target = world.new_target();
    SECTION("the log is away") { world.log_->set_away(true); }
    SECTION("the read barrier's publish fails") { world.log_->fail_next_publishes(1); }
    SECTION("the read barrier's report is lost") { world.log_->lose_next_answers(1); }
    CHECK(world.ask(IngestWorld::post_data(target.path)).status == 503);
    world.log_->set_away(false);
    world.run_loops(std::chrono::seconds{10});
    CHECK(world.ask(IngestWorld::post_data(target.path)).status == 410);
}

TEST_CASE("a view whose log is away is not ready, with the reason, and comes back") {
    IngestWorld world;
    const auto known = world.subscribed();
    world.log_->set_away(true);
    world.run_loops(std::chrono::seconds{20});
    CHECK_FALSE(world.view_->ready());
    const auto report = world.health_.report();
    CHECK_FALSE(report.ready);
    CHECK(report.faults.at("endpoint").find("is stuck") != std::string::npos);
    CHECK(report.faults.at("endpoint").find("the log is away") != std::string::npos);
    CHECK(world.ask(IngestWorld::post_data(world.new_target().path)).status == 503);
    world.log_->set_away(false);
    world.run_loops(std::chrono::seconds{10});
    CHECK(world.health_.report().ready);
    CHECK(world.ask(IngestWorld::post_data(known.path)).status == 201);
    CHECK(world.ask(IngestWorld::post_data(world.new_target().path)).status == 410);
}

TEST_CASE("progress reaches metrics and the group of lag tools") {
    IngestWorld world{{.partitions = 1}};
    const auto target = world.subscribed();
    const auto where = world.subscriptions_of(target.uaid);
    world.log_->hold_readers(where, true);
    for (int i = 0; i < 5; ++i)
        world.subscribe(core::Uaid{world.new_target().uaid}, target.channel);
    world.run_loops(std::chrono::seconds{30});
    CHECK(world.metrics_.view_lag_records.Value() >= 5);
    CHECK(world.metrics_.view_lag_seconds.Value() >= 9);
    CHECK(world.metrics_.view_stuck.Value() == 0);
    world.log_->hold_readers(where, false);
    world.run_loops(std::chrono::seconds{30});
    CHECK(world.metrics_.view_lag_records.Value() == 0);
    CHECK(world.metrics_.view_lag_seconds.Value() == 0);
    core::Offset reported = 0;
    world.log_->committed("endpoint", {where}, world.executor_, [&](const auto& found) {
        REQUIRE(found);
        if (!found->empty()) reported = found->front().offset;
    });
    world.run_loops();
    CHECK(reported == world.view_->progress().front().inputs.front().position);
}

TEST_CASE("nothing negative is answered before every partition has passed its first read barrier") {
    IngestWorld world{{.start_view = false}};
    const auto known = world.new_target();
    const auto where = world.subscriptions_of(known.uaid);
    world.log_->hold_readers(where, true);
    world.subscribe(known.uaid, known.channel);
    world.run_loops();
    world.start_view();
    CHECK_FALSE(world.view_->ready());
    CHECK_FALSE(world.health_.report().ready);
    CHECK(world.ask(IngestWorld::post_data(known.path)).status == 503);
    world.log_->hold_readers(where, false);
    world.run_loops(std::chrono::seconds{4});
    CHECK(world.view_->ready());
    CHECK(world.health_.report().ready);
    CHECK(world.ask(IngestWorld::post_data(known.path)).status == 201);
    CHECK(world.ask(IngestWorld::post_data(world.new_target().path)).status == 410);
}

TEST_CASE("a known subscription is answered without a read barrier") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto count = world.records(log::Topic::kSubscriptions.index()).size();
    for (int i = 0; i < 5; ++i) world.ask(IngestWorld::post(target.path));
    CHECK(world.records(log::Topic::kSubscriptions.index()).size() == count);
}

TEST_CASE("an unsubscribed channel and a purged client are gone") {
    IngestWorld world;
    const auto target = world.subscribed();
    SECTION("channel") {
        world.publish(world.subscriptions_of(target.uaid),
                      core::encode(core::ChannelRemoved{target.uaid, target.channel,
                                                        core::WriteStamp{1, 100}}));
    }
    SECTION("client") {
        world.publish(world.subscriptions_of(target.uaid),
                      core::encode(core::ClientRemoved{target.uaid, core::WriteStamp{1, 100}}));
    }
    world.run_loops();
    CHECK(world.ask(IngestWorld::post_data(target.path)).status == 410);
}

namespace {

/// A second view over the first one's log and store, as after a restart.
struct Restarted {
    explicit Restarted(IngestWorld& world) : world_(world) {
        world_.service_.reset();
        world_.shared_.reset();
        world_.view_.reset();
        view_ = std::make_unique<ingest::SubscriptionView>(
            ingest::ViewConfig{.node = world_.node_, .partitions = world_.partitions_},
            *world_.log_, world_.executor_, world_.clock_, *world_.store_, world_.metrics_,
            [](const auto&) {});
    }
    bool knows(const IngestWorld::Target& target) const {
        const auto found = view_->find(target.uaid, target.channel);
        return found && *found && (*found)->channel_known;
    }
    IngestWorld& world_;
    std::unique_ptr<ingest::SubscriptionView> view_;
};

}  // namespace

TEST_CASE("a restart goes on from its checkpoint") {
    IngestWorld world;
    const auto target = world.subscribed();
    const auto folded = world.metrics_.view_folded.Value();
    Restarted again{world};
    again.view_->start();
    world.run_loops();
    CHECK(again.view_->ready());
    CHECK(again.knows(target));
    // Only read barriers were read since: one to learn the clock, one for each partition.
    CHECK(world.metrics_.view_folded.Value() - folded <= 1 + world.partitions_);
}
