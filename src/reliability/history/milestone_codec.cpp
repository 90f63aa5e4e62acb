#include "reliability/history/milestone_codec.hpp"

#include "core/codec.hpp"

#include <charconv>
#include <limits>

#include <nlohmann/json.hpp>

namespace beckon::reliability {

namespace {

using Json = nlohmann::json;

/// Nobody lives that long; larger numbers would overflow where times are added.
constexpr std::int64_t kMsMax = std::int64_t{1} << 53;
/// More than there are milestones is nothing that we wrote.
constexpr std::size_t kReachedMax = 64;

void append_ms(std::string& out, Timestamp time) {
    out += std::to_string(time.time_since_epoch().count());
}

bool read_time(const Json& json, const char* name, Timestamp& time) {
    const auto at = json.find(name);
    if (at == json.end() || !at->is_number_integer()) return false;
    const auto ms = at->get<std::int64_t>();
    if (ms < 0 || ms > kMsMax) return false;
    time = Timestamp{std::chrono::milliseconds{ms}};
    return true;
}

/// False if it is malformed; one that has a name that we do not know is skipped.
bool read_reached(const Json& json, std::vector<Reached>& into) {
    if (!json.is_object()) return false;
    const auto name = json.find("milestone");
    if (name == json.end() || !name->is_string()) return false;
    Reached reached;
    if (!read_time(json, "at", reached.at)) return false;
    const auto milestone = core::parse_milestone(name->get_ref<const std::string&>());
    if (!milestone) return true;
    reached.milestone = *milestone;
    into.push_back(reached);
    return true;
}

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
    const auto json = Json::parse(*record.value, nullptr, false);
    if (!json.is_object() || !read_time(json, "expires", into.expires)) return false;
    const auto list = json.find("reached");
    if (list == json.end() || !list->is_array() || list->size() > kReachedMax) return false;
    into.reached.clear();
    for (const auto& item : *list) {
        if (!read_reached(item, into.reached)) return false;
    }
    into.id = record.key;
    into.source = record.header(core::header::kSource).value_or(std::string_view{});
    return !into.reached.empty();
}

}  // namespace beckon::reliability
