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

void Purges::start_next() {
    client_ = order_.front();
    order_.pop_front();
    running_ = std::move(waiting_.extract(client_).mapped());
    cursor_ = {.topics = true, .after = -1, .until = context_.position()};
}

bool Purges::turn() {
    if (running_.done.empty()) {
        if (order_.empty()) return false;
        start_next();
    }
    if (!read_piece()) return true;
    for (const auto& done : std::exchange(running_, {}).done) done();
    return !order_.empty();
}

/// True if it was the last one.
bool Purges::read_piece() {
    std::vector<core::MessageKey> found;
    const auto read = context_.store.read_pending(
        client_, cursor_, kBudget, context_.log_now(), [&](const store::MessageView& message) {
            const bool goes = running_.all || running_.channels.contains(message.channel);
            if (goes) found.push_back(message.key);
        });
    context_.store.expire(client_, read.expired);
    for (const auto& message : found) {
        context_.store.add_tombstone(client_, message, core::FinishReason::unregistered);
        delivery_.finished(client_, message, core::FinishReason::unregistered);
    }
    return read.done;
}

}  // namespace beckon::edge
