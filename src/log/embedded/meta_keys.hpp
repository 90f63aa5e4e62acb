#pragma once

#include "core/bytes.hpp"
#include "log/embedded/record_format.hpp"

#include <string>
#include <string_view>

/// The keys of the family `meta`. Numbers are 8 bytes, big-endian. Keys are scanned by the letters
/// b, c and g: a new name begins with another one.
///
///   layout              "<format> <partitions>", as text
///   clean               there only after a clean stop
///   kernel              the boot of the kernel in which the log was last opened, as text
///   time                the clock reading of the newest records (log_time.hpp)
///   time_gaps           reboots whose length that time does not count (log_time.hpp)
///   b ‖ partition       the end of the block of offsets that is reserved
///   e ‖ partition       the exact end, while `clean` is there; else where it stood when the log
///   was
///                       opened, or when the cleaner last took tombstones away
///   s ‖ partition       the log's start
///   c ‖ partition       how far the cleaner came: indexed to ‖ tombstones dropped to
///   g ‖ group ‖ 0 ‖ partition    a group's offset
namespace beckon::log::embedded::meta {

inline constexpr std::string_view kLayout = "layout";
inline constexpr std::string_view kClean = "clean";
inline constexpr std::string_view kBoot = "kernel";
inline constexpr std::string_view kTime = "time";
inline constexpr std::string_view kTimeGaps = "time_gaps";
inline constexpr char kBlock = 'b';
inline constexpr char kEnd = 'e';
inline constexpr char kStart = 's';
inline constexpr char kCleaner = 'c';
inline constexpr char kGroup = 'g';

inline std::string key(char kind, TopicPartition where) { return kind + partition_key(where); }

inline std::string number(core::Offset offset) {
    std::string bytes(8, '\0');
    core::put_fixed(bytes.data(), static_cast<std::uint64_t>(offset));
    return bytes;
}
inline core::Offset to_offset(std::string_view bytes) {
    return static_cast<core::Offset>(core::get_fixed<std::uint64_t>(bytes.data()));
}

/// The first key after all those that begin with `prefix`.
inline std::string after(std::string prefix) {
    prefix.push_back('\xff');
    return prefix;
}

}  // namespace beckon::log::embedded::meta
