#include "log/embedded/record_format.hpp"

#include "core/bytes.hpp"

namespace beckon::log::embedded {

namespace {

constexpr std::uint8_t kTierBase = 0x80;
constexpr char kNullValue = 'n';
constexpr char kWithValue = 'v';

std::size_t length_size(std::size_t length) {
    std::size_t size = 1;
    for (; length >= 0x80; length >>= 7) ++size;
    return size;
}

/// The form of a body; nullopt: none of ours.
std::optional<char> form_of(core::ByteReader& body) {
    const auto form = static_cast<char>(body.fixed<std::uint8_t>());
    if (form != kNullValue && form != kWithValue) return std::nullopt;
    return form;
}

}  // namespace

std::uint8_t topic_byte(Topic topic) {
    const auto index = topic.index();
    if (index < Topic::kFixed) return static_cast<std::uint8_t>(index);
    return static_cast<std::uint8_t>(kTierBase + index - Topic::kFixed);
}

std::optional<Topic> topic_of_byte(std::uint8_t byte) {
    if (byte < Topic::kFixed) return Topic::from_index(byte);
    if (byte >= kTierBase && byte < kTierBase + Topic::kTiersMax) {
        return Topic::retry(byte - kTierBase);
    }
    return std::nullopt;
}

std::string partition_key(TopicPartition where) {
    return {static_cast<char>(topic_byte(where.topic)), static_cast<char>(where.partition >> 8),
            static_cast<char>(where.partition)};
}

std::optional<TopicPartition> parse_partition_key(std::string_view key) {
    if (key.size() < kPartitionKeyBytes) return std::nullopt;
    const auto topic = topic_of_byte(static_cast<std::uint8_t>(key[0]));
    if (!topic) return std::nullopt;
    const auto high = static_cast<std::uint8_t>(key[1]);
    const auto low = static_cast<std::uint8_t>(key[2]);
    return TopicPartition{*topic, high * 256 + low};
}

std::string record_key(TopicPartition where, core::Offset offset) {
    auto key = partition_key(where);
    key.resize(kRecordKeyBytes);
    core::put_fixed(key.data() + kPartitionKeyBytes, static_cast<std::uint64_t>(offset));
    return key;
}

core::Offset offset_of_key(std::string_view key) {
    return static_cast<core::Offset>(
        core::get_fixed<std::uint64_t>(key.data() + kPartitionKeyBytes));
}

std::string encode_time(core::Timestamp time) {
    std::string bytes(kTimeBytes, '\0');
    core::put_fixed(bytes.data(), static_cast<std::uint64_t>(time.time_since_epoch().count()));
    return bytes;
}

core::Timestamp decode_time(std::string_view bytes) {
    return core::Timestamp{std::chrono::milliseconds{
        static_cast<std::int64_t>(core::get_fixed<std::uint64_t>(bytes.data()))}};
}

std::string encode_body(const core::Record& record) {
    auto size = 1 + length_size(record.key.size()) + record.key.size() +
                length_size(record.headers.size()) + (record.value ? record.value->size() : 0);
    for (const auto& h : record.headers) {
        size += length_size(h.name.size()) + h.name.size();
        size += length_size(h.value.size()) + h.value.size();
    }
    std::string body;
    body.reserve(size);
    body.push_back(record.value ? kWithValue : kNullValue);
    core::append_text(body, record.key);
    core::append_varint(body, record.headers.size());
    for (const auto& h : record.headers) {
        core::append_text(body, h.name);
        core::append_text(body, h.value);
    }
    if (record.value) body.append(*record.value);
    return body;
}

bool decode_body(std::string_view body, core::RecordView& view,
                 std::vector<core::HeaderView>& headers) {
    core::ByteReader reader{body};
    const auto form = form_of(reader);
    if (!form) return false;
    view.key = reader.text();
    const auto count = reader.varint();
    headers.clear();
    for (std::uint64_t i = 0; i < count && reader.good(); ++i) {
        core::HeaderView header;
        header.name = reader.text();
        header.value = reader.text();
        headers.push_back(header);
    }
    if (!reader.good()) return false;
    view.headers = headers;
    view.value.reset();
    if (*form == kWithValue) view.value = reader.rest();
    return *form == kWithValue || reader.finished();
}

std::optional<KeyOfBody> decode_key(std::string_view body) {
    core::ByteReader reader{body};
    const auto form = form_of(reader);
    KeyOfBody key;
    key.key = reader.text();
    if (!form || !reader.good()) return std::nullopt;
    key.tombstone = *form == kNullValue;
    return key;
}

}  // namespace beckon::log::embedded
