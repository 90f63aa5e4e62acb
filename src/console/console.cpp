#include "console/console.hpp"

#include "console/cluster/cluster_json.hpp"
#include "console/cluster/ownership_view.hpp"
#include "console/lag/lag_collector.hpp"
#include "console/lag/lag_hours.hpp"
#include "console/lag/lag_metrics.hpp"
#include "console/lag/lag_text.hpp"
#include "console/overview/overview.hpp"
#include "log/blocking_executor.hpp"

#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <pthread.h>

namespace beckon::console {

namespace {

constexpr std::chrono::seconds kMakeEvery{1};

std::vector<std::string> links_of(const std::vector<cluster::RoleOverview>& roles) {
    std::vector<std::string> links;
    for (const auto& role : roles) {
        for (const auto& node : role.nodes) {
            if (!node.link_address.empty()) links.push_back(node.link_address);
        }
    }
    return links;
}

}  // namespace

struct Console::Impl {
    Impl(const WebConfig& config, Context p) : context(std::move(p)) {
        web.emplace(config,
                    WebServer::Context{pages, context.clock, context.queries, context.acts});
        loop = std::jthread{[this](const std::stop_token& stop) { run(stop); }};
        collector.emplace(
            LagCollector::Context{
                context.groups, context.clock,
                LagTable::Context{
                    .reader_of = [this](const auto& group,
                                        const auto& where) { return reader_of(group, where); },
                    .delay_of = delays_of_tiers(context.tiers, context.prefix),
                    .views_of = [this] { return views(); },
                    .is_own = own_groups(context.prefix)}},
            [this](const LagPagePtr& page) { take(page); });
        lag_page.emplace(context.ops.mount("/lag", [this](std::string_view, const ops::Query&) {
            const auto text = pages.get("lag");
            if (!text) return ops::Page{.status = 503, .body = R"({"error":"not known yet"})"};
            return ops::Page{.body = *text};
        }));
        metrics.emplace(context.ops.after_metrics([this] {
            const auto text = newest_metrics();
            auto all = text ? *text->get() : std::string{};
            if (context.metrics) all += context.metrics();
            return all;
        }));
    }
    ~Impl() {
        metrics.reset();
        lag_page.reset();
        collector.reset();
        web.reset();
        loop.request_stop();
        executor.post([] {});  // so that it looks
        loop.join();
    }

    void run(const std::stop_token& stop) {
        pthread_setname_np(pthread_self(), "console");
        auto view = std::make_shared<OwnershipView>(
            OwnershipView::Options{
                .partitions = context.partitions,
                .unreported = context.self ? Unreported::alive : Unreported::dead},
            context.log, executor, context.clock);
        use_view(view);
        auto sources = context.pages ? context.pages(executor) : std::vector<PageSource>{};
        Overview overview{
            {.pages = pages,
             .clock = context.clock,
             .history_window = context.history_window,
             .log_problem = context.log_problem,
             .self = context.self,
             .more = [this, &sources](Installation& facts) { tell(sources, facts); }}};
        while (!stop.stop_requested()) {
            const auto roles = view->roles();
            pages.publish("cluster", to_json(roles, view->complete()));
            if (context.edges && view->complete()) {
                context.edges(links_of(roles), view->ops_ports_of_edges());
            }
            for (const auto& source : sources) {
                auto text = source.make();
                if (!text.empty()) pages.publish(source.name, std::move(text));
            }
            overview.tick(*view, newest_lag());
            executor.wait_until([&stop] { return stop.stop_requested(); },
                                context.clock.mono() + kMakeEvery);
        }
        use_view(nullptr);
        sources.clear();
        view.reset();
    }

    void tell(const std::vector<PageSource>& sources, Installation& facts) const {
        for (const auto& source : sources) {
            if (source.tell) source.tell(facts);
        }
        if (context.more) context.more(facts);
    }

    LagPagePtr newest_lag() const {
        const std::scoped_lock lock{mutex};
        return lag;
    }

    void use_view(std::shared_ptr<const OwnershipView> view) {
        if (context.ownership) context.ownership(view);
        const std::scoped_lock lock{mutex};
        ownership = std::move(view);
    }

    Reader reader_of(const std::string& group, const log::NamedPartition& where) const {
        const std::scoped_lock lock{mutex};
        if (!ownership || !group.starts_with(context.prefix)) return {};
        return ownership->reader_of(group.substr(context.prefix.size()), where.partition);
    }

    Views views() const {
        const std::scoped_lock lock{mutex};
        return ownership ? ownership->views(context.prefix) : Views{};
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
    LivePages pages;
    mutable std::mutex mutex;
    LagHours hours;  ///< the collector's thread only
    LagPagePtr lag;  ///< under mutex, as the next two
    std::shared_ptr<LateText> lag_metrics;
    std::shared_ptr<const OwnershipView> ownership;  ///< made and destroyed on the loop's thread
    log::BlockingExecutor executor;
    std::optional<WebServer> web;
    std::jthread loop;
    std::optional<LagCollector> collector;
    std::optional<ops::Mount> lag_page;
    std::optional<ops::Mount> metrics;
};

Console::Console(const WebConfig& config, Context context)
    : impl_(std::make_unique<Impl>(config, std::move(context))) {}

Console::~Console() = default;

std::uint16_t Console::port() const { return impl_->web->port(); }

LivePages& Console::pages() { return impl_->pages; }

}  // namespace beckon::console
