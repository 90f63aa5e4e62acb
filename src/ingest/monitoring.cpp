#include "ingest/monitoring.hpp"

#include "core/json_text.hpp"

#include <nlohmann/json.hpp>

namespace beckon::ingest {

namespace {

HttpReply json_reply(const nlohmann::json& body) {
    return net::json_reply(200, core::json_text(body));
}

nlohmann::json table(bool good, std::string_view cause) {
    if (good) return {{"status", "OK"}};
    return {{"status", "NOT OK"}, {"cause", cause}};
}

/// In the reference's words.
std::string tracking_text(const std::vector<std::string>& keys) {
    if (keys.empty()) return "NO_TRACKING_KEYS";
    std::string text = "OK: " + keys.front();
    for (std::size_t i = 1; i < keys.size(); ++i) text += "," + keys[i];
    return text;
}

/// Calls `visit(name, count)` for each milestone of the original diagram, which tools of others
/// know: an end that is not in it counts as its `errored`.
template <class Visit>
void for_original_counts(const core::MilestoneCounts& counts, Visit visit) {
    using core::Milestone;
    for (const auto milestone : core::kAllMilestones) {
        if (milestone == Milestone::replaced || milestone == Milestone::deleted) continue;
        auto count = counts[milestone];
        if (milestone == Milestone::errored) {
            count += counts[Milestone::replaced] + counts[Milestone::deleted];
        }
        visit(core::to_string(milestone), count);
    }
}

}  // namespace

HttpReply health_reply(const HealthFacts& facts) {
    const bool healthy = facts.report.ready && facts.report.live;
    std::string causes;
    for (const auto& [part, why] : facts.report.faults) {
        if (!causes.empty()) causes += "; ";
        causes.append(part).append(": ").append(why);
    }
    const bool view = facts.view_ready;
    nlohmann::json body{
        {"status", healthy && view ? "OK" : "ERROR"},
        {"version", facts.version},
        {"router_table", table(view, "the subscriptions are still being read")},
        {"message_table", table(healthy, causes)},
        {"routers",
         {{"apns", facts.apns && facts.apns_delivered}, {"fcm", facts.fcm && facts.fcm_delivered}}},
        {"reliability", {{"Ok", tracking_text(facts.tracked)}}},
        {"request_count", facts.requests},
    };
    if (facts.apns || facts.fcm) {
        body["bridged_delivery"] =
            table((!facts.apns || facts.apns_delivered) && (!facts.fcm || facts.fcm_delivered),
                  "messages of bridged clients get 503: no retry role delivers them");
    }
    return json_reply(body);
}

HttpReply milestone_counts_reply(const std::optional<core::MilestoneCounts>& counts) {
    if (!counts) return json_reply({{"error", "No data"}});
    nlohmann::json body = nlohmann::json::object();
    for_original_counts(*counts, [&](std::string_view name, std::uint64_t count) {
        body[std::string{name}] = count;
    });
    return json_reply(body);
}

HttpReply milestone_metrics_reply(const std::optional<core::MilestoneCounts>& counts) {
    std::string text;
    if (counts) {
        text =
            "# HELP autopush_reliability Count of messages at given states.\n"
            "# TYPE autopush_reliability gauge\n";
        for_original_counts(*counts, [&](std::string_view name, std::uint64_t count) {
            text.append("autopush_reliability{state=\"").append(name);
            text.append("\"} ").append(std::to_string(count)).append("\n");
        });
    }
    return net::reply_of(200, "application/openmetrics-text; version=1.0.0; charset=utf-8",
                         text + "# EOF\n");
}

HttpReply status_reply(std::string_view version) {
    return json_reply({{"status", "OK"}, {"version", version}});
}

HttpReply version_reply(std::string_view version, std::string_view commit,
                        std::string_view source) {
    return json_reply(
        {{"version", version}, {"commit", commit}, {"source", source}, {"build", ""}});
}

}  // namespace beckon::ingest
