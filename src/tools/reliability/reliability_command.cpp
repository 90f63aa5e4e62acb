#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "client/api_client.hpp"
#include "core/json_text.hpp"
#include "core/time_text.hpp"
#include "tools/commands.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNameWidth = 20;

std::string in_column(std::string_view text, std::size_t width) {
    std::string column{text};
    column.resize(std::max(width, text.size()), ' ');
    return column;
}

/// "2026-11-20 08:30:00.125"
std::string report_time_text(std::int64_t ms) {
    auto text = core::time_text(core::Timestamp{std::chrono::milliseconds{ms}});
    text.pop_back();
    return text.replace(text.find('T'), 1, " ");
}

std::string step_text(const Json& step) {
    return step.at("from").get<std::string>() + " -> " + step.at("to").get<std::string>();
}

std::string counts_text(const std::string& page) {
    const auto json = core::must_parse_ordered_json(page);
    std::string text;
    for (const auto& [name, count] : json.at("counts").items()) {
        text += in_column(name, kNameWidth) + std::to_string(count.get<std::uint64_t>()) + "\n";
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
    std::string text = "\n" + in_column("step of the last day", 2 * kNameWidth) +
                       "     count    mean ms     p50 ms     p99 ms\n";
    for (const auto& step : json.at("steps")) {
        char numbers[64];
        std::snprintf(numbers, sizeof numbers, "%10lld %10lld %10lld %10lld\n",
                      step.at("count").get<long long>(), step.at("mean_ms").get<long long>(),
                      step.at("p50_ms").get<long long>(), step.at("p99_ms").get<long long>());
        text += in_column(step_text(step), 2 * kNameWidth) + numbers;
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

/// The message of an error page; the text itself if it is none.
std::string error_text(const std::string& page) {
    const auto json = core::parse_ordered_json(page);
    if (!json.is_object() || !json.contains("error")) return page;
    return json.at("error").get<std::string>();
}

/// The newest day of the list of days that have a report; "" if there is none.
std::string last_day_text(const std::string& page) {
    const auto days = core::must_parse_ordered_json(page).at("days");
    return days.empty() ? std::string{} : days.back().get<std::string>();
}

/// The process that the environment names, as other tools have it from the configuration.
std::string default_ops() {
    const char* const host = std::getenv("BECKON_OPS_HOST");  // NOLINT(concurrency-mt-unsafe)
    const char* const port = std::getenv("BECKON_OPS_PORT");  // NOLINT(concurrency-mt-unsafe)
    return std::string{"http://"} + (host ? host : "127.0.0.1") + ":" + (port ? port : "9090");
}

struct ReliabilityOptions {
    std::string ops = default_ops();
    bool json = false;
    std::string id;
    std::string day;
    bool from_log = false;
};

/// Between two queries whether a report is made; and for how long it is asked.
constexpr std::chrono::milliseconds kAskAgain{200};
constexpr int kAskMax = 5 * 600;  // ten minutes
constexpr std::chrono::seconds kReplyTimeout{10};

/// Asks until the page is there; 202: it is being made.
core::Result<client::ApiAnswer> get(const std::string& ops, const std::string& path) {
    client::ApiClient process{{.origin = ops, .timeout = kReplyTimeout, .patience = {}}};
    for (int asked_again = 0;; ++asked_again) {
        auto reply = process.ask({.path = path});
        if (!reply || reply->status != 202 || asked_again == kAskMax) return reply;
        std::this_thread::sleep_for(kAskAgain);
    }
}

/// Gets a page and prints it: as it is, or made readable. Exit code 1 if there is none.
int show_reliability(const ReliabilityOptions& asked, const std::string& path,
                     const std::function<std::string(const std::string&)>& readable) {
    const auto reply = get(asked.ops, path);
    if (!reply) {
        app::print_error("beckon: no process answers at " + reply.error().message + " (--ops URL)");
        return 1;
    }
    if (reply->status != 200) {
        app::print_error("beckon: " + error_text(reply->body));
        return 1;
    }
    app::print_text(asked.json ? reply->body + "\n" : readable(reply->body));
    return 0;
}

/// The newest day with a report; "" if there is none, or no process answers.
std::string last_day(const std::string& ops) {
    const auto reply = get(ops, "/reliability/days");
    return reply && reply->status == 200 ? last_day_text(reply->body) : "";
}

}  // namespace

void add_reliability_commands(app::CommandLine& line, CLI::App& role) {
    static ReliabilityOptions asked;
    const auto command = [&](const char* name, const char* help,
                             app::CommandLine::Run run) -> CLI::App& {
        auto& added = line.add(role, name, help, std::move(run));
        added
            .add_option("--ops,--server", asked.ops,
                        "Ops port of a process with the role reliability")
            ->capture_default_str();
        added.add_flag("--json", asked.json, "As JSON");
        return added;
    };
    command("counts",
            "Show the number of tracked messages at each milestone, and how long their steps take",
            [] {
                const int code = show_reliability(asked, "/reliability/counts", counts_text);
                return code != 0 ? code : show_reliability(asked, "/reliability/flow", flow_text);
            });
    command(
        "show", "Show the life of one message",
        [] { return show_reliability(asked, "/reliability/history/" + asked.id, history_text); })
        .add_option("ID", asked.id, "Its reliability id")
        ->required();
    auto& report = command("report", "Show the report of a day", [] {
        if (asked.day.empty()) asked.day = last_day(asked.ops);
        auto path = "/reliability/report?day=" + asked.day;
        if (asked.from_log) path += "&from=log";
        return show_reliability(asked, asked.json ? path : path + "&format=md",
                                [](const std::string& text) { return text; });
    });
    report.add_option("--day", asked.day, "YYYY-MM-DD (UTC); the last one if not given");
    report.add_flag(
        "--from-log", asked.from_log,
        "Make it again from the log topic, also for a day that is not over; reads the whole topic");
}

}  // namespace beckon::tools
