#pragma once

#include "edge/fronts.hpp"
#include "edge/protocol/frames.hpp"
#include "ops/metrics.hpp"
#include "support/ws_client.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

namespace beckon::test {

/// A frame that passes `what` to a FakeHome.
inline std::string order(const std::string& what) {
    return R"({"messageType":"nack","version":")" + what + R"("})";
}

/// A home without protocol or log: answers hello, echoes, and does what an order() asks for.
///
///   `burst N SIZE`         N frames of SIZE bytes, `0:xxx…`, `1:xxx…`, …
///   `close CODE REASON`    CloseClient
///   overflow               a CloseClient of which no home knows, as a full switchboard makes it
///   throw                  the home's code throws
///   release                released: the front attaches the client again
///   a register or ping     answered, unless the home lets the client go instead
///   anything else          `<partition>:<text>`
class FakeHome {
public:
    FakeHome(core::Partition partition, edge::FrontTransport& fronts)
        : partition_(partition), fronts_(fronts) {}

    void receive(edge::ToHome message) {
        std::visit([this](auto& m) { on(m); }, message);
    }

    std::atomic<int> attached{0};
    std::atomic<int> attached_again{0};
    std::atomic<int> changes{0};       ///< registers and unregisters
    std::atomic<int> let_go{0};        ///< so many more are released when they register or ping
    std::atomic<bool> gone{false};     ///< a client that is attached again is released again
    std::atomic<bool> mute{false};     ///< no hello is answered
    std::atomic<bool> refuses{false};  ///< each hello is closed with 1013 "Moved"
    std::atomic<int> offered{0};
    std::atomic<int> detached{0};
    std::atomic<int> frames{0};
    std::atomic<std::size_t> sessions{0};  ///< those it knows of now

private:
    void on(edge::Attach& attach) {
        ++attached;
        there_.insert(attach.session);
        sessions = there_.size();
        if (attach.offered) ++offered;
        if (attach.again) {
            ++attached_again;
            if (gone) return release(attach.session);
        }
        if (mute) return;
        if (refuses) {
            forget(attach.session);
            fronts_.to_front(edge::CloseClient{
                .session = attach.session, .code = edge::CloseCode::try_again, .reason = "Moved"});
            return;
        }
        fronts_.to_front(edge::Attached{
            .session = attach.session, .uaid = attach.uaid, .stamp = {1, 1}, .persisted = true});
    }
    void on(edge::FromClient& from) {
        ++frames;
        if (const auto* asked = std::get_if<edge::Register>(&from.command)) {
            ++changes;
            answer(from.session, edge::register_frame(asked->channel, 200, "url"));
        } else if (std::holds_alternative<edge::Ping>(from.command)) {
            answer(from.session, edge::ping_frame());
        } else {
            obey(from.session, std::get<edge::Nack>(from.command).version);
        }
    }
    /// Or lets the client go, if it is to.
    void answer(const edge::SessionId& session, std::string text) {
        if (let_go > 0) {
            --let_go;
            return release(session);
        }
        fronts_.to_front(edge::ToClient{.session = session, .text = std::move(text)});
    }
    void obey(const edge::SessionId& session, const std::string& what) {
        if (what.starts_with("burst ")) return burst(session, what);
        if (what.starts_with("close ")) {
            const auto code = static_cast<edge::CloseCode>(std::stoi(what.substr(6)));
            forget(session);
            fronts_.to_front(
                edge::CloseClient{.session = session, .code = code, .reason = what.substr(11)});
            return;
        }
        if (what == "throw") throw std::runtime_error("as the test asked");
        if (what == "release") return release(session);
        if (what == "overflow") {
            fronts_.to_front(edge::CloseClient{.session = session,
                                               .code = edge::CloseCode::try_again,
                                               .reason = "Overloaded",
                                               .kind = edge::CloseClient::Kind::held});
            return;
        }
        fronts_.to_front(
            edge::ToClient{.session = session, .text = std::to_string(partition_) + ":" + what});
    }
    void on(edge::Detach& detach) {
        ++detached;
        forget(detach.session);
    }

    void forget(const edge::SessionId& session) {
        there_.erase(session);
        sessions = there_.size();
    }

    void release(const edge::SessionId& session) {
        forget(session);
        fronts_.to_front(edge::CloseClient{.session = session,
                                           .code = edge::CloseCode::try_again,
                                           .reason = "Moved",
                                           .kind = edge::CloseClient::Kind::released});
    }

    void burst(const edge::SessionId& session, const std::string& what) {
        const auto space = what.find(' ', 6);
        const int n = std::stoi(what.substr(6));
        const auto size = static_cast<std::size_t>(std::stoi(what.substr(space + 1)));
        for (int i = 0; i < n; ++i) {
            std::string text = std::to_string(i) + ":";
            text.resize(std::max(size, text.size()), 'x');
            fronts_.to_front(edge::ToClient{.session = session, .text = std::move(text)});
        }
    }

    const core::Partition partition_;
    edge::FrontTransport& fronts_;
    std::set<edge::SessionId> there_;
};

/// Real sockets and shards, fake homes: all partitions serve at once.
class FrontWorld {
public:
    static edge::EdgeOptions defaults() {
        edge::EdgeOptions options;
        options.node = core::NodeId::random();
        options.partitions = 4;
        options.shards = 1;
        options.port = 0;
        options.connections_max = 1'000;
        options.frames_per_second_max = 0;
        options.version = "1.2.3";
        return options;
    }
    /// The same, but for the changes that `change` makes.
    static edge::EdgeOptions with(const std::function<void(edge::EdgeOptions&)>& change) {
        auto options = defaults();
        change(options);
        return options;
    }

    explicit FrontWorld(edge::EdgeOptions options = defaults())
        : partitions_(options.partitions),
          counters(metrics),
          fronts(std::move(options), clock, counters, [this] {
              const std::scoped_lock lock{mutex_};
              return why_;
          }) {
        auto& board = fronts.switchboard();
        for (core::Partition p = 0; p < partitions_; ++p) {
            auto& home =
                *homes.emplace_back(std::make_unique<FakeHome>(p, board.fronts(board.shard_of(p))));
            board.connect_home(p, [&home](edge::ToHome m) { home.receive(std::move(m)); });
            board.set_serving(p, true);
        }
        fronts.start();
    }
    ~FrontWorld() {
        // Nobody is connected any more: no home may think otherwise, whatever bound was filled.
        CHECK(soon([this] {
            return std::all_of(homes.begin(), homes.end(),
                               [](const auto& home) { return home->sessions == 0; });
        }));
        fronts.stop();
    }

    WsClient connect(WsClient::Tls tls = WsClient::Tls::no) {
        WsClient client{fronts.port(), tls};
        if (!client.upgrade()) throw std::runtime_error("no upgrade: " + client.head());
        return client;
    }
    /// Connected and identified.
    WsClient client(WsClient::Tls tls = WsClient::Tls::no) {
        WsClient client = connect(tls);
        client.text(kHello);
        if (!client.next_message().is_text()) throw std::runtime_error("no answer to hello");
        return client;
    }

    void set_unready(std::string why) {
        const std::scoped_lock lock{mutex_};
        why_ = std::move(why);
    }

    int sum(std::atomic<int> FakeHome::*what) const {
        int total = 0;
        for (const auto& home : homes) total += (*home.*what).load();
        return total;
    }
    double closed(edge::ClosedBy why) const { return counters.sockets.closed[why]->Value(); }

    /// True as soon as `condition` holds; false after five seconds.
    template <class Condition>
    static bool soon(const Condition& condition) {
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{5};
        while (!condition()) {
            if (std::chrono::steady_clock::now() > until) return false;
            std::this_thread::yield();
        }
        return true;
    }

    static constexpr std::string_view kHello = R"({"messageType":"hello","use_webpush":true})";

private:
    std::mutex mutex_;
    std::string why_;
    core::Partition partitions_;

public:
    core::SystemClock clock;
    ops::Metrics metrics;
    edge::EdgeMetrics counters;
    std::vector<std::unique_ptr<FakeHome>> homes;
    edge::Fronts fronts;
};

}  // namespace beckon::test
