#include "app/roles/console_pages.hpp"

#include "console/pages/milestone_page.hpp"
#include "console/pages/tier_page.hpp"
#include "console/pages/webhook_page.hpp"
#include "core/json_text.hpp"

#include <memory>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::app {

namespace {

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

}  // namespace

std::function<std::vector<console::PageSource>(core::Executor&)> console_pages(
    const Config& config, const ConsoleParts& parts, core::ShownClock& shown,
    const console::AttemptPoller& retry) {
    return [tiers = config.retry.tiers, partitions = config.retry.partitions, parts, &shown,
            &retry](core::Executor& executor) {
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
            {"dead", [&retry] { return dead_json(retry); },
             [&retry](console::Installation& facts) {
                 if (const auto count = letters_at(retry)) facts.dead = {.letters = *count};
             }},
        };
    };
}

}  // namespace beckon::app
