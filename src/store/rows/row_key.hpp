#pragma once

#include "core/ids.hpp"
#include "core/partition.hpp"
#include "core/record.hpp"
#include "store/types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// The keys of all rows. Each begins with the partition (2 bytes, big endian), so that a partition
/// is one range. Rows of a client go on with its UAID (16 bytes), so that a client is one prefix of
/// 18 bytes.
///
///   clients             prefix
///   channels            prefix ‖ channel 16
///   replacements        prefix ‖ channel 16 ‖ Topic
///   keys                prefix ‖ message key 16
///   pending_tombstones  partition 2 ‖ offset of the put 8 ‖ message key 16  (order of publishing)
///   messages.*          prefix ‖ order 1 (0 Topic, 1 other) ‖ log offset 8  (order of a drain)
///   stale_writes        prefix, or prefix ‖ channel 16
///   partitions          partition 2 ‖ source 1
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
/// Ends where no row begins.
inline const KeyRange kAllRows{"", "\xff\xff\xff"};
/// The keys of a partition behind `row_key`.
KeyRange range_behind(core::Partition partition, std::string_view row_key);
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
RowKey pending_tombstone_row_key(core::Partition partition, core::Offset put_offset,
                                 const core::MessageKey& key);
RowKey channel_row_key(core::Partition partition, const core::Uaid& uaid,
                       const core::ChannelId& channel);
/// `slot`: from replacement_slot().
std::string replacement_row_key(core::Partition partition, const core::Uaid& uaid,
                                std::string_view slot);
/// The slot of a channel and Topic: one message holds it until a newer one takes it.
std::string replacement_slot(const core::ChannelId& channel, std::string_view topic);
std::string checkpoint_row_key(core::Partition partition, Source source);
std::optional<std::pair<core::Partition, Source>> parse_checkpoint_row_key(std::string_view key);
std::string stale_write_row_key(core::Partition partition, const StaleWrite& what);

}  // namespace beckon::store
