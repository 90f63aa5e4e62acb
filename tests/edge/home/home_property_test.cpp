#include "edge/home/home.hpp"
#include "support/home_world.hpp"

#include <iterator>
#include <map>
#include <random>
#include <set>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using test::HomeWorld;

namespace {

constexpr std::size_t kWindow = 3;
constexpr int kSteps = 150;

/// Clients that do anything, allowed or not, and the properties that must hold.
class RandomClients {
public:
    explicit RandomClients(unsigned seed)
        : random_(seed), world_({.seed = seed, .delivery_window = kWindow}) {
        world_.serve();
        for (int i = 0; i < 3; ++i) clients_.push_back(world_.subscribed());
    }

    void step() {
        const auto& [uaid, channel] = clients_[below(clients_.size())];
        switch (below(12)) {
            case 0:
            case 1: connect(uaid); break;
            case 2: hang_up(uaid); break;
            case 3:
            case 4:
            case 5: push(uaid, channel); break;
            case 6:
            case 7:
            case 8: ack(uaid); break;
            case 9: nack(uaid); break;
            case 10: send_anything(uaid); break;
            case 11: erase(); break;
        }
        if (below(3) == 0) world_.run(std::chrono::milliseconds{below(200)});
        check();
    }

    /// Waits until nothing is under way, and lets every client come back once more.
    void finish() {
        for (const auto& [uaid, channel] : clients_) {
            connect(uaid);
            for (int round = 0; round < 100; ++round) {
                world_.run(2s);
                check();
                auto& mine = sessions_[attached_.at(uaid)];
                if (mine.unacked.empty()) break;
                while (!mine.unacked.empty()) ack(uaid);
            }
        }
        world_.run(5s);
        check();
        for (const auto& version : pushed_) {
            CAPTURE(version);
            CHECK((acked_.contains(version) || erased_.contains(version)));
        }
        CHECK(world_.unfinished_in_log() == 0);
        CHECK(world_.home->status().pending_tombstones == 0);
    }

private:
    struct Seen {
        core::Uaid uaid;
        std::set<std::string> unacked;  ///< sent on this session
        std::set<std::string> given_free;
        int answers_due = 0;  ///< frames that have an answer
        bool closed = false;
    };

    std::size_t below(std::size_t n) { return random_() % n; }

    void connect(const core::Uaid& uaid) {
        const auto number = world_.hello(uaid);
        sessions_[number].uaid = uaid;
        attached_[uaid] = number;
        world_.run();
        check();
    }
    void hang_up(const core::Uaid& uaid) {
        const auto at = attached_.find(uaid);
        if (at == attached_.end()) return;
        world_.hang_up(at->second);
        sessions_[at->second].closed = true;
        attached_.erase(at);
    }
    void push(const core::Uaid& uaid, const core::ChannelId& channel) {
        pushed_.insert(world_.push(uaid, channel));
    }
    void ack(const core::Uaid& uaid) {
        const auto at = attached_.find(uaid);
        if (at == attached_.end()) return;
        auto& mine = sessions_[at->second];
        if (mine.closed || mine.unacked.empty()) return;
        const auto version = *std::next(mine.unacked.begin(),
                                        static_cast<std::ptrdiff_t>(below(mine.unacked.size())));
        mine.unacked.erase(version);
        mine.given_free.erase(version);
        acked_.insert(version);
        world_.ack(at->second, version);
    }
    void nack(const core::Uaid& uaid) {
        const auto at = attached_.find(uaid);
        if (at == attached_.end() || sessions_[at->second].unacked.empty()) return;
        auto& mine = sessions_[at->second];
        const auto version = *mine.unacked.begin();
        mine.given_free.insert(version);
        world_.send_frame(at->second, R"({"messageType":"nack","version":")" + version + R"("})");
    }
    /// A message of anybody, whether it was sent or not, is deleted by its sender.
    void erase() {
        if (pushed_.empty()) return;
        const auto version =
            *std::next(pushed_.begin(), static_cast<std::ptrdiff_t>(below(pushed_.size())));
        const auto uaid = world_.tokens.open_message(version)->uaid;
        world_.run(0ms);  // messages that the ack made space for go out before the home can know
        check();
        world_.finish(uaid, version, core::FinishReason::deleted);
        world_.run();
        check_the_end_of(version);
    }
    void send_anything(const core::Uaid& uaid) {
        const auto at = attached_.find(uaid);
        if (at == attached_.end() || sessions_[at->second].closed) return;
        const std::vector<std::string> texts{
            "{}",
            R"({"messageType":"ping"})",
            R"({"messageType":"register","channelID":")" +
                core::to_dashed(core::ChannelId{core::random_uuid4()}) + R"("})",
            R"({"messageType":"unregister","channelID":")" +
                core::to_dashed(core::ChannelId{core::random_uuid4()}) + R"("})",
            R"({"messageType":"ack","updates":[{"channelID":"00000000-0000-0000-0000-000000000000","version":"made up"}]})",
        };
        const auto which = below(texts.size());
        if (which < 4) ++sessions_[at->second].answers_due;
        world_.send_frame(at->second, texts[which]);
        world_.run(2s);
        check();
    }

    void check_the_end_of(const std::string& version) {
        erased_.insert(version);
        for (auto& [number, seen] : sessions_) {
            seen.unacked.erase(version);
            seen.given_free.erase(version);
        }
        check();
    }

    /// Reads what every session received, and checks it.
    void check() {
        std::map<core::Uaid, int> open;
        for (auto& [number, seen] : sessions_) {
            CAPTURE(number);
            for (const auto& frame : world_.take(number)) {
                if (frame.starts_with("closed ") || frame.starts_with("released ")) {
                    seen.closed = true;
                    if (attached_.contains(seen.uaid) && attached_[seen.uaid] == number) {
                        attached_.erase(seen.uaid);
                    }
                    continue;
                }
                CHECK_FALSE(seen.closed);  // nothing is said after the end
                const auto versions = HomeWorld::versions({frame});
                if (versions.empty()) {
                    if (frame.find("\"hello\"") == std::string::npos) --seen.answers_due;
                    continue;
                }
                CHECK_FALSE(acked_.contains(versions[0]));
                CHECK_FALSE(erased_.contains(versions[0]));
                CHECK(seen.unacked.insert(versions[0]).second);  // once a session
            }
            CHECK(seen.unacked.size() - seen.given_free.size() <= kWindow);
            if (!seen.closed) {
                ++open[seen.uaid];
                CHECK(seen.answers_due == 0);
            }
        }
        for (const auto& [uaid, count] : open) CHECK(count == 1);
        CHECK(world_.home->status().sessions == open.size());
    }

    std::mt19937 random_;
    HomeWorld world_;
    std::vector<std::pair<core::Uaid, core::ChannelId>> clients_;
    std::map<std::uint64_t, Seen> sessions_;
    std::map<core::Uaid, std::uint64_t> attached_;
    std::set<std::string> pushed_;
    std::set<std::string> acked_;
    std::set<std::string> erased_;
};

}  // namespace

TEST_CASE("whatever clients do: one session each, a bounded window, and no message twice or lost",
          "[home]") {
    const auto seed = GENERATE(range(0U, 12U));
    CAPTURE(seed);
    RandomClients clients{seed};
    for (int i = 0; i < kSteps; ++i) clients.step();
    clients.finish();
}
