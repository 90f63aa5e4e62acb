#include "records/broadcast.hpp"

#include "records/fields.hpp"
#include "records/log_key.hpp"

#include <algorithm>

namespace beckon::edge {

namespace {

constexpr std::string_view kType = "beckon.broadcast.v1";

bool is_printable(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

}  // namespace

core::Result<void> check(const BroadcastSet& broadcast) {
    const auto& [id, version] = broadcast;
    const bool good_id = !id.empty() && id.size() <= kBroadcastIdMax && is_printable(id) &&
                         id.front() != '!' && id.front() != ' ';
    if (!good_id) {
        return core::fail(core::Fault::invalid,
                          "the id of a broadcast is 1 to " + std::to_string(kBroadcastIdMax) +
                              " printable ASCII characters, the first neither a blank nor '!'");
    }
    if (!version) return {};
    if (version->empty() || version->size() > kBroadcastVersionMax || !is_printable(*version)) {
        return core::fail(core::Fault::invalid, "the version of a broadcast is 1 to " +
                                                    std::to_string(kBroadcastVersionMax) +
                                                    " printable ASCII characters");
    }
    return {};
}

core::Record encode(const BroadcastSet& broadcast) {
    return core::record_of(broadcast.id, broadcast.version, kType,
                           broadcast.version ? "text/plain" : "");
}

std::optional<BroadcastSet> decode_broadcast(const core::RecordView& record) {
    if (core::is_control_key(record.key)) return std::nullopt;
    BroadcastSet out{.id = std::string{record.key}, .version = std::nullopt};
    if (record.value) {
        // Compaction reads the key alone, so a tombstone counts even with unknown headers.
        if (record.header(core::header::kType) != kType) return std::nullopt;
        out.version = std::string{*record.value};
    }
    if (!check(out)) return std::nullopt;
    return out;
}

}  // namespace beckon::edge
