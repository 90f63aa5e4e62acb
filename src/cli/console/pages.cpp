#include "cli/console/pages.hpp"

#include "cli/console/milestone_page.hpp"
#include "cli/console/tier_page.hpp"
#include "cli/console/webhook_page.hpp"

namespace beckon::cli {

namespace {

template <class Page>
console::PageSource source(const char* name, std::shared_ptr<Page> page) {
    return {name, [page = std::move(page)] { return page->json(); }};
}

}  // namespace

std::function<std::vector<console::PageSource>(core::Executor&)> console_pages(
    const Config& config, const ConsoleParts& parts) {
    return [tiers = config.retry.tiers, partitions = config.retry.partitions,
            parts](core::Executor& executor) {
        return std::vector<console::PageSource>{
            source("tiers",
                   std::make_shared<TierPage>(tiers, partitions, parts.log, executor, parts.clock)),
            source("milestones",
                   std::make_shared<MilestonePage>(parts.node, parts.log, executor, parts.clock)),
            source("webhooks",
                   std::make_shared<WebhookPage>(partitions, parts.keys, parts.log, executor)),
        };
    };
}

}  // namespace beckon::cli
