#include "store/rows/row_key.hpp"

#include "core/assert.hpp"
#include "core/bytes.hpp"

#include <cstring>

namespace beckon::store {

namespace {

std::size_t append_partition(char* at, core::Partition partition) {
    BECKON_ASSERT(partition >= 0 && partition <= 0xffff, "a partition has two bytes");
    at[0] = static_cast<char>(partition >> 8);
    at[1] = static_cast<char>(partition & 0xff);
    return 2;
}

std::string_view text_of(const core::Bytes16& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

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
    core::put_fixed(bytes_.data() + size_, number);
    size_ += 8;
    return *this;
}

std::string partition_begin(core::Partition partition) {
    std::string key(2, '\0');
    append_partition(key.data(), partition);
    return key;
}

KeyRange partition_range(core::Partition partition) {
    if (partition == 0xffff) return {partition_begin(partition), kAllRows.end};
    return {partition_begin(partition), partition_begin(partition + 1)};
}

KeyRange range_behind(core::Partition partition, std::string_view row_key) {
    return {std::string{row_key} + '\0', partition_range(partition).end};
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
            .offset = static_cast<core::Offset>(
                core::get_fixed<std::uint64_t>(row_key.data() + kPrefixBytes + 1))};
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

RowKey pending_tombstone_row_key(core::Partition partition, core::Offset put_offset,
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
    slot.append(text_of(channel.bytes));
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

std::string stale_write_row_key(core::Partition partition, const StaleWrite& what) {
    if (!what.channel) return std::string{RowKey{partition, what.uaid}.view()};
    return std::string{channel_row_key(partition, what.uaid, *what.channel).view()};
}

}  // namespace beckon::store
