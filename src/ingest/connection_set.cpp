#include "ingest/connection_set.hpp"

#include "ingest/connection.hpp"

#include <algorithm>

namespace beckon::ingest {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kSpareMax = 256;
/// A request that took more than this gives its memory back.
constexpr std::size_t kSpareOutMax = 65'536;

std::chrono::milliseconds length_of(ConnectionSet::Deadline kind, const ConnectionTimes& times) {
    switch (kind) {
        case ConnectionSet::Deadline::request: return times.request;
        case ConnectionSet::Deadline::keep_alive: return times.keep_alive;
        case ConnectionSet::Deadline::linger: return times.linger;
        case ConnectionSet::Deadline::farewell: return times.farewell;
    }
    return times.request;
}

}  // namespace

ConnectionSet::ConnectionSet(boost::asio::io_context& context, const RequestLimits& limits,
                             const ConnectionTimes& times, IngestMetrics& metrics, Handler handler)
    : limits_(limits),
      times_(times),
      metrics_(metrics),
      handler_(std::move(handler)),
      timer_(context) {
    const auto shortest = std::min({times.request, times.keep_alive, times.linger, times.farewell});
    tick_ = std::clamp(shortest / 8, std::chrono::milliseconds{5}, std::chrono::milliseconds{250});
    tick();
}

ConnectionSet::Place ConnectionSet::add(std::shared_ptr<Connection> connection) {
    auto& list = by_deadline_[static_cast<std::size_t>(Deadline::request)];
    const auto node = list.insert(list.end(), std::move(connection));
    metrics_.connections.Increment();
    return {node, Deadline::request, SteadyClock::now() + times_.request};
}

void ConnectionSet::set_deadline(Place& place, Deadline kind) {
    auto& from = by_deadline_[static_cast<std::size_t>(place.kind)];
    auto& to = by_deadline_[static_cast<std::size_t>(kind)];
    to.splice(to.end(), from, place.node);
    place.kind = kind;
    place.at = SteadyClock::now() + length_of(kind, times_);
}

void ConnectionSet::remove(Place& place) {
    by_deadline_[static_cast<std::size_t>(place.kind)].erase(place.node);
    metrics_.connections.Decrement();
    if (emptied_ && size() == 0) std::exchange(emptied_, {})();
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

std::unique_ptr<ActiveRequest> ConnectionSet::take_request() {
    if (spare_.empty()) return std::make_unique<ActiveRequest>(limits_);
    auto request = std::move(spare_.back());
    spare_.pop_back();
    return request;
}

void ConnectionSet::give_back(std::unique_ptr<ActiveRequest> request) {
    if (spare_.size() >= kSpareMax || request->out.capacity() > kSpareOutMax) return;
    request->parser.reset();
    request->out.clear();
    spare_.push_back(std::move(request));
}

/// Lists are in order of expiry, so only their heads need a look.
void ConnectionSet::tick() {
    const auto now = SteadyClock::now();
    for (auto& list : by_deadline_) {
        while (!list.empty() && list.front()->deadline() <= now) {
            const auto connection = list.front();
            connection->expire();
        }
    }
    timer_.expires_after(tick_);
    timer_.async_wait([this](const boost::system::error_code& error) {
        if (!error) tick();
    });
}

}  // namespace beckon::ingest
