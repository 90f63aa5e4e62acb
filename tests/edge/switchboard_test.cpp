#include "edge/switchboard.hpp"

#include "edge/new_uaid.hpp"

#include <future>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace beckon;
using edge::ShardLoop;
using edge::Switchboard;

namespace {

constexpr core::Partition kPartitions = 4;

/// Two shards; partition p lives on shard p mod 2.
struct Board {
    core::SystemClock clock;
    ShardLoop zero{"edge-0", clock};
    ShardLoop one{"edge-1", clock};
    Switchboard board{kPartitions, {&zero, &one}};

    void start() {
        zero.start();
        one.start();
    }
    ~Board() {
        zero.stop();
        one.stop();
    }
};

edge::FromClient frame(core::Partition to, std::string text) {
    return {.session = {.front = {}, .shard = 0, .number = 1},
            .uaid = edge::new_uaid_in(to, kPartitions),
            .text = std::move(text)};
}

}  // namespace

TEST_CASE("a message reaches its home on either shard, in order", "[edge][switchboard]") {
    Board b;
    const core::Partition to = GENERATE(0, 1);
    CAPTURE(to);
    auto& home_loop = to == 0 ? b.zero : b.one;
    std::vector<std::string> heard;
    std::promise<bool> done;
    b.board.connect_home(to, [&](edge::ToHome m) {
        heard.push_back(std::get<edge::FromClient>(m).text);
        if (heard.size() == 3) done.set_value(home_loop.here());
    });
    b.start();
    b.zero.post([&b, to] {
        for (const char* text : {"a", "b", "c"}) b.board.homes(0).to_home(frame(to, text));
    });
    CHECK(done.get_future().get());
    CHECK(heard == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("a home never runs within the sender's call", "[edge][switchboard]") {
    Board b;
    bool within = false;
    bool sending = false;
    std::promise<void> done;
    b.board.connect_home(0, [&](edge::ToHome) {
        within = sending;
        done.set_value();
    });
    b.start();
    b.zero.post([&] {
        sending = true;
        b.board.homes(0).to_home(frame(0, "x"));
        sending = false;
    });
    done.get_future().wait();
    CHECK_FALSE(within);
}

TEST_CASE("nobody there is an answer", "[edge][switchboard]") {
    Board b;
    CHECK_FALSE(b.board.homes(0).to_home(frame(0, "x")));
    b.board.connect_home(0, [](edge::ToHome) {});
    CHECK(b.board.homes(0).to_home(frame(0, "x")));
    b.board.connect_home(0, {});
    CHECK_FALSE(b.board.homes(0).to_home(frame(0, "x")));
}

TEST_CASE("a full way refuses frames but not what ends a session", "[edge][switchboard]") {
    Board b;
    const core::Partition to = GENERATE(0, 1);
    CAPTURE(to);
    std::size_t frames = 0;
    std::size_t detached = 0;
    b.board.connect_home(to, [&](edge::ToHome m) {
        std::holds_alternative<edge::Detach>(m) ? ++detached : ++frames;
    });
    // Nothing runs yet: all of it waits.
    const auto message = frame(to, "x");
    std::size_t taken = 0;
    while (taken <= Switchboard::kWaitingMax && b.board.homes(0).to_home(message)) ++taken;
    CHECK(taken == Switchboard::kWaitingMax);
    CHECK(b.board.homes(0).to_home(edge::Detach{.session = message.session, .uaid = message.uaid}));
    b.start();
    for (int i = 0; i < 2; ++i) {
        b.zero.run_and_wait([] {});
        b.one.run_and_wait([] {});
    }
    b.zero.run_and_wait([] {});
    CHECK(frames == Switchboard::kWaitingMax);
    CHECK(detached == 1);
    bool again = false;
    b.zero.run_and_wait([&] { again = b.board.homes(0).to_home(message); });
    CHECK(again);
}

TEST_CASE("a client whose frame finds the way full is closed instead", "[edge][switchboard]") {
    Board b;
    std::size_t texts = 0;
    std::vector<edge::CloseClient> closed;
    b.board.connect_front(1, [&](edge::ToFront m) {
        if (auto* close = std::get_if<edge::CloseClient>(&m)) {
            closed.push_back(*close);
        } else {
            ++texts;
        }
    });
    const edge::SessionId session{.front = {}, .shard = 1, .number = 7};
    for (std::size_t i = 0; i <= Switchboard::kWaitingMax; ++i) {
        b.board.fronts(0).to_front(edge::ToClient{.session = session, .text = "x"});
    }
    b.start();
    b.zero.run_and_wait([] {});
    b.zero.run_and_wait([] {});
    b.one.run_and_wait([] {});
    CHECK(texts == Switchboard::kWaitingMax);
    REQUIRE(closed.size() == 1);
    CHECK(closed[0].code == edge::CloseCode::try_again);
    CHECK(closed[0].session == session);
    CHECK_FALSE(closed[0].from_home);  // which still has the session
}

TEST_CASE("new clients get partitions of their own shard first, in turn", "[edge][switchboard]") {
    Board b;
    CHECK_FALSE(b.board.near(0));
    b.board.set_serving(1, true);
    CHECK(b.board.near(0) == 1);  // of another shard, but served
    b.board.set_serving(0, true);
    b.board.set_serving(2, true);
    CHECK(b.board.near(0) == 2);
    CHECK(b.board.near(0) == 0);
    CHECK(b.board.near(0) == 2);
    CHECK(b.board.near(1) == 1);
}
