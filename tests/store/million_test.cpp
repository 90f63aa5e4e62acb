// The cost of a store with a million messages, beside a store with ten. `./dev bench --only store`
// runs it for the times that it prints.
#include "store/edge_fixture.hpp"
#include "store/edge_store.hpp"
#include "store/rows/schema.hpp"
#include "store/rows_touched.hpp"

#include <chrono>
#include <cstdio>
#include <string>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;

using namespace beckon::store::test;
using namespace std::chrono;

namespace {

constexpr std::int64_t kFew = 10;
constexpr std::int64_t kMany = 1'000'000;
constexpr Message kForDays{.ttl_s = 5 * 86'400, .body = "a body that nobody reads here"};

/// Ids that lie all over the range of keys, as random ones do.
core::Bytes16 scattered(std::uint64_t number) {
    std::uint64_t half = number * 0x9e3779b97f4a7c15U;
    half = (half ^ (half >> 31U)) * 0xbf58476d1ce4e5b9U;
    core::Bytes16 bytes;
    std::memcpy(bytes.data(), &half, sizeof half);
    std::memcpy(bytes.data() + sizeof half, &number, sizeof number);
    return bytes;
}

void put(EdgeFixture& f, core::Offset offset, const core::Uaid& uaid, const std::string& name) {
    auto event = accepted(uaid, name, kForDays);
    event.key.bytes = scattered(static_cast<std::uint64_t>(offset));
    if (f.part().put(offset, at(0), event, nullptr) != PutOutcome::pending) FAIL("not pending");
}

/// A client with 20 messages, and `others` further clients with a message each; all in the same
/// month, in tables.
struct Filled {
    explicit Filled(std::int64_t others) {
        for (std::int64_t i = 0; i < others; ++i) {
            core::Uaid other;
            other.bytes = scattered(static_cast<std::uint64_t>(i) + (1ULL << 40U));
            put(f, i, other, "x");
            if (f.part().commit_due()) f.commit();
        }
        for (int i = 1; i <= 20; ++i) put(f, others + i, f.uaid, "m" + std::to_string(i));
        f.commit();
        f.reopen();
    }
    EdgeFixture f;
};

struct Cost {
    std::uint64_t rows = 0;
    double ms = 0;
};

template <class Work>
Cost cost_of(Work work) {
    const auto begin = steady_clock::now();
    Cost cost{.rows = rows_touched(work)};
    cost.ms = duration<double, std::milli>(steady_clock::now() - begin).count();
    return cost;
}

void print(const char* what, std::int64_t among, const Cost& cost) {
    std::printf("%-42s %9lld messages: %4llu rows, %7.2f ms\n", what, static_cast<long long>(among),
                static_cast<unsigned long long>(cost.rows), cost.ms);
}

/// A window of the client's messages.
Cost read(Filled& store, std::int64_t others) {
    DrainCursor cursor{.topics = false, .until = others + 100};
    const auto cost =
        cost_of([&] { CHECK(store.f.read(cursor, 10) == "m1 m2 m3 m4 m5 m6 m7 m8 m9 m10"); });
    print("a client's window of ten is read", others, cost);
    return cost;
}

Cost drop(Filled& store, std::int64_t others) {
    const auto over = month_end(month_of(at(0))) + hours{1};
    const auto cost =
        cost_of([&] { CHECK(store.f.store().drop_past_months(over, over).size() == 1); });
    print("a month is dropped", others, cost);
    CHECK(store.f.drain().empty());
    return cost;
}

}  // namespace

TEST_CASE(
    "a read touches the client's own rows and a month is dropped at once, of 10 and 1,000,000") {
    Filled few{kFew};
    Filled many{kMany};
    const auto read_of_few = read(few, kFew);
    CHECK(read_of_few.rows >= 10);
    // Files on the way there: a machine that is behind with compaction has some dozens.
    CHECK(read(many, kMany).rows <= read_of_few.rows + 100);
    CHECK(drop(many, kMany).rows == drop(few, kFew).rows);
}
