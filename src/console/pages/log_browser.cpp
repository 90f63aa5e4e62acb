#include "console/pages/log_browser.hpp"

#include "core/base64url.hpp"
#include "core/decimal.hpp"
#include "core/json_parts.hpp"
#include "core/json_text.hpp"
#include "core/log_names.hpp"
#include "core/record.hpp"
#include "inspect/trace/trace_words.hpp"
#include "log/read_partition.hpp"
#include "log/topic.hpp"
#include "records/delivery.hpp"
#include "records/events.hpp"
#include "records/log_key.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using log::Topic;

/// As ids of bridged messages begin (docs/formats/retry.md#bridged-messages).
constexpr std::string_view kBridged = "msg_";
constexpr std::string_view kSecret = "(not shown: whoever has it can delete the message)";

bool is_retry(Topic topic) { return topic == Topic::kRetryDead || topic.index() >= Topic::kFixed; }

bool is_bridged(log::TopicPartition where, const core::RecordView& record) {
    return is_retry(where.topic) &&
           record.header(core::header::kId).value_or("").starts_with(kBridged);
}

/// The client whose UAID a key begins with.
std::optional<core::Uaid> client_in(log::TopicPartition where, const core::RecordView& record) {
    const bool by_client = where.topic == Topic::kNotifications ||
                           where.topic == Topic::kSubscriptions || is_bridged(where, record);
    if (!by_client || core::is_control_key(record.key)) return std::nullopt;
    const auto uuid = core::parse_hex16(record.key.substr(0, core::kHexSize));
    return uuid ? std::optional{core::Uaid{*uuid}} : std::nullopt;
}

/// A sentence about the record; empty: none is known. `message`: whether it is about one message,
/// by which Find knows it.
std::string notification_words(const core::RecordView& record, bool& message) {
    core::DecodeScratch scratch;
    const auto event = core::decode_notification(record, scratch);
    if (const auto* put = std::get_if<core::NotificationAccepted>(&event)) {
        message = true;
        return "A message for channel " + core::to_dashed(put->channel) + ". " +
               inspect::accepted_words(*put, record.time + std::chrono::seconds{put->ttl_s});
    }
    if (const auto* end = std::get_if<core::NotificationFinished>(&event)) {
        message = true;
        return inspect::finished_words(end->reason, record);
    }
    if (const auto* lease = std::get_if<core::Lease>(&event)) {
        return lease->removed ? "An older lease was cleared."
                              : inspect::home_words(lease->node, lease->epoch);
    }
    return {};
}

std::string delivery_words(const core::RecordView& record) {
    const auto delivery = retry::decode_delivery(record);
    if (!delivery) return {};
    auto words =
        "Delivery " + delivery->id + ", attempts made: " + std::to_string(delivery->attempts);
    if (delivery->last) words += ", the last: " + std::string{to_string(*delivery->last)};
    if (const auto& place = delivery->place) {
        words += ". Its event of " + std::to_string(place->bytes) +
                 " bytes stands in events, partition " + std::to_string(place->partition) +
                 ", offset " + std::to_string(place->offset);
    }
    return words + ".";
}

std::string words_of(log::TopicPartition where, const core::RecordView& record, bool& message) {
    if (record.key.starts_with(core::kBarrierPrefix)) {
        return "A read barrier: its writer reads its own record to know that it has read all "
               "before.";
    }
    if (where.topic == Topic::kNotifications) return notification_words(record, message);
    if (where.topic == Topic::kSubscriptions) {
        core::DecodeScratch scratch;
        return inspect::subscription_words(core::decode_subscription(record, scratch));
    }
    if (is_retry(where.topic)) return delivery_words(record);
    return {};
}

/// The value of a header; a message id, which lets its reader delete the message, is left out.
std::string shown_header(log::TopicPartition where, const core::HeaderView& header) {
    if (where.topic == Topic::kNotifications && header.name == core::header::kId) {
        return std::string{kSecret};
    }
    return std::string{header.value};
}

/// Why the value is not shown; empty: it is.
std::string_view withheld(log::TopicPartition where, const core::RecordView& record) {
    if (where.topic == Topic::kWebhooks) {
        return "Webhooks hold URLs and sealed secrets; the page of the webhook has the rest.";
    }
    if (where.topic == Topic::kSubscriptions) {
        return "A client's record may hold its token at FCM or APNs; the sentence above says the "
               "rest.";
    }
    if (is_bridged(where, record)) return "A bridged message holds the client's token.";
    return {};
}

using OrderedJson = nlohmann::ordered_json;

/// How far before an offset its page is looked for, as compaction leaves gaps: more each time.
constexpr core::Offset kWiderEachTime = 16;

std::optional<std::int64_t> number_in(const Parameters& asked, const char* name) {
    const auto found = asked.find(name);
    if (found == asked.end()) return std::nullopt;
    const auto number = core::parse_decimal<std::int64_t>(found->second);
    return number && *number >= 0 ? number : std::nullopt;
}

std::optional<log::Topic> topic_in(const Parameters& asked) {
    const auto found = asked.find("topic");
    return found == asked.end() ? std::nullopt : log::Topic::parse(found->second);
}

std::optional<log::TopicPartition> partition_in(const Parameters& asked) {
    const auto topic = topic_in(asked);
    const auto partition = number_in(asked, "partition");
    if (!topic || !partition || *partition > std::numeric_limits<core::Partition>::max()) {
        return std::nullopt;
    }
    return log::TopicPartition{*topic, static_cast<core::Partition>(*partition)};
}

std::string cut(std::string text) {
    if (text.size() > LogBrowser::kHeaderMax) {
        text.resize(LogBrowser::kHeaderMax);
        text += " …";
    }
    return text;
}

/// A record as the console shows it: without names that let a reader act for a client (UAIDs,
/// message ids), and without values that hold tokens, URLs or secrets.
OrderedJson record_json(log::TopicPartition where, const core::RecordView& record) {
    bool message = false;
    const auto words = words_of(where, record, message);
    const auto client = client_in(where, record);
    const auto key = client ? core::log_name(*client).append(record.key.substr(core::kHexSize))
                            : std::string{record.key};
    auto headers = OrderedJson::array();
    for (const auto& header : record.headers) {
        headers.push_back({{"name", header.name}, {"value", cut(shown_header(where, header))}});
    }
    return {{"offset", record.offset},
            {"time", record.time.time_since_epoch().count()},
            {"type", std::string{record.header(core::header::kType).value_or("")}},
            {"key", cut(key)},
            {"bytes", record.value ? OrderedJson(record.value->size()) : OrderedJson()},
            {"headers", std::move(headers)},
            {"words", words},
            {"message", message},
            {"client", client.has_value() && !is_bridged(where, record)}};
}

/// One page of records.
struct RecordsPage {
    std::deque<OrderedJson> records;
    core::Offset next = 0;
};

core::Result<RecordsPage> page_from(log::EventLog& log, log::TopicPartition where,
                                    core::Offset from, core::Offset end,
                                    const inspect::ScanLimits& limits) {
    RecordsPage page{.records = {}, .next = end};
    const auto sink = [&](const core::RecordView& record) {
        if (page.records.size() == LogBrowser::kRecordsMax) {
            page.next = record.offset;
            return log::Next::stop;
        }
        page.records.push_back(record_json(where, record));
        return log::Next::go_on;
    };
    const auto read = inspect::scan(log, where, from, sink, limits);
    if (!read) return core::fail(read.error());
    return page;
}

/// The last records before an offset. Reads a range that is wide enough for a page, and a wider one
/// where compaction has left fewer there.
core::Result<RecordsPage> page_before(log::EventLog& log, log::TopicPartition where, log::Ends ends,
                                      core::Offset before, const inspect::ScanLimits& limits) {
    auto width = static_cast<core::Offset>(LogBrowser::kRecordsMax);
    for (;;) {
        const auto from = std::max(ends.start, before - width);
        RecordsPage page{.records = {}, .next = before};
        const auto sink = [&](const core::RecordView& record) {
            if (record.offset >= before) return log::Next::stop;
            page.records.push_back(record_json(where, record));
            if (page.records.size() > LogBrowser::kRecordsMax) page.records.pop_front();
            return log::Next::go_on;
        };
        const auto read = inspect::scan(log, where, from, sink, limits);
        if (!read) return core::fail(read.error());
        if (from == ends.start || page.records.size() == LogBrowser::kRecordsMax) return page;
        width *= kWiderEachTime;
    }
}

}  // namespace

core::Timestamp LogBrowser::history_begins() const {
    return read_.clock.wall() - read_.layout.history_window;
}

Answer LogBrowser::topics(const Parameters& asked) const {
    auto names = OrderedJson::array();
    for (int i = 0; i < log::Topic::kFixed + static_cast<int>(read_.layout.tiers.size()); ++i) {
        names.push_back(log::Topic::from_index(i).name());
    }
    auto partitions = OrderedJson::array();
    if (asked.contains("topic")) {
        const auto topic = topic_in(asked);
        if (!topic) return refused(net::kBadRequest, "there is no such log topic");
        const auto ends = log::ends_of(read_.log, log::all_of(*topic, read_.layout.partitions),
                                       read_.reading.begin().timeout);
        if (!ends) return refused(ends.error());
        for (const auto& [where, at] : *ends) {
            partitions.push_back(
                {{"partition", where.partition}, {"start", at.start}, {"end", at.end}});
        }
    }
    return {200, core::json_text(
                     OrderedJson{{"topics", std::move(names)},
                                 {"partitions", std::move(partitions)},
                                 {"history_begins", history_begins().time_since_epoch().count()}})};
}

Answer LogBrowser::records(const Parameters& asked) const {
    const auto where = partition_in(asked);
    if (!where)
        return refused(net::kBadRequest,
                       "topic and partition must name a partition of a log topic");
    const auto limit = read_.reading.begin();
    const auto ends = log::ends_of(read_.log, *where, limit.timeout);
    if (!ends) return refused(ends.error());
    auto from = number_in(asked, "from");
    if (const auto at = number_in(asked, "at")) {
        const auto offset = log::offset_at(
            read_.log, *where, core::Timestamp{std::chrono::milliseconds{*at}}, limit.timeout);
        if (!offset) return refused(offset.error());
        from = *offset;
    }
    const auto before = std::min(number_in(asked, "before").value_or(ends->end), ends->end);
    const auto page =
        from ? page_from(read_.log, *where, std::min(*from, ends->end), ends->end, limit)
             : page_before(read_.log, *where, *ends, before, limit);
    if (!page) return refused(page.error());
    return {200, core::json_text(
                     OrderedJson{{"topic", where->topic.name()},
                                 {"partition", where->partition},
                                 {"start", ends->start},
                                 {"end", ends->end},
                                 {"history_begins", history_begins().time_since_epoch().count()},
                                 {"records", page->records},
                                 {"next", page->next}})};
}

Answer LogBrowser::record(const Parameters& asked) const {
    const auto where = partition_in(asked);
    const auto offset = number_in(asked, "offset");
    if (!where || !offset)
        return refused(net::kBadRequest, "topic, partition and offset must name a record");
    OrderedJson found;
    const auto sink = [&](const core::RecordView& record) {
        if (record.offset != *offset) return log::Next::stop;
        const auto why = withheld(*where, record);
        const auto value = why.empty() ? record.value.value_or("") : std::string_view{};
        const auto shown = value.substr(0, kValueMax);
        found = {{"record", record_json(*where, record)},
                 {"shown", shown.size()},
                 {"text", nullptr},
                 {"hex", core::hex(shown)},
                 {"withheld", std::string{why}}};
        if (!shown.empty() && core::is_utf8(shown)) found["text"] = std::string{shown};
        return log::Next::stop;
    };
    const auto read = inspect::scan(read_.log, *where, *offset, sink, read_.reading.begin());
    if (!read) return refused(read.error());
    if (found.is_null()) {
        return refused(net::kNotFound,
                       "the log has no record at this offset: it was compacted away, or "
                       "has not been written");
    }
    return {200, core::json_text(found)};
}

}  // namespace beckon::console
