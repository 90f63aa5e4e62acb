#include "reliability/totals/totals_codec.hpp"

#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "core/whole_number.hpp"
#include "records/events.hpp"

#include <nlohmann/json.hpp>

namespace beckon::reliability {

namespace {

using core::kAllMilestones;
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
