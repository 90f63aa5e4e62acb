#include "retry/role/waiting_events.hpp"

#include <cstddef>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::retry;

namespace {

/// Posts as many as the owner may; how many these were.
core::Offset post_all(WaitingEvents& waiting, core::Partition partition, const std::string& owner,
                      std::size_t bytes, core::Offset from = 0) {
    core::Offset at = from;
    while (waiting.has_space(partition, owner)) {
        const WaitingEvents::Posted event{partition, owner, bytes};
        waiting.post(event);
        waiting.appended(event, at++);
    }
    return at - from;
}

}  // namespace

TEST_CASE("an owner's waiting events leave space for those of others", "[retry][event][bounds]") {
    WaitingEvents waiting{2};
    const auto alone = post_all(waiting, 0, "first", 100);
    CHECK(alone > 300);
    CHECK(static_cast<std::size_t>(alone) < WaitingEvents::kEventsMax / 2);
    CHECK(waiting.has_space(1, "first"));
    for (int i = 0; i < 50; ++i) post_all(waiting, 0, "o" + std::to_string(i), 100);
    CHECK(waiting.has_space(0, "another"));
    CHECK(waiting.events(0) <= WaitingEvents::kEventsMax);
}

TEST_CASE("an owner's large waiting events are bounded by their bytes", "[retry][event][bounds]") {
    constexpr std::size_t kLarge = 255'000;
    WaitingEvents waiting{1};
    const auto alone = static_cast<std::size_t>(post_all(waiting, 0, "first", kLarge));
    CHECK(alone >= 1);
    CHECK(alone * kLarge <= WaitingEvents::kBytesMax / 2 + kLarge);
    CHECK(waiting.has_space(0, "another"));
}

TEST_CASE("events that are fanned out, or did not reach the log, do not wait", "[retry][event]") {
    WaitingEvents waiting{1};
    const auto count = post_all(waiting, 0, "o", 100);
    waiting.fanned_out(0, count / 2);
    CHECK(waiting.has_space(0, "o"));
    CHECK(waiting.events(0) == static_cast<std::size_t>(count - count / 2));
    waiting.fanned_out(0, count / 2);  // the same record once more
    waiting.fanned_out(0, 0);          // an older one
    CHECK(waiting.events(0) == static_cast<std::size_t>(count - count / 2));
    waiting.fanned_out(0, count);
    CHECK(waiting.empty(0));

    const WaitingEvents::Posted lost{0, "o", 100};
    waiting.post(lost);
    waiting.failed(lost);
    CHECK(waiting.empty(0));
    const WaitingEvents::Posted reported_late{0, "o", 100};
    waiting.post(reported_late);
    waiting.fanned_out(0, count + 1);
    waiting.appended(reported_late, count);
    CHECK(waiting.empty(0));
    CHECK(waiting.events(0) == 0);
}
