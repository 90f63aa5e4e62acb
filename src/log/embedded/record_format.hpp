#pragma once

#include "core/record.hpp"
#include "log/topic.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// How the embedded log writes records to disk. Numbers are big-endian, so that keys sort by
/// topic, partition and offset.
///
///   key of a record    topic 1 ‖ partition 2 ‖ offset 8
///   value of a record  append time 8 (ms since the epoch) ‖ body
///   body               form 1 ‖ key ‖ count of headers ‖ (name ‖ value)… ‖ value to the end
///
/// In the body each of key, count, name and header value is a length (LEB128) and its bytes; the
/// count is a length without bytes. The form shows whether the value is null. The body is made by
/// the publisher's thread; the writer adds offset and time.
namespace beckon::log::embedded {

/// A topic's byte on disk. Does not move when the table of fixed topics grows.
std::uint8_t topic_byte(Topic topic);
/// nullopt for a byte that this build does not know.
std::optional<Topic> topic_of_byte(std::uint8_t byte);

inline constexpr std::size_t kPartitionKeyBytes = 3;
inline constexpr std::size_t kRecordKeyBytes = 11;
inline constexpr std::size_t kTimeBytes = 8;

/// topic ‖ partition: the prefix of every key of a partition.
std::string partition_key(TopicPartition where);
/// The partition in front of `key`; nullopt if it is too short or names an unknown topic.
std::optional<TopicPartition> parse_partition_key(std::string_view key);

std::string record_key(TopicPartition where, core::Offset offset);
/// The offset of a key that record_key() made.
core::Offset offset_of_key(std::string_view key);

std::string encode_time(core::Timestamp time);
core::Timestamp decode_time(std::string_view bytes);

std::string encode_body(const core::Record& record);

/// Fills key, value and headers of `view` with views into `body`; `headers` is the scratch that
/// view.headers points to. False if the bytes do not decode.
bool decode_body(std::string_view body, core::RecordView& view,
                 std::vector<core::HeaderView>& headers);

/// Only the key and whether the value is null, for the cleaner.
struct KeyOfBody {
    std::string_view key;
    bool tombstone = false;
};
std::optional<KeyOfBody> decode_key(std::string_view body);

}  // namespace beckon::log::embedded
