#include "console/lag/lag_text.hpp"

#include "core/decimal.hpp"
#include "core/enum_names.hpp"
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

constexpr core::ByEnum<Status, const char*> kColors{
    {"\033[32m", "\033[36m", "\033[33m", "\033[31m", "\033[31m"}};
constexpr const char* kPlain = "\033[0m";

double seconds_of(core::Duration time) {
    return std::round(duration<double>{time}.count() * 1000) / 1000;
}

json exact_or_null(const std::optional<core::Duration>& time) {
    return time ? json(seconds_of(*time)) : json(nullptr);
}

json row_json(const LagRow& row) {
    return {{"group", row.group},
            {"own", row.own},
            {"topic", row.where.topic},
            {"partition", row.where.partition},
            {"status", to_string(row.status)},
            {"why", row.why},
            {"owner", row.owner},
            {"position", row.position},
            {"start", row.ends.start},
            {"end", row.ends.end},
            {"lag", row.lag()},
            {"delay_seconds", seconds_of(row.facts.delay)},
            {"lag_seconds", row.aged ? json(seconds_of(row.facts.behind)) : json(nullptr)},
            {"read_rate", std::round(row.facts.position_rate * 100) / 100},
            {"append_rate", std::round(row.facts.append_rate * 100) / 100},
            {"drain_seconds", exact_or_null(row.drain)},
            {"loss", to_string(row.loss)},
            {"left_seconds", exact_or_null(row.left)},
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

Status status_named(const std::string& name) {
    for (const auto status : core::kValuesOf<Status>) {
        if (to_string(status) == name) return status;
    }
    return Status::ok;
}

LagRow row_of(const json& reported) {
    LagRow row;
    row.group = reported.at("group");
    row.own = reported.value("own", true);
    row.where = {reported.at("topic"), reported.at("partition")};
    row.status = status_named(reported.at("status"));
    row.why = reported.at("why");
    row.owner = reported.at("owner");
    row.position = reported.at("position");
    row.ends = {reported.at("start"), reported.at("end")};
    row.facts.lag = reported.at("lag");
    if (reported.contains("delay_seconds")) {
        row.facts.delay = from_seconds(reported.at("delay_seconds"));
    }
    row.aged = !reported.at("lag_seconds").is_null();
    if (row.aged) row.facts.behind = from_seconds(reported.at("lag_seconds"));
    row.facts.position_rate = reported.at("read_rate");
    row.facts.append_rate = reported.at("append_rate");
    row.drain = from_seconds_or_null(reported.at("drain_seconds"));
    row.loss = core::value_named<Loss>(reported.at("loss").get_ref<const std::string&>())
                   .value_or(Loss::none);
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

std::string time_text(const std::optional<core::Duration>& time) {
    return time ? duration_words(*time) : std::string{"-"};
}

std::string warning_of(Loss loss, const std::optional<core::Duration>& left) {
    switch (loss) {
        case Loss::none: break;
        case Loss::near: return "removed unread in " + time_text(left);
        case Loss::now: return "records were removed unread";
    }
    return {};
}

/// The partitions of one group together: the worst of each value, and sums of what can be added.
struct GroupRow {
    std::string group;
    Status status = Status::ok;
    std::size_t partitions = 0;
    std::size_t not_ok = 0;
    core::Offset lag = 0;
    bool aged = true;
    core::Duration behind{};
    double read_rate = 0;
    std::optional<core::Duration> drain = core::Duration::zero();
    Loss loss = Loss::none;
    std::optional<core::Duration> left{};
};

void add_row(GroupRow& group, const LagRow& row) {
    group.status = std::max(group.status, row.status);
    ++group.partitions;
    if (row.status != Status::ok) ++group.not_ok;
    group.lag += row.lag();
    group.aged = group.aged && row.aged;
    group.behind = std::max(group.behind, row.facts.behind);
    group.read_rate += row.facts.position_rate;
    if (row.lag() > 0 && !row.is_delayed()) {
        group.drain = group.drain && row.drain ? std::optional{std::max(*group.drain, *row.drain)}
                                               : std::nullopt;
    }
    group.loss = std::max(group.loss, row.loss);
    if (row.left) group.left = std::min(group.left.value_or(*row.left), *row.left);
}

std::vector<GroupRow> groups_of(const std::vector<LagRow>& rows) {
    std::vector<GroupRow> groups;
    for (const auto& row : rows) {
        auto at =
            std::ranges::find_if(groups, [&](const auto& one) { return one.group == row.group; });
        if (at == groups.end()) at = groups.insert(at, GroupRow{.group = row.group});
        add_row(*at, row);
    }
    return groups;
}

const Cells kPartitionTitles{"STATUS", "GROUP", "TOPIC",      "PART",  "LAG",
                             "BEHIND", "READ",  "DRAINED IN", "OWNER", "WARNING"};
const Cells kGroupTitles{"STATUS", "GROUP", "PARTITIONS", "NOT OK", "LAG",
                         "BEHIND", "READ",  "DRAINED IN", "WARNING"};

Cells cells_of(const LagRow& row) {
    return {std::string{to_string(row.status)},
            row.group,
            row.where.topic,
            std::to_string(row.where.partition),
            std::to_string(row.lag()),
            row.aged ? duration_words(row.facts.behind) : "?",
            rate_text(row.facts.position_rate),
            row.lag() == 0 ? "-" : time_text(row.drain),
            row.owner.empty() ? "-" : row.owner,
            warning_of(row.loss, row.left)};
}

Cells cells_of(const GroupRow& group) {
    return {std::string{to_string(group.status)},
            group.group,
            std::to_string(group.partitions),
            std::to_string(group.not_ok),
            std::to_string(group.lag),
            group.aged ? duration_words(group.behind) : "?",
            rate_text(group.read_rate),
            group.lag == 0 ? "-" : time_text(group.drain),
            warning_of(group.loss, group.left)};
}

bool is_number(std::string_view title) {
    return title != "STATUS" && title != "GROUP" && title != "TOPIC" && title != "OWNER" &&
           title != "WARNING";
}

void append_line(std::string& out, const Cells& cells, const Cells& titles,
                 const std::vector<std::size_t>& widths, const char* color) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const std::string pad(widths[i] - cells[i].size(), ' ');
        const bool number = is_number(titles[i]);
        if (i == 0 && color) out += color;
        out += number ? pad + cells[i] : cells[i];
        if (i == 0 && color) out += kPlain;
        if (!number && i + 1 < cells.size()) out += pad;
        if (i + 1 < cells.size()) out += "  ";
    }
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
}

/// The worst first; rows of one status keep their order.
template <class Row>
std::string table_of(std::vector<Row> rows, const Cells& titles, const TextOptions& options) {
    if (options.only_behind) {
        std::erase_if(rows, [](const auto& row) {
            return row.status == Status::ok && row.loss == Loss::none;
        });
    }
    std::ranges::stable_sort(rows,
                             [](const auto& a, const auto& b) { return a.status > b.status; });
    std::vector<Cells> lines{titles};
    for (const auto& row : rows) lines.push_back(cells_of(row));
    std::vector<std::size_t> widths(titles.size());
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) {
            widths[i] = std::max(widths[i], line[i].size());
        }
    }
    std::string out;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool colored = options.color && i > 0;
        append_line(out, lines[i], titles, widths, colored ? kColors[rows[i - 1].status] : nullptr);
    }
    return out;
}

/// "12 groups, 96 partitions: all OK", or what is not and how much waits. Of what could not be read
/// it says nothing.
std::string summary(const LagPage& page) {
    const auto& rows = page.rows;
    if (rows.empty() && !page.problems.empty()) return "nothing was read\n";
    const auto groups = groups_of(rows);
    auto text = core::counted(groups.size(), "group", "groups") + ", " +
                core::counted(rows.size(), "partition", "partitions") + ": ";
    core::Offset lag = 0;
    core::Duration behind{};
    for (const auto& group : groups) {
        lag += group.lag;
        behind = std::max(behind, group.behind);
    }
    std::string bad;
    for (auto i = core::kCountOf<Status> - 1; i > 0; --i) {
        const auto status = static_cast<Status>(i);
        const auto count =
            std::ranges::count_if(groups, [&](const auto& one) { return one.status == status; });
        if (count == 0) continue;
        bad += (bad.empty() ? "" : ", ") + std::to_string(count) + " " +
               std::string{to_string(status)};
    }
    const auto* const good = page.problems.empty() ? "all OK" : "what was read is OK";
    text += bad.empty() ? good : bad;
    if (lag > 0) {
        text += "; " +
                core::counted(static_cast<std::size_t>(lag), "record waits", "records wait") +
                ", the oldest for " + duration_words(behind);
    }
    const auto lost =
        std::ranges::count_if(groups, [](const auto& one) { return one.loss == Loss::now; });
    if (lost > 0)
        text += "; " + core::counted(static_cast<std::size_t>(lost), "group", "groups") +
                " lost records";
    return text + "\n";
}

}  // namespace

std::string to_json(const LagPage& page) {
    json rows = json::array();
    for (const auto& row : page.rows) rows.push_back(row_json(row));
    return page_text(page, std::move(rows));
}

std::string to_json_change(const LagPage& page, const LagPage& before) {
    if (!std::ranges::equal(page.rows, before.rows, same_place)) {
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
    auto out = options.partitions ? table_of(page.rows, kPartitionTitles, options)
                                  : table_of(groups_of(page.rows), kGroupTitles, options);
    for (const auto& problem : page.problems) out += "note: " + problem + "\n";
    return out + summary(page);
}

}  // namespace beckon::console
