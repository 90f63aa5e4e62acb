#pragma once

#include "edge/front/front.hpp"
#include "edge/protocol/frames.hpp"
#include "ops/metrics.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace beckon::test {

/// Sockets that keep sent frames.
struct KeptSockets final : edge::Sockets {
    void send(edge::Client& client, std::string text) override {
        sent.emplace_back(&client, std::move(text));
    }
    void ping(edge::Client&) override {}
    void close(edge::Client&, edge::Closing closing, edge::ClosedBy) override {
        ++closed;
        last_closing = closing;
    }
    void set_timer(edge::Client&, core::Duration after) override { timers.push_back(after); }
    std::vector<std::string> take() {
        std::vector<std::string> texts;
        for (auto& [client, text] : std::exchange(sent, {})) texts.push_back(std::move(text));
        return texts;
    }
    std::vector<std::pair<edge::Client*, std::string>> sent;
    std::vector<core::Duration> timers;  ///< all that were ever set
    int closed = 0;
    std::optional<edge::Closing> last_closing;
};

/// Homes that keep incoming messages and answer on demand.
struct KeptHomes final : edge::HomeTransport {
    std::optional<edge::NodeNumber> home_of(const core::Uaid&) const override {
        return edge::NodeNumber{};
    }
    edge::Sent to_home(edge::NodeNumber, edge::ToHome&& message) override {
        if (std::holds_alternative<edge::FromClient>(message) && frames != edge::Sent::yes) {
            return frames;
        }
        got.push_back(std::move(message));
        return edge::Sent::yes;
    }
    std::vector<edge::ToHome> got;
    edge::Sent frames = edge::Sent::yes;  ///< the outcome of clients' frames
};

inline edge::BroadcastsPtr known(std::map<std::string, std::string, std::less<>> versions) {
    return std::make_shared<const edge::Broadcasts>(
        edge::Broadcasts{.complete = true, .versions = std::move(versions)});
}

/// A front without I/O.
struct FrontAlone {
    ops::Metrics metrics;
    edge::FrontMetrics counted{metrics};
    KeptSockets sockets;
    KeptHomes homes;
    edge::Front front{
        {},     0, sockets, homes, [] { return std::optional{core::Uaid{core::random_uuid4()}}; },
        counted};
    std::deque<edge::Client> clients;

    /// Says hello; the home has not answered.
    edge::Client& hello(const std::string& broadcasts) {
        auto& client = clients.emplace_back();
        front.opened(client);
        front.text(client, R"({"messageType":"hello","broadcasts":)" + broadcasts + "}");
        return client;
    }
    void answer(const edge::Client& client) {
        const auto session = std::get<edge::Attach>(homes.got.back()).session;
        front.receive(edge::Attached{
            .session = session, .uaid = client.uaid, .stamp = {1, 1}, .persisted = true});
    }
    edge::Client& identified(const std::string& broadcasts) {
        auto& client = hello(broadcasts);
        answer(client);
        return client;
    }
    std::string sent_at_hello(const std::string& broadcasts) {
        identified(broadcasts);
        const auto frame = sockets.take().back();
        return frame.substr(frame.find(R"("broadcasts":)") + 13);
    }
};

}  // namespace beckon::test
