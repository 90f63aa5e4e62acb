#include "console/overview/overview_json.hpp"

#include "core/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::console {

namespace {

using nlohmann::json;

json seconds_or_null(const std::optional<core::Duration>& time) {
    if (!time) return nullptr;
    return std::round(std::chrono::duration<double>{*time}.count() * 10) / 10;
}

json process_json(const ProcessFacts& one) {
    auto taken = json::array();
    for (const auto& [node, partitions] : one.taken_over) {
        taken.push_back({{"node", node}, {"partitions", partitions}});
    }
    json rates = json::object();
    for (const auto& [name, rate] : one.rates) {
        if (!name.starts_with("deliver_")) rates[name] = std::round(rate * 100) / 100;
    }
    return {{"role", one.role},
            {"name", one.name},
            {"id", one.id},
            {"version", one.version},
            {"gone", one.gone},
            {"ready", one.ready},
            {"silent_seconds", seconds_or_null(one.silent)},
            {"uptime_seconds", seconds_or_null(one.uptime)},
            {"faults", one.faults},
            {"warnings", one.warnings},
            {"clock_off_seconds", seconds_or_null(one.clock_off)},
            {"certificate_seconds", seconds_or_null(one.certificate_left)},
            {"disk", to_string(disk_level(one))},
            {"gauges", one.gauges},
            {"rates", std::move(rates)},
            {"taken_over", std::move(taken)}};
}

/// The number of living processes, and of all known ones, of each role.
json roles_json(const Installation& facts) {
    std::map<std::string, std::pair<std::size_t, std::size_t>> roles;
    for (const auto& one : facts.processes) {
        auto& [alive, all] = roles[one.role];
        ++all;
        if (!one.gone) ++alive;
    }
    auto out = json::array();
    for (const auto& [role, count] : roles) {
        out.push_back({{"role", role}, {"alive", count.first}, {"all", count.second}});
    }
    return out;
}

json canary_json(const CanaryFacts& canary) {
    std::optional<core::Duration> took;
    std::optional<core::Duration> p50;
    std::optional<core::Duration> p99;
    for (const auto& edge : canary.edges) {
        took = std::max(took, edge.took);
        p50 = std::max(p50, edge.p50);
        p99 = std::max(p99, edge.p99);
    }
    return {{"edges", canary.edges.size()},
            {"well", canary.count(CanaryFacts::State::well)},
            {"failing", canary.count(CanaryFacts::State::failing)},
            {"ms", ms_or_null(took)},
            {"p50_ms", ms_or_null(p50)},
            {"p99_ms", ms_or_null(p99)}};
}

/// The process whose `value` is the least; nullptr: no process has one.
template <class Value>
const ProcessFacts* least(const Installation& facts, Value value) {
    const ProcessFacts* found = nullptr;
    for (const auto& one : facts.processes) {
        const auto mine = value(one);
        if (one.gone || !mine) continue;
        if (found == nullptr || *mine < *value(*found)) found = &one;
    }
    return found;
}

json now_json(const Installation& facts) {
    json now{{"standalone", facts.standalone}, {"roles", roles_json(facts)}};
    now["canary"] = facts.canary ? canary_json(*facts.canary) : json(nullptr);
    if (facts.webhooks) {
        now["webhooks"] = {{"total", facts.webhooks->total},
                           {"failing", facts.webhooks->failing.size()},
                           {"disabled", facts.webhooks->disabled}};
    }
    if (facts.dead) {
        now["dead"] = {{"letters", facts.dead->letters}, {"hour", facts.dead->of_this_hour}};
    }
    if (facts.tiers) {
        now["tiers"] = {{"waiting", facts.tiers->waiting},
                        {"due", facts.tiers->due},
                        {"overdue_seconds", seconds_or_null(facts.tiers->overdue)}};
    }
    if (const auto* one = least(facts, free_share)) {
        now["disk"] = {{"name", one->name},
                       {"free", one->gauges.at("disk_free")},
                       {"size", one->gauges.at("disk_size")},
                       {"level", to_string(disk_level(*one))}};
    }
    const auto left = [](const ProcessFacts& one) { return one.certificate_left; };
    if (const auto* one = least(facts, left)) {
        now["certificate"] = {{"name", one->name},
                              {"seconds", seconds_or_null(*one->certificate_left)}};
    }
    return now;
}

}  // namespace

std::string status_json(const Verdict& verdict) {
    auto findings = json::array();
    std::map<std::string, Level> badges;
    for (const auto& one : verdict.findings) {
        findings.push_back({{"level", to_string(one.level)},
                            {"what", one.what},
                            {"todo", one.todo},
                            {"section", one.section},
                            {"page", one.page}});
        auto& badge = badges[one.page.substr(0, one.page.find('/'))];
        badge = std::max(badge, one.level);
    }
    auto shown = json::object();
    for (const auto& [page, level] : badges) shown[page] = to_string(level);
    return core::json_text(json{{"level", to_string(verdict.level)},
                                {"sentence", verdict.sentence},
                                {"findings", std::move(findings)},
                                {"badges", std::move(shown)}});
}

std::string overview_json(const Installation& facts, const History& history, std::size_t most) {
    return core::json_text(json{{"now", now_json(facts)}, {"history", history.json(most)}});
}

std::string nodes_json(const Installation& facts) {
    auto processes = json::array();
    for (const auto& one : facts.processes) processes.push_back(process_json(one));
    return core::json_text(json{{"complete", facts.complete},
                                {"standalone", facts.standalone},
                                {"processes", std::move(processes)}});
}

}  // namespace beckon::console
