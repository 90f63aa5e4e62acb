#include "app/client_options.hpp"
#include "app/command/moment.hpp"
#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "client/api_client.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/percent.hpp"
#include "core/time_text.hpp"
#include "tools/api/api_command.hpp"
#include "tools/commands.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace beckon::tools {

using Json = nlohmann::ordered_json;

namespace {

/// Selects dead letters; an empty field selects all.
struct DeadWanted {
    std::vector<std::string> ids;
    std::string webhook;
    std::string type;
    std::string reason;
    std::string since;
    std::string before;
    std::size_t limit = 100;  ///< of a list; 0: all
    bool json = false;        ///< of a list: a JSON object in each line
};

struct SettleDead {
    bool yes = false;  ///< without it nothing is changed
    int rate = 100;    ///< a second
    std::size_t limit = 0;
};

constexpr const char* kAllOwners = "Dead letters of every owner, as an operator with the key ring";
constexpr std::size_t kPageMax = 1'000;
constexpr std::size_t kCountsOnly = 1;  ///< the limit of a dry run that is to count

std::vector<std::pair<std::string, std::string>> fields_of(const DeadWanted& wanted) {
    std::vector<std::pair<std::string, std::string>> fields;
    for (const auto& [name, value] :
         {std::pair{"webhook", &wanted.webhook}, std::pair{"type", &wanted.type},
          std::pair{"reason", &wanted.reason}}) {
        if (!value->empty()) fields.emplace_back(name, *value);
    }
    for (const auto& [name, value] :
         {std::pair{"since", &wanted.since}, std::pair{"before", &wanted.before}}) {
        if (value->empty()) continue;
        const auto moment = app::moment_of(std::string{"--"} + name, *value);
        fields.emplace_back(name, core::time_text(moment));
    }
    return fields;
}

void print_json(const Json& letter) { app::print_line(core::json_text(letter)); }

void print_letter(const Json& letter, bool all_owners) {
    const auto redriven = letter.value("redriven", 0);
    const auto owner = all_owners ? core::text_member(letter, "owner") + "  " : std::string{};
    app::print_line(letter.value("died", "") + "  " + owner + letter.value("delivery", "") + "  " +
                    letter.value("webhook", "") + "  " + letter.value("type", "") + "  " +
                    letter.value("reason", "") + " after " +
                    std::to_string(letter.value("attempts", 0)) + " attempts" +
                    (redriven == 0 ? "" : ", redriven " + std::to_string(redriven) + " times"));
}

/// Prints a page; returns the `next` of the following page, empty at the end.
std::string print_page(const Json& page, const DeadWanted& wanted, bool all_owners,
                       std::size_t& shown) {
    for (const auto& letter : page.value("letters", Json::array())) {
        wanted.json ? print_json(letter) : print_letter(letter, all_owners);
        ++shown;
    }
    return core::text_member(page, "next");
}

std::string order_of(const DeadWanted& wanted, std::size_t limit, bool dry_run) {
    Json order{{"limit", limit}, {"dry_run", dry_run}};
    for (const auto& [name, value] : fields_of(wanted)) order[name] = value;
    if (!wanted.ids.empty()) order["ids"] = wanted.ids;
    return core::json_text(order);
}

/// Says that there are more than were shown, on standard error: the list may be read by a program.
int note_more(client::ApiClient& api, const DeadWanted& wanted, std::size_t shown) {
    const auto answer = api.ask(
        {.method = "POST", .path = "/dead/drop", .body = order_of(wanted, kCountsOnly, true)});
    if (!answer || !answer->good()) return refused(answer);
    app::print_error("beckon: " + std::to_string(shown) + " of " +
                     std::to_string(parsed(*answer).value("matched", shown)) +
                     " shown; --limit 0 shows all");
    return app::kDone;
}

int print_dry_run(const std::string& action, const Json& page, bool all_owners) {
    const auto disabled = page.value("disabled", 0);
    app::print_line(std::to_string(page.value("matched", 0)) + " dead letters match" +
                    (disabled == 0 ? ""
                                   : "; " + std::to_string(disabled) +
                                         " of them are of webhooks that are disabled") +
                    ". Nothing was changed: --yes does " + action + " them.");
    for (const auto& letter : page.value("sample", Json::array())) {
        print_letter(letter, all_owners);
    }
    return page.value("matched", 0) == 0 ? app::kNothingFound : app::kDone;
}

/// Exit code 3 where nothing matches.
int list_dead(client::ApiClient& api, const DeadWanted& wanted, bool all_owners) {
    const auto most = wanted.limit == 0 ? static_cast<std::size_t>(-1) : wanted.limit;
    std::size_t shown = 0;
    std::string after;
    do {
        std::string path = "/dead?limit=" + std::to_string(std::min(most - shown, kPageMax));
        for (const auto& [name, value] : fields_of(wanted)) {
            path.append("&").append(name).append("=").append(core::percent_encoded(value));
        }
        if (!after.empty()) path += "&after=" + core::percent_encoded(after);
        const auto answer = api.ask({.path = path});
        if (!answer || !answer->good()) return refused(answer);
        after = print_page(parsed(*answer), wanted, all_owners, shown);
    } while (!after.empty() && shown < most);
    if (!after.empty()) return note_more(api, wanted, shown);
    return shown == 0 ? app::kNothingFound : app::kDone;
}

int show_dead(client::ApiClient& api, const std::string& id) {
    const auto answer = api.ask({.path = "/dead/" + core::percent_encoded(id)});
    if (!answer || !answer->good()) return refused(answer);
    app::print_line(core::json_text(parsed(*answer), 2));
    return 0;
}

/// `action`: redrive or drop. Exit code 3 where nothing matches.
int settle_dead(client::ApiClient& api, const std::string& action, const DeadWanted& wanted,
                const SettleDead& how, bool all_owners) {
    std::size_t left = how.limit == 0 ? static_cast<std::size_t>(-1) : how.limit;
    std::size_t settled = 0;
    for (;;) {
        const auto begun = std::chrono::steady_clock::now();
        const auto batch = std::min(left, static_cast<std::size_t>(how.rate));
        const auto answer = api.ask({.method = "POST",
                                     .path = "/dead/" + action,
                                     .body = order_of(wanted, batch, !how.yes)});
        if (!answer || !answer->good()) return refused(answer);
        const auto page = parsed(*answer);
        if (!how.yes) return print_dry_run(action, page, all_owners);
        const auto done = page.value("settled", std::size_t{0});
        const auto gone = page.value("gone", std::size_t{0});
        settled += done;
        left -= std::min(left, done);
        if (const auto failed = page.value("failed", std::size_t{0}); failed > 0) {
            app::print_error("beckon: the log did not take " + std::to_string(failed) +
                             " of them; " + std::to_string(settled) +
                             " are done, the others are there still");
            return 1;
        }
        if (done + gone == 0 || left == 0) break;
        std::this_thread::sleep_until(begun + std::chrono::seconds{1});
    }
    app::print_line(action + ": " + std::to_string(settled));
    return settled == 0 ? app::kNothingFound : app::kDone;
}

/// The options' values; they live as long as the process, since CLI11 keeps references.
struct DeadOptions {
    ApiAccess access;
    DeadWanted wanted;
    SettleDead settle;
    std::string id;
};

void add_filter(CLI::App& command, DeadWanted& wanted) {
    app::add_text(command, "--webhook", wanted.webhook, "Only of this webhook");
    app::add_text(command, "--type", wanted.type, "Only events of this type; order.* is a prefix");
    app::add_text(command, "--reason", wanted.reason,
                  "Only letters with this reason: refused, timed_out, gone, webhook_disabled, …");
    app::add_text(command, "--since", wanted.since,
                  "Only letters of this time or later: 2026-11-20, yesterday 15:00, -2h");
    app::add_text(command, "--before", wanted.before, "Only letters of an earlier time");
}

void add_pace(CLI::App& command, SettleDead& settle) {
    command.add_flag("--yes", settle.yes, "Change the log; without it the command only counts");
    app::add_number(command, "--rate", settle.rate, "Letters a second, at most", 1'000, 1)
        ->capture_default_str();
    app::add_number(command, "--limit", settle.limit, "At most so many; 0: all");
}

void add_settling(app::CommandLine& line, CLI::App& group, const char* name, const char* help,
                  DeadOptions& o) {
    auto& command =
        add_api_command(line, group, {name, help}, o.access, [&o, name](client::ApiClient& api) {
            return settle_dead(api, name, o.wanted, o.settle, o.access.all_owners);
        });
    app::add_text(command, "ID", o.wanted.ids,
                  "Ids of deliveries; without them the filters choose");
    add_all_owners(command, o.access, kAllOwners);
    add_filter(command, o.wanted);
    add_pace(command, o.settle);
}

DeadOptions& options() {
    static DeadOptions all;
    return all;
}

}  // namespace

void add_dead_commands(app::CommandLine& line) {
    auto& o = options();
    auto& group = line.add_group("dead", "Deliveries to webhooks that were given up");
    auto& list = add_api_command(
        line, group, {"list", "Show one line for each dead letter, the oldest first"}, o.access,
        [&o](client::ApiClient& api) { return list_dead(api, o.wanted, o.access.all_owners); });
    add_all_owners(list, o.access, kAllOwners);
    add_filter(list, o.wanted);
    app::add_number(list, "--limit", o.wanted.limit, "At most so many; 0: all")
        ->capture_default_str();
    list.add_flag("--json", o.wanted.json, "Print a JSON object in each line");
    auto& show =
        add_api_command(line, group, {"show", "Show a dead letter with its event and history"},
                        o.access, [&o](client::ApiClient& api) { return show_dead(api, o.id); });
    show.add_option("ID", o.id, "Of the delivery")->required();
    add_all_owners(show, o.access, kAllOwners);
    add_settling(line, group, "redrive", "Deliver dead letters again, under their old ids", o);
    add_settling(line, group, "drop", "Drop dead letters for good", o);
}

void add_replay_redrive(app::CommandLine& line, CLI::App& group) {
    add_settling(line, group, "redrive", "Deliver dead letters again, like `dead redrive`",
                 options());
}

void add_webhook_redrive(app::CommandLine& line, CLI::App& group) {
    auto& o = options();
    auto& command = add_api_command(line, group, {"redrive", "Deliver its dead letters again"},
                                    o.access, [&o](client::ApiClient& api) {
                                        return settle_dead(api, "redrive", o.wanted, o.settle,
                                                           o.access.all_owners);
                                    });
    app::add_text(command, "ID", o.wanted.webhook, "Of the webhook")->required();
    add_pace(command, o.settle);
}

}  // namespace beckon::tools
