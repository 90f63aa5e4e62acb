#include "store/rows/schema.hpp"

#include "core/assert.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>

namespace beckon::store {

namespace {

using core::Timestamp;

// The first byte of a value: form and version. A new version of a form is a new byte.
constexpr char kMessageForm = 'm';
constexpr char kPendingForm = 'k';
constexpr char kTrackedForm = 't';
constexpr char kDoneForm = 'd';
constexpr char kOwedForm = 'w';
constexpr char kReplacementForm = 'r';
constexpr char kDebtForm = 'o';
constexpr char kClientForm = 'c';
constexpr char kChannelForm = 'h';
constexpr char kRemovedForm = 'x';
constexpr char kCheckpointForm = 'p';
constexpr char kContestedForm = 'y';

constexpr std::size_t kTimeAt = 1;  ///< the drop time's place in every value

void put_u64(char* at, std::uint64_t number) {
    const std::uint64_t big = __builtin_bswap64(number);
    std::memcpy(at, &big, sizeof big);
}

std::uint64_t get_u64(const char* at) {
    std::uint64_t big = 0;
    std::memcpy(&big, at, sizeof big);
    return __builtin_bswap64(big);
}

void append_u64(std::string& out, std::uint64_t number) {
    char bytes[8];
    put_u64(bytes, number);
    out.append(bytes, sizeof bytes);
}

void append_i64(std::string& out, std::int64_t number) {
    append_u64(out, static_cast<std::uint64_t>(number));
}

void append_time(std::string& out, Timestamp time) {
    append_i64(out, time.time_since_epoch().count());
}

void append_id(std::string& out, const core::Bytes16& bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void append_length(std::string& out, std::size_t length) {
    while (length >= 0x80) {
        out.push_back(static_cast<char>((length & 0x7f) | 0x80));
        length >>= 7;
    }
    out.push_back(static_cast<char>(length));
}

void append_text(std::string& out, std::string_view text) {
    append_length(out, text.size());
    out.append(text);
}

/// Reads a value from front to back; once something is missing it stays `bad`.
class Parser {
public:
    explicit Parser(std::string_view rest) : rest_(rest) {}

    char byte() {
        const auto one = take(1);
        return one.empty() ? '\0' : one[0];
    }
    std::uint64_t u64() {
        const auto eight = take(8);
        return eight.empty() ? 0 : get_u64(eight.data());
    }
    std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
    Timestamp time() { return Timestamp{std::chrono::milliseconds{i64()}}; }
    core::Bytes16 id() {
        core::Bytes16 bytes{};
        const auto text = take(bytes.size());
        if (!text.empty()) std::memcpy(bytes.data(), text.data(), bytes.size());
        return bytes;
    }
    std::string_view text() {
        std::size_t length = 0;
        for (unsigned shift = 0; shift < 35; shift += 7) {
            const auto part = static_cast<unsigned char>(byte());
            length |= static_cast<std::size_t>(part & 0x7f) << shift;
            if (part < 0x80) return take(length);
        }
        bad_ = true;
        return {};
    }
    std::string_view rest() { return std::exchange(rest_, {}); }
    bool ok() const { return !bad_; }
    bool ok_at_end() const { return !bad_ && rest_.empty(); }

private:
    std::string_view take(std::size_t count) {
        if (rest_.size() < count) {
            bad_ = true;
            rest_ = {};
            return {};
        }
        const auto taken = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return taken;
    }

    std::string_view rest_;
    bool bad_ = false;
};

void append_stamp(std::string& out, const std::optional<core::WriteStamp>& stamp) {
    out.push_back(stamp ? '\1' : '\0');
    if (!stamp) return;
    append_u64(out, stamp->epoch);
    append_u64(out, stamp->seq);
}

std::optional<core::WriteStamp> parse_stamp(Parser& in) {
    if (in.byte() == '\0') return std::nullopt;
    core::WriteStamp stamp;
    stamp.epoch = in.u64();
    stamp.seq = in.u64();
    return stamp;
}

std::size_t append_partition(char* at, core::Partition partition) {
    BECKON_ASSERT(partition >= 0 && partition <= 0xffff, "a partition has two bytes");
    at[0] = static_cast<char>(partition >> 8);
    at[1] = static_cast<char>(partition & 0xff);
    return 2;
}

}  // namespace

// --- keys

RowKey::RowKey(core::Partition partition) : size_(append_partition(bytes_.data(), partition)) {}

RowKey::RowKey(core::Partition partition, const core::Uaid& uaid) : RowKey(partition) {
    add(uaid.bytes);
}

RowKey& RowKey::add(const core::Bytes16& bytes) {
    std::memcpy(bytes_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
    return *this;
}

RowKey& RowKey::add_byte(std::uint8_t byte) {
    bytes_[size_++] = static_cast<char>(byte);
    return *this;
}

RowKey& RowKey::add_u64(std::uint64_t number) {
    put_u64(bytes_.data() + size_, number);
    size_ += 8;
    return *this;
}

std::string partition_begin(core::Partition partition) {
    std::string key(2, '\0');
    append_partition(key.data(), partition);
    return key;
}

KeyRange partition_range(core::Partition partition) {
    // The last one ends where no row begins.
    if (partition == 0xffff) return {partition_begin(partition), "\xff\xff\xff"};
    return {partition_begin(partition), partition_begin(partition + 1)};
}

core::Partition partition_of_row(std::string_view row_key) {
    return (static_cast<unsigned char>(row_key[0]) << 8) | static_cast<unsigned char>(row_key[1]);
}

RowKey message_row_key(core::Partition partition, const core::Uaid& uaid, MessageOrder order) {
    RowKey key{partition, uaid};
    key.add_byte(order.has_topic ? 0 : 1).add_u64(static_cast<std::uint64_t>(order.offset));
    return key;
}

MessageOrder order_of_row(std::string_view row_key) {
    return {.has_topic = row_key[kPrefixBytes] == '\0',
            .offset = static_cast<core::Offset>(get_u64(row_key.data() + kPrefixBytes + 1))};
}

RowKey key_row_key(core::Partition partition, const core::Uaid& uaid, const core::MessageKey& key) {
    RowKey row{partition, uaid};
    row.add(key.bytes);
    return row;
}

core::Uaid uaid_of_row(std::string_view row_key) {
    core::Uaid uaid;
    std::memcpy(uaid.bytes.data(), row_key.data() + 2, uaid.bytes.size());
    return uaid;
}

core::Bytes16 id_of_row(std::string_view row_key) {
    core::Bytes16 bytes{};
    std::memcpy(bytes.data(), row_key.data() + kPrefixBytes, bytes.size());
    return bytes;
}

RowKey debt_row_key(core::Partition partition, core::Offset put_offset,
                    const core::MessageKey& key) {
    RowKey row{partition};
    row.add_u64(static_cast<std::uint64_t>(put_offset)).add(key.bytes);
    return row;
}

RowKey channel_row_key(core::Partition partition, const core::Uaid& uaid,
                       const core::ChannelId& channel) {
    RowKey row{partition, uaid};
    row.add(channel.bytes);
    return row;
}

std::string replacement_row_key(core::Partition partition, const core::Uaid& uaid,
                                std::string_view slot) {
    std::string key;
    key.reserve(kPrefixBytes + slot.size());
    key.append(RowKey{partition, uaid}.view());
    key.append(slot);
    return key;
}

std::string replacement_slot(const core::ChannelId& channel, std::string_view topic) {
    std::string slot;
    slot.reserve(channel.bytes.size() + topic.size());
    append_id(slot, channel.bytes);
    slot.append(topic);
    return slot;
}

std::string checkpoint_row_key(core::Partition partition, Source source) {
    return partition_begin(partition) + (source == Source::notifications ? 'n' : 's');
}

std::optional<std::pair<core::Partition, Source>> parse_checkpoint_row_key(std::string_view key) {
    if (key.size() != 3 || (key[2] != 'n' && key[2] != 's')) return std::nullopt;
    return std::pair{partition_of_row(key),
                     key[2] == 'n' ? Source::notifications : Source::subscriptions};
}

std::optional<Timestamp> drop_time(std::string_view value) {
    if (value.size() < kTimeAt + 8) return std::nullopt;
    const auto ms = static_cast<std::int64_t>(get_u64(value.data() + kTimeAt));
    if (ms == 0) return std::nullopt;
    return Timestamp{std::chrono::milliseconds{ms}};
}

// --- values

void append_message(std::string& out, const MessageView& message) {
    const std::array optional_texts{message.topic, message.encoding, message.encryption,
                                    message.crypto_key, message.reliability_id};
    char present = 0;
    for (std::size_t i = 0; i < optional_texts.size(); ++i) {
        if (optional_texts[i]) present = static_cast<char>(present | (1 << i));
    }
    out.push_back(kMessageForm);
    append_time(out, message.expiry);
    append_time(out, message.appended);
    append_id(out, message.key.bytes);
    append_id(out, message.channel.bytes);
    out.push_back(present);
    append_text(out, message.message_id);
    for (const auto& text : optional_texts) {
        if (text) append_text(out, *text);
    }
    out.append(message.body);
}

std::optional<MessageView> parse_message(MessageOrder order, std::string_view value) {
    MessageView message;
    message.offset = order.offset;
    Parser in{value};
    if (in.byte() != kMessageForm) return std::nullopt;
    message.expiry = in.time();
    message.appended = in.time();
    message.key.bytes = in.id();
    message.channel.bytes = in.id();
    const char present = in.byte();
    message.message_id = in.text();
    const std::array optional_texts{&message.topic, &message.encoding, &message.encryption,
                                    &message.crypto_key, &message.reliability_id};
    for (std::size_t i = 0; i < optional_texts.size(); ++i) {
        if ((present & (1 << i)) != 0) *optional_texts[i] = in.text();
    }
    message.body = in.rest();
    if (!in.ok()) return std::nullopt;
    return message;
}

namespace {

char form_of(KeyRow::State state) {
    switch (state) {
        case KeyRow::State::pending: return kPendingForm;
        case KeyRow::State::done: return kDoneForm;
        case KeyRow::State::owed: return kOwedForm;
    }
    BECKON_ASSERT(false, "a state of the enum");
}

std::optional<KeyRow::State> state_of(char form) {
    switch (form) {
        case kPendingForm:
        case kTrackedForm: return KeyRow::State::pending;
        case kDoneForm: return KeyRow::State::done;
        case kOwedForm: return KeyRow::State::owed;
        default: return std::nullopt;
    }
}

}  // namespace

void append_key_row(std::string& out, const KeyRow& row) {
    const bool tracked = !row.reliability_id.empty();
    out.push_back(tracked ? kTrackedForm : form_of(row.state));
    append_time(out, row.until);
    append_i64(out, row.offset);
    if (tracked) append_text(out, row.reliability_id);
    out.append(row.slot);
}

std::optional<KeyRow> parse_key_row(std::string_view value) {
    KeyRow row;
    Parser in{value};
    const char form = in.byte();
    const auto state = state_of(form);
    if (!state) return std::nullopt;
    row.state = *state;
    row.until = in.time();
    row.offset = in.i64();
    if (form == kTrackedForm) row.reliability_id = in.text();
    row.slot = in.rest();
    if (!in.ok()) return std::nullopt;
    return row;
}

void append_replacement_row(std::string& out, const ReplacementRow& row) {
    out.push_back(kReplacementForm);
    append_time(out, row.expiry);
    append_i64(out, row.offset);
    append_id(out, row.key.bytes);
}

std::optional<ReplacementRow> parse_replacement_row(std::string_view value) {
    ReplacementRow row;
    Parser in{value};
    if (in.byte() != kReplacementForm) return std::nullopt;
    row.expiry = in.time();
    row.offset = in.i64();
    row.key.bytes = in.id();
    if (!in.ok_at_end()) return std::nullopt;
    return row;
}

void append_debt(std::string& out, const Debt& debt) {
    out.push_back(kDebtForm);
    append_time(out, Timestamp{});
    append_id(out, debt.uaid.bytes);
    out.push_back(static_cast<char>(debt.reason));
    if (!debt.end) return;
    out.push_back(static_cast<char>(debt.end->milestone));
    append_time(out, debt.end->message.expires);
    out.append(debt.end->message.id);
}

std::optional<Debt> parse_debt(std::string_view row_key, std::string_view value) {
    if (row_key.size() != 2 + 8 + 16) return std::nullopt;
    Debt debt;
    Parser place{row_key.substr(2)};
    debt.put_offset = place.i64();
    debt.key.bytes = place.id();
    Parser in{value};
    if (in.byte() != kDebtForm) return std::nullopt;
    in.time();
    debt.uaid.bytes = in.id();
    const auto reason = static_cast<unsigned char>(in.byte());
    if (reason > static_cast<unsigned char>(core::FinishReason::unregistered)) return std::nullopt;
    debt.reason = static_cast<core::FinishReason>(reason);
    if (in.ok_at_end()) return debt;
    const auto milestone = static_cast<unsigned char>(in.byte());
    if (milestone >= core::kMilestones) return std::nullopt;
    auto& end = debt.end.emplace();
    end.milestone = static_cast<core::Milestone>(milestone);
    end.message.expires = in.time();
    end.message.id = in.rest();
    if (!in.ok()) return std::nullopt;
    return debt;
}

void append_client_row(std::string& out, const ClientRow& row) {
    out.push_back(row.live ? kClientForm : kRemovedForm);
    append_time(out, row.live ? Timestamp{} : row.until);
    append_stamp(out, row.stamp);
    if (!row.live) return;
    out.push_back(static_cast<char>(row.live->router_type));
    append_time(out, row.live->created);
    append_time(out, row.live->last_seen);
    out.append(row.live->router_data);
}

std::optional<ClientRow> parse_client_row(std::string_view value) {
    ClientRow row;
    Parser in{value};
    const char form = in.byte();
    if (form != kClientForm && form != kRemovedForm) return std::nullopt;
    row.until = in.time();
    row.stamp = parse_stamp(in);
    if (form == kRemovedForm) return in.ok_at_end() ? std::optional{row} : std::nullopt;
    StoredClient client;
    const auto type = static_cast<unsigned char>(in.byte());
    if (type > static_cast<unsigned char>(core::RouterType::webhook)) return std::nullopt;
    client.router_type = static_cast<core::RouterType>(type);
    client.created = in.time();
    client.last_seen = in.time();
    client.router_data = in.rest();
    client.stamp = row.stamp;
    if (!in.ok()) return std::nullopt;
    row.live = std::move(client);
    return row;
}

void append_channel_row(std::string& out, const ChannelRow& row) {
    out.push_back(row.live ? kChannelForm : kRemovedForm);
    append_time(out, row.live ? Timestamp{} : row.until);
    append_stamp(out, row.stamp);
    if (!row.live) return;
    append_time(out, row.live->created);
    out.append(row.live->vapid_sha256);
}

std::optional<ChannelRow> parse_channel_row(std::string_view row_key, std::string_view value) {
    if (row_key.size() != kPrefixBytes + 16) return std::nullopt;
    ChannelRow row;
    Parser in{value};
    const char form = in.byte();
    if (form != kChannelForm && form != kRemovedForm) return std::nullopt;
    row.until = in.time();
    row.stamp = parse_stamp(in);
    if (form == kRemovedForm) return in.ok_at_end() ? std::optional{row} : std::nullopt;
    StoredChannel channel;
    channel.channel.bytes = id_of_row(row_key);
    channel.created = in.time();
    channel.vapid_sha256 = in.rest();
    channel.stamp = row.stamp;
    if (!in.ok()) return std::nullopt;
    row.live = std::move(channel);
    return row;
}

std::string contested_row_key(core::Partition partition, const Contested& what) {
    if (!what.channel) return std::string{RowKey{partition, what.uaid}.view()};
    return std::string{channel_row_key(partition, what.uaid, *what.channel).view()};
}

void append_contested(std::string& out) {
    out.push_back(kContestedForm);
    append_time(out, Timestamp{});
}

std::optional<Contested> parse_contested(std::string_view row_key, std::string_view value) {
    Parser in{value};
    if (in.byte() != kContestedForm) return std::nullopt;
    in.time();
    const bool of_channel = row_key.size() == kPrefixBytes + sizeof(core::Bytes16);
    if (!in.ok_at_end() || (row_key.size() != kPrefixBytes && !of_channel)) return std::nullopt;
    Contested what{.uaid = uaid_of_row(row_key), .channel = std::nullopt};
    if (of_channel) what.channel = core::ChannelId{id_of_row(row_key)};
    return what;
}

void append_checkpoint(std::string& out, const core::Checkpoint& checkpoint) {
    out.push_back(kCheckpointForm);
    append_time(out, Timestamp{});
    append_i64(out, checkpoint.next);
    append_time(out, checkpoint.caught_up);
}

std::optional<core::Checkpoint> parse_checkpoint(std::string_view value) {
    core::Checkpoint checkpoint;
    Parser in{value};
    if (in.byte() != kCheckpointForm) return std::nullopt;
    in.time();
    checkpoint.next = in.i64();
    checkpoint.caught_up = in.time();
    if (!in.ok_at_end()) return std::nullopt;
    return checkpoint;
}

// --- months

Month month_of(Timestamp time) {
    const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(time)};
    return static_cast<int>(date.year()) * 12 + static_cast<int>(unsigned{date.month()}) - 1;
}

Timestamp month_end(Month month) {
    const int next = month + 1;
    const std::chrono::year_month_day first{
        std::chrono::year{next / 12}, std::chrono::month{static_cast<unsigned>(next % 12 + 1)},
        std::chrono::day{1}};
    return Timestamp{std::chrono::sys_days{first}};
}

namespace {
constexpr std::string_view kMonthFamilyPrefix = "messages.";
}  // namespace

std::string month_family_name(Month month) {
    if (month == kEveryMonth) return std::string{kMonthFamilyPrefix} + "all";
    char text[32];
    std::snprintf(text, sizeof text, "%04d_%02d", month / 12, month % 12 + 1);
    return std::string{kMonthFamilyPrefix} + text;
}

std::optional<Month> parse_month_family_name(std::string_view name) {
    if (!name.starts_with(kMonthFamilyPrefix)) return std::nullopt;
    int year = 0;
    int month = 0;
    const std::string digits{name.substr(kMonthFamilyPrefix.size())};
    if (digits == "all") return kEveryMonth;
    if (std::sscanf(digits.c_str(), "%d_%d", &year, &month) != 2) return std::nullopt;
    const Month number = year * 12 + month - 1;
    if (month_family_name(number) != name) return std::nullopt;
    return number;
}

}  // namespace beckon::store
