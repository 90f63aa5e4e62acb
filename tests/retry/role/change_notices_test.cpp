#include "retry/role/change_notices.hpp"

#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/record_view.hpp"
#include "support/test_executor.hpp"

#include <memory>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using namespace beckon::retry;

namespace {

constexpr core::Partition kNoticePartitions = 4;

struct NoticeWorld {
    test::ManualClock clock;
    test::SimExecutor executor{clock};
    std::unique_ptr<log::MemoryLog> log = log::make_memory_log(
        {.seed = 1, .partitions = kNoticePartitions, .clock = &clock, .append_delay_max = 3ms});
    std::unique_ptr<log::Publisher> publisher = log->open_publisher(executor);
    ChangeNotices notices{kNoticePartitions, core::NodeId{"a"}, *publisher, executor};

    std::vector<WebhooksChanged> written(core::Partition partition) const {
        std::vector<WebhooksChanged> all;
        for (const auto& stored : log->records({log::Topic::kEvents, partition})) {
            all.push_back(*decode_webhooks_changed(*test::ReadBack{stored.record}));
        }
        return all;
    }
    WebhooksChanged last() const {
        const auto& records = log->records({log::Topic::kEvents, 0});
        return *decode_webhooks_changed(*test::ReadBack{records.back().record});
    }
};

}  // namespace

TEST_CASE("a change is answered when all partitions of events say so", "[retry][node]") {
    NoticeWorld world;
    bool answered = false;
    world.notices.announce(3, 16,
                           [&](const core::Result<void>& done) { answered = done.has_value(); });
    CHECK_FALSE(answered);
    world.executor.run_for(1s);
    CHECK(answered);
    for (core::Partition p = 0; p < kNoticePartitions; ++p) {
        CHECK(world.written(p) == std::vector{WebhooksChanged{.below = {{3, 17}}}});
    }
}

// Fails where each change writes records of its own.
TEST_CASE("many changes share few records, and each is in one that follows it",
          "[retry][node][bounds]") {
    constexpr int kChanges = 2'000;
    NoticeWorld world;
    int answered = 0;
    for (int i = 0; i < kChanges; ++i) {
        world.notices.announce(i % 2, i, [&, i](const core::Result<void>& done) {
            answered += done ? 1 : 0;
            CHECK(world.last().below.at(i % 2) > i);
        });
        world.executor.run_for(100us);
    }
    world.executor.run_for(1s);
    CHECK(answered == kChanges);
    const auto most = kChanges * 100us / (ChangeNotices::kPerRecord * kNoticePartitions);
    CHECK(world.written(0).size() <= static_cast<std::size_t>(most) + 2);
    CHECK(world.written(0).size() > 10);
}

TEST_CASE("a change that not all partitions of events have is answered with the failure",
          "[retry][node]") {
    NoticeWorld world;
    world.log->fail_next_publishes(1);
    std::vector<bool> answers;
    const auto answer = [&](const core::Result<void>& done) {
        answers.push_back(done.has_value());
    };
    world.notices.announce(0, 1, answer);
    world.executor.run_for(1s);
    CHECK(answers == std::vector{false});
    world.notices.announce(0, 2, answer);
    world.executor.run_for(1s);
    CHECK(answers == std::vector{false, true});
}
