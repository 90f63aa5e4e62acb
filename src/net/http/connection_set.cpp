#include "net/http/connection_set.hpp"

#include "net/http/connection.hpp"

#include <algorithm>
#include <utility>

namespace beckon::net {

namespace {

using SteadyClock = std::chrono::steady_clock;

std::chrono::milliseconds length_of(ConnectionSet::Deadline kind, const ConnectionTimes& times) {
    switch (kind) {
        case ConnectionSet::Deadline::request: return times.request;
        case ConnectionSet::Deadline::answer: return times.answer.value_or(times.request);
        case ConnectionSet::Deadline::keep_alive: return times.keep_alive;
        case ConnectionSet::Deadline::linger: return times.linger;
        case ConnectionSet::Deadline::last_request: return times.last_request;
    }
    return times.request;
}

std::chrono::milliseconds delay_of(const ConnectionTimes& times) {
    const auto shortest =
        std::min({times.request, times.keep_alive, times.linger, times.last_request});
    return std::clamp(shortest / 8, std::chrono::milliseconds{5}, std::chrono::milliseconds{250});
}

}  // namespace

ConnectionSet::ConnectionSet(IoLoop& loop, const Shared& shared)
    : loop_(loop),
      shared_(shared),
      own_descriptors_(static_cast<std::size_t>(
          std::max(1, shared.options.own_descriptors / shared.options.threads))),
      delay_(delay_of(shared.options.times)) {}

ConnectionSet::Entry ConnectionSet::add(std::shared_ptr<Connection> connection) {
    auto& list = by_deadline_[static_cast<std::size_t>(Deadline::request)];
    const auto node = list.insert(list.end(), std::move(connection));
    shared_.observer.opened();
    const auto at = SteadyClock::now() + shared_.options.times.request;
    check_at(at);
    return {node, Deadline::request, at};
}

void ConnectionSet::set_deadline(Entry& entry, Deadline kind) {
    auto& from = by_deadline_[static_cast<std::size_t>(entry.kind)];
    auto& to = by_deadline_[static_cast<std::size_t>(kind)];
    to.splice(to.end(), from, entry.node);
    entry.kind = kind;
    entry.at = SteadyClock::now() + length_of(kind, shared_.options.times);
    check_at(entry.at);
}

void ConnectionSet::remove(Entry& entry, const Peer& peer, CloseReason reason) {
    shared_.observer.closed(reason);
    shared_.connections.gone(peer);
    by_deadline_[static_cast<std::size_t>(entry.kind)].erase(entry.node);
    if (emptied_ && size() == 0) std::exchange(emptied_, {})();
}

bool ConnectionSet::introduce(Peer& peer, const PeerAddress& client) {
    const Peer named{client, shared_.options.proxies.contains(client)};
    if (!shared_.connections.rename(peer, named)) return false;
    peer = named;
    return true;
}

std::size_t ConnectionSet::size() const {
    std::size_t sum = 0;
    for (const auto& list : by_deadline_) sum += list.size();
    return sum;
}

void ConnectionSet::for_each(const std::function<void(Connection&)>& visit) {
    std::vector<std::shared_ptr<Connection>> all;
    for (const auto& list : by_deadline_) all.insert(all.end(), list.begin(), list.end());
    for (const auto& connection : all) visit(*connection);
}

void ConnectionSet::when_empty(std::function<void()> emptied) {
    if (size() == 0) return emptied();
    emptied_ = std::move(emptied);
}

bool ConnectionSet::close_oldest() {
    std::shared_ptr<Connection> oldest;  // the list drops its reference
    auto since = Time::max();
    for (const auto kind :
         {Deadline::keep_alive, Deadline::linger, Deadline::request, Deadline::answer}) {
        const auto& list = by_deadline_[static_cast<std::size_t>(kind)];
        const auto found = std::find_if(list.begin(), list.end(),
                                        [](const auto& one) { return one->waits_for_peer(); });
        if (found == list.end()) continue;
        const auto began = (*found)->deadline() - length_of(kind, shared_.options.times);
        if (began < since) {
            oldest = *found;
            since = began;
        }
        const bool without_request = kind == Deadline::keep_alive || kind == Deadline::linger;
        if (without_request) break;
    }
    if (oldest) oldest->abort(CloseReason::connections);
    return oldest != nullptr;
}

std::unique_ptr<ActiveRequest> ConnectionSet::borrow_request() {
    if (spare_.empty()) return std::make_unique<ActiveRequest>(shared_.options.limits);
    auto request = std::move(spare_.back());
    spare_.pop_back();
    return request;
}

void ConnectionSet::give_back(std::unique_ptr<ActiveRequest> request) {
    if (spare_.size() >= kSpareMax || request->kept_bytes() > kSpareBytesMax) return;
    request->parser.reset();
    request->out.clear();
    spare_.push_back(std::move(request));
}

void ConnectionSet::check_at(Time at) {
    at += delay_;
    if (at >= next_check_) return;
    next_check_ = at;
    loop_.post_after(at - SteadyClock::now(), [this, at] { check_deadlines(at); });
}

void ConnectionSet::check_deadlines(Time at) {
    if (at != next_check_) return;  // an earlier one has been asked for since
    next_check_ = Time::max();
    expire_due();
    schedule_next();
}

/// Lists are in order of expiry, so only their heads need a look.
void ConnectionSet::expire_due() {
    const auto now = SteadyClock::now();
    for (auto& list : by_deadline_) {
        while (!list.empty() && list.front()->deadline() <= now) {
            const auto connection = list.front();
            connection->expire();
        }
    }
}

void ConnectionSet::schedule_next() {
    for (const auto& list : by_deadline_) {
        if (!list.empty()) check_at(list.front()->deadline());
    }
}

void ConnectionSet::defer(std::shared_ptr<Connection> connection) {
    deferred_.push_back(std::move(connection));
    post_deferred();
}

void ConnectionSet::post_deferred() {
    if (deferred_posted_ || deferred_.empty()) return;
    loop_.post([this] { run_deferred(); });
    deferred_posted_ = true;
}

void ConnectionSet::run_deferred() {
    const auto until = SteadyClock::now() + kDeferredSlice;
    while (!deferred_.empty()) {
        const auto next = std::move(deferred_.front());
        deferred_.pop_front();
        next->run_deferred();
        if (SteadyClock::now() >= until) break;
    }
    deferred_posted_ = false;
    post_deferred();
}

}  // namespace beckon::net
