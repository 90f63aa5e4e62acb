#include "app/roles/console_role.hpp"

#include "client/private_file.hpp"
#include "console/canary/canary.hpp"
#include "console/pages/attempt_poller.hpp"
#include "console/pages/client_presence.hpp"
#include "console/pages/client_removal.hpp"
#include "console/pages/dead_letters.hpp"
#include "console/pages/finder.hpp"
#include "console/pages/log_browser.hpp"
#include "console/pages/milestone_page.hpp"
#include "console/pages/retry_api.hpp"
#include "console/pages/search_workers.hpp"
#include "console/pages/sender_page.hpp"
#include "console/pages/tier_page.hpp"
#include "console/pages/webhook_page.hpp"
#include "console/pages/webhook_queries.hpp"
#include "console/web/login.hpp"
#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "core/setup_error.hpp"
#include "core/shown_clock.hpp"
#include "log/read_partition.hpp"

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::app {

namespace {

/// Calls of the role retry at a time.
constexpr std::size_t kCallsMax = 4;
constexpr const char* kThisProcess = "this process";

std::string token_in(const std::filesystem::path& file) {
    auto text = client::read_text_file(file);
    if (!text) throw core::SetupError("console.token_file: " + text.error().message);
    while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
    if (text->size() < console::Login::kTokenBytesMin) {
        throw core::SetupError("console.token_file: " + file.string() + " must hold a token of " +
                               std::to_string(console::Login::kTokenBytesMin) +
                               " characters or more, e.g. from `openssl rand -hex 32`");
    }
    return *text;
}

console::WebConfig web_config(const Config& config) {
    auto web = config.console;
    if (config.console_token_file) web.token = token_in(*config.console_token_file);
    return web;
}

/// The retention by topic, for topics that delete by age.
std::map<std::string, std::chrono::milliseconds> retention_in(const log::LayoutOptions& layout) {
    std::map<std::string, std::chrono::milliseconds> found;
    for (const auto& spec : log::topic_table(layout)) {
        const auto kept = spec.settings.find("retention.ms");
        if (kept == spec.settings.end()) continue;
        const auto ms = core::parse_decimal<std::int64_t>(kept->second).value_or(0);
        if (ms > 0) found[spec.topic.name()] = std::chrono::milliseconds{ms};
    }
    return found;
}

/// Tiers with equal delays share the first one's topic; the others stay empty.
std::vector<log::TopicPartition> delay_tiers(const std::vector<std::chrono::seconds>& delays,
                                             core::Partition partitions) {
    std::vector<log::TopicPartition> all;
    for (std::size_t tier = 0; tier < delays.size(); ++tier) {
        if (tier > 0 && delays[tier] == delays[tier - 1]) continue;
        const auto one = log::all_of(log::Topic::retry(static_cast<int>(tier)), partitions);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

console::RetryApi::Options retry_processes(const Config& config, const ConsoleParts& parts) {
    if (!parts.retry_origin.empty()) return {.origins = {parts.retry_origin}, .insecure = true};
    return {.origins = config.console_retry_urls};
}

/// How many dead letters there are; empty: no process with the role retry says so.
std::string dead_json(const console::AttemptPoller& retry) {
    const auto counts = retry.dead_letters();
    if (!counts) return {};
    return core::json_text(
        nlohmann::json{{"letters", counts->letters}, {"passed_over", counts->passed_over}});
}

std::optional<std::size_t> letters_at(const console::AttemptPoller& retry) {
    const auto counts = retry.dead_letters();
    return counts ? std::optional<std::size_t>{counts->letters} : std::nullopt;
}

template <class Page>
console::PageSource source(const char* name, std::shared_ptr<Page> page) {
    return {name, [page = std::move(page)] { return page->json(); }};
}

/// Opens the pages of other roles: "tiers", "milestones", "webhooks" and "senders", which fold
/// topics, and "dead". The arguments outlive the pages.
std::function<std::vector<console::PageSource>(core::Executor&)> console_pages(
    const Config& config, const ConsoleParts& parts, core::ShownClock& shown,
    const console::AttemptPoller& retry, std::function<std::map<std::string, double>()> busiest) {
    return [tiers = config.retry.tiers, partitions = config.retry.partitions, parts, &shown, &retry,
            busiest = std::move(busiest)](core::Executor& executor) {
        const auto webhooks = std::make_shared<console::WebhookPage>(
            partitions, parts.keys, parts.log, executor, parts.clock);
        const auto waiting =
            std::make_shared<console::TierPage>(tiers, partitions, parts.log, executor, shown);
        return std::vector<console::PageSource>{
            {"tiers", [waiting, &retry] { return waiting->json(letters_at(retry)); },
             [waiting](console::Installation& facts) { facts.tiers = waiting->facts(); }},
            source("milestones", std::make_shared<console::MilestonePage>(parts.node, parts.log,
                                                                          executor, parts.clock)),
            {"webhooks", [webhooks, &retry] { return webhooks->json(retry); },
             [webhooks, &retry](console::Installation& facts) {
                 facts.webhooks = webhooks->facts(retry);
             }},
            source("senders", std::make_shared<console::SenderPage>(parts.log, executor,
                                                                    parts.clock, busiest)),
            {"dead", [&retry] { return dead_json(retry); },
             [&retry](console::Installation& facts) {
                 if (const auto count = letters_at(retry)) facts.dead = {.letters = *count};
             }},
        };
    };
}

}  // namespace

void check_console_token(const Config& config) { web_config(config); }

struct ConsoleRole::Impl {
    Impl(const Config& config, const ConsoleParts& parts, std::unique_ptr<log::Groups> g,
         std::string prefix)
        : shown(parts.clock),
          groups(std::move(g)),
          presence(parts.self ? std::optional{parts.ops.port()} : std::nullopt, parts.keys),
          finder({.partitions = config.retry.partitions,
                  .history_window = config.layout.history_window},
                 {parts.keys, parts.log, shown,
                  [this](const auto& client) { return presence.of(client); },
                  [this] {
                      const std::scoped_lock lock{ownership_mutex};
                      return ownership;
                  }}),
          browser({.partitions = config.retry.partitions,
                   .tiers = config.retry.tiers.size(),
                   .history_window = config.layout.history_window},
                  {parts.log, shown}),
          retry(retry_processes(config, parts), parts.keys),
          webhooks({.tiers = config.retry.tiers, .partitions = config.retry.partitions},
                   {parts.log, parts.clock}, retry),
          dead(retry, calls),
          removal(finder, presence),
          attempts(retry),
          console(web_config(config),
                  {.log = parts.log,
                   .groups = *groups,
                   .clock = shown,
                   .ops = parts.ops,
                   .partitions = config.retry.partitions,
                   .prefix = std::move(prefix),
                   .tiers = config.retry.tiers,
                   .queries = queries(),
                   .acts = acts(),
                   .pages = console_pages(config, parts, shown, attempts,
                                          [this] { return busiest_senders(); }),
                   .edges = [this](const auto& links, const auto& ops) { use_edges(links, ops); },
                   .ownership =
                       [this](auto view) {
                           const std::scoped_lock lock{ownership_mutex};
                           ownership = std::move(view);
                       },
                   .log_problem = parts.log_problem,
                   .history_window = config.layout.history_window,
                   .self = parts.self,
                   .metrics = [this] { return canary_text(); },
                   .more = [this](auto& facts) { tell(facts); }}) {
        const std::scoped_lock lock{canary_mutex};
        canary.emplace(console::CanaryConfig{.targets = config.console_canary,
                                             .insecure = config.endpoint_self_signed ||
                                                         config.edge_self_signed},
                       parts.clock, console.pages(), parts.metrics);
    }
    /// A search that is under way does not hold up the end.
    ~Impl() {
        finder.stop();
        browser.stop();
        webhooks.stop();
        const std::scoped_lock lock{canary_mutex};
        canary.reset();
    }

    std::map<std::string, console::Ask> queries() {
        return {
            {"find", searches.ask([this](const auto& asked) { return finder.find(asked); })},
            {"state", searches.ask([this](const auto& asked) { return finder.state(asked); })},
            {"log", searches.ask([this](const auto& asked) { return browser.topics(asked); })},
            {"records", searches.ask([this](const auto& asked) { return browser.records(asked); })},
            {"record", searches.ask([this](const auto& asked) { return browser.record(asked); })},
            {"waiting",
             searches.ask([this](const auto& asked) { return webhooks.waiting(asked); })},
            {"webhook", calls.ask([this](const auto& asked) { return webhooks.webhook(asked); })},
            {"letter", calls.ask([this](const auto& asked) { return webhooks.letter(asked); })},
            {"dead", dead.list()}};
    }

    std::map<std::string, console::Act> acts() {
        auto all = webhooks.acts(calls);
        all["redrive"] = dead.redrive();
        all["remove"] = removal.act(calls);
        return all;
    }

    void use_edges(const std::vector<std::string>& link_addresses,
                   const std::vector<std::string>& ops_ports) {
        presence.use_edges(ops_ports);
        const std::scoped_lock lock{canary_mutex};
        if (canary) canary->use_edges(link_addresses);
    }

    std::map<std::string, double> busiest_senders() {
        const std::scoped_lock lock{ownership_mutex};
        return ownership ? ownership->busiest_senders() : std::map<std::string, double>{};
    }

    std::string canary_text() {
        const std::scoped_lock lock{canary_mutex};
        return canary ? canary->metrics_text() : std::string{};
    }

    void tell(console::Installation& facts) {
        const std::scoped_lock lock{canary_mutex};
        if (canary) facts.canary = canary->facts();
    }

    core::ShownClock shown;  ///< for ages; the others use it
    const std::unique_ptr<log::Groups> groups;
    console::ClientPresence presence;
    std::mutex ownership_mutex;
    std::shared_ptr<const console::OwnershipView> ownership;  ///< under ownership_mutex
    console::Finder finder;
    console::LogBrowser browser;
    const console::RetryApi retry;
    console::WebhookQueries webhooks;
    console::DeadLetters dead;
    console::ClientRemoval removal;
    console::SearchWorkers searches;  ///< which use the finder, the browser and the webhooks
    /// The workers that wait for answers of the role retry, for webhooks and dead letters.
    console::SearchWorkers calls{{.thread_name = "console-call", .at_a_time = kCallsMax}};
    console::AttemptPoller attempts;
    std::mutex canary_mutex;
    std::optional<console::Canary> canary;  ///< under canary_mutex; publishes pages of `console`
    console::Console console;
};

ConsoleRole::ConsoleRole(const Config& config, const ConsoleParts& parts,
                         std::unique_ptr<log::Groups> groups, std::string prefix)
    : impl_(std::make_unique<Impl>(config, parts, std::move(groups), std::move(prefix))) {}

ConsoleRole::~ConsoleRole() = default;

std::uint16_t ConsoleRole::port() const { return impl_->console.port(); }

std::unique_ptr<log::Groups> groups_of_standalone(const Config& config, log::EventLog& log,
                                                  core::Partition partitions) {
    auto edge = log::all_of(log::Topic::kNotifications, partitions);
    const auto subscriptions = log::all_of(log::Topic::kSubscriptions, partitions);
    edge.insert(edge.end(), subscriptions.begin(), subscriptions.end());
    return log::open_own_groups(
        log,
        {{"retry", delay_tiers(config.retry.tiers, partitions), kThisProcess},
         {"edge", edge, kThisProcess},
         {"endpoint", subscriptions, kThisProcess},
         {"reliability", log::all_of(log::Topic::kReliability, partitions), kThisProcess}},
        retention_in(config.layout));
}

}  // namespace beckon::app
