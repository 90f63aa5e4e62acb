#pragma once

#include "core/checkpoint.hpp"
#include "core/clock.hpp"
#include "core/ids.hpp"
#include "records/events.hpp"
#include "store/rows/row_key.hpp"
#include "store/types.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The bytes of every value of the stores; row_key.hpp has the keys. No RocksDB here: plain
/// functions, any thread.
///
/// Each value begins with one byte that names form and version, and eight bytes of time in
/// milliseconds: when the row may be dropped (0: never). Numbers are big endian.
namespace beckon::store {

/// A month, by which messages are kept together so that they are dropped together: years times
/// twelve plus month, so months in a row have numbers in a row.
using Month = int;
/// The one family of a store without rotation.
inline constexpr Month kEveryMonth = 0;

Month month_of(core::Timestamp time);
core::Timestamp month_end(Month month);
/// "messages.2026_11"; "messages.all" for kEveryMonth.
std::string month_family_name(Month month);

/// Days since 1970, in place of months where a store rotates daily. No store has both.
Month day_of(core::Timestamp time);
/// "messages.2026_11_22"; "messages.all" for kEveryMonth.
std::string day_family_name(Month day);

/// The number of either.
std::optional<Month> parse_message_family_name(std::string_view name);

/// When the compaction filter may drop the row; nullopt: never, or the value is not one of this
/// file.
std::optional<core::Timestamp> drop_time(std::string_view value);

// --- values; parse_… give nullopt for bytes that no append_… wrote

/// Views point into the parsed bytes. The offset is in the row's key.
void append_message(std::string& out, const MessageView& message);
std::optional<MessageView> parse_message(MessageOrder order, std::string_view value);

/// The state of a message key.
struct KeyRow {
    enum class State : std::uint8_t {
        pending,            ///< it waits in its month's family
        done,               ///< its tombstone came without a put: remembered until `until`
        tombstone_pending,  ///< finished; the pending tombstone of this put stands in
                            ///< `pending_tombstones`
    };
    State state = State::pending;
    core::Offset offset = -1;      ///< of the put; -1 if done
    core::Timestamp until{};       ///< pending: expiry of the message; tombstone_pending: never (0)
    std::string slot;              ///< pending Topic messages: replacement_slot()
    std::string reliability_id{};  ///< pending tracked messages

    MessageOrder order() const { return {.has_topic = !slot.empty(), .offset = offset}; }
    bool operator==(const KeyRow&) const = default;
};
void append_key_row(std::string& out, const KeyRow& row);
std::optional<KeyRow> parse_key_row(std::string_view value);

/// The message that holds a channel's Topic at present.
struct ReplacementRow {
    core::Offset offset = 0;
    core::Timestamp expiry{};
    core::MessageKey key;
    bool operator==(const ReplacementRow&) const = default;
};
void append_replacement_row(std::string& out, const ReplacementRow& row);
std::optional<ReplacementRow> parse_replacement_row(std::string_view value);

void append_pending_tombstone(std::string& out, const PendingTombstone& pending);
std::optional<PendingTombstone> parse_pending_tombstone(std::string_view row_key,
                                                        std::string_view value);

/// A client or channel as `subscriptions` last had it. Removals are remembered for a day, so that a
/// late record of a former home cannot undo them.
struct ClientRow {
    std::optional<StoredClient> live;  ///< nullopt: removed
    std::optional<core::WriteStamp> stamp;
    core::Timestamp until{};  ///< removed: when it may be forgotten
    bool operator==(const ClientRow&) const = default;
};
void append_client_row(std::string& out, const ClientRow& row);
std::optional<ClientRow> parse_client_row(std::string_view value);

struct ChannelRow {
    std::optional<StoredChannel> live;
    std::optional<core::WriteStamp> stamp;
    core::Timestamp until{};
    bool operator==(const ChannelRow&) const = default;
};
void append_channel_row(std::string& out, const ChannelRow& row);
std::optional<ChannelRow> parse_channel_row(std::string_view row_key, std::string_view value);

void append_stale_write(std::string& out);
std::optional<StaleWrite> parse_stale_write(std::string_view row_key, std::string_view value);

void append_checkpoint(std::string& out, const core::Checkpoint& checkpoint);
std::optional<core::Checkpoint> parse_checkpoint(std::string_view value);

}  // namespace beckon::store
