#include "edge/home/delivery/purges.hpp"

#include <utility>

namespace beckon::edge {

void Purges::begin(const core::Uaid& client, const core::ChannelId& channel, Done done) {
    auto& job = job_of(client);
    job.channels.insert(channel);
    job.done.push_back(std::move(done));
}

void Purges::begin_all(const core::Uaid& client, Done done) {
    auto& job = job_of(client);
    job.all = true;
    job.done.push_back(std::move(done));
}

Purges::Job& Purges::job_of(const core::Uaid& client) {
    const auto [at, is_new] = waiting_.try_emplace(client);
    if (is_new) order_.push_back(client);
    return at->second;
}

void Purges::clear() {
    order_.clear();
    waiting_.clear();
    running_ = {};
}

void Purges::start_next(core::Offset position) {
    client_ = order_.front();
    order_.pop_front();
    running_ = std::move(waiting_.extract(client_).mapped());
    cursor_ = {.topics = true, .after = -1, .until = position};
}

bool Purges::turn(core::Timestamp now, core::Offset position) {
    if (running_.done.empty()) {
        if (order_.empty()) return false;
        start_next(position);
    }
    if (!read_piece(now)) return true;
    for (const auto& done : std::exchange(running_, {}).done) done();
    return !order_.empty();
}

/// True if it was the last one.
bool Purges::read_piece(core::Timestamp now) {
    std::vector<core::MessageKey> found;
    const auto read =
        store_.read_pending(client_, cursor_, kBudget, now, [&](const store::MessageView& message) {
            const bool goes = running_.all || running_.channels.contains(message.channel);
            if (goes) found.push_back(message.key);
        });
    store_.expire(client_, read.expired);
    for (const auto& message : found) {
        store_.add_tombstone(client_, message, core::FinishReason::unregistered);
        delivery_.finished(client_, message, core::FinishReason::unregistered);
    }
    return read.done;
}

}  // namespace beckon::edge
