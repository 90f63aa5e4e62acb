#include "retry/webhook/memory.hpp"

#include "retry/event/filter/heap.hpp"

#include <utility>

namespace beckon::retry {

namespace {

/// The threads of a process that have a copy of the webhooks: that of the API, which alone has the
/// texts of filters, and two with homes by default.
constexpr std::size_t kHolders = 3;
/// The bytes of each webhook in maps of ids and owners, and in the remembered attempts and state.
constexpr std::size_t kBesides = 1'024;

std::size_t heap_of_map(const std::map<std::string, std::string>& texts) {
    constexpr auto kNode = sizeof(std::pair<const std::string, std::string>) + 4 * sizeof(void*);
    std::size_t sum = 0;
    for (const auto& [name, text] : texts) sum += heap_block(kNode) + heap_of(name) + heap_of(text);
    return sum;
}

}  // namespace

core::Result<Percolator::Entry> filter_entry(const Webhook& webhook, Query::From from) {
    Percolator::Entry entry{
        .id = webhook.id, .owner = webhook.owner, .types = webhook.types, .query = std::nullopt};
    if (webhook.filter.empty()) return entry;
    auto query = Query::compile(std::string_view{webhook.filter}, from);
    if (!query) return core::fail(query.error());
    entry.query = std::move(*query);
    return entry;
}

std::size_t memory_of(const Webhook& webhook, const Percolator::Entry& entry) {
    auto bytes = sizeof(Webhook) + heap_of(webhook.url) * 2 +
                 heap_block((webhook.types.size() + webhook.secrets.size()) * sizeof(std::string)) +
                 heap_of_map(webhook.form_fields) + heap_of_map(webhook.attachments) +
                 heap_of_map(webhook.headers) + heap_of(webhook.payload_field) +
                 heap_of(webhook.request_origin) + heap_of(webhook.description);
    for (const auto& type : webhook.types) bytes += heap_of(type);
    for (const auto& secret : webhook.secrets) bytes += heap_of(secret);
    if (webhook.shared_key)
        bytes += heap_of(webhook.shared_key->id) + heap_of(webhook.shared_key->secret);
    return kBesides + kHolders * (bytes + Percolator::bytes_of(entry)) + heap_of(webhook.filter);
}

Usage& Usage::operator+=(const Usage& other) {
    webhooks += other.webhooks;
    bytes += other.bytes;
    return *this;
}

Usage& Usage::operator-=(const Usage& other) {
    webhooks -= other.webhooks;
    bytes -= other.bytes;
    return *this;
}

}  // namespace beckon::retry
