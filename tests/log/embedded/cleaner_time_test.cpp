// The embedded log's cleaner on a host with a hostile clock.
#include "log/contract_support.hpp"
#include "log/embedded/embedded_under_test.hpp"
#include "support/shared_clock.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::EmbeddedConfig;
using log::Topic;
using log::TopicPartition;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

namespace {

const TopicPartition kWhere{Topic::kNotifications, 1};
constexpr hours kWindow{6};
constexpr hours kTombstones{48};
constexpr hours kMonth{24 * 31};

struct WithHost {
    SharedClock host;
    bool disciplined = true;
};

/// An appended record, with the true time of its append.
struct Appended {
    core::Offset offset = 0;
    std::string key;
    bool tombstone = false;
    milliseconds at{0};
    bool gone = false;  ///< and it might
};

/// A log on a host whose wall clock steps, drifts, and is wrong at boot. The kernel vouches for it
/// only when it is right.
struct HostileHost : WithHost, EmbeddedUnderTest {
    explicit HostileHost(std::uint64_t seed)
        : EmbeddedUnderTest([this](EmbeddedConfig& c) {
              c.clock = &host;
              c.clock_is_disciplined = [this] { return disciplined; };
              c.history_window = kWindow;
              c.delete_retention = kTombstones;
              c.tail_bytes = 0;
          }),
          random(seed) {}

    std::int64_t below(std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    }
    core::Timestamp right() const { return begin + true_time; }

    void pass(milliseconds by) {
        true_time += by;
        host.advance(by);
        if (!disciplined) host.step_wall(by * drift / 10'000);
    }
    void step() {
        disciplined = false;  // the kernel notices
        drift = below(11) - 5;
        const minutes by{below(2 * kMonth / minutes{1})};
        host.step_wall(below(2) == 0 ? by : -by);
    }
    void set_right() {
        host.step_wall(right() - host.wall());
        disciplined = true;
    }
    void reboot() {
        close();
        pass(minutes{below(600)});
        if (below(2) == 0) step();
        if (below(3) == 0) set_right();
        open();
    }
    void write() {
        const auto key = "k" + std::to_string(below(8));
        const bool tombstone = below(3) == 0;
        const auto read =
            append(*this, kWhere, {tombstone ? record(key, std::nullopt) : record(key, "v")});
        written.push_back({read.front().offset, key, tombstone, true_time});
    }
    std::vector<core::Offset> left() {
        std::vector<core::Offset> offsets;
        for (const auto& one : read_all(*this, kWhere)) offsets.push_back(one.offset);
        return offsets;
    }

    /// The log's time is steered by up to a thousandth, so a span may be measured wrongly by as
    /// much.
    bool truly_past(milliseconds since, milliseconds age) const {
        return true_time - since >= age - age / 500;
    }
    bool may_be_gone(std::size_t index) const {
        const auto& one = written[index];
        const auto newer =
            std::find_if(written.begin() + static_cast<std::ptrdiff_t>(index) + 1, written.end(),
                         [&](const Appended& other) { return other.key == one.key; });
        if (newer != written.end() && truly_past(newer->at, kWindow)) return true;
        return one.tombstone && truly_past(one.at, kTombstones);
    }

    std::mt19937_64 random;
    const core::Timestamp begin = host.wall();
    milliseconds true_time{0};
    std::int64_t drift = 0;  ///< parts in ten thousand, of a clock that nobody disciplines
    std::vector<Appended> written;
};

}  // namespace

// Verified to fail when the cleaner goes by the host's clock alone.
TEST_CASE("whatever the host's clock does, the cleaner takes no record before its time") {
    const auto seed = GENERATE(range(0, 10));
    CAPTURE(seed);
    HostileHost log{static_cast<std::uint64_t>(seed)};
    for (int step = 0; step < 80 && log.true_time < hours{24 * 20}; ++step) {
        switch (log.below(10)) {
            case 0: log.step(); break;
            case 1: log.set_right(); break;
            case 2: log.reboot(); break;
            case 3: log.pass(minutes{log.below(24 * 60)}); break;
            default: log.pass(minutes{log.below(90)}); log.write();
        }
        EmbeddedUnderTest::must(log.embedded->clean_now());
        const auto left = log.left();
        for (std::size_t i = 0; i < log.written.size(); ++i) {
            if (log.written[i].gone) continue;
            if (std::binary_search(left.begin(), left.end(), log.written[i].offset)) continue;
            CAPTURE(step, i, log.written[i].key);
            REQUIRE(log.may_be_gone(i));
            log.written[i].gone = true;
        }
    }
    // Once the clock is right again, due records go.
    log.set_right();
    for (int hour = 0; hour < 24 * 4; ++hour) {
        log.pass(hours{1});
        static_cast<void>(ends_of(log, kWhere));
        if (hour % 8 == 0) EmbeddedUnderTest::must(log.embedded->clean_now());
    }
    EmbeddedUnderTest::must(log.embedded->clean_now());
    std::map<std::string, const Appended*> newest;
    for (const auto& one : log.written) newest[one.key] = &one;
    std::vector<core::Offset> expected;
    for (const auto& [key, one] : newest) {
        if (!one->tombstone) expected.push_back(one->offset);
    }
    std::sort(expected.begin(), expected.end());
    CHECK(log.left() == expected);
}
