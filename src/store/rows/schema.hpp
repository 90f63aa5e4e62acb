#pragma once

#include "core/checkpoint.hpp"
#include "core/clock.hpp"
#include "core/events.hpp"
#include "core/ids.hpp"
#include "core/partition.hpp"
#include "store/types.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// The bytes of every key and value of the stores. No RocksDB here: plain functions, any thread.
///
/// Keys. All begin with the partition (2 bytes, big endian), so that it is one range. What belongs
/// to a client goes on with its UAID (16), so that it is one prefix of 18 bytes.
///
///   clients       prefix
///   channels      prefix ‖ channel 16
///   replacements  prefix ‖ channel 16 ‖ Topic
///   keys          prefix ‖ message key 16
///   owed          partition 2 ‖ offset of the put 8 ‖ message key 16    (the order of payment)
///   messages.*    prefix ‖ order 1 (0 Topic, 1 other) ‖ log offset 8     (the order of a drain)
///   contested     prefix, or prefix ‖ channel 16
///   partitions    partition 2 ‖ source 1
///
/// Values. All begin with one byte that names form and version, and eight bytes of time in
/// milliseconds: when the row may be dropped (0: never). Numbers are big endian.
namespace beckon::store {

inline constexpr std::size_t kPrefixBytes = 18;
inline constexpr std::size_t kOrderBytes = 9;
inline constexpr std::size_t kMessageRowKeyBytes = kPrefixBytes + kOrderBytes;

/// A key of up to 34 bytes, on the stack.
class RowKey {
public:
    explicit RowKey(core::Partition partition);
    RowKey(core::Partition partition, const core::Uaid& uaid);
    RowKey& add(const core::Bytes16& bytes);
    RowKey& add_byte(std::uint8_t byte);
    RowKey& add_u64(std::uint64_t number);

    std::string_view view() const { return {bytes_.data(), size_}; }

private:
    std::array<char, kPrefixBytes + 16> bytes_;
    std::size_t size_ = 0;
};

/// First key of a partition, and of the one after it: a range to delete or to scan.
std::string partition_begin(core::Partition partition);
struct KeyRange {
    std::string begin;
    std::string end;  ///< not in it
};
KeyRange partition_range(core::Partition partition);
core::Partition partition_of_row(std::string_view row_key);

/// Where a message stands among its client's: Topic messages first, then by offset.
struct MessageOrder {
    bool has_topic = false;
    core::Offset offset = 0;

    /// False sorts behind true: Topic messages come first.
    bool operator<(const MessageOrder& other) const {
        if (has_topic != other.has_topic) return has_topic;
        return offset < other.offset;
    }
    bool operator==(const MessageOrder&) const = default;
};

RowKey message_row_key(core::Partition partition, const core::Uaid& uaid, MessageOrder order);
MessageOrder order_of_row(std::string_view row_key);
RowKey key_row_key(core::Partition partition, const core::Uaid& uaid, const core::MessageKey& key);
core::Uaid uaid_of_row(std::string_view row_key);
/// The 16 bytes behind the prefix of a row of `channels` or `keys`.
core::Bytes16 id_of_row(std::string_view row_key);
RowKey debt_row_key(core::Partition partition, core::Offset put_offset,
                    const core::MessageKey& key);
RowKey channel_row_key(core::Partition partition, const core::Uaid& uaid,
                       const core::ChannelId& channel);
/// `slot` is what replacement_slot() gave.
std::string replacement_row_key(core::Partition partition, const core::Uaid& uaid,
                                std::string_view slot);
/// Channel and Topic: what one message holds until a newer one takes it.
std::string replacement_slot(const core::ChannelId& channel, std::string_view topic);
std::string checkpoint_row_key(core::Partition partition, Source source);
std::optional<std::pair<core::Partition, Source>> parse_checkpoint_row_key(std::string_view key);

/// When the row may go; nullopt: never, or the value is none of ours. For the compaction filter.
std::optional<core::Timestamp> drop_time(std::string_view value);

// --- values; parse_… give nullopt for bytes that no append_… wrote

/// Views point into the parsed bytes. The offset is in the row's key.
void append_message(std::string& out, const MessageView& message);
std::optional<MessageView> parse_message(MessageOrder order, std::string_view value);

/// What is known of a message key.
struct KeyRow {
    enum class State : std::uint8_t {
        pending,  ///< it waits in its month's family
        done,     ///< its tombstone came without a put: remembered until `until`
        owed,     ///< finished; the debt of this put stands in `owed`
    };
    State state = State::pending;
    core::Offset offset = -1;      ///< of the put; -1 if done
    core::Timestamp until{};       ///< pending: expiry of the message; owed: never (0)
    std::string slot;              ///< pending Topic messages: replacement_slot()
    std::string reliability_id{};  ///< pending tracked messages

    MessageOrder order() const { return {.has_topic = !slot.empty(), .offset = offset}; }
    bool operator==(const KeyRow&) const = default;
};
void append_key_row(std::string& out, const KeyRow& row);
std::optional<KeyRow> parse_key_row(std::string_view value);

/// Who holds a channel's Topic at present.
struct ReplacementRow {
    core::Offset offset = 0;
    core::Timestamp expiry{};
    core::MessageKey key;
};
void append_replacement_row(std::string& out, const ReplacementRow& row);
std::optional<ReplacementRow> parse_replacement_row(std::string_view value);

void append_debt(std::string& out, const Debt& debt);
std::optional<Debt> parse_debt(std::string_view row_key, std::string_view value);

/// A client or channel as `subscriptions` last told, removals included: those are remembered for a
/// day so that a late record of a former home cannot undo them.
struct ClientRow {
    std::optional<StoredClient> live;  ///< nullopt: removed
    std::optional<core::WriteStamp> stamp;
    core::Timestamp until{};  ///< removed: when it may be forgotten
};
void append_client_row(std::string& out, const ClientRow& row);
std::optional<ClientRow> parse_client_row(std::string_view value);

struct ChannelRow {
    std::optional<StoredChannel> live;
    std::optional<core::WriteStamp> stamp;
    core::Timestamp until{};
};
void append_channel_row(std::string& out, const ChannelRow& row);
std::optional<ChannelRow> parse_channel_row(std::string_view row_key, std::string_view value);

std::string contested_row_key(core::Partition partition, const Contested& what);
void append_contested(std::string& out);
std::optional<Contested> parse_contested(std::string_view row_key, std::string_view value);

void append_checkpoint(std::string& out, const core::Checkpoint& checkpoint);
std::optional<core::Checkpoint> parse_checkpoint(std::string_view value);

// --- months

/// Years times twelve plus month: months in a row have numbers in a row.
using Month = int;
/// The one family of a store without rotation.
inline constexpr Month kEveryMonth = 0;

Month month_of(core::Timestamp time);
core::Timestamp month_end(Month month);
/// "messages.2026_11"; "messages.all" for kEveryMonth.
std::string month_family_name(Month month);
std::optional<Month> parse_month_family_name(std::string_view name);

}  // namespace beckon::store
