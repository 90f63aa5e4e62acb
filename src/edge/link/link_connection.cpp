#include "edge/link/link_connection.hpp"

#include <algorithm>
#include <utility>

namespace beckon::edge::link {

using core::fail;
using core::Fault;

LinkConnection::LinkConnection(Options options, core::MonoTime now)
    : options_(std::move(options)),
      reader_(Ends{.self = options_.self.node, .peer = {}}),
      opened_(now),
      received_at_(now),
      unread_at_(now),
      pinged_(now) {}

std::string LinkConnection::opening() const {
    std::string out;
    if (!options_.expected) static_cast<void>(append_frame(out, Frame{options_.self}));
    return out;
}

core::Result<void> LinkConnection::receive(std::string_view bytes, core::MonoTime now,
                                           std::string& reply, Messages& arrivals) {
    received_at_ = now;
    reader_.append(bytes);
    for (;;) {
        auto frame = reader_.next();
        if (!frame) return fail(frame.error());
        if (!*frame) return {};
        if (auto handled = handle(std::move(**frame), reply, arrivals); !handled) return handled;
    }
}

core::Result<void> LinkConnection::handle(Frame frame, std::string& reply, Messages& arrivals) {
    if (auto* hello = std::get_if<Greeting>(&frame)) return greeted(*hello, reply);
    if (!peer_) return fail(Fault::invalid, "the peer's first frame is not a greeting");
    if (auto* message = std::get_if<ToHome>(&frame)) {
        arrivals.to_homes.push_back(std::move(*message));
    } else if (auto* answer = std::get_if<ToFront>(&frame)) {
        arrivals.to_fronts.push_back(std::move(*answer));
    } else if (const auto* ping = std::get_if<Ping>(&frame)) {
        return append_frame(reply, Frame{Pong{ping->number}});
    }
    return {};
}

core::Result<void> LinkConnection::greeted(const Greeting& peer, std::string& reply) {
    if (peer_) return fail(Fault::invalid, "the peer greets twice");
    if (auto good = check(peer); !good) return good;
    peer_ = peer.node;
    reader_.set_peer(peer.node);
    return options_.expected ? append_frame(reply, Frame{options_.self}) : core::Result<void>{};
}

core::Result<void> LinkConnection::check(const Greeting& peer) const {
    if (peer.log_id != options_.self.log_id) {
        return fail(Fault::unauthorized, "the peer serves the log '" + peer.log_id +
                                             "', this node serves '" + options_.self.log_id + "'");
    }
    if (options_.expected && peer.node != *options_.expected) {
        return fail(Fault::unauthorized, "node " + peer.node.text + " answered where node " +
                                             options_.expected->text + " was expected");
    }
    if (peer.node == options_.self.node) {
        return fail(Fault::unauthorized, "this node was connected to itself");
    }
    if (std::max(peer.version_lowest, options_.self.version_lowest) >
        std::min(peer.version_highest, options_.self.version_highest)) {
        return fail(Fault::conflict, "the peer speaks link versions " +
                                         std::to_string(peer.version_lowest) + " to " +
                                         std::to_string(peer.version_highest) + ", this node " +
                                         std::to_string(options_.self.version_lowest) + " to " +
                                         std::to_string(options_.self.version_highest));
    }
    return {};
}

core::Result<void> LinkConnection::tick(core::MonoTime now, std::string& out) {
    if (!peer_ && now - std::max(opened_, unread_at_) >= options_.greeting_timeout) {
        return fail(Fault::timed_out, "the peer did not greet in time");
    }
    // The pings go on while this node does not read: the peer counts its own silence.
    if (now - std::max(received_at_, unread_at_) >= options_.lost_after) {
        return fail(Fault::timed_out, "the peer has been silent for too long");
    }
    if (peer_ && now - received_at_ >= options_.ping_after &&
        now - pinged_ >= options_.ping_after) {
        pinged_ = now;
        return append_frame(out, Frame{Ping{++pings_}});
    }
    return {};
}

}  // namespace beckon::edge::link
