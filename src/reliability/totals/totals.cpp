#include "reliability/totals/totals.hpp"

#include "core/assert.hpp"
#include "core/bytes.hpp"
#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "core/whole_number.hpp"
#include "records/events.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace beckon::reliability {

using core::append_fixed;
using core::append_varint;
using core::ByteReader;

namespace {

using core::kAllMilestones;
using std::chrono::hours;

// The kinds of parts, which begin the names of their rows.
constexpr char kLive = 'l';
constexpr char kEnded = 'e';
constexpr char kFlow = 'f';
constexpr char kTally = 't';

/// Both windows, and an hour more: clocks that step back find their parts still there.
constexpr hours kKept = Totals::kWindow + hours{2};

std::int64_t slot_of(Timestamp time) {
    return std::chrono::floor<std::chrono::minutes>(time).time_since_epoch() / Totals::kSlot;
}
std::int64_t hour_of(Timestamp time) {
    return std::chrono::floor<hours>(time).time_since_epoch().count();
}

std::string row_name(char kind, std::int64_t number) {
    std::string name(1, kind);
    append_fixed(name, static_cast<std::uint64_t>(number));
    return name;
}

std::string counts_row(const core::ByMilestone<std::uint64_t>& counts) {
    std::string row;
    for (const auto milestone : kAllMilestones) append_varint(row, counts[milestone]);
    return row;
}

std::optional<core::ByMilestone<std::uint64_t>> parse_counts(std::string_view bytes) {
    ByteReader reader{bytes};
    core::ByMilestone<std::uint64_t> counts;
    for (const auto milestone : kAllMilestones) counts[milestone] = reader.varint();
    if (!reader.finished()) return std::nullopt;
    return counts;
}

std::string tally_row(const Tally& tally) {
    std::string row;
    for (const auto count : tally.effects) append_varint(row, count);
    append_varint(row, tally.unknown_records);
    append_varint(row, tally.refused.size());
    for (const auto& [step, count] : tally.refused) {
        append_varint(row, core::index_of(step.from));
        append_varint(row, core::index_of(step.to));
        append_varint(row, count);
    }
    return row;
}

std::optional<Tally> parse_tally(std::string_view bytes) {
    ByteReader reader{bytes};
    Tally tally;
    for (auto& count : tally.effects) count = reader.varint();
    tally.unknown_records = reader.varint();
    const auto refused = reader.varint();
    for (std::uint64_t i = 0; i < refused && reader.good(); ++i) {
        const auto from = reader.varint();
        const auto to = reader.varint();
        if (from >= core::kMilestones || to >= core::kMilestones) return std::nullopt;
        tally.refused[{static_cast<Milestone>(from), static_cast<Milestone>(to)}] = reader.varint();
    }
    if (!reader.finished()) return std::nullopt;
    return tally;
}

template <class Target, class Value>
bool assign(Target& target, std::optional<Value> value) {
    if (value) target = std::move(*value);
    return value.has_value();
}

}  // namespace

void Totals::changed(const std::optional<History>& before, const History& after) {
    if (before) subtract(*before);
    put_in(after);
}

bool Totals::kept(Hour hour) const { return hour >= hour_of(newest_ - kKept); }

void Totals::put_in(const History& history) {
    const auto at = history.current();
    if (!at) return;
    if (const auto ended = history.ended()) {
        ++ended_[slot_of(*ended)][*at];
        dirty_.insert({kEnded, slot_of(*ended)});
    } else {
        ++live_[*at];
        dirty_.insert({kLive, 0});
    }
    for (const auto& timed : timed_steps(history)) {
        const auto hour = hour_of(timed.over);
        if (!kept(hour)) continue;
        flow_[hour][timed.step].add(timed.took);
        dirty_.insert({kFlow, hour});
    }
}

void Totals::subtract(const History& history) {
    const auto at = history.current();
    if (!at) return;
    if (const auto ended = history.ended()) {
        const auto slot = ended_.find(slot_of(*ended));
        if (slot != ended_.end() && slot->second[*at] > 0) {
            --slot->second[*at];
            dirty_.insert({kEnded, slot->first});
        }
    } else {
        BECKON_ASSERT(live_[*at] > 0, "a message that lives is counted once");
        --live_[*at];
        dirty_.insert({kLive, 0});
    }
    for (const auto& timed : timed_steps(history)) {
        const auto hour = flow_.find(hour_of(timed.over));
        if (hour == flow_.end()) continue;
        const auto step = hour->second.find(timed.step);
        if (step == hour->second.end()) continue;
        step->second.remove(timed.took);
        if (step->second.count() == 0) hour->second.erase(step);
        dirty_.insert({kFlow, hour->first});
    }
}

void Totals::count(Effect effect) {
    ++tally_.effects[effect];
    dirty_.insert({kTally, 0});
}

void Totals::count_refused(Step step) {
    count(Effect::refused);
    ++tally_.refused[step];
}

void Totals::count_unknown() {
    ++tally_.unknown_records;
    dirty_.insert({kTally, 0});
}

template <class Map>
void Totals::drop(Map& parts, char kind, std::int64_t least) {
    while (!parts.empty() && parts.begin()->first < least) {
        dirty_.insert({kind, parts.begin()->first});
        parts.erase(parts.begin());
    }
}

void Totals::pass(Timestamp appended) {
    if (appended <= newest_) return;
    newest_ = appended;
    drop(ended_, kEnded, slot_of(newest_ - kKept));
    drop(flow_, kFlow, hour_of(newest_ - kKept));
}

core::MilestoneCounts Totals::counts(Timestamp now) const {
    auto counts = live_;
    for (auto slot = ended_.upper_bound(slot_of(now - kWindow)); slot != ended_.end(); ++slot) {
        for (const auto milestone : kAllMilestones) counts[milestone] += slot->second[milestone];
    }
    return counts;
}

Flow Totals::flow(Timestamp now) const {
    Flow sum;
    for (auto hour = flow_.lower_bound(hour_of(now - kWindow)); hour != flow_.end(); ++hour) {
        for (const auto& [step, durations] : hour->second) sum[step].add(durations);
    }
    return sum;
}

Totals::Rows Totals::changed_rows() const {
    Rows rows;
    for (const auto& [kind, number] : dirty_) {
        std::optional<std::string> bytes;
        if (kind == kLive) bytes = counts_row(live_);
        if (kind == kTally) bytes = tally_row(tally_);
        if (const auto slot = ended_.find(number); kind == kEnded && slot != ended_.end()) {
            bytes = counts_row(slot->second);
        }
        if (const auto hour = flow_.find(number); kind == kFlow && hour != flow_.end()) {
            append_flow(bytes.emplace(), hour->second);
        }
        rows.emplace_back(row_name(kind, number), std::move(bytes));
    }
    return rows;
}

bool Totals::restore(std::string_view name, std::string_view bytes) {
    if (name.size() != 1 + sizeof(std::uint64_t)) return false;
    const auto number =
        static_cast<std::int64_t>(ByteReader{name.substr(1)}.fixed<std::uint64_t>());
    switch (name.front()) {
        case kLive: return assign(live_, parse_counts(bytes));
        case kTally: return assign(tally_, parse_tally(bytes));
        case kEnded:
            newest_ = std::max(newest_, Timestamp{number * kSlot});
            return assign(ended_[number], parse_counts(bytes));
        case kFlow: return assign(flow_[number], parse_flow(bytes));
        default: return false;
    }
}

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kCountsPrefix = "counts/";
constexpr std::string_view kReportPrefix = "report/";
constexpr std::size_t kDayBytes = 10;

core::Record record_of(std::string key, std::string_view type, std::optional<std::string> value) {
    core::Record record{.key = std::move(key), .value = std::move(value), .headers = {}};
    record.headers.push_back({core::header::kType, std::string{type}});
    if (record.value) record.headers.push_back({core::header::kContentType, "application/json"});
    return record;
}

std::string report_key(Day day, core::Partition partition) {
    return std::string{kReportPrefix} + to_string(day) + "/" + std::to_string(partition);
}

Json counts_json(const core::MilestoneCounts& counts) {
    Json json = Json::object();
    for (const auto milestone : kAllMilestones) {
        if (counts[milestone] > 0) {
            json[std::string{core::to_string(milestone)}] = counts[milestone];
        }
    }
    return json;
}

std::optional<core::Partition> parse_partition(std::string_view text) {
    const auto partition = core::parse_decimal<core::Partition>(text);
    return partition && *partition >= 0 && *partition <= 0xffff ? partition : std::nullopt;
}

/// Throws if there is no such member or it names no milestone.
Step step_of(const Json& json) {
    const auto from = core::parse_milestone(json.at("from").get_ref<const std::string&>());
    const auto to = core::parse_milestone(json.at("to").get_ref<const std::string&>());
    if (!from || !to) throw Json::other_error::create(501, "no milestone", &json);
    return {*from, *to};
}

/// Throws as nlohmann's accessors do. Names of milestones that we do not know are left out.
PartitionCounts parse_count_record(core::Partition partition, std::string_view value) {
    const auto json = core::must_parse_ordered_json(value);
    PartitionCounts event{
        .partition = partition, .at = {}, .counts = {}, .flow = {}, .refused = {}};
    event.at =
        Timestamp{std::chrono::milliseconds{core::whole_number<std::int64_t>(json.at("at"))}};
    for (const auto& [name, count] : json.at("counts").items()) {
        if (const auto milestone = core::parse_milestone(name)) {
            event.counts[*milestone] = core::whole_number<std::uint64_t>(count);
        }
    }
    for (const auto& item : json.at("flow")) {
        std::map<std::uint32_t, std::uint64_t> buckets;
        for (const auto& bucket : item.at("buckets")) {
            buckets[core::whole_number<std::uint32_t>(bucket.at("bucket"))] =
                core::whole_number<std::uint64_t>(bucket.at("count"));
        }
        event.flow[step_of(item)] =
            Durations{milliseconds{core::whole_number<std::int64_t>(item.at("total_ms"))}, buckets};
    }
    for (const auto& item : json.at("refused")) {
        event.refused[step_of(item)] = core::whole_number<std::uint64_t>(item.at("count"));
    }
    return event;
}

TotalsEvent decode_report(std::string_view key, const core::RecordView& record) {
    if (key.size() < kDayBytes + 2 || key[kDayBytes] != '/') return NotTotals{};
    const auto day = parse_day(key.substr(0, kDayBytes));
    const auto partition = parse_partition(key.substr(kDayBytes + 1));
    if (!day || !partition) return NotTotals{};
    if (!record.value) return ReportRemoved{*day, *partition};
    auto report = Report::parse_sums(*record.value);
    if (!report) return NotTotals{};
    return PartitionReport{*day, *partition, *report};
}

Json step_json(Step step) {
    return {{"from", core::to_string(step.from)}, {"to", core::to_string(step.to)}};
}

}  // namespace

core::Record encode(const PartitionCounts& event) {
    Json flow = Json::array();
    for (const auto& [step, durations] : event.flow) {
        Json item = step_json(step);
        item["total_ms"] = durations.total().count();
        item["buckets"] = Json::array();
        for (const auto& [bucket, count] : durations.buckets()) {
            item["buckets"].push_back({{"bucket", bucket}, {"count", count}});
        }
        flow.push_back(std::move(item));
    }
    Json refused = Json::array();
    for (const auto& [step, count] : event.refused) {
        Json item = step_json(step);
        item["count"] = count;
        refused.push_back(std::move(item));
    }
    const Json value = {{"at", event.at.time_since_epoch().count()},
                        {"counts", counts_json(event.counts)},
                        {"flow", std::move(flow)},
                        {"refused", std::move(refused)}};
    return record_of(std::string{kCountsPrefix} + std::to_string(event.partition), kCountsType,
                     core::json_text(value));
}

core::Record encode(const PartitionReport& event) {
    return record_of(report_key(event.day, event.partition), kReportType, event.report.sums_json());
}

core::Record encode(const ReportRemoved& event) {
    return record_of(report_key(event.day, event.partition), kReportType, std::nullopt);
}

TotalsEvent decode_totals(const core::RecordView& record) {
    if (record.key.starts_with(kReportPrefix)) {
        return decode_report(record.key.substr(kReportPrefix.size()), record);
    }
    if (!record.key.starts_with(kCountsPrefix) || !record.value) return NotTotals{};
    const auto partition = parse_partition(record.key.substr(kCountsPrefix.size()));
    if (!partition) return NotTotals{};
    try {
        return parse_count_record(*partition, *record.value);
    } catch (const nlohmann::json::exception&) {
        return NotTotals{};
    }
}

}  // namespace beckon::reliability
