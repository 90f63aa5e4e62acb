#include "store/rows/schema.hpp"

#include "core/assert.hpp"
#include "store/rows/row_bytes.hpp"

#include <chrono>
#include <cstdio>

namespace beckon::store {

using core::Timestamp;

namespace {

/// Bytes of a message beside its texts: form, times, ids, flags, sizes of texts.
constexpr std::size_t kMessageFixed = 1 + 2 * 8 + 2 * 16 + 1 + 6 * 4;
/// In place of the milestone of a tracked message whose end is not reported.
constexpr char kNoMilestone = '\xff';
constexpr std::size_t kTimeAt = 1;  ///< the drop time's place in every value

char form_of(KeyRow::State state) {
    switch (state) {
        case KeyRow::State::pending: return form::kPending;
        case KeyRow::State::done: return form::kDone;
        case KeyRow::State::tombstone_pending: return form::kTombstonePending;
    }
    BECKON_ASSERT(false, "a state of the enum");
}

std::optional<KeyRow::State> state_of(char first) {
    switch (first) {
        case form::kPending:
        case form::kTracked: return KeyRow::State::pending;
        case form::kDone: return KeyRow::State::done;
        case form::kTombstonePending: return KeyRow::State::tombstone_pending;
        default: return std::nullopt;
    }
}

}  // namespace

std::optional<Timestamp> drop_time(std::string_view value) {
    if (value.size() < kTimeAt + 8) return std::nullopt;
    const auto ms =
        static_cast<std::int64_t>(core::get_fixed<std::uint64_t>(value.data() + kTimeAt));
    if (ms == 0) return std::nullopt;
    return Timestamp{std::chrono::milliseconds{ms}};
}

void append_message(std::string& out, const MessageView& message) {
    const std::array optional_texts{message.topic, message.encoding, message.encryption,
                                    message.crypto_key, message.reliability_id};
    char present = 0;
    for (std::size_t i = 0; i < optional_texts.size(); ++i) {
        if (optional_texts[i]) present = static_cast<char>(present | (1 << i));
    }
    std::size_t texts = message.message_id.size() + message.body.size();
    for (const auto& text : optional_texts) texts += text ? text->size() : 0;
    out.reserve(out.size() + texts + kMessageFixed);  // a fold appends one for each message
    out.push_back(form::kMessage);
    append_time(out, message.expiry);
    append_time(out, message.appended);
    append_id(out, message.key.bytes);
    append_id(out, message.channel.bytes);
    out.push_back(present);
    core::append_text(out, message.message_id);
    for (const auto& text : optional_texts) {
        if (text) core::append_text(out, *text);
    }
    out.append(message.body);
}

std::optional<MessageView> parse_message(MessageOrder order, std::string_view value) {
    MessageView message;
    message.offset = order.offset;
    RowReader in{value};
    if (in.byte() != form::kMessage) return std::nullopt;
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
    message.body = in.take_rest();
    if (!in.good()) return std::nullopt;
    return message;
}

void append_key_row(std::string& out, const KeyRow& row) {
    const bool tracked = !row.reliability_id.empty();
    out.push_back(tracked ? form::kTracked : form_of(row.state));
    append_time(out, row.until);
    append_i64(out, row.offset);
    if (tracked) core::append_text(out, row.reliability_id);
    out.append(row.slot);
}

std::optional<KeyRow> parse_key_row(std::string_view value) {
    KeyRow row;
    RowReader in{value};
    const char first = in.byte();
    const auto state = state_of(first);
    if (!state) return std::nullopt;
    row.state = *state;
    row.until = in.time();
    row.offset = in.i64();
    if (first == form::kTracked) row.reliability_id = in.text();
    row.slot = in.take_rest();
    if (!in.good()) return std::nullopt;
    return row;
}

void append_replacement_row(std::string& out, const ReplacementRow& row) {
    out.push_back(form::kReplacement);
    append_time(out, row.expiry);
    append_i64(out, row.offset);
    append_id(out, row.key.bytes);
}

std::optional<ReplacementRow> parse_replacement_row(std::string_view value) {
    ReplacementRow row;
    RowReader in{value};
    if (in.byte() != form::kReplacement) return std::nullopt;
    row.expiry = in.time();
    row.offset = in.i64();
    row.key.bytes = in.id();
    if (!in.finished()) return std::nullopt;
    return row;
}

void append_pending_tombstone(std::string& out, const PendingTombstone& pending) {
    out.push_back(form::kPendingTombstone);
    append_time(out, Timestamp{});
    append_id(out, pending.uaid.bytes);
    out.push_back(static_cast<char>(pending.reason));
    if (!pending.end) return;
    const auto milestone = pending.end->milestone;
    out.push_back(milestone ? static_cast<char>(*milestone) : kNoMilestone);
    append_time(out, pending.end->message.expires);
    out.append(pending.end->message.id);
}

std::optional<PendingTombstone> parse_pending_tombstone(std::string_view row_key,
                                                        std::string_view value) {
    if (row_key.size() != 2 + 8 + 16) return std::nullopt;
    PendingTombstone pending;
    RowReader place{row_key.substr(2)};
    pending.put_offset = place.i64();
    pending.key.bytes = place.id();
    RowReader in{value};
    if (in.byte() != form::kPendingTombstone) return std::nullopt;
    in.time();
    pending.uaid.bytes = in.id();
    const auto reason = static_cast<unsigned char>(in.byte());
    if (reason > static_cast<unsigned char>(core::FinishReason::unregistered)) return std::nullopt;
    pending.reason = static_cast<core::FinishReason>(reason);
    if (in.finished()) return pending;
    const char milestone = in.byte();
    PendingTombstone::End end;
    if (milestone != kNoMilestone) {
        if (static_cast<unsigned char>(milestone) >= core::kMilestones) return std::nullopt;
        end.milestone = static_cast<core::Milestone>(milestone);
    }
    end.message.expires = in.time();
    end.message.id = in.take_rest();
    if (!in.good()) return std::nullopt;
    pending.end = std::move(end);
    return pending;
}

void append_checkpoint(std::string& out, const core::Checkpoint& checkpoint) {
    out.push_back(form::kCheckpoint);
    append_time(out, checkpoint.youngest);  // where other rows have their drop time
    append_i64(out, checkpoint.next);
    append_time(out, checkpoint.caught_up);
}

std::optional<core::Checkpoint> parse_checkpoint(std::string_view value) {
    core::Checkpoint checkpoint;
    RowReader in{value};
    if (in.byte() != form::kCheckpoint) return std::nullopt;
    checkpoint.youngest = in.time();
    checkpoint.next = in.i64();
    checkpoint.caught_up = in.time();
    if (!in.finished()) return std::nullopt;
    return checkpoint;
}

namespace {

constexpr std::string_view kMonthFamilyPrefix = "messages.";

}  // namespace

Month month_of(core::Timestamp time) {
    const std::chrono::year_month_day date{std::chrono::floor<std::chrono::days>(time)};
    return static_cast<int>(date.year()) * 12 + static_cast<int>(unsigned{date.month()}) - 1;
}

core::Timestamp month_end(Month month) {
    const int next = month + 1;
    const std::chrono::year_month_day first{
        std::chrono::year{next / 12}, std::chrono::month{static_cast<unsigned>(next % 12 + 1)},
        std::chrono::day{1}};
    return core::Timestamp{std::chrono::sys_days{first}};
}

std::string month_family_name(Month month) {
    if (month == kEveryMonth) return std::string{kMonthFamilyPrefix} + "all";
    char text[32];
    std::snprintf(text, sizeof text, "%04d_%02d", month / 12, month % 12 + 1);
    return std::string{kMonthFamilyPrefix} + text;
}

Month day_of(core::Timestamp time) {
    return static_cast<int>(std::chrono::floor<std::chrono::days>(time).time_since_epoch().count());
}

std::string day_family_name(Month day) {
    if (day == kEveryMonth) return month_family_name(kEveryMonth);
    const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
    char text[48];
    std::snprintf(text, sizeof text, "%04d_%02u_%02u", static_cast<int>(date.year()),
                  unsigned{date.month()}, unsigned{date.day()});
    return std::string{kMonthFamilyPrefix} + text;
}

std::optional<Month> parse_message_family_name(std::string_view name) {
    if (!name.starts_with(kMonthFamilyPrefix)) return std::nullopt;
    const std::string digits{name.substr(kMonthFamilyPrefix.size())};
    if (digits == "all") return kEveryMonth;
    int year = 0;
    int month = 0;
    unsigned day = 0;
    // With widths, since a number beyond an int is undefined; other ways to write a date are
    // refused below.
    const int found = std::sscanf(digits.c_str(), "%5d_%2d_%2u", &year, &month, &day);
    if (found < 2 || month < 1 || month > 12) return std::nullopt;
    if (found == 2) {
        const Month number = year * 12 + month - 1;
        return month_family_name(number) == name ? std::optional{number} : std::nullopt;
    }
    const std::chrono::year_month_day date{std::chrono::year{year},
                                           std::chrono::month{static_cast<unsigned>(month)},
                                           std::chrono::day{day}};
    if (!date.ok()) return std::nullopt;
    const auto number = static_cast<Month>(std::chrono::sys_days{date}.time_since_epoch().count());
    return day_family_name(number) == name ? std::optional{number} : std::nullopt;
}

}  // namespace beckon::store
