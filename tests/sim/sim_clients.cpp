#include "core/base64url.hpp"
#include "sim/sim_world.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::sim {

using namespace std::chrono_literals;
using Json = nlohmann::json;

namespace {

constexpr core::Duration kNetwork = 20ms;
/// A client that has gone without a word is missed after that, or by a ping.
constexpr core::Duration kHalfOpen = 5s;
/// A frame on a connection that lives on for that long has arrived. An ack may be lost with a
/// link; then its message is sent again.
constexpr core::Duration kReceivedAfter = 8s;

std::string name_of(const SimClient& client) { return "client " + std::to_string(client.number); }

}  // namespace

// --- the network between clients and edges, in order on each connection

void SimWorld::to_edge(std::uint64_t connection, std::function<void(SimSockets&)> f) {
    const auto at = sockets_.find(connection);
    if (at == sockets_.end()) return;
    auto& socket = at->second;
    const auto now = clock_.mono();
    socket.to_edge_due = std::max(socket.to_edge_due, now + up_to(kNetwork));
    executor_.post_after(socket.to_edge_due - now, [this, node = socket.node, shard = socket.shard,
                                                    f = std::move(f)] {
        auto* edge = process(node);
        if (!edge) return;
        edge->loop(shard).post([&sockets = edge->sockets(shard), f] { f(sockets); });
    });
}

void SimWorld::later_to_client(std::uint64_t connection, std::function<void(SimClient&)> f) {
    const auto at = sockets_.find(connection);
    if (at == sockets_.end()) return;
    auto& socket = at->second;
    const auto now = clock_.mono();
    socket.to_client_due = std::max(socket.to_client_due, now + up_to(kNetwork));
    executor_.post_after(socket.to_client_due - now, [this, connection, f = std::move(f)] {
        const auto found = sockets_.find(connection);
        if (found == sockets_.end()) return;
        auto& client = clients_[found->second.client];
        if (client.connection == connection) f(client);
    });
}

void SimWorld::to_client(std::uint64_t connection, std::string text) {
    later_to_client(connection,
                    [this, text = std::move(text)](SimClient& client) { receive(client, text); });
}

void SimWorld::ping_client(std::uint64_t connection) {
    later_to_client(connection, [this, connection](SimClient&) {
        to_edge(connection, [connection](SimSockets& sockets) { sockets.pong(connection); });
    });
}

void SimWorld::close_client(std::uint64_t connection, const edge::Closing& closing) {
    later_to_client(connection, [this, reason = std::string{closing.reason}](SimClient& client) {
        report(name_of(client) + " is closed: " + reason);
        disconnected(client);
    });
}

// --- coming and going

void SimWorld::connect(SimClient& client) {
    const auto& slot = some_edge();
    if (!slot.process || !slot.process->ready()) return;
    const auto connection = ++next_connection_;
    sockets_[connection] = {.client = client.number,
                            .node = slot.process->id().text,
                            .shard = below(slot.process->shards())};
    client.connection = connection;
    client.greeted = false;
    Json hello{{"messageType", "hello"}, {"use_webpush", true}};
    if (client.uaid) hello["uaid"] = core::to_hex(*client.uaid);
    report(name_of(client) + " connects to " + slot.name);
    to_edge(connection, [connection](SimSockets& sockets) { sockets.opened(connection); });
    send_frame(client, hello.dump());
}

void SimWorld::disconnected(SimClient& client) {
    sockets_.erase(client.connection);
    client.connection = 0;
    client.greeted = false;
    client.asked.clear();
    client.ending.clear();
    // It never received its subscription: as Firefox, it starts without a uaid.
    if (client.channels.empty() && client.dropped.empty()) client.uaid.reset();
}

void SimWorld::leave(SimClient& client, bool sends_goodbye) {
    if (client.connection == 0) return;
    const auto connection = client.connection;
    auto& socket = sockets_.at(connection);
    // A socket that just dies is noticed later.
    if (!sends_goodbye) {
        socket.to_edge_due = std::max(socket.to_edge_due, clock_.mono() + up_to(kHalfOpen));
    }
    if (sends_goodbye || chance(80)) {
        to_edge(connection, [connection](SimSockets& sockets) { sockets.lost(connection); });
    }
    disconnected(client);
}

void SimWorld::send_frame(const SimClient& client, std::string text) {
    to_edge(client.connection, [connection = client.connection, text = std::move(text)](
                                   SimSockets& sockets) { sockets.text(connection, text); });
}

// --- what it receives

void SimWorld::receive(SimClient& client, const std::string& text) {
    const auto frame = Json::parse(text);
    const std::string type = frame.value("messageType", "");
    if (type == "hello") {
        const core::Uaid uaid{*core::parse_hex16(frame.at("uaid").get<std::string>())};
        if (client.uaid != uaid && !client.channels.empty()) {
            fail(name_of(client) + " lost its uaid");
        }
        client.uaid = uaid;
        client.greeted = true;
    } else if (type == "register") {
        const core::ChannelId channel{
            *core::parse_dashed(frame.at("channelID").get<std::string>())};
        if (client.asked.erase(channel) == 0 || frame.at("status") != 200) return;
        const auto url = frame.at("pushEndpoint").get<std::string>();
        client.channels[channel] = url.substr(kOrigin.size());
        ++tally.registered;
    } else if (type == "unregister") {
        client.ending.erase(
            core::ChannelId{*core::parse_dashed(frame.at("channelID").get<std::string>())});
    } else if (type == "notification") {
        const auto body = core::parse_base64url(frame.at("data").get<std::string>());
        notified(client, std::stoull(*body), frame.at("version").get<std::string>());
    }
}

void SimWorld::notified(SimClient& client, std::uint64_t number, const std::string& version) {
    auto& message = sent_.at(number);
    if (message.uaid != client.uaid) {
        fail(name_of(client) + " got a message that is not its own");
        return;
    }
    message.version = version;
    by_version_[version] = number;
    if (client.received.insert_or_assign(number, clock_.mono()).second) ++tally.received;
    check_delivered(client, number);
    if (message.ttl_s == 0) return;
    if (message.answered_201 && hostile_ && time_.must_be_over(life_of(message))) {
        fail("a message was delivered that had expired, number " + std::to_string(number));
    }
    const auto later = [this, &client, connection = client.connection](core::Duration delay,
                                                                       auto f) {
        executor_.post_after(delay, [this, &client, connection, f = std::move(f)] {
            if (client.connection == connection) f();
        });
    };
    if (chance(keenness_)) {
        later(up_to(chance(20) ? core::Duration{3s} : core::Duration{30ms}),
              [this, &client, number] { ack(client, number); });
    } else if (chance(30)) {
        nack(client, version);
    }
}

void SimWorld::nack(const SimClient& client, const std::string& version) {
    send_frame(client, Json{{"messageType", "nack"}, {"version", version}}.dump());
}

void SimWorld::ack(SimClient& client, std::uint64_t number) {
    const auto& message = sent_.at(number);
    send_frame(client,
               Json{{"messageType", "ack"},
                    {"updates", Json::array({{{"channelID", core::to_dashed(message.channel)},
                                              {"version", message.version},
                                              {"code", 100}}})}}
                   .dump());
    if (client.acked.insert(number).second) ++tally.acked;
    executor_.post_after(kReceivedAfter,
                         [&client, connection = client.connection, number, at = clock_.mono()] {
                             const bool sent_again = client.received.at(number) > at;
                             if (client.connection == connection && !sent_again) {
                                 client.confirmed.emplace(number, at);
                             }
                         });
}

// --- what it does

void SimWorld::ask_channel(SimClient& client) {
    const core::ChannelId channel{random_id()};
    client.asked.insert(channel);
    send_frame(client,
               Json{{"messageType", "register"}, {"channelID", core::to_dashed(channel)}}.dump());
}

void SimWorld::drop_channel(SimClient& client) {
    if (client.channels.empty()) return;
    auto it = client.channels.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(below(client.channels.size())));
    const auto channel = it->first;
    client.channels.erase(it);
    client.dropped.insert(channel);
    client.ending.insert(channel);
    send_frame(
        client,
        Json{{"messageType", "unregister"}, {"channelID", core::to_dashed(channel)}, {"code", 200}}
            .dump());
}

void SimWorld::act(SimClient& client) {
    if (client.connection == 0) {
        if (chance(60)) connect(client);
        return;
    }
    if (!client.greeted) return;
    const auto dice = below(100);
    if (dice < 25 && client.channels.size() < 4) {
        ask_channel(client);
    } else if (dice < 28) {
        drop_channel(client);
    } else if (dice < 35) {
        leave(client, true);
    } else if (dice < 40) {
        leave(client, false);
        connect(client);  // before its home has noticed
    } else if (dice < 45) {
        send_frame(client, "{}");
    }
}

}  // namespace beckon::sim
