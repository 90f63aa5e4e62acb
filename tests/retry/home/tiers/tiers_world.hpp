#pragma once

#include "retry/home/tiers/partition_tiers.hpp"
#include "support/manual_clock.hpp"
#include "support/memory_log.hpp"
#include "support/record_view.hpp"
#include "support/test_executor.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::test {

/// A memory log and the tiers of one partition of it, with owners that come and go.
struct TiersWorld {
    static constexpr core::Partition kPartition = 1;

    explicit TiersWorld(std::vector<std::chrono::seconds> delays = {std::chrono::seconds{0},
                                                                    std::chrono::seconds{5},
                                                                    std::chrono::seconds{60}},
                        std::uint64_t seed = 1)
        : table(*retry::TierTable::from(std::move(delays))),
          log(log::make_memory_log(
              {.seed = seed,
               .partitions = 2,
               .clock = &clock,
               .stamp = [this](const auto&) { return clock.wall() + broker_ahead; },
               .append_delay_max = std::chrono::milliseconds{4},
               .publish_timeout = std::chrono::seconds{2}})),
          outside(log->open_publisher(executor)) {}

    ManualClock clock;
    std::chrono::milliseconds broker_ahead{};  ///< of the hosts' clocks
    SimExecutor executor{clock};
    retry::TierTable table;
    std::unique_ptr<log::MemoryLog> log;
    std::unique_ptr<log::Publisher> outside;

    void run_for(core::Duration span) { executor.run_for(span); }

    /// Publishes a delivery as the fan-out does.
    void put(const std::string& id, int tier = 0) {
        outside->publish({log::Topic::retry(tier), kPartition},
                         encode(retry::Delivery{.id = id, .webhook = "w", .event = "{}"}),
                         [](const auto&) {});
    }

    /// The deliveries that stand in a topic: "id/hop".
    std::vector<std::string> standing(log::Topic topic) const {
        std::vector<std::string> out;
        for (const auto& stored : log->records({topic, kPartition})) {
            const ReadBack record{stored.record, stored.offset, stored.time};
            if (const auto d = retry::decode_delivery(*record)) {
                out.push_back(d->id + "/" + std::to_string(d->hop));
            }
        }
        return out;
    }

    /// The newest DoneRecord of the log.
    std::optional<retry::DoneRecord> done() const {
        std::optional<retry::DoneRecord> last;
        for (const auto& stored : log->records({log::Topic::kRetryDone, kPartition})) {
            if (auto d = retry::decode_done(*ReadBack{stored.record})) {
                if (!last || d->epoch >= last->epoch) last = *d;
            }
        }
        return last;
    }
};

/// One owner of the partition. Destroying it is what SIGKILL does.
struct TiersOwner {
    struct Seen {
        std::string id;
        int tier;
        core::Timestamp at;
        core::Timestamp due;
        retry::Due due_delivery;
    };

    explicit TiersOwner(TiersWorld& w, core::Epoch epoch = 1, std::size_t window_max = 4'096)
        : world(w),
          publisher(w.log->open_publisher(w.executor)),
          tiers({.partition = TiersWorld::kPartition,
                 .table = w.table,
                 .node = {"n" + std::to_string(epoch)},
                 .epoch = epoch,
                 .from = w.done(),
                 .window_max = window_max},
                {.log = *w.log,
                 .publisher = *publisher,
                 .executor = w.executor,
                 .clock = w.clock,
                 .tally = tally},
                {.due =
                     [this](retry::Due due) {
                         seen.push_back(
                             {due.delivery.id, due.ticket.tier, world.clock.wall(), due.due, due});
                         if (answer) answer(due);
                     },
                 .started = [this] { started = true; },
                 .failed = [this](const core::Error& why) { failure = why; }}) {
        tiers.start();
    }

    std::vector<std::string> ids() const {
        std::vector<std::string> out;
        for (const auto& one : seen) out.push_back(one.id);
        return out;
    }

    /// Ends a delivery as a failed attempt does.
    void fail(const retry::Due& due) {
        auto next = due.delivery;
        ++next.attempts;
        next.last = retry::Outcome::refused;
        const auto step = world.table.next(next.step);
        if (!step) return tiers.dead_letter(due.ticket, next);
        next.step = *step;
        tiers.promote(due.ticket, next, world.table.tier_of(*step));
    }
    void succeed(const retry::Due& due) { tiers.finish(due.ticket); }

    TiersWorld& world;
    std::unique_ptr<log::Publisher> publisher;
    std::function<void(const retry::Due&)> answer;  ///< called with each delivery that is due
    std::vector<Seen> seen;
    bool started = false;
    std::optional<core::Error> failure;
    retry::Tally tally;
    retry::PartitionTiers tiers;
};

}  // namespace beckon::test
