#include "reliability/totals/report.hpp"

#include "core/json_text.hpp"
#include "core/time_text.hpp"
#include "core/whole_number.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace beckon::reliability {

namespace {

using core::kAllMilestones;
using Json = nlohmann::ordered_json;

bool succeeded(const History& history) {
    return history.has(Milestone::delivered) || history.has(Milestone::transmitted) ||
           history.has(Milestone::bridge_transmitted);
}

bool withdrawn(const History& history) {
    return history.has(Milestone::replaced) || history.has(Milestone::deleted);
}

double seconds_of(milliseconds duration) { return static_cast<double>(duration.count()) / 1000; }

milliseconds mean_of(milliseconds total, std::uint64_t count) {
    return count == 0 ? milliseconds{0} : total / static_cast<std::int64_t>(count);
}

std::string fixed3(double number) {
    char text[48];
    std::snprintf(text, sizeof text, "%.3f", number);
    return text;
}

template <class T>
void take_least(std::optional<T>& mine, const std::optional<T>& other) {
    if (other && (!mine || *other < *mine)) mine = other;
}
void take_longest(std::optional<milliseconds>& mine, const std::optional<milliseconds>& other) {
    if (other && (!mine || *other > *mine)) mine = other;
}

Json ms_or_null(const std::optional<milliseconds>& duration) {
    return duration ? Json(duration->count()) : Json();
}

std::optional<std::int64_t> optional_number(const Json& json, const char* name) {
    const auto& value = json.at(name);
    if (value.is_null()) return std::nullopt;
    return core::whole_number<std::int64_t>(value);
}

}  // namespace

Day day_of(Timestamp time) { return std::chrono::floor<std::chrono::days>(time); }

std::string to_string(Day day) {
    const std::chrono::year_month_day date{day};
    char text[32];
    std::snprintf(text, sizeof text, "%04d-%02u-%02u", static_cast<int>(date.year()),
                  static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
    return text;
}

std::optional<Day> parse_day(std::string_view text) {
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    if (text.size() != 10 ||
        std::sscanf(std::string{text}.c_str(), "%4d-%2u-%2u", &year, &month, &day) != 3) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month},
                                           std::chrono::day{day}};
    if (!date.ok() || year < 0 || to_string(Day{date}) != text) return std::nullopt;
    return Day{date};
}

void Report::add(const History& history) {
    auto steps = history.steps();
    if (steps.empty()) return;
    std::stable_sort(steps.begin(), steps.end(),
                     [](const Reached& a, const Reached& b) { return a.at < b.at; });
    const milliseconds whole = steps.back().at - steps.front().at;
    take_least<Timestamp>(since_, steps.front().at);
    if (succeeded(history)) {
        ++success_;
        total_time_ += whole;
        take_longest(longest_, whole);
        take_least<milliseconds>(shortest_, whole);
    } else {
        ++(withdrawn(history) ? withdrawn_ : fail_);
    }
    if (history.has(Milestone::expired)) ++expired_;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        auto& stay = stays_[steps[i].milestone];
        ++stay.count;
        if (i + 1 < steps.size()) stay.total += steps[i + 1].at - steps[i].at;
    }
}

void Report::add(const Report& other) {
    take_least(since_, other.since_);
    take_longest(longest_, other.longest_);
    take_least(shortest_, other.shortest_);
    total_time_ += other.total_time_;
    success_ += other.success_;
    fail_ += other.fail_;
    withdrawn_ += other.withdrawn_;
    expired_ += other.expired_;
    for (const auto milestone : kAllMilestones) {
        stays_[milestone].count += other.stays_[milestone].count;
        stays_[milestone].total += other.stays_[milestone].total;
    }
}

std::string Report::json() const {
    Json milestones = Json::object();
    for (const auto milestone : kAllMilestones) {
        const auto& stay = stays_[milestone];
        if (stay.count == 0) continue;
        milestones[std::string{core::to_string(milestone)}] = {
            {"count", stay.count},
            {"total_time", seconds_of(stay.total)},
            {"average_time", seconds_of(mean_of(stay.total, stay.count))}};
    }
    const Json report = {
        {"since", since_ ? Json(core::time_text(*since_)) : Json()},
        {"longest", seconds_of(longest_.value_or(milliseconds{0}))},
        {"shortest", seconds_of(shortest_.value_or(milliseconds{0}))},
        {"mean_time", seconds_of(mean_of(total_time_, success_))},
        {"success_count", success_},
        {"fail_count", fail_},
        {"total_count", total_count()},
        {"expired_count", expired_},
        {"withdrawn_count", withdrawn_},
        {"milestones", std::move(milestones)},
    };
    return core::json_text(report, 2);
}

std::string Report::markdown(Day day) const {
    std::string text = "# Push reliability, " + to_string(day) + "\n\n";
    const auto line = [&text](const char* what, const std::string& value) {
        text.append("* ").append(what).append(": ").append(value).append("\n");
    };
    line("Since", since_ ? core::time_text(*since_) : "no tracked message ended on this day");
    line("Messages", std::to_string(total_count()));
    line("Succeeded", std::to_string(success_));
    line("Failed", std::to_string(fail_));
    line("Expired", std::to_string(expired_));
    line("Withdrawn", std::to_string(withdrawn_));
    line("Longest", fixed3(seconds_of(longest_.value_or(milliseconds{0}))) + " s");
    line("Shortest", fixed3(seconds_of(shortest_.value_or(milliseconds{0}))) + " s");
    line("Mean time", fixed3(seconds_of(mean_of(total_time_, success_))) + " s");
    text += "\n| milestone | count | total time, s | average time, s |\n|---|---:|---:|---:|\n";
    for (const auto milestone : kAllMilestones) {
        const auto& stay = stays_[milestone];
        if (stay.count == 0) continue;
        text.append("| ").append(core::to_string(milestone)).append(" | ");
        text.append(std::to_string(stay.count)).append(" | ");
        text.append(fixed3(seconds_of(stay.total))).append(" | ");
        text.append(fixed3(seconds_of(mean_of(stay.total, stay.count)))).append(" |\n");
    }
    return text;
}

std::string Report::sums_json() const {
    Json milestones = Json::object();
    for (const auto milestone : kAllMilestones) {
        const auto& stay = stays_[milestone];
        if (stay.count == 0) continue;
        milestones[std::string{core::to_string(milestone)}] = {{"count", stay.count},
                                                               {"total_ms", stay.total.count()}};
    }
    return core::json_text(
        Json{{"since", since_ ? Json(since_->time_since_epoch().count()) : Json()},
             {"longest_ms", ms_or_null(longest_)},
             {"shortest_ms", ms_or_null(shortest_)},
             {"total_ms", total_time_.count()},
             {"success", success_},
             {"fail", fail_},
             {"expired", expired_},
             {"withdrawn", withdrawn_},
             {"milestones", std::move(milestones)}});
}

std::optional<Report> Report::parse_sums(std::string_view text) {
    try {
        const auto json = core::must_parse_ordered_json(text);
        Report report;
        if (const auto ms = optional_number(json, "since")) {
            report.since_ = Timestamp{milliseconds{*ms}};
        }
        if (const auto ms = optional_number(json, "longest_ms"))
            report.longest_ = milliseconds{*ms};
        if (const auto ms = optional_number(json, "shortest_ms")) {
            report.shortest_ = milliseconds{*ms};
        }
        report.total_time_ = milliseconds{core::whole_number<std::int64_t>(json.at("total_ms"))};
        report.success_ = core::whole_number<std::uint64_t>(json.at("success"));
        report.fail_ = core::whole_number<std::uint64_t>(json.at("fail"));
        report.expired_ = core::whole_number<std::uint64_t>(json.at("expired"));
        report.withdrawn_ = core::whole_number<std::uint64_t>(json.at("withdrawn"));
        for (const auto& [name, stay] : json.at("milestones").items()) {
            const auto milestone = core::parse_milestone(name);
            if (!milestone) return std::nullopt;
            report.stays_[*milestone] = {
                core::whole_number<std::uint64_t>(stay.at("count")),
                milliseconds{core::whole_number<std::int64_t>(stay.at("total_ms"))}};
        }
        return report;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

}  // namespace beckon::reliability
