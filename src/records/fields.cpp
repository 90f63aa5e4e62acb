#include "records/fields.hpp"

#include "core/json_depth.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "records/log_key.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace beckon::core {

namespace {

constexpr std::string_view kJsonContent = "application/json";

/// Router data is never nested deeper than this, and printing it again would cost stack.
constexpr std::size_t kJsonDepthMax = 32;

}  // namespace

std::string padded(Epoch epoch) {
    const auto digits = std::to_string(epoch);
    return std::string(kEpochDigits - digits.size(), '0') + digits;
}

std::optional<Sha256> parse_sha256(std::string_view text) {
    if (text.size() != 2 * kHexSize) return std::nullopt;
    const auto first = parse_hex16(text.substr(0, kHexSize));
    const auto second = parse_hex16(text.substr(kHexSize));
    if (!first || !second) return std::nullopt;
    Sha256 out{};
    std::copy(second->begin(), second->end(), std::copy(first->begin(), first->end(), out.begin()));
    return out;
}

std::int64_t to_ms(Timestamp time) { return time.time_since_epoch().count(); }

Record record_of(std::string key, std::optional<std::string> value, std::string_view type,
                 std::string_view content) {
    Record record{.key = std::move(key), .value = std::move(value), .headers = {}};
    HeaderWriter headers{record, 5};
    headers.add_type(type);
    if (!content.empty()) headers.add(header::kContentType, content);
    return record;
}

Record state_record(std::string key, std::string_view type, std::optional<std::string> value,
                    const std::optional<WriteStamp>& stamp) {
    const auto content = value ? kJsonContent : std::string_view{};
    auto record = record_of(std::move(key), std::move(value), type, content);
    HeaderWriter{record, 5}.add_stamp(stamp);
    return record;
}

ParsedObject parse_object(std::string_view text) {
    if (is_nested_deeper(text, kJsonDepthMax)) return {{}, "value is nested too deep"};
    Json json = parse_json(text);
    if (json.is_discarded()) return {{}, "value is not JSON"};
    if (!json.is_object()) return {{}, "value is not a JSON object"};
    return {std::move(json), {}};
}

std::optional<Timestamp> read_time(const Json& object, const char* name) {
    const Json* at = find_member(object, name);
    if (!at || !at->is_number_unsigned()) return std::nullopt;
    const auto ms = at->get<std::uint64_t>();
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (ms > kMax) return std::nullopt;
    return Timestamp{std::chrono::milliseconds{static_cast<std::int64_t>(ms)}};
}

std::string_view read_stamp(const HeaderScan& headers, std::optional<WriteStamp>& into) {
    constexpr std::string_view kNoNumbers = "ce_epoch and ce_seq are not two numbers";
    into = std::nullopt;
    if (!headers.epoch && !headers.seq) return {};
    if (!headers.epoch || !headers.seq) return kNoNumbers;
    const auto epoch = parse_decimal<Epoch>(*headers.epoch);
    const auto seq = parse_decimal<std::uint64_t>(*headers.seq);
    if (!epoch || !seq) return kNoNumbers;
    into = WriteStamp{*epoch, *seq};
    return {};
}

}  // namespace beckon::core
