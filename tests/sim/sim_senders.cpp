#include "records/events.hpp"
#include "sim/sim_world.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace beckon::sim {

namespace {

constexpr std::string_view kMessages = "https://sim/m/";

std::string_view header_of(const core::Record& record, std::string_view name) {
    for (const auto& header : record.headers) {
        if (header.name == name) return header.value;
    }
    return {};
}
std::string_view id_of(const core::Record& record) { return header_of(record, core::header::kId); }

}  // namespace

SimEndpoint* SimWorld::some_endpoint() {
    return endpoints_[below(endpoints_.size())].process.get();
}

/// A message; now and then ten at once to the same client.
void SimWorld::send_some() {
    const auto& client = clients_[below(clients_.size())];
    const int count = chance(15) ? 10 : 1;
    for (int i = 0; i < count; ++i) send(client);
}

std::uint32_t SimWorld::some_ttl() {
    constexpr std::array<std::uint32_t, 5> kTtls = {0, 20, 300, 86'400, 30 * 86'400};
    constexpr std::array<std::uint32_t, 5> kWhereClocksStep = {0, 300, 3'600, 86'400, 30 * 86'400};
    const auto which = below(kTtls.size());
    return hostile_ ? kWhereClocksStep[which] : kTtls[which];
}

void SimWorld::send(const SimClient& client) {
    auto* endpoint = some_endpoint();
    if (client.channels.empty() || !endpoint) return;
    auto channel = client.channels.begin();
    std::advance(channel, static_cast<std::ptrdiff_t>(below(client.channels.size())));
    SentMessage message{.uaid = *client.uaid, .channel = channel->first};
    if (chance(20)) message.topic = "t" + std::to_string(below(2));
    message.ttl_s = some_ttl();
    message.published = clock_.mono();
    const auto number = ++next_message_;
    SimRequest request{
        .method = "POST",
        .target = channel->second,
        .headers = {{"TTL", std::to_string(message.ttl_s)}, {"Content-Encoding", "aes128gcm"}},
        .body = std::to_string(number)};
    if (message.topic) request.headers.emplace_back("Topic", *message.topic);
    if (tracks_) request.headers.emplace_back("Authorization", authorization_);
    sent_[number] = message;
    endpoint->ask(std::move(request),
                  [this, number](const net::HttpReply& reply) { answered(number, reply); });
}

void SimWorld::answered(std::uint64_t number, const net::HttpReply& reply) {
    auto& message = sent_.at(number);
    if (reply.status == 201) return accepted(message, reply);
    if (reply.status == 503) return;
    const bool lives = std::any_of(clients_.begin(), clients_.end(), [&](const SimClient& client) {
        return client.uaid == message.uaid && client.channels.contains(message.channel);
    });
    if (reply.status != 410 || lives) {
        fail("a message to a living subscription was answered " + std::to_string(reply.status) +
             ": " + reply.body);
    }
}

void SimWorld::accepted(SentMessage& message, const net::HttpReply& reply) {
    message.version = std::string{*reply.header("Location")}.substr(kMessages.size());
    message.answered_201 = true;
    message.answered = clock_.mono();
    ++tally.answered_201;
    const auto& records =
        log_->records({log::Topic::kNotifications, core::partition_of(message.uaid, kPartitions)});
    const auto at = std::find_if(records.rbegin(), records.rend(), [&](const auto& stored) {
        return stored.record.value && id_of(stored.record) == message.version;
    });
    if (at != records.rend()) {
        message.offset = at->offset;
        message.appended = at->time;
        message.reliability_id = header_of(at->record, core::header::kReliabilityId);
        return;
    }
    // Its client may have had it, and compaction too, before its sender is answered.
    const auto stood = stood_.find(message.version);
    if (stood == stood_.end()) return fail("a 201 was answered, and the log has no such record");
    std::tie(message.offset, message.appended) = stood->second;
}

void SimWorld::remember_messages() {
    for (core::Partition p = 0; p < kPartitions; ++p) {
        for (const auto& stored : log_->records({log::Topic::kNotifications, p})) {
            if (!stored.record.value) continue;
            stood_[std::string{id_of(stored.record)}] = {stored.offset, stored.time};
        }
    }
}

/// DELETE of some message that was accepted.
void SimWorld::take_back() {
    auto* endpoint = some_endpoint();
    if (sent_.empty() || !endpoint) return;
    auto it = sent_.begin();
    std::advance(it, static_cast<std::ptrdiff_t>(below(sent_.size())));
    auto& message = it->second;
    if (!message.answered_201) return;
    message.taken_back = true;
    endpoint->ask(
        {.method = "DELETE", .target = "/m/" + message.version, .headers = {}, .body = {}},
        [&message](const net::HttpReply& reply) {
            if (reply.status == 204) message.deleted = true;
        });
}

}  // namespace beckon::sim
