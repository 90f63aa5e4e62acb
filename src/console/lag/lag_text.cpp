#include "console/lag/lag_text.hpp"

#include "core/json_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using nlohmann::json;
using std::chrono::duration;
using std::chrono::milliseconds;

constexpr std::array<const char*, kStatuses> kColors{"\033[32m", "\033[36m", "\033[33m", "\033[31m",
                                                     "\033[31m"};
constexpr const char* kPlain = "\033[0m";

double seconds_of(core::Duration time) {
    return std::round(duration<double>{time}.count() * 1000) / 1000;
}

json seconds_or_null(const std::optional<core::Duration>& time) {
    return time ? json(seconds_of(*time)) : json(nullptr);
}

json row_json(const LagRow& row) {
    return {{"group", row.group},
            {"topic", row.where.topic},
            {"partition", row.where.partition},
            {"status", to_string(row.status)},
            {"why", row.why},
            {"owner", row.owner},
            {"position", row.position},
            {"start", row.ends.start},
            {"end", row.ends.end},
            {"lag", row.lag()},
            {"lag_seconds", row.aged ? json(seconds_of(row.facts.behind)) : json(nullptr)},
            {"read_rate", std::round(row.facts.position_rate * 100) / 100},
            {"append_rate", std::round(row.facts.append_rate * 100) / 100},
            {"drain_seconds", seconds_or_null(row.drain)},
            {"loss", to_string(row.loss)},
            {"left_seconds", seconds_or_null(row.left)},
            {"history", row.history}};
}

std::string page_text(const LagPage& page, json rows) {
    const json reported{{"at", page.at.time_since_epoch().count()},
                        {"took_ms", page.took.count()},
                        {"problems", page.problems},
                        {"rows", std::move(rows)}};
    return core::json_text(reported);
}

core::Duration from_seconds(const json& value) {
    return std::chrono::duration_cast<core::Duration>(duration<double>{value.get<double>()});
}

std::optional<core::Duration> from_seconds_or_null(const json& value) {
    return value.is_null() ? std::nullopt : std::optional{from_seconds(value)};
}

template <class Enum>
Enum named(const std::string& name, int count) {
    for (int i = 0; i < count; ++i) {
        if (to_string(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
    }
    return Enum{};
}

LagRow row_of(const json& reported) {
    LagRow row;
    row.group = reported.at("group");
    row.where = {reported.at("topic"), reported.at("partition")};
    row.status = named<Status>(reported.at("status"), kStatuses);
    row.why = reported.at("why");
    row.owner = reported.at("owner");
    row.position = reported.at("position");
    row.ends = {reported.at("start"), reported.at("end")};
    row.facts.lag = reported.at("lag");
    row.aged = !reported.at("lag_seconds").is_null();
    if (row.aged) row.facts.behind = from_seconds(reported.at("lag_seconds"));
    row.facts.position_rate = reported.at("read_rate");
    row.facts.append_rate = reported.at("append_rate");
    row.drain = from_seconds_or_null(reported.at("drain_seconds"));
    row.loss = named<Loss>(reported.at("loss"), static_cast<int>(Loss::now) + 1);
    row.left = from_seconds_or_null(reported.at("left_seconds"));
    row.history = reported.at("history").get<std::vector<core::Offset>>();
    return row;
}

using Cells = std::vector<std::string>;

std::string rate_text(double rate) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), rate < 10 ? "%.1f/s" : "%.0f/s", rate);
    return text.data();
}

Cells cells_of(const LagRow& row) {
    const auto time = [](const std::optional<core::Duration>& t) {
        return t ? duration_words(*t) : std::string{"-"};
    };
    std::string warning;
    if (row.loss == Loss::now) warning = "records were removed unread";
    if (row.loss == Loss::near) warning = "removed unread in " + time(row.left);
    return {std::string{to_string(row.status)},
            row.group,
            row.where.topic,
            std::to_string(row.where.partition),
            std::to_string(row.lag()),
            row.aged ? duration_words(row.facts.behind) : "?",
            rate_text(row.facts.position_rate),
            row.lag() == 0 ? "-" : time(row.drain),
            row.owner.empty() ? "-" : row.owner,
            warning};
}

void append_line(std::string& out, const Cells& cells, const std::vector<std::size_t>& widths,
                 const char* color) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const bool number = i >= 3 && i <= 7;
        const std::string pad(widths[i] - cells[i].size(), ' ');
        if (i == 0 && color) out += color;
        out += number ? pad + cells[i] : cells[i];
        if (i == 0 && color) out += kPlain;
        if (!number && i + 1 < cells.size()) out += pad;
        if (i + 1 < cells.size()) out += "  ";
    }
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
}

}  // namespace

std::string to_json(const LagPage& page) {
    json rows = json::array();
    for (const auto& row : page.rows) rows.push_back(row_json(row));
    return page_text(page, std::move(rows));
}

std::string to_json_change(const LagPage& page, const LagPage& before) {
    if (!std::equal(page.rows.begin(), page.rows.end(), before.rows.begin(), before.rows.end(),
                    same_place)) {
        return {};
    }
    json rows = json::array();
    for (std::size_t i = 0; i < page.rows.size(); ++i) {
        if (!same_news(page.rows[i], before.rows[i])) rows.push_back(row_json(page.rows[i]));
    }
    return page_text(page, std::move(rows));
}

core::Result<LagPage> parse_lag_page(const std::string& text) {
    try {
        const auto reported = core::must_parse_json(text);
        LagPage page;
        page.at = core::Timestamp{milliseconds{reported.at("at").get<std::int64_t>()}};
        page.took = milliseconds{reported.at("took_ms").get<std::int64_t>()};
        page.problems = reported.at("problems").get<std::vector<std::string>>();
        for (const auto& row : reported.at("rows")) page.rows.push_back(row_of(row));
        return page;
    } catch (const json::exception& error) {
        return core::fail(core::Fault::corrupt, std::string{"not a page of lags: "} + error.what());
    }
}

std::string duration_words(core::Duration time) {
    const double seconds = duration<double>{time}.count();
    std::array<char, 48> text{};
    const auto whole = static_cast<long long>(seconds);
    if (seconds < 10) {
        std::snprintf(text.data(), text.size(), "%.1f s", seconds);
    } else if (whole < 120) {
        std::snprintf(text.data(), text.size(), "%lld s", whole);
    } else if (whole < 7'200) {
        std::snprintf(text.data(), text.size(), "%lld min %lld s", whole / 60, whole % 60);
    } else if (whole < 172'800) {
        std::snprintf(text.data(), text.size(), "%lld h %lld min", whole / 3600, whole / 60 % 60);
    } else {
        std::snprintf(text.data(), text.size(), "%lld d %lld h", whole / 86'400, whole / 3600 % 24);
    }
    return text.data();
}

std::string to_text(const LagPage& page, const TextOptions& options) {
    auto rows = page.rows;
    if (options.only_behind) {
        std::erase_if(rows, [](const auto& row) {
            return row.status == Status::ok && row.loss == Loss::none;
        });
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const auto& a, const auto& b) { return a.status > b.status; });
    std::vector<Cells> lines{{"STATUS", "GROUP", "TOPIC", "PART", "LAG", "BEHIND", "READ",
                              "DRAINED IN", "OWNER", "WARNING"}};
    for (const auto& row : rows) lines.push_back(cells_of(row));
    std::vector<std::size_t> widths(lines.front().size());
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) {
            widths[i] = std::max(widths[i], line[i].size());
        }
    }
    std::string out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool colored = options.color && i > 0;
        append_line(out, lines[i], widths,
                    colored ? kColors[static_cast<std::size_t>(rows[i - 1].status)] : nullptr);
    }
    for (const auto& problem : page.problems) out += "note: " + problem + "\n";
    return out;
}

}  // namespace beckon::console
