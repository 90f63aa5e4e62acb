// Rows that compaction may remove when the clocks of the two log topics' leaders differ, or step.
#include "rocks/error.hpp"
#include "store/edge_fixture.hpp"
#include "store/rows/expiry_filter.hpp"
#include "store/rows/schema.hpp"
#include "support/manual_clock.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;
using rocks::slice;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;

namespace {

/// A store of which the first rows are written to a table, through the filter of expired ones.
struct Flushing {
    static EdgeStoreOptions small_buffers() {
        EdgeStoreOptions made;
        made.write_buffer_bytes = 1U << 20;
        return made;
    }
    std::uintmax_t bytes_in_tables() const {
        std::uintmax_t bytes = 0;
        std::error_code gone;  // RocksDB deletes what it needs no more
        for (const auto& file : std::filesystem::directory_iterator{f.options().directory}) {
            const auto size = file.path().extension() == ".sst" ? file.file_size(gone) : 0;
            if (!gone) bytes += size;
        }
        return bytes;
    }
    static void wait_until(const std::function<bool()>& done) {
        for (int i = 0; i < 2'000 && !done(); ++i) {
            std::this_thread::sleep_for(milliseconds{10});
        }
        REQUIRE(done());
    }
    /// More than a write buffer takes, of another client: in the same month as the others, and
    /// never removed.
    void fill() {
        const std::string body(4'000, 'x');
        for (int i = 0; i < 400; ++i) {
            const auto name = "f" + std::to_string(i);
            f.part().put(next, at(next),
                         accepted(uaid_of("filler"), name, {.ttl_s = 500'000, .body = body}),
                         nullptr);
            ++next;
        }
    }
    void flush() {
        f.commit();
        f.put(next++, "last");
        f.commit();  // the buffer is full: it makes way for another, and is flushed
        wait_until([&] { return bytes_in_tables() > 1U << 20; });
    }
    /// Flushes, and waits until the filter has removed the message m0.
    void flush_without_m0() {
        flush();
        wait_until([&] { return f.drain(1).find("m0") == std::string::npos; });
    }

    mutable EdgeFixture f{small_buffers()};
    core::Offset next = 1;
};

}  // namespace

// Verified to fail when the fold's time is that of the topic that advanced last, and when a record
// raises the time of a fold that was at the end.
TEST_CASE("compaction judges a message by the clock of its own log topic") {
    Flushing on;
    auto& f = on.f;
    f.put(on.next++, "m0", {.ttl_s = 1});
    f.put(on.next++, "m1", {.ttl_s = 7'200});
    on.fill();
    SECTION("not by that of the other topic's leader") {
        f.part().advance(Source::notifications, on.next, at(5'000));
        f.part().advance(Source::subscriptions, 1, at(100'000));
        on.flush_without_m0();
        CHECK(f.drain(600, 10) == "m1 last");
    }
    SECTION("nor before the other topic was read to its end") {
        f.part().advance(Source::notifications, on.next, at(100'000));
        on.flush();
        CHECK(f.drain(600, 10) == "m1 last");
    }
    SECTION("nor by a record from behind a step forward, which the log's clock holds back") {
        f.part().advance(Source::subscriptions, 1, at(100'000));
        f.part().advance(Source::notifications, on.next, at(5'000));
        on.next = 100'000;
        f.put(on.next++, "ahead");
        f.part().advance(Source::notifications, on.next, std::nullopt);
        on.flush_without_m0();
        CHECK(f.drain(600, 10) == "m1 ahead last");
    }
    SECTION("but by that") {
        f.part().advance(Source::notifications, on.next, at(100'000));
        f.part().advance(Source::subscriptions, 1, at(100'000));
        on.flush_without_m0();
        CHECK(f.drain(600, 10) == "last");
    }
}

// The host's wall clock and the log's are each right, behind, or ahead and stepping, but never
// both ahead: that nobody could know. The true time is known to the test alone.
TEST_CASE("whatever one of the two clocks does, compaction takes no message before its time") {
    constexpr auto kTaken = [](const rocksdb::CompactionFilter& filter, core::Timestamp expiry) {
        std::string value;
        append_key_row(value,
                       {.state = KeyRow::State::pending, .offset = 1, .until = expiry, .slot = {}});
        const auto key = key_row_key(1, uaid_of("u"), key_of("k"));
        bool changed = false;
        std::string replacement;
        return filter.Filter(0, slice(key.view()), slice(value), &replacement, &changed);
    };
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        CAPTURE(seed);
        std::mt19937_64 random{seed};
        const auto below = [&](std::int64_t n) {
            return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
        };
        beckon::test::ManualClock host;
        core::Timestamp true_time = host.wall();
        const auto times = std::make_shared<FoldTimes>(host);
        const auto filter =
            make_expiry_filter(times)->CreateCompactionFilter(rocksdb::CompactionFilter::Context{});
        std::vector<core::Timestamp> expiries;
        std::size_t taken = 0;
        for (int step = 0; step < 200; ++step) {
            const minutes passed{below(24 * 60)};
            host.advance(passed);
            true_time += passed;
            const bool host_ahead = below(2) == 0;
            const auto wrong = [&](bool ahead) {
                const hours by{below(3) == 0 ? 0 : below(24 * 62)};  // over month ends
                return ahead ? by : -by;
            };
            host.step_wall(true_time + wrong(host_ahead) - host.wall());
            times->set(1, true_time + wrong(!host_ahead));
            expiries.push_back(true_time + minutes{below(40 * 24 * 60)});
            std::erase_if(expiries, [&](const auto& expiry) {
                if (!kTaken(*filter, expiry)) return false;
                REQUIRE(true_time >= expiry + hours{1});
                ++taken;
                return true;
            });
        }
        CHECK(taken > 0);
        host.step_wall(true_time - host.wall());
        times->set(1, true_time);
        for (const auto& expiry : expiries) {
            CHECK(kTaken(*filter, expiry) == (true_time >= expiry + hours{1}));
        }
    }
}
