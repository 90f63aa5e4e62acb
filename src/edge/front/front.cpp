#include "edge/front/front.hpp"

#include "core/overloaded.hpp"
#include "edge/protocol/frames.hpp"

#include <algorithm>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>

namespace beckon::edge {

using Phase = Client::Phase;

namespace {

/// As many as a home has under way for one client.
constexpr std::size_t kChangesMax = 256;
/// The longest pause between two tries, as a power of two of ticks.
constexpr std::uint8_t kPauseMax = 3;

bool waits_for_home(const Client& client) {
    return client.phase == Phase::awaiting_answer || client.phase == Phase::reattaching;
}

/// Its hello was answered.
bool is_greeted(const Client& client) {
    return client.phase == Phase::identified || client.phase == Phase::reattaching;
}

/// The change of a channel that is asked for; nullopt: none.
std::optional<ChannelFrame> change_of(const ClientCommand& command) {
    if (const auto* asked = std::get_if<Register>(&command)) {
        return ChannelFrame{.registers = true, .channel = asked->channel};
    }
    if (const auto* asked = std::get_if<Unregister>(&command)) {
        return ChannelFrame{.registers = false, .channel = asked->channel};
    }
    return std::nullopt;
}

template <class Commands>
std::size_t sum_of_bytes(const Commands& commands) {
    std::size_t bytes = 0;
    for (const auto& command : commands) bytes += bytes_of(command);
    return bytes;
}

}  // namespace

Front::Front(EdgeOptions options, std::uint32_t shard, Sockets& sockets, HomeTransport& homes,
             NewUaid new_uaid, FrontMetrics metrics)
    : options_(std::move(options)),
      shard_(shard),
      sockets_(sockets),
      homes_(homes),
      new_uaid_(std::move(new_uaid)),
      metrics_(metrics) {}

SessionId Front::session_of(const Client& client) const {
    return {.front = options_.node, .shard = shard_, .number = client.number};
}

void Front::opened(Client& client) {
    client.number = table_.add(client);
    client.phase = Phase::awaiting_hello;
    sockets_.set_timer(client, options_.hello_timeout);
}

void Front::text(Client& client, std::string_view frame) {
    metrics_.frames_in->Increment();
    if (client.phase == Phase::over) return;
    auto parsed = parser_.parse(frame);
    if (!parsed) return refuse(client, closing_for(parsed.error()));
    std::visit(core::Overloaded{
                   [&](const Hello& said) { hello(client, said); },
                   [&](const BroadcastSubscribe& wanted) { subscribe(client, wanted); },
                   [&](ClientCommand& asked) { command(client, std::move(asked)); },
               },
               *parsed);
}

/// The home answers the hello; it gets no more of it than the UAID, which determines the home.
void Front::hello(Client& client, const Hello& frame) {
    if (client.phase != Phase::awaiting_hello) return refuse(client, closing::kOutOfPlace);
    const auto uaid = frame.uaid ? frame.uaid : new_uaid_();
    if (!uaid) return end(client, closing::kTryAgain, ClosedBy::unavailable);
    client.uaid = *uaid;
    client.offered = frame.uaid.has_value();
    if (!frame.broadcasts.empty()) follow(client, frame.broadcasts);
    client.phase = Phase::awaiting_answer;
    sockets_.set_timer(client, options_.answer_timeout);
    attach_or_wait(client);
}

void Front::command(Client& client, ClientCommand command) {
    switch (client.phase) {
        case Phase::awaiting_hello: return refuse(client, closing::kOutOfPlace);
        case Phase::awaiting_answer:
        case Phase::reattaching: return keep_early(client, std::move(command));
        case Phase::identified: return forward(client, std::move(command));
        case Phase::over: return;
    }
}

void Front::refuse(Client& client, Closing closing) {
    metrics_.refused_frames->Increment();
    end(client, closing, ClosedBy::malformed);
}

Client::Kept& Front::kept(Client& client) {
    if (!client.kept) client.kept = std::make_unique<Client::Kept>();
    return *client.kept;
}

// --- homes

/// False: no home can be asked at present.
bool Front::attach(Client& client) {
    const auto home = homes_.home_of(client.uaid);
    if (!home) return false;
    Attach message{.session = session_of(client), .uaid = client.uaid, .offered = client.offered};
    if (client.phase == Phase::reattaching) message.again = client.answered;
    if (homes_.to_home(*home, std::move(message)) != Sent::yes) return false;
    client.home = *home;
    client.homeless = false;
    return true;
}

void Front::attach_or_wait(Client& client) {
    if (!attach(client)) wait_for_home(client);
}

void Front::wait_for_home(Client& client) {
    if (!std::exchange(client.homeless, true)) metrics_.homeless->Increment();
    const auto pause = std::uint64_t{1} << std::min(client.tries, kPauseMax);
    if (client.tries < kPauseMax) ++client.tries;
    homeless_[ticks_ + pause].push_back(client.number);
}

/// The session is over, but not the client: another home is to take it, or the same one later.
void Front::find_home(Client& client) {
    client.number = table_.renumber(client.number);
    if (client.phase == Phase::identified) {
        client.phase = Phase::reattaching;
        client.pinged = false;
        sockets_.set_timer(client, options_.answer_timeout);
    }
    wait_for_home(client);
}

void Front::tick() {
    ++ticks_;
    if (move_ends_ && ticks_ >= *move_ends_) {
        move_ends_.reset();
        leave_homes([this](const Client& client) {
            const auto home = homes_.home_of(client.uaid);
            return home && *home != client.home;
        });
    }
    if (notifying_) notify_some();
    attach_homeless();
}

void Front::attach_homeless() {
    for (std::size_t budget = kTickBudget; budget > 0 && !homeless_.empty();) {
        const auto due = homeless_.begin();
        if (due->first > ticks_) return;
        if (due->second.empty()) {
            homeless_.erase(due);
            continue;
        }
        Client* client = table_.find(due->second.back());
        due->second.pop_back();
        --budget;
        if (!client || !client->homeless) continue;
        if (attach(*client)) {
            metrics_.homeless->Decrement();
        } else {
            wait_for_home(*client);
        }
    }
}

void Front::moved() {
    if (!move_ends_) move_ends_ = ticks_ + kMoveTicks;
}

void Front::peer_lost(NodeNumber node) {
    leave_homes([node](const Client& client) { return client.home == node; });
}

/// The clients that are attached, or asked to be, and for which `which` is true. The home is
/// notified if it is still there.
template <class Predicate>
void Front::leave_homes(const Predicate& which) {
    std::size_t index = 0;
    while (Client* client = table_.next(index)) {
        const bool asked = client->phase == Phase::identified || waits_for_home(*client);
        if (!asked || client->homeless || !which(*client)) continue;
        detach(*client);
        find_home(*client);
    }
}

void Front::detach(const Client& client) {
    if (client.homeless) return;
    homes_.to_home(client.home, Detach{.session = session_of(client), .uaid = client.uaid});
}

// --- frames

/// True: the next home gets the command again if this one does not answer it.
bool Front::remember(Client& client, const ClientCommand& command) {
    if (std::holds_alternative<Ping>(command)) {
        ++kept(client).pings;
        return true;
    }
    if (!change_of(command)) return false;
    auto& changes = kept(client).changes;
    const auto bytes = sum_of_bytes(changes) + bytes_of(command);
    if (changes.size() >= kChangesMax || bytes > options_.frame_bytes_max) return false;
    changes.push_back(command);
    return true;
}

void Front::forget_answered(Client& client, std::string_view answer) {
    if (!client.kept) return;
    if (client.kept->pings > 0 && answer == ping_frame()) {
        --client.kept->pings;
        if (client.kept->empty()) client.kept.reset();
        return;
    }
    auto& changes = client.kept->changes;
    if (changes.empty()) return;
    const auto what = answered_by(answer);
    if (!what) return;
    const auto at = std::find_if(changes.begin(), changes.end(),
                                 [&](const auto& change) { return change_of(change) == what; });
    if (at != changes.end()) changes.erase(at);
    if (client.kept->empty()) client.kept.reset();
}

/// Sends kept commands to the home that has just taken the client: first those that a former home
/// did not answer.
void Front::repeat_kept(Client& client) {
    if (!client.kept) return;
    for (const auto& change : client.kept->changes) {
        if (auto again = change; send_home(client, again) != Sent::yes) return;
    }
    for (std::size_t i = 0; i < client.kept->pings; ++i) {
        if (ClientCommand ping = Ping{}; send_home(client, ping) != Sent::yes) return;
    }
    auto early = std::exchange(client.kept->early, {});
    if (client.kept->empty()) client.kept.reset();
    // One that cannot be forwarded may end the client, or let it wait for a home again.
    for (auto& waiting : early) command(client, std::move(waiting));
}

// --- broadcasts

void Front::broadcasts(BroadcastsPtr now) {
    broadcasts_ = std::move(now);
    const bool under_way = std::exchange(notifying_, 0).has_value();
    if (!under_way) notify_some();
}

void Front::follow(Client& client, const BroadcastList& named) {
    if (!client.follows) client.follows = std::make_unique<Follows>();
    client.follows->name(named, *broadcasts_);
}

/// No home needs it.
void Front::subscribe(Client& client, const BroadcastSubscribe& frame) {
    if (client.phase == Phase::awaiting_hello) return refuse(client, closing::kOutOfPlace);
    metrics_.broadcast_subscribes->Increment();
    follow(client, frame.broadcasts);
    notify(client);
}

/// A change is sent to a bounded number at a time, so that no delivery waits for it.
void Front::notify_some() {
    std::size_t notified = 0;
    for (std::size_t looked = 0; looked < kPassBudget && notified < kNotifyBudget; ++looked) {
        Client* client = table_.next(*notifying_);
        if (!client) {
            notifying_.reset();
            return;
        }
        if (notify(*client)) ++notified;
    }
}

/// True if there was something to send. A client without an answer to its hello gets it with that.
bool Front::notify(Client& client) {
    if (!is_greeted(client)) return false;
    const auto news = take_news(client);
    if (news.empty()) return false;
    metrics_.broadcasts_sent->Increment();
    metrics_.frames_out->Increment();
    sockets_.send(client, broadcast_frame(news));
    return true;
}

std::string Front::take_news(Client& client) {
    if (!client.follows) return {};
    auto news = client.follows->take_news(*broadcasts_);
    if (client.follows->empty()) client.follows.reset();
    return news;
}

void Front::answer_hello(Client& client) {
    metrics_.frames_out->Increment();
    sockets_.send(client, hello_frame(client.uaid, take_news(client)));
}

void Front::keep_early(Client& client, ClientCommand command) {
    auto& early = kept(client).early;
    if (early.size() >= options_.early_frames_max ||
        sum_of_bytes(early) + bytes_of(command) > options_.frame_bytes_max) {
        return end(client, closing::kEarlyFrames, ClosedBy::early_frames);
    }
    early.push_back(std::move(command));
}

/// Sends a command to the client's home. If the way there is full, the client is closed; if there
/// is no home, the front finds another one, and `command` is the caller's again.
Sent Front::send_home(Client& client, ClientCommand& command) {
    ToHome message{FromClient{
        .session = session_of(client), .uaid = client.uaid, .command = std::move(command)}};
    const auto sent = homes_.to_home(client.home, std::move(message));
    if (sent == Sent::full) end(client, closing::kOverloaded, ClosedBy::unavailable);
    if (sent == Sent::away) {
        find_home(client);
        command = std::move(std::get<FromClient>(message).command);
    }
    return sent;
}

void Front::forward(Client& client, ClientCommand command) {
    const bool repeats = remember(client, command);
    if (send_home(client, command) == Sent::away && !repeats) {
        keep_early(client, std::move(command));
    }
}

/// Evenly over the last quarter of the interval: multiples of the golden ratio spread better than
/// chance.
core::Duration Front::until_ping() {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    const auto part = static_cast<std::int64_t>((++pings_ * kGoldenRatio) >> 44);  // of 2^20
    return options_.ping_interval - options_.ping_interval / 4 * part / (1 << 20);
}

void Front::pong(Client& client) {
    if (client.phase != Phase::identified || !client.pinged) return;
    client.pinged = false;
    sockets_.set_timer(client, until_ping());
}

void Front::timer(Client& client) {
    switch (client.phase) {
        case Phase::awaiting_hello:
            return end(client, closing::kHandshakeTimeout, ClosedBy::hello_timeout);
        case Phase::awaiting_answer:
        case Phase::reattaching: return end(client, closing::kTryAgain, ClosedBy::unavailable);
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
    if (client.phase == Phase::identified || waits_for_home(client)) detach(client);
    leave(client);
}

void Front::end(Client& client, Closing closing, ClosedBy why) {
    gone(client);
    sockets_.close(client, closing, why);
}

void Front::leave(Client& client) {
    if (client.phase == Phase::over) return;
    if (is_greeted(client)) {
        metrics_.clients->Decrement();
        --identified_;
    }
    if (std::exchange(client.homeless, false)) metrics_.homeless->Decrement();
    client.phase = Phase::over;
    client.kept.reset();
    client.follows.reset();
    table_.remove(client.number);
}

void Front::receive(ToFront message) {
    std::visit([this](auto& m) { deliver(std::move(m)); }, message);
}

void Front::deliver(ToClient message) {
    Client* client = find(message.session);
    if (!client) return;
    metrics_.frames_out->Increment();
    forget_answered(*client, message.text);
    sockets_.send(*client, std::move(message.text));
}

void Front::deliver(const CloseClient& message) {
    Client* client = find(message.session);
    if (!client) return;
    switch (message.kind) {
        case CloseClient::Kind::released: return find_home(*client);
        case CloseClient::Kind::closed: leave(*client); break;
        case CloseClient::Kind::held: gone(*client); break;
    }
    sockets_.close(*client, {message.code, message.reason}, ClosedBy::home);
}

void Front::deliver(const Attached& message) {
    Client* client = find(message.session);
    if (!client || client->phase == Phase::awaiting_hello) return;
    client->uaid = message.uaid;
    client->answered = {.stamp = message.stamp, .persisted = message.persisted};
    if (client->phase == Phase::identified) return;
    const bool is_new = client->phase == Phase::awaiting_answer;
    client->phase = Phase::identified;
    client->tries = 0;
    sockets_.set_timer(*client, until_ping());
    if (is_new) {
        ++identified_;
        metrics_.clients->Increment();
        answer_hello(*client);
    } else {
        metrics_.reattached->Increment();
    }
    repeat_kept(*client);
}

std::size_t Front::go_away(std::size_t at_most) {
    for (; at_most > 0; --at_most) {
        Client* client = table_.next(going_);
        if (!client) {
            // Clients that came meanwhile may be anywhere in the table.
            going_ = 0;
            client = table_.next(going_);
        }
        if (!client) return 0;
        end(*client, closing::kShutdown, ClosedBy::shutdown);
    }
    return table_.size();
}

}  // namespace beckon::edge
