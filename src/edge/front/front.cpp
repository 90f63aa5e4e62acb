#include "edge/front/front.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>

namespace beckon::edge {

using Phase = Client::Phase;

Front::Front(FrontOptions options, Sockets& sockets, HomePort& homes, NewUaid new_uaid,
             FrontMetrics metrics)
    : options_(std::move(options)),
      sockets_(sockets),
      homes_(homes),
      new_uaid_(std::move(new_uaid)),
      metrics_(metrics) {}

SessionId Front::session_of(const Client& client) const {
    return {.front = options_.node, .shard = options_.shard, .number = client.number};
}

Client* Front::find(const SessionId& session) const { return table_.find(session.number); }

void Front::opened(Client& client) {
    client.number = table_.add(client);
    client.phase = Phase::awaiting_hello;
    sockets_.set_timer(client, options_.hello_timeout);
}

void Front::text(Client& client, std::string frame) {
    metrics_.frames_in->Increment();
    switch (client.phase) {
        case Phase::awaiting_hello: return hello(client, std::move(frame));
        case Phase::awaiting_answer: return keep_early(client, std::move(frame));
        case Phase::identified: return forward(client, std::move(frame));
        case Phase::over: return;
    }
}

/// The home answers the hello; here only its UAID counts, which says where the home is. What is no
/// hello at all need not travel.
void Front::hello(Client& client, std::string frame) {
    const auto parsed = parser_.parse(frame);
    if (!parsed) return end(client, closing_for(parsed.error()), ClosedBy::malformed);
    const auto* said = std::get_if<Hello>(&*parsed);
    if (!said) return end(client, closing::kOutOfPlace, ClosedBy::malformed);

    const auto uaid = said->uaid ? said->uaid : new_uaid_();
    if (!uaid) return end(client, closing::kTryAgain, ClosedBy::unavailable);
    Attach attach{.session = session_of(client),
                  .uaid = *uaid,
                  .offered = said->uaid.has_value(),
                  .hello = std::move(frame)};
    if (!homes_.to_home(std::move(attach))) {
        return end(client, closing::kTryAgain, ClosedBy::unavailable);
    }
    client.uaid = *uaid;
    client.phase = Phase::awaiting_answer;
    sockets_.set_timer(client, options_.answer_timeout);
}

void Front::keep_early(Client& client, std::string frame) {
    if (!client.early) client.early = std::make_unique<std::vector<std::string>>();
    std::size_t bytes = frame.size();
    for (const auto& kept : *client.early) bytes += kept.size();
    if (client.early->size() >= options_.early_frames_max || bytes > options_.early_bytes_max) {
        return end(client, closing::kEarlyFrames, ClosedBy::early_frames);
    }
    client.early->push_back(std::move(frame));
}

void Front::forward(Client& client, std::string frame) {
    FromClient message{
        .session = session_of(client), .uaid = client.uaid, .text = std::move(frame)};
    if (homes_.to_home(std::move(message))) return;
    end(client, closing::kTryAgain, ClosedBy::unavailable);
}

void Front::pong(Client& client) {
    if (client.phase != Phase::identified || !client.pinged) return;
    client.pinged = false;
    sockets_.set_timer(client, options_.ping_interval);
}

void Front::timer(Client& client) {
    switch (client.phase) {
        case Phase::awaiting_hello:
            return end(client, closing::kHandshakeTimeout, ClosedBy::hello_timeout);
        case Phase::awaiting_answer: return end(client, closing::kTryAgain, ClosedBy::unavailable);
        case Phase::identified:
            if (client.pinged) {
                return end(client, closing::kPongTimeout, ClosedBy::pong_timeout);
            }
            client.pinged = true;
            sockets_.ping(client);
            sockets_.set_timer(client, options_.ping_timeout);
            return;
        case Phase::over: return;
    }
}

void Front::gone(Client& client) {
    if (client.phase == Phase::awaiting_answer || client.phase == Phase::identified) {
        homes_.to_home(Detach{.session = session_of(client), .uaid = client.uaid});
    }
    leave(client);
}

void Front::end(Client& client, Closing closing, ClosedBy why) {
    gone(client);
    sockets_.close(client, closing, why);
}

void Front::leave(Client& client) {
    if (client.phase == Phase::over) return;
    if (client.phase == Phase::identified) {
        metrics_.clients->Decrement();
        --identified_;
    }
    client.phase = Phase::over;
    client.early.reset();
    table_.remove(client.number);
}

void Front::receive(ToFront message) {
    std::visit([this](auto& m) { deliver(std::move(m)); }, message);
}

void Front::deliver(ToClient message) {
    if (Client* client = find(message.session)) {
        metrics_.frames_out->Increment();
        sockets_.send(*client, std::move(message.text));
    }
}

/// A home that closes has forgotten the session already, so it hears no Detach.
void Front::deliver(const CloseClient& message) {
    Client* client = find(message.session);
    if (!client) return;
    message.from_home ? leave(*client) : gone(*client);
    sockets_.close(*client, {message.code, message.reason}, ClosedBy::home);
}

void Front::deliver(const Attached& message) {
    Client* client = find(message.session);
    if (!client || client->phase == Phase::awaiting_hello) return;
    client->uaid = message.uaid;
    if (client->phase == Phase::identified) return;
    client->phase = Phase::identified;
    ++identified_;
    metrics_.clients->Increment();
    sockets_.set_timer(*client, options_.ping_interval);
    const auto early = std::move(client->early);
    if (!early) return;
    for (auto& frame : *early) {
        if (client->phase != Phase::identified) return;  // one of them could not be forwarded
        forward(*client, std::move(frame));
    }
}

std::size_t Front::go_away(std::size_t at_most) {
    for (; at_most > 0; --at_most) {
        Client* client = table_.next(going_);
        if (!client) {
            // Those that came meanwhile stand anywhere in the table.
            going_ = 0;
            client = table_.next(going_);
        }
        if (!client) return 0;
        end(*client, closing::kShutdown, ClosedBy::shutdown);
    }
    return table_.size();
}

}  // namespace beckon::edge
