#include "records/delivery.hpp"

#include "core/base64url.hpp"
#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "core/list_text.hpp"
#include "core/tokens.hpp"
#include "records/fields.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;

namespace {

constexpr std::string_view kDeliveryType = "beckon.delivery.v1";
constexpr std::string_view kDeadType = "beckon.delivery.dead.v1";
constexpr std::string_view kJson = "application/json";

constexpr std::string_view kHop = "ce_hop";
constexpr std::string_view kAttempts = "ce_attempts";
constexpr std::string_view kStep = "ce_step";
constexpr std::string_view kAccepted = "ce_accepted";
constexpr std::string_view kHistory = "ce_history";
constexpr std::string_view kEvent = "ce_event";
constexpr std::string_view kEventType = "ce_eventtype";

/// The most bytes of a record that cannot be read: as base64, a record of the log has space for
/// them.
constexpr std::size_t kKeptBytesMax = 600'000;
constexpr std::size_t kKeyShownMax = 256;

/// Ids are bytes of a hash as text: no dot in them.
constexpr std::size_t kIdBytes = 18;

/// A header's number; `absent` if there is no such header, nullopt if it is none.
template <class Number>
std::optional<Number> number_in(const core::RecordView& record, std::string_view name,
                                Number absent) {
    const auto text = record.header(name);
    return text ? core::parse_decimal<Number>(*text) : std::optional{absent};
}

/// `<ms> <why> <attempts>`, with commas between.
std::string text_in(const std::vector<PastDeadLetter>& history) {
    std::string text;
    for (const auto& one : history) {
        text.append(text.empty() ? "" : ",")
            .append(std::to_string(one.at.time_since_epoch().count()))
            .append(1, ' ')
            .append(to_string(one.why))
            .append(1, ' ')
            .append(std::to_string(one.attempts));
    }
    return text;
}

std::optional<PastDeadLetter> parse_past_dead_letter(std::string_view text) {
    const auto at = core::parse_decimal<std::int64_t>(core::take_part(text, ' '));
    const auto why = parse_outcome(core::take_part(text, ' '));
    const auto attempts = core::parse_decimal<std::uint32_t>(text);
    if (!at || !why || !attempts) return std::nullopt;
    return PastDeadLetter{core::Timestamp{std::chrono::milliseconds{*at}}, *why, *attempts};
}

std::optional<std::vector<PastDeadLetter>> history_in(const core::RecordView& record) {
    std::vector<PastDeadLetter> history;
    auto text = record.header(kHistory).value_or("");
    while (!text.empty()) {
        const auto one = parse_past_dead_letter(core::take_part(text, ','));
        if (!one) return std::nullopt;
        history.push_back(*one);
    }
    return history;
}

/// `<partition> <offset> <bytes> <name>`
std::string text_in(const EventPlace& place) {
    auto text = std::to_string(place.partition);
    text.append(1, ' ').append(std::to_string(place.offset));
    text.append(1, ' ').append(std::to_string(place.bytes));
    return text.append(1, ' ').append(place.name);
}

std::optional<EventPlace> parse_place(std::string_view text, std::string_view type) {
    const auto partition = core::parse_decimal<core::Partition>(core::take_part(text, ' '));
    const auto offset = core::parse_decimal<core::Offset>(core::take_part(text, ' '));
    const auto bytes = core::parse_decimal<std::size_t>(core::take_part(text, ' '));
    if (!partition || *partition < 0 || !offset || *offset < 0 || !bytes || text.empty()) {
        return std::nullopt;
    }
    return EventPlace{.partition = *partition,
                      .offset = *offset,
                      .name = std::string{text},
                      .bytes = *bytes,
                      .type = std::string{type.substr(0, kEventTypeShown)}};
}

core::Record encode_as(const Delivery& delivery, std::string_view type) {
    auto record = core::record_of(delivery.webhook, delivery.event, type);
    const auto add = [&](std::string_view name, std::string value) {
        record.headers.push_back({name, std::move(value)});
    };
    add(core::header::kId, delivery.id);
    if (delivery.place) {
        add(kEvent, text_in(*delivery.place));
        add(kEventType, delivery.place->type);
    } else {
        add(core::header::kContentType, std::string{kJson});
    }
    if (delivery.hop == 0) return record;
    add(kHop, std::to_string(delivery.hop));
    add(kAttempts, std::to_string(delivery.attempts));
    add(kStep, std::to_string(delivery.step));
    if (delivery.accepted != core::Timestamp{}) {
        add(kAccepted, std::to_string(core::to_ms(delivery.accepted)));
    }
    if (delivery.last) add(core::header::kReason, std::string{to_string(*delivery.last)});
    if (!delivery.history.empty()) add(kHistory, text_in(delivery.history));
    return record;
}

std::string id_from(std::string_view text) {
    const auto hash = core::sha256(text);
    return core::base64url({reinterpret_cast<const char*>(hash.data()), kIdBytes});
}

}  // namespace

std::string event_name(std::string_view scope, std::string_view event_id) {
    return id_from(std::string{scope}.append(1, '\0').append(event_id));
}

std::string delivery_id(std::string_view event_source, std::string_view event_id,
                        std::string_view webhook) {
    std::string all{event_source};
    all.append(1, '\0').append(event_id).append(1, '\0').append(webhook);
    return "dlv_" + id_from(all);
}

Delivery unreadable(std::string_view topic, core::Partition partition,
                    const core::RecordView& record, const core::Error& why) {
    const auto value = record.value.value_or("");
    auto id = "rec_" + std::string{topic};
    id.append("-").append(std::to_string(partition));
    id.append("-").append(std::to_string(record.offset));
    std::replace(id.begin(), id.end(), '.', '-');  // of `retry.0`
    const nlohmann::json event{{"specversion", "1.0"},
                               {"id", id},
                               {"source", "/beckon/retry"},
                               {"type", "beckon.record.unreadable"},
                               {"data",
                                {{"topic", topic},
                                 {"partition", partition},
                                 {"offset", record.offset},
                                 {"why", why.message},
                                 {"key", record.key.substr(0, kKeyShownMax)},
                                 {"bytes", value.size()},
                                 {"value", core::base64url(value.substr(0, kKeptBytesMax))}}}};
    return {.id = std::move(id),
            .webhook = std::string{kNoWebhook},
            .event = core::json_text(event),
            .hop = 1,
            .accepted = record.time,
            .last = Outcome::undeliverable};
}

core::Record encode(const Delivery& delivery) { return encode_as(delivery, kDeliveryType); }

core::Record encode_dead(const Delivery& delivery) { return encode_as(delivery, kDeadType); }

core::Result<Delivery> decode_delivery(const core::RecordView& record) {
    const auto type = record.header(core::header::kType);
    if (type != kDeliveryType && type != kDeadType)
        return core::fail(Fault::corrupt, "no delivery");
    const auto id = record.header(core::header::kId);
    if (!id || id->empty() || record.key.empty() || !record.value) {
        return core::fail(Fault::corrupt, "a delivery without id, webhook or event");
    }
    const auto hop = number_in<std::uint32_t>(record, kHop, 0);
    const auto attempts = number_in<std::uint32_t>(record, kAttempts, 0);
    const auto step = number_in<int>(record, kStep, 0);
    const auto accepted =
        number_in<std::int64_t>(record, kAccepted, record.time.time_since_epoch().count());
    if (!hop || !attempts || !step || *step < 0 || !accepted) {
        return core::fail(Fault::corrupt, "a delivery with a header that is no number");
    }
    std::optional<EventPlace> place;
    if (const auto named = record.header(kEvent)) {
        place = parse_place(*named, record.header(kEventType).value_or(""));
        if (!place) return core::fail(Fault::corrupt, "a delivery whose event has no place");
    }
    auto history = history_in(record);
    if (!history) return core::fail(Fault::corrupt, "a delivery with a history that is none");
    const auto reason = record.header(core::header::kReason);
    return Delivery{.id = std::string{*id},
                    .webhook = std::string{record.key},
                    .event = std::string{*record.value},
                    .place = std::move(place),
                    .hop = *hop,
                    .attempts = *attempts,
                    .step = *step,
                    .accepted = core::Timestamp{std::chrono::milliseconds{*accepted}},
                    .last = reason ? parse_outcome(*reason) : std::nullopt,
                    .history = std::move(*history)};
}

}  // namespace beckon::retry
