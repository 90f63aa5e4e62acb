#include "console/console.hpp"

#include "client/private_file.hpp"
#include "console/canary/canary.hpp"
#include "console/cluster/cluster_json.hpp"
#include "console/cluster/ownership_view.hpp"
#include "console/lag/lag_hours.hpp"
#include "console/lag/lag_table.hpp"
#include "console/lag/lag_text.hpp"
#include "console/overview/overview.hpp"
#include "console/pages/attempt_poller.hpp"
#include "console/pages/client_homes.hpp"
#include "console/pages/dead_letters.hpp"
#include "console/pages/finder.hpp"
#include "console/pages/log_browser.hpp"
#include "console/pages/retry_api.hpp"
#include "console/pages/search_workers.hpp"
#include "console/pages/tier_page.hpp"
#include "console/pages/webhook_page.hpp"
#include "console/pages/webhook_queries.hpp"
#include "console/web/login.hpp"
#include "console/web/web_server.hpp"
#include "core/decimal.hpp"
#include "core/json_text.hpp"
#include "core/logger.hpp"
#include "core/pause.hpp"
#include "core/setup_error.hpp"
#include "core/shown_clock.hpp"
#include "fold/sender_rules.hpp"
#include "log/blocking_executor.hpp"
#include "log/read_partition.hpp"
#include "reliability/totals/pages.hpp"
#include "reliability/totals/totals_view.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>
#include <pthread.h>

namespace beckon::console {

namespace {

constexpr std::chrono::seconds kMakeEvery{1};
/// Of the lag.
constexpr std::chrono::seconds kPollEvery{5};
/// Calls of the role retry at a time.
constexpr std::size_t kCallsMax = 4;
/// VAPID keys that the page of senders shows.
constexpr std::size_t kBusiestMax = 10;
/// Days that the page of milestones has.
constexpr int kDaysMax = 30;
constexpr const char* kThisProcess = "this process";

std::string token_in(const std::filesystem::path& file) {
    auto text = client::read_text_file(file);
    if (!text) throw core::SetupError("console.token_file: " + text.error().message);
    while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
    if (text->size() < Login::kTokenBytesMin) {
        throw core::SetupError("console.token_file: " + file.string() + " must hold a token of " +
                               std::to_string(Login::kTokenBytesMin) +
                               " characters or more, e.g. from `openssl rand -hex 32`");
    }
    return *text;
}

WebConfig web_config(const ConsoleConfig& config) {
    return {.host = config.host,
            .port = config.port,
            .token = config.token_file ? token_in(*config.token_file) : std::string{}};
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
std::vector<log::TopicPartition> delay_tiers(const log::LayoutOptions& layout) {
    std::vector<log::TopicPartition> all;
    for (std::size_t tier = 0; tier < layout.tiers.size(); ++tier) {
        if (tier > 0 && layout.tiers[tier] == layout.tiers[tier - 1]) continue;
        const auto one = log::all_of(log::Topic::retry(static_cast<int>(tier)), layout.partitions);
        all.insert(all.end(), one.begin(), one.end());
    }
    return all;
}

RetryApi::Options retry_processes(const ConsoleConfig& config, const Console::Context& context) {
    if (!context.retry_origin.empty()) {
        return {.origins = {context.retry_origin}, .insecure = true};
    }
    return {.origins = config.retry_urls};
}

std::vector<std::string> links_of(const std::vector<cluster::RoleOverview>& roles) {
    std::vector<std::string> links;
    for (const auto& role : roles) {
        for (const auto& node : role.nodes) {
            if (!node.link_address.empty()) links.push_back(node.link_address);
        }
    }
    return links;
}

/// The page "dead"; empty: no process with the role retry says how many dead letters there are.
std::string dead_json(const std::optional<DeadCounts>& counts) {
    if (!counts) return {};
    return core::json_text(
        nlohmann::json{{"letters", counts->letters}, {"passed_over", counts->passed_over}});
}

/// The page "milestones": the counts and steps as the pages of the role reliability have them, and
/// "days": its newest reports, each with its "day". Empty: no counts have been published yet.
std::string milestones_json(const reliability::TotalsView& totals) {
    const auto counts = totals.counts();
    if (!counts) return {};
    auto reported = core::must_parse_json(reliability::counts_page(*counts, totals.refused()));
    reported.update(core::must_parse_json(reliability::flow_page(totals.flow())));
    auto days = nlohmann::json::array();
    const auto known = totals.days();
    auto day =
        known.size() > std::size_t{kDaysMax} ? std::prev(known.end(), kDaysMax) : known.begin();
    for (; day != known.end(); ++day) {
        const auto report = totals.report(*day);
        if (!report) continue;
        auto sums = core::must_parse_json(reliability::day_page(*report));
        sums["day"] = reliability::to_string(*day);
        days.push_back(std::move(sums));
    }
    reported["days"] = std::move(days);
    return core::json_text(reported);
}

/// The page "senders": {"blocked": [{"kind", "name", "since": Unix milliseconds, "why"}, …],
/// "limits": {"vapid", "subscription": messages a second, 0: none}, "busiest": [{"name",
/// "per_second"}, …], the greatest first}.
std::string senders_json(const fold::SenderRules& rules,
                         const std::map<std::string, double>& rates) {
    auto blocked = nlohmann::json::array();
    for (const auto& sender : rules.blocked()) {
        blocked.push_back({{"kind", to_string(sender.kind)},
                           {"name", sender.name},
                           {"since", sender.since.time_since_epoch().count()},
                           {"why", sender.why}});
    }
    std::vector<std::pair<double, std::string>> sorted;
    for (const auto& [name, rate] : rates) {
        if (rate > 0) sorted.emplace_back(rate, name);
    }
    std::sort(sorted.rbegin(), sorted.rend());
    sorted.resize(std::min(sorted.size(), kBusiestMax));
    auto busiest = nlohmann::json::array();
    for (const auto& [rate, name] : sorted) {
        busiest.push_back({{"name", name}, {"per_second", rate}});
    }
    return core::json_text(
        nlohmann::json{{"blocked", std::move(blocked)},
                       {"limits",
                        {{"vapid", rules.limit(core::SenderKind::vapid)},
                         {"subscription", rules.limit(core::SenderKind::subscription)}}},
                       {"busiest", std::move(busiest)}});
}

}  // namespace

void check_token(const ConsoleConfig& config) { web_config(config); }

std::unique_ptr<log::Groups> groups_of_standalone(log::EventLog& log,
                                                  const log::LayoutOptions& layout) {
    auto edge = log::all_of(log::Topic::kNotifications, layout.partitions);
    const auto subscriptions = log::all_of(log::Topic::kSubscriptions, layout.partitions);
    edge.insert(edge.end(), subscriptions.begin(), subscriptions.end());
    return log::open_own_groups(
        log,
        {{"retry", delay_tiers(layout), kThisProcess},
         {"edge", edge, kThisProcess},
         {"endpoint", subscriptions, kThisProcess},
         {"reliability", log::all_of(log::Topic::kReliability, layout.partitions), kThisProcess}},
        retention_in(layout));
}

struct Console::Impl {
    using ViewPtr = std::shared_ptr<const OwnershipView>;

    Impl(const ConsoleConfig& config, Context c, std::unique_ptr<log::Groups> g)
        : context(std::move(c)),
          layout(context.layout),
          shown(context.clock),
          reading(shown),
          groups(std::move(g)),
          homes(context.self ? std::optional{context.ops.port()} : std::nullopt, context.keys),
          finder({context.log, shown, reading, layout},
                 {context.keys, &homes, [this] { return view(); }}),
          browser({context.log, shown, reading, layout}),
          retry(retry_processes(config, context), context.keys),
          webhooks({context.log, shown, reading, layout}, retry),
          dead(retry),
          attempts(retry),
          canary({.targets = config.canary, .insecure = context.self_signed}, context.clock, pages,
                 context.metrics) {
        web.emplace(web_config(config), WebServer::Context{pages, shown, queries(), acts()});
        loop = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
        poller = std::jthread{[this](const std::stop_token& stop) { poll_lag(stop); }};
        lag_page.emplace(context.ops.mount("/lag", [this](std::string_view, const ops::Query&) {
            const auto text = pages.get("lag");
            if (!text) return ops::Page{.status = 503, .body = R"({"error":"not known yet"})"};
            return ops::Page{.body = *text};
        }));
        metrics.emplace(context.ops.mount_metrics("console", [this] {
            const auto text = newest_metrics();
            return (text ? *text->get() : std::string{}) + canary.metrics_text();
        }));
    }
    ~Impl() {
        reading.stop();  // a search that is under way does not hold up the end
        metrics.reset();
        lag_page.reset();
        poller = {};
        web.reset();
        loop.request_stop();
        executor.post([] {});  // so that it looks
        loop.join();
    }

    std::map<std::string, Ask> queries() {
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
            {"dead", calls.ask([this](const auto& asked) { return dead.list(asked); })}};
    }
    std::map<std::string, Act> acts() {
        auto all = webhooks.acts(calls);
        all["redrive"] = calls.act(
            [this](const auto& wanted) { return dead.plan(wanted); },
            [this](const auto& order, const auto& by) { return dead.redrive(order, by); });
        all["remove"] = calls.act(
            [this](const auto& wanted) { return finder.plan_removal(wanted); },
            [this](const auto& order, const auto& by) { return finder.remove(order, by); });
        return all;
    }

    /// The thread `console`: the folds behind the pages.
    void run(const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), "console");
        auto ownership = std::make_shared<OwnershipView>(
            OwnershipView::Options{
                .partitions = layout.partitions,
                .unreported = context.self ? Unreported::alive : Unreported::dead},
            context.log, executor, shown);
        use_view(ownership);
        WebhookPage webhook_page{layout.partitions, context.keys, context.log, executor,
                                 context.clock};
        TierPage tier_page{layout.tiers, layout.partitions, context.log, executor, shown};
        const auto publisher = context.log.open_publisher(executor);
        reliability::TotalsView totals{
            context.node, fold::Fold::Context{context.log, *publisher, executor, context.clock}};
        fold::SenderRules rules{"console",
                                {.log = context.log, .executor = executor, .clock = context.clock}};
        Overview overview{{.pages = pages,
                           .clock = shown,
                           .history_window = layout.history_window,
                           .log_problem = context.log_problem,
                           .self = context.self,
                           .more = [&](Installation& facts) {
                               facts.tiers = tier_page.facts();
                               facts.webhooks = webhook_page.facts(attempts);
                               if (const auto counts = attempts.dead_letters()) {
                                   facts.dead = {.letters = counts->letters};
                               }
                               facts.canary = canary.facts();
                           }}};
        while (!stop.stop_requested()) {
            const auto roles = ownership->roles();
            pages.publish("cluster", to_json(roles, ownership->complete()));
            if (ownership->complete()) {
                homes.use_edges(ownership->ops_ports_of_edges());
                canary.use_edges(links_of(roles));
            }
            const auto counts = attempts.dead_letters();
            publish("tiers", tier_page.json(counts ? std::optional<std::size_t>{counts->letters}
                                                   : std::nullopt));
            publish("milestones", milestones_json(totals));
            publish("webhooks", webhook_page.json(attempts));
            publish("senders", senders_json(rules, ownership->busiest_senders()));
            publish("dead", dead_json(counts));
            overview.tick(*ownership, newest_lag());
            executor.wait_until([&stop] { return stop.stop_requested(); },
                                shown.mono() + kMakeEvery);
        }
        use_view(nullptr);
    }
    /// Empty text: nothing is known yet.
    void publish(const char* name, std::string text) {
        if (!text.empty()) pages.publish(name, std::move(text));
    }

    LagPagePtr newest_lag() const {
        const std::scoped_lock lock{mutex};
        return lag;
    }
    void use_view(ViewPtr used) {
        const std::scoped_lock lock{mutex};
        ownership_view = std::move(used);
    }
    ViewPtr view() const {
        const std::scoped_lock lock{mutex};
        return ownership_view;
    }
    /// The thread `console-lag`, which alone waits for brokers.
    void poll_lag(const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), "console-lag");
        LagTable table{lag_context(context.prefix, layout.tiers, [this] { return view(); })};
        bool well = true;
        while (!stop.stop_requested()) {
            const auto page = poll(table, *groups, shown, stop);
            if (stop.stop_requested()) return;
            const bool failed = page->rows.empty() && !page->problems.empty();
            if (failed && well) {
                core::log_warn("console", "lag_unknown", {{"why", page->problems.front()}});
            }
            well = !failed;
            take(page);
            core::pause(stop, kPollEvery);
        }
    }

    void take(const LagPagePtr& page) {
        LagPagePtr before;
        {
            const std::scoped_lock lock{mutex};
            before = std::exchange(lag, page);
        }
        LivePages::Source source{.whole = [page] { return to_json(*page); }};
        if (before) source.change = [page, before] { return to_json_change(*page, *before); };
        pages.publish("lag", std::move(source));
        if (hours.add(*page)) {
            const auto known = std::make_shared<const LagHours>(hours);
            pages.publish("lag_hour", {.whole = [known] { return known->json(); }});
        }
        const std::scoped_lock lock{mutex};
        lag_metrics = std::make_shared<LateText>([page] { return to_metrics(*page); });
    }
    std::shared_ptr<LateText> newest_metrics() const {
        const std::scoped_lock lock{mutex};
        return lag_metrics;
    }

    const Context context;
    const log::LayoutOptions& layout;
    core::ShownClock shown;  ///< for ages; the others use it
    LivePages pages;
    mutable std::mutex mutex;
    LagHours hours;  ///< the thread `console-lag` only
    LagPagePtr lag;  ///< under mutex, as the next two
    std::shared_ptr<LateText> lag_metrics;
    ViewPtr ownership_view;  ///< made on the loop's thread
    log::BlockingExecutor executor;
    ReadingTime reading;
    const std::unique_ptr<log::Groups> groups;
    ClientHomes homes;
    Finder finder;
    LogBrowser browser;
    const RetryApi retry;
    WebhookQueries webhooks;
    DeadLetters dead;
    SearchWorkers searches;  ///< which use the finder, the browser and the webhooks
    /// The workers that wait for answers of the role retry and of edges.
    SearchWorkers calls{{.thread_name = "console-call", .at_a_time = kCallsMax}};
    AttemptPoller attempts;
    Canary canary;
    std::optional<WebServer> web;
    std::jthread loop;
    std::jthread poller;
    std::optional<ops::Mount> lag_page;
    std::optional<ops::Mount> metrics;
};

Console::Console(const ConsoleConfig& config, Context context, std::unique_ptr<log::Groups> groups)
    : impl_(std::make_unique<Impl>(config, std::move(context), std::move(groups))) {}

Console::~Console() = default;

std::uint16_t Console::port() const { return impl_->web->port(); }

}  // namespace beckon::console
