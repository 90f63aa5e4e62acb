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

/// The number of dead letters; the page queries the letters themselves. Keeps their fold.
class DeadPage {
public:
    DeadPage(console::DeadLetters& dead, core::Partition partitions,
             console::DeadFold::Context context)
        : dead_(dead), fold_(std::make_shared<console::DeadFold>(partitions, std::move(context))) {
        dead_.use(fold_);
    }
    ~DeadPage() { dead_.use(nullptr); }
    DeadPage(const DeadPage&) = delete;
    DeadPage& operator=(const DeadPage&) = delete;

    /// How many letters there are; nullopt: not read yet.
    std::optional<std::size_t> letters() const {
        return fold_->complete() ? std::optional{fold_->index().size()} : std::nullopt;
    }

    std::string json() const {
        if (!fold_->complete()) return {};
        return core::json_text(nlohmann::json{{"letters", fold_->index().size()},
                                              {"passed_over", fold_->index().passed_over()}});
    }

private:
    console::DeadLetters& dead_;
    const std::shared_ptr<console::DeadFold> fold_;
};

template <class Page>
console::PageSource source(const char* name, std::shared_ptr<Page> page) {
    return {name, [page = std::move(page)] { return page->json(); }};
}

}  // namespace

std::function<std::vector<console::PageSource>(core::Executor&)> console_pages(
    const Config& config, const ConsoleParts& parts, core::ShownClock& shown,
    console::DeadLetters& dead, console::AttemptPoller& attempts) {
    return [tiers = config.retry.tiers, partitions = config.retry.partitions, parts, &shown, &dead,
            &attempts](core::Executor& executor) {
        const auto webhooks =
            std::make_shared<console::WebhookPage>(partitions, parts.keys, parts.log, executor);
        const auto letters = std::make_shared<DeadPage>(
            dead, partitions, console::DeadFold::Context{parts.log, executor, webhooks});
        const auto waiting =
            std::make_shared<console::TierPage>(tiers, partitions, parts.log, executor, shown);
        return std::vector<console::PageSource>{
            {"tiers", [waiting, letters] { return waiting->json(letters->letters()); },
             [waiting](console::Installation& facts) { facts.tiers = waiting->facts(); }},
            source("milestones", std::make_shared<console::MilestonePage>(parts.node, parts.log,
                                                                          executor, parts.clock)),
            {"webhooks",
             [webhooks, &attempts] {
                 attempts.use_owners(webhooks->owners());
                 return webhooks->json(attempts);
             },
             [webhooks, &attempts](console::Installation& facts) {
                 facts.webhooks = webhooks->facts(attempts);
             }},
            {"dead", [letters] { return letters->json(); },
             [letters](console::Installation& facts) {
                 if (const auto count = letters->letters()) facts.dead = {.letters = *count};
             }},
        };
    };
}

}  // namespace beckon::app
