#pragma once

#include "core/bytes.hpp"
#include "core/clock.hpp"
#include "core/ids.hpp"

#include <chrono>
#include <cstring>
#include <string>

/// The building blocks of row values.
namespace beckon::store {

/// The first byte of a value: form and version. A new version of a form is a new byte.
namespace form {
inline constexpr char kMessage = 'm';
inline constexpr char kPending = 'k';
inline constexpr char kTracked = 't';
inline constexpr char kDone = 'd';
inline constexpr char kTombstonePending = 'w';
inline constexpr char kReplacement = 'r';
inline constexpr char kPendingTombstone = 'o';
inline constexpr char kClient = 'c';
inline constexpr char kChannel = 'h';
inline constexpr char kRemoved = 'x';
inline constexpr char kCheckpoint = 'p';
inline constexpr char kStaleWrite = 'y';
}  // namespace form

inline void append_i64(std::string& out, std::int64_t number) {
    core::append_fixed(out, static_cast<std::uint64_t>(number));
}

inline void append_time(std::string& out, core::Timestamp time) {
    append_i64(out, time.time_since_epoch().count());
}

inline void append_id(std::string& out, const core::Bytes16& bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// Reads a value from front to back; once something is missing, good() is false.
class RowReader : public core::ByteReader {
public:
    using ByteReader::ByteReader;

    char byte() { return static_cast<char>(fixed<std::uint8_t>()); }
    std::int64_t i64() { return static_cast<std::int64_t>(fixed<std::uint64_t>()); }
    core::Timestamp time() { return core::Timestamp{std::chrono::milliseconds{i64()}}; }
    core::Bytes16 id() {
        core::Bytes16 bytes{};
        const auto text = take(bytes.size());
        if (!text.empty()) std::memcpy(bytes.data(), text.data(), bytes.size());
        return bytes;
    }
};

}  // namespace beckon::store
