#include "reliability/history/milestone_codec.hpp"

#include "records/events.hpp"

#include <cstring>

#include <simdjson.h>

namespace beckon::reliability {

namespace {

namespace dom = simdjson::dom;

/// No message lives that long; larger numbers would overflow where times are added.
constexpr std::int64_t kMsMax = std::int64_t{1} << 53;
/// More than there are milestones is nothing that we wrote.
constexpr std::size_t kReachedMax = 64;

void append_ms(std::string& out, Timestamp time) {
    out += std::to_string(time.time_since_epoch().count());
}

bool read_time(const dom::element& json, std::string_view name, Timestamp& time) {
    std::int64_t ms = 0;
    if (json[name].get(ms) != simdjson::SUCCESS || ms < 0 || ms > kMsMax) return false;
    time = Timestamp{std::chrono::milliseconds{ms}};
    return true;
}

/// False if it is malformed; one that has a name that we do not know is skipped.
bool read_reached(const dom::element& json, std::vector<Reached>& into) {
    std::string_view name;
    if (json["milestone"].get(name) != simdjson::SUCCESS) return false;
    Reached reached;
    if (!read_time(json, "at", reached.at)) return false;
    const auto milestone = core::parse_milestone(name);
    if (!milestone) return true;
    reached.milestone = *milestone;
    into.push_back(reached);
    return true;
}

/// Each thread keeps its memory: records come by the hundred thousand a second.
class Parser {
public:
    simdjson::simdjson_result<dom::element> parse(std::string_view text) {
        if (padded_.size() < text.size() + simdjson::SIMDJSON_PADDING) {
            padded_.resize(text.size() + simdjson::SIMDJSON_PADDING);
        }
        std::memcpy(padded_.data(), text.data(), text.size());
        return parser_.parse(padded_.data(), text.size(), false);
    }

private:
    dom::parser parser_;
    std::string padded_;  ///< the text with the space behind it that simdjson reads into
};

}  // namespace

core::Record encode(const MilestonesReached& event) {
    // By hand: names and ids need no escapes, and this runs for each tracked message.
    std::string value;
    value.reserve(64 + 56 * event.reached.size());
    value += R"({"expires":)";
    append_ms(value, event.expires);
    value += R"(,"reached":[)";
    for (const auto& reached : event.reached) {
        if (&reached != &event.reached.front()) value += ',';
        value.append(R"({"at":)");
        append_ms(value, reached.at);
        value.append(R"(,"milestone":")")
            .append(core::to_string(reached.milestone))
            .append(R"("})");
    }
    value += "]}";
    return {.key = event.id,
            .value = std::move(value),
            .headers = {{core::header::kType, std::string{kMilestonesType}},
                        {core::header::kSource, event.source},
                        {core::header::kContentType, "application/json"}}};
}

bool decode(const core::RecordView& record, MilestonesReached& into) {
    if (!record.value || !core::is_reliability_id(record.key)) return false;
    if (record.header(core::header::kType) != kMilestonesType) return false;
    thread_local Parser parser;
    dom::element json;
    if (parser.parse(*record.value).get(json) != simdjson::SUCCESS) return false;
    dom::array list;
    if (!read_time(json, "expires", into.expires)) return false;
    if (json["reached"].get(list) != simdjson::SUCCESS || list.size() > kReachedMax) return false;
    into.reached.clear();
    for (const auto item : list) {
        if (!read_reached(item, into.reached)) return false;
    }
    into.id = record.key;
    into.source = record.header(core::header::kSource).value_or(std::string_view{});
    return !into.reached.empty();
}

}  // namespace beckon::reliability
