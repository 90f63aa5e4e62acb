#include "tools/reliability/reliability_text.hpp"

#include "core/json_text.hpp"
#include "reliability/totals/report.hpp"

#include <cstdio>

#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNameWidth = 20;

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

std::string report_time_text(std::int64_t ms) {
    const core::Timestamp at{std::chrono::milliseconds{ms}};
    const auto day = reliability::day_of(at);
    const auto of_day = at - core::Timestamp{day};
    char text[32];
    std::snprintf(text, sizeof text, " %02d:%02d:%02d.%03d",
                  static_cast<int>(of_day / std::chrono::hours{1}),
                  static_cast<int>(of_day / std::chrono::minutes{1} % 60),
                  static_cast<int>(of_day / std::chrono::seconds{1} % 60),
                  static_cast<int>(of_day.count() % 1000));
    return reliability::to_string(day) + text;
}

std::string step_text(const Json& step) {
    return step.at("from").get<std::string>() + " -> " + step.at("to").get<std::string>();
}

}  // namespace

std::string counts_text(const std::string& page) {
    const auto json = core::must_parse_ordered_json(page);
    std::string text;
    for (const auto& [name, count] : json.at("counts").items()) {
        text += padded(name, kNameWidth) + std::to_string(count.get<std::uint64_t>()) + "\n";
    }
    for (const auto& step : json.at("refused")) {
        text += "refused " + step_text(step) + ": " +
                std::to_string(step.at("count").get<std::uint64_t>()) + "\n";
    }
    return text;
}

std::string flow_text(const std::string& page) {
    const auto json = core::must_parse_ordered_json(page);
    if (json.at("steps").empty()) return {};
    std::string text = "\n" + padded("step of the last day", 2 * kNameWidth) +
                       "     count    mean ms     p50 ms     p99 ms\n";
    for (const auto& step : json.at("steps")) {
        char numbers[64];
        std::snprintf(numbers, sizeof numbers, "%10lld %10lld %10lld %10lld\n",
                      step.at("count").get<long long>(), step.at("mean_ms").get<long long>(),
                      step.at("p50_ms").get<long long>(), step.at("p99_ms").get<long long>());
        text += padded(step_text(step), 2 * kNameWidth) + numbers;
    }
    return text;
}

std::string history_text(const std::string& page) {
    const auto json = core::must_parse_ordered_json(page);
    std::string text;
    for (const auto& step : json.at("steps")) {
        text += report_time_text(step.at("at").get<std::int64_t>()) + "  " +
                step.at("milestone").get<std::string>() + "\n";
    }
    text += report_time_text(json.at("expires").get<std::int64_t>()) + "  its TTL ends\n";
    return text;
}

std::string error_text(const std::string& page) {
    const auto json = core::parse_ordered_json(page);
    if (!json.is_object() || !json.contains("error")) return page;
    return json.at("error").get<std::string>();
}

std::string last_day_text(const std::string& page) {
    const auto days = core::must_parse_ordered_json(page).at("days");
    return days.empty() ? std::string{} : days.back().get<std::string>();
}

}  // namespace beckon::tools
