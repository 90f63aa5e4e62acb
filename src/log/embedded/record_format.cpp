#include "log/embedded/record_format.hpp"

#include <cstring>

namespace beckon::log::embedded {

namespace {

constexpr std::uint8_t kTierBase = 0x80;
constexpr char kNullValue = 'n';
constexpr char kWithValue = 'v';

void put_length(std::string& out, std::size_t length) {
    while (length >= 0x80) {
        out.push_back(static_cast<char>((length & 0x7f) | 0x80));
        length >>= 7;
    }
    out.push_back(static_cast<char>(length));
}

void put_bytes(std::string& out, std::string_view bytes) {
    put_length(out, bytes.size());
    out.append(bytes);
}

std::size_t length_size(std::size_t length) {
    std::size_t size = 1;
    for (; length >= 0x80; length >>= 7) ++size;
    return size;
}

/// Takes apart what encode_body() made; every step says whether the bytes were there.
class Cursor {
public:
    explicit Cursor(std::string_view bytes) : rest_(bytes) {}

    bool form(char& form) {
        if (rest_.empty()) return false;
        form = rest_.front();
        rest_.remove_prefix(1);
        return form == kNullValue || form == kWithValue;
    }
    bool length(std::size_t& length) {
        length = 0;
        for (unsigned shift = 0; shift < 35 && !rest_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(rest_.front());
            rest_.remove_prefix(1);
            length |= static_cast<std::size_t>(byte & 0x7fU) << shift;
            if (byte < 0x80) return true;
        }
        return false;
    }
    bool bytes(std::string_view& bytes) {
        std::size_t size = 0;
        if (!length(size) || size > rest_.size()) return false;
        bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
    }
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
};

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
    put_u64(key.data() + kPartitionKeyBytes, static_cast<std::uint64_t>(offset));
    return key;
}

core::Offset offset_of_key(std::string_view key) {
    return static_cast<core::Offset>(get_u64(key.data() + kPartitionKeyBytes));
}

void put_u64(char* at, std::uint64_t number) {
    const std::uint64_t big = __builtin_bswap64(number);
    std::memcpy(at, &big, sizeof big);
}

std::uint64_t get_u64(const char* at) {
    std::uint64_t big = 0;
    std::memcpy(&big, at, sizeof big);
    return __builtin_bswap64(big);
}

std::string encode_time(core::Timestamp time) {
    std::string bytes(kTimeBytes, '\0');
    put_u64(bytes.data(), static_cast<std::uint64_t>(time.time_since_epoch().count()));
    return bytes;
}

core::Timestamp decode_time(std::string_view bytes) {
    return core::Timestamp{
        std::chrono::milliseconds{static_cast<std::int64_t>(get_u64(bytes.data()))}};
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
    put_bytes(body, record.key);
    put_length(body, record.headers.size());
    for (const auto& h : record.headers) {
        put_bytes(body, h.name);
        put_bytes(body, h.value);
    }
    if (record.value) body.append(*record.value);
    return body;
}

bool decode_body(std::string_view body, core::RecordView& view,
                 std::vector<core::HeaderView>& headers) {
    Cursor cursor{body};
    char form = 0;
    std::size_t count = 0;
    if (!cursor.form(form) || !cursor.bytes(view.key) || !cursor.length(count)) return false;
    headers.clear();
    for (std::size_t i = 0; i < count; ++i) {
        core::HeaderView header;
        if (!cursor.bytes(header.name) || !cursor.bytes(header.value)) return false;
        headers.push_back(header);
    }
    view.headers = headers;
    view.value.reset();
    if (form == kWithValue) view.value = cursor.rest();
    return form == kWithValue || cursor.rest().empty();
}

std::optional<KeyOfBody> decode_key(std::string_view body) {
    Cursor cursor{body};
    char form = 0;
    KeyOfBody key;
    if (!cursor.form(form) || !cursor.bytes(key.key)) return std::nullopt;
    key.tombstone = form == kNullValue;
    return key;
}

}  // namespace beckon::log::embedded
