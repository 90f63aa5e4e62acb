#include "cli/console/console_role.hpp"

#include "cli/console/finder.hpp"
#include "cli/console/pages.hpp"
#include "cli/roles/process.hpp"
#include "client/private_file.hpp"
#include "console/canary/canary.hpp"
#include "console/web/login.hpp"

#include <charconv>
#include <optional>

namespace beckon::cli {

namespace {

constexpr const char* kThisProcess = "this process";

std::string token_in(const std::filesystem::path& file) {
    auto text = client::read_text_file(file);
    if (!text) throw StartupError("console.token_file: " + text.error().message);
    while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
    if (text->size() < console::Login::kTokenBytesMin) {
        throw StartupError("console.token_file: " + file.string() + " must hold a token of " +
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

std::vector<log::TopicPartition> all_of(log::Topic topic, core::Partition partitions) {
    std::vector<log::TopicPartition> found;
    for (core::Partition p = 0; p < partitions; ++p) found.push_back({topic, p});
    return found;
}

/// By name, for topics that delete by age.
std::map<std::string, std::chrono::milliseconds> retention_in(const log::LayoutOptions& layout) {
    std::map<std::string, std::chrono::milliseconds> found;
    for (const auto& spec : log::topic_table(layout)) {
        const auto kept = spec.settings.find("retention.ms");
        if (kept == spec.settings.end()) continue;
        std::int64_t ms = 0;
        std::from_chars(kept->second.data(), kept->second.data() + kept->second.size(), ms);
        if (ms > 0) found[spec.topic.name()] = std::chrono::milliseconds{ms};
    }
    return found;
}

}  // namespace

struct ConsoleRole::Impl {
    Impl(const Config& config, const ConsoleParts& parts, std::unique_ptr<log::Groups> g,
         std::string prefix)
        : groups(std::move(g)),
          finder(parts.keys, config.retry.partitions),
          console(web_config(config),
                  {.log = parts.log,
                   .groups = *groups,
                   .clock = parts.clock,
                   .ops = parts.ops,
                   .partitions = config.retry.partitions,
                   .prefix = std::move(prefix),
                   .find = [this](const std::string& text) { return finder.find(text); },
                   .pages = console_pages(config, parts)}),
          canary({.edges = config.console_canary,
                  .insecure = config.endpoint_self_signed || config.edge_self_signed},
                 parts.clock, console.pages()) {}

    const std::unique_ptr<log::Groups> groups;
    Finder finder;
    console::Console console;
    console::Canary canary;
};

ConsoleRole::ConsoleRole(const Config& config, const ConsoleParts& parts,
                         std::unique_ptr<log::Groups> groups, std::string prefix)
    : impl_(std::make_unique<Impl>(config, parts, std::move(groups), std::move(prefix))) {}

ConsoleRole::~ConsoleRole() = default;

std::uint16_t ConsoleRole::port() const { return impl_->console.port(); }

std::unique_ptr<log::Groups> groups_of_standalone(const Config& config, log::EventLog& log,
                                                  core::Partition partitions) {
    auto edge = all_of(log::Topic::kNotifications, partitions);
    const auto subscriptions = all_of(log::Topic::kSubscriptions, partitions);
    edge.insert(edge.end(), subscriptions.begin(), subscriptions.end());
    return log::open_own_groups(
        log,
        {{"edge", edge, kThisProcess},
         {"endpoint", subscriptions, kThisProcess},
         {"reliability", all_of(log::Topic::kReliability, partitions), kThisProcess}},
        retention_in(config.layout));
}

}  // namespace beckon::cli
