#include "console/overview/verdict.hpp"

#include "console/lag/lag_text.hpp"
#include "core/ascii.hpp"
#include "core/decimal.hpp"
#include "core/shortage.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace beckon::console {

namespace {

using Findings = std::vector<Finding>;

/// With one unit below two hours and where the second is zero: "6 min", "24 h", "2 d 3 h".
std::string words(core::Duration time) {
    if (time >= std::chrono::minutes{2} && time < std::chrono::hours{2}) {
        return std::to_string(std::chrono::floor<std::chrono::minutes>(time).count()) + " min";
    }
    auto text = duration_words(time);
    for (const std::string_view rest : {" 0 min", " 0 h"}) {
        if (text.ends_with(rest)) text.resize(text.size() - rest.size());
    }
    return text;
}

std::string ms_text(core::Duration time) {
    const double ms = std::chrono::duration<double, std::milli>{time}.count();
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), ms < 10 ? "%.1f ms" : "%.0f ms", ms);
    return text.data();
}

std::string gigabytes(double bytes) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), bytes < 1e9 ? "%.0f MB" : "%.1f GB",
                  bytes < 1e9 ? bytes / 1e6 : bytes / 1e9);
    return text.data();
}

/// "a", "a and b", "a, b and c", "a, b, c and 4 more".
std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t kNamesMax = 3;
    std::string out;
    const auto shown = std::min(names.size(), kNamesMax);
    for (std::size_t i = 0; i < shown; ++i) {
        const bool last = i + 1 == names.size();
        if (i > 0) out += last ? " and " : ", ";
        out += names[i];
    }
    if (names.size() > shown) out += " and " + std::to_string(names.size() - shown) + " more";
    return out;
}

std::vector<std::string> names_of(const Installation& facts, std::string_view role, bool gone) {
    std::vector<std::string> names;
    for (const auto& one : facts.processes) {
        if (one.role == role && one.gone == gone) names.push_back(one.name);
    }
    std::ranges::sort(names);
    return names;
}

bool alive(const Installation& facts, std::string_view role) {
    return facts.standalone || !names_of(facts, role, false).empty();
}

constexpr const char* kCanaryPage = "canary";

/// The effect on users while no process of a role is alive.
struct Need {
    const char* role;
    const char* effect;
};
constexpr std::array<Need, 3> kNeeds{{
    {"endpoint", "nobody can send"},
    {"edge", "no client is connected"},
    {"retry", "no webhook is called"},
}};

/// `hosts`: that cannot reach the brokers.
std::string look_at_brokers(const std::string& hosts, const std::string& why) {
    return "Look at the brokers, and at the network between them and " + hosts + " (" + why +
           "). Beckon goes on by itself when they answer; nothing that was accepted is lost.";
}

/// Nothing is heard of any process, which is no sign of its death.
void judge_log(const Installation& facts, Findings& out) {
    out.push_back({.level = Level::bad,
                   .what = "The brokers do not answer the console, so it knows nothing of the "
                           "processes.",
                   .todo = look_at_brokers("this host", facts.log_problem),
                   .section = "the-brokers-do-not-answer",
                   .page = "lag"});
}

/// Whether a process has such a fault for want of space on its disk.
bool follows_from_full_disk(const std::string& fault) {
    static constexpr std::array kWords{"full: ", "disk is full", "No space left",
                                       "free, and a start needs"};
    return std::ranges::any_of(
        kWords, [&](const char* words) { return fault.find(words) != std::string::npos; });
}

/// The faults of a process that no other finding names the cause of. Empty: there are none, or the
/// process is ready or gone.
std::vector<std::string> faults_of(const ProcessFacts& one) {
    if (one.gone || one.ready) return {};
    auto faults = one.faults;
    if (faults.empty()) faults.emplace_back("it does not say why");
    if (disk_level(one) == Level::bad) std::erase_if(faults, follows_from_full_disk);
    return faults;
}

std::string title_of(const ProcessFacts& one) { return one.name + " (" + one.role + ")"; }

/// The first fault by which no broker answers the process; nullopt: there is none.
std::optional<std::string> fault_of_brokers(const ProcessFacts& one) {
    if (one.role == "standalone") return std::nullopt;
    for (auto& fault : faults_of(one)) {
        if (fault.starts_with("log: ") && !follows_from_full_disk(fault)) return std::move(fault);
    }
    return std::nullopt;
}

/// One finding for all processes that the log does not answer.
void judge_log_of_processes(const Installation& facts, Findings& out) {
    std::vector<std::string> names;
    std::string why;
    for (const auto& one : facts.processes) {
        auto fault = fault_of_brokers(one);
        if (!fault) continue;
        names.push_back(title_of(one));
        why = std::move(*fault);
    }
    if (names.empty()) return;
    out.push_back({.level = Level::bad,
                   .what = "The log does not answer " + listed(names) + ".",
                   .todo = look_at_brokers("these processes", why),
                   .section = "when-something-is-wrong",
                   .page = "nodes"});
}

void judge_roles(const Installation& facts, Findings& out) {
    if (!facts.complete || facts.standalone) return;
    for (const auto& need : kNeeds) {
        const std::string role = need.role;
        if (alive(facts, role)) continue;
        const bool asked = role != "retry" || (facts.webhooks && facts.webhooks->total > 0);
        const auto gone = names_of(facts, role, true);
        if (!asked && gone.empty()) continue;
        const auto what = "No " + role + " is alive: " + need.effect;
        out.push_back(
            {.level = Level::bad,
             .what = gone.empty() ? what + "." : what + " (it was " + listed(gone) + ").",
             .todo = "Start `beckon " + role + "`" +
                     (gone.empty() ? "" : " again on " + listed(gone)) +
                     ", and read the last lines of its log. One that runs must be allowed "
                     "to write `ownership`, or it is not seen here.",
             .section = "a-node-is-gone",
             .page = "nodes"});
    }
}

void judge_gone(const Installation& facts, const ProcessFacts& one, Findings& out) {
    if (!one.gone || !alive(facts, one.role)) return;  // the role as a whole has a finding
    auto what = one.role + ' ' + one.name + " has been gone for " + words(one.silent);
    if (!one.taken_over.empty()) {
        std::size_t partitions = 0;
        std::vector<std::string> by;
        for (const auto& [name, count] : one.taken_over) {
            partitions += count;
            by.push_back(name);
        }
        what +=
            "; " + listed(by) + " took over its " +
            (partitions == 1 ? "partition" : core::counted(partitions, "partition", "partitions"));
    }
    what[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(what[0])));
    out.push_back({.level = Level::warning,
                   .what = what + ".",
                   .todo = "Look at the host " + one.name + " and at the last lines of its log" +
                           ", and start it again. If it was taken away for good, it "
                           "leaves this page after the history window.",
                   .section = "a-node-is-gone",
                   .page = "nodes"});
}

/// While the log does not answer a process, all else that it lacks follows from that.
void judge_ready(const ProcessFacts& one, Findings& out) {
    const auto faults = faults_of(one);
    if (faults.empty() || fault_of_brokers(one)) return;
    const auto why = core::joined(faults, "; ");
    out.push_back({.level = one.uptime < kStartMax ? Level::warning : Level::bad,
                   .what = title_of(one) + " is not ready: " + why + ".",
                   .todo = one.uptime < kStartMax
                               ? "It was started " + words(one.uptime) + " ago: wait a minute."
                               : "Look the reason up in the table of the operations manual.",
                   .section = "when-something-is-wrong",
                   .page = "nodes"});
}

void judge_disk(const ProcessFacts& one, Findings& out) {
    const auto level = disk_level(one);
    if (one.gone || level == Level::ok) return;
    out.push_back({.level = level,
                   .what = "The disk of " + title_of(one) + ' ' +
                           (level == Level::bad ? "is full: " : "is filling: ") +
                           gigabytes(one.gauges.at("disk_free")) + " of " +
                           gigabytes(one.gauges.at("disk_size")) + " are free.",
                   .todo = "Make space on it, or give it a larger disk. The process goes on by "
                           "itself as soon as there is space; nothing that was accepted is lost.",
                   .section = "a-disk-is-full",
                   .page = "nodes"});
}

bool clock_is_wrong(const ProcessFacts& one) {
    return one.clock_off && (*one.clock_off >= kClockOffMax || -*one.clock_off >= kClockOffMax);
}

void judge_clock(const ProcessFacts& one, Findings& out) {
    if (one.gone || !clock_is_wrong(one)) return;
    const auto off = *one.clock_off;
    out.push_back({.level = one.role == "endpoint" ? Level::bad : Level::warning,
                   .what = "The clock of " + title_of(one) + " is " +
                           words(off < off.zero() ? -off : off) +
                           (off < off.zero() ? " behind" : " ahead of") + " the brokers' clocks.",
                   .todo = "Let an NTP daemon set it (chrony, systemd-timesyncd). Messages are not "
                           "affected, but an endpoint judges senders' VAPID tokens by it, and "
                           "refuses good ones with 401.",
                   .section = "a-clock-is-wrong",
                   .page = "nodes"});
}

void judge_certificate(const ProcessFacts& one, Findings& out) {
    if (one.gone || !one.certificate_left || *one.certificate_left > core::kCertificateLeft) return;
    const auto left = *one.certificate_left;
    const bool expired = left <= left.zero();
    out.push_back(
        {.level = expired ? Level::bad : Level::warning,
         .what =
             "The certificate of " + title_of(one) + ' ' +
             (expired ? "expired " + words(-left) + " ago." : "expires in " + words(left) + "."),
         .todo = "Renew it, then send the process SIGHUP: it reads the file again without "
                 "a restart. Only a certificate for Kafka needs one.",
         .section = "a-certificate-expires",
         .page = "nodes"});
}

/// One finding for all processes that give the same warning.
void judge_warnings(const Installation& facts, Findings& out) {
    std::map<std::string, std::vector<std::string>> by_warning;
    for (const auto& one : facts.processes) {
        if (one.gone) continue;
        for (const auto& warning : one.warnings) {
            // The process has noticed it too: one finding says it.
            if (warning.starts_with("clock: ") && clock_is_wrong(one)) continue;
            by_warning[warning].push_back(title_of(one));
        }
    }
    for (const auto& [warning, names] : by_warning) {
        const bool topics = warning.starts_with("topics: ");
        out.push_back(
            {.level = topics ? Level::bad : Level::warning,
             .what = listed(names) + (names.size() == 1 ? " warns: " : " warn: ") + warning + ".",
             .todo = topics ? "Set the log topics right: `beckon topics describe` says "
                              "which settings are wrong, and what is expected."
                            : "Look the warning up in the table of the operations "
                              "manual.",
             .section = topics ? "a-log-topic-is-wrong" : "when-something-is-wrong",
             .page = "nodes"});
    }
}

void judge_partitions(const Installation& facts, Findings& out) {
    for (const auto& [role, partitions] : facts.homeless) {
        if (partitions.empty() || !alive(facts, role)) continue;
        std::vector<std::string> names;
        names.reserve(partitions.size());
        for (const auto partition : partitions) names.push_back(std::to_string(partition));
        out.push_back({.level = Level::bad,
                       .what = core::counted(partitions.size(), "partition", "partitions") +
                               " of " + role + (partitions.size() == 1 ? " has" : " have") +
                               " no home: " + listed(names) + ".",
                       .todo = "Wait half a minute: a living " + role +
                               (partitions.size() == 1 ? " takes it over." : " takes them over.") +
                               " If none does, look at `/ready` of each " + role +
                               " and start one more.",
                       .section = "a-partition-has-no-home",
                       .page = "nodes"});
    }
}

void judge_load(const Installation& facts, Findings& out) {
    for (const auto& one : facts.hot) {
        out.push_back(
            {.level = Level::warning,
             .what = "Partition " + std::to_string(one.partition) + " of " + one.role +
                     (one.home.empty() ? "" : " at " + one.home) +
                     " gets several times the records of the others: " + std::to_string(one.load) +
                     " per second.",
             .todo = "Most often one client gets very many messages: find it near the end "
                     "of the partition's log and limit its sender. More partitions do not "
                     "divide one client; more edges leave this one less other work.",
             .section = "a-hot-partition",
             .page = "nodes"});
    }
}

/// One finding for all edges, with one reason where it is the same.
void judge_canary(const Installation& facts, Findings& out) {
    if (!facts.canary) return;
    std::vector<std::string> edges;
    std::vector<std::string> with_reasons;
    std::set<std::string> reasons;
    bool posted = false;  // or got as far as failing at an edge
    for (const auto& edge : facts.canary->edges) {
        if (edge.state != CanaryFacts::State::failing) continue;
        edges.push_back(edge.edge);
        with_reasons.push_back(edge.edge + " (" + edge.why + ")");
        reasons.insert(edge.why);
        posted |= edge.failed_at != CanaryStep::post;
    }
    if (edges.empty()) return;
    const bool one = edges.size() == 1;
    const std::string begin = one ? "A push through " : "Pushes through ";
    const std::string fail = one ? " fails" : " fail";
    out.push_back(
        {.level = Level::bad,
         .what = reasons.size() == 1 ? begin + listed(edges) + fail + ": " + *reasons.begin() + "."
                                     : begin + listed(with_reasons) + fail + ".",
         .todo = posted ? std::string{"If other findings name "} +
                              (one ? "this edge" : "these edges") +
                              " or the endpoint, mend those first. Else look at `/ready` of " +
                              (one ? "the edge" : "the edges") +
                              " and at the way from the console to " + (one ? "it." : "them.")
                        : std::string{"The edge answered, the way to the endpoint fails: look "
                                      "whether the console reaches `endpoint.url`, and whether it "
                                      "trusts the certificate there. `console.canary` may name "
                                      "another origin for its POSTs."},
         .section = "a-push-fails",
         .page = kCanaryPage});
}

std::string receiver_text(const WebhookFacts::Failing& failing) {
    return failing.origin + " of the owner " + failing.owner + " (webhook " + failing.id + ": " +
           failing.why + (failing.since.empty() ? "" : ", since " + failing.since) + ")";
}

void judge_webhooks(const Installation& facts, Findings& out) {
    if (!facts.webhooks) return;
    const auto& failing = facts.webhooks->failing;
    if (!failing.empty()) {
        const bool one = failing.size() == 1;
        std::vector<std::string> receivers;
        receivers.reserve(failing.size());
        for (const auto& each : failing) receivers.push_back(receiver_text(each));
        out.push_back({.level = Level::warning,
                       .what = core::counted(failing.size(), "webhook fails: ", "webhooks fail: ") +
                               listed(receivers) + ".",
                       .todo = std::string{"Tell those who run the "} +
                               (one ? "receiver" : "receivers") + "; the page of " +
                               (one ? "the webhook" : "each webhook") +
                               " has the last answers. The events wait and are tried again for "
                               "days; other webhooks are not held up.",
                       .section = "a-webhook-fails",
                       .page = one ? "webhooks/" + failing.front().id : "webhooks"});
    }
    if (facts.webhooks->disabled > 0) {
        const bool one = facts.webhooks->disabled == 1;
        out.push_back(
            {.level = Level::warning,
             .what = core::counted(facts.webhooks->disabled, "webhook is", "webhooks are") +
                     " disabled, since " + (one ? "its receiver" : "their receivers") +
                     " failed for days or answered 410.",
             .todo = one ? "Enable it again when its receiver works, then redrive its dead "
                           "letters; or delete it."
                         : "Enable each again when its receiver works, then redrive its dead "
                           "letters; or delete it.",
             .section = "a-webhook-fails",
             .page = "webhooks"});
    }
}

void judge_deliveries(const Installation& facts, Findings& out) {
    if (facts.dead && facts.dead->of_this_hour > 0) {
        out.push_back({.level = Level::warning,
                       .what = core::counted(facts.dead->of_this_hour, "delivery", "deliveries") +
                               (facts.dead->of_this_hour == 1 ? " became a dead letter"
                                                              : " became dead letters") +
                               " in the last hour.",
                       .todo = "Look at the reason, mend the receiver, then redrive.",
                       .section = "a-webhook-fails",
                       .page = "dead"});
    }
    if (facts.tiers && facts.tiers->overdue > kOverdueMax) {
        out.push_back({.level = Level::warning,
                       .what = core::counted(facts.tiers->due, "delivery is", "deliveries are") +
                               " tried late, by " + words(facts.tiers->overdue) + ".",
                       .todo = "Look whether a process with the role retry is alive and has a home "
                               "for each partition; more workers or one more process help a slow "
                               "one.",
                       .section = "deliveries-are-late",
                       .page = "tiers"});
    }
}

void judge_groups(const Installation& facts, Findings& out) {
    if (!facts.lag_problem.empty()) {
        out.push_back(
            {.level = Level::warning,
             .what = "The lag is not known.",
             .todo = "Look whether the brokers answer the console: " + facts.lag_problem + ".",
             .section = "a-group-does-not-read",
             .page = "lag"});
    }
    for (const auto& group : facts.groups) {
        const bool stands = group.status == Status::stalled || group.status == Status::stopped;
        if (group.loss == Loss::now) {
            out.push_back({.level = Level::bad,
                           .what = "The group " + group.group + " has lost records unread.",
                           .todo = "Start its readers; raise the retention of the topic until they "
                                   "have caught up.",
                           .section = "a-group-does-not-read",
                           .page = "lag"});
        } else if (stands || group.loss == Loss::near) {
            const auto owners =
                group.owners.empty() ? std::string{} : " (" + listed(group.owners) + ")";
            out.push_back(
                {.level = stands ? Level::bad : Level::warning,
                 .what = "The group " + group.group + " is " +
                         std::string{to_string(group.status)} + owners +
                         (group.loss == Loss::near ? " and will lose records unread." : "."),
                 .todo = group.status == Status::stopped
                             ? "Nobody reads there: start the group."
                             : "Look at that member: it hangs, or fails at a record again "
                               "and again.",
                 .section = "a-group-does-not-read",
                 .page = "lag"});
        }
    }
}

/// The sentence about push where no push of the canary arrives.
std::string head_of_failures(const CanaryFacts& canary) {
    std::set<CanaryStep> steps;
    for (const auto& edge : canary.edges) {
        if (edge.state == CanaryFacts::State::failing) steps.insert(edge.failed_at);
    }
    if (steps.contains(CanaryStep::post)) {
        return "Whether push works is not known: the canary's POST does not get to the endpoint.";
    }
    if (steps == std::set{CanaryStep::subscribe}) {
        return "Push does not work: no edge answers the canary.";
    }
    if (steps == std::set{CanaryStep::accept}) {
        return "Push does not work: the endpoint does not accept the canary's messages.";
    }
    if (steps == std::set{CanaryStep::receive}) {
        return "Push does not work: no edge delivers the canary's messages.";
    }
    return "Push does not work: no message of the canary arrives.";
}

/// The sentence about push: by the canary, or else by the reports of the processes.
std::string head_of(const Installation& facts, const Findings& findings) {
    if (!facts.complete && facts.log_problem.empty())
        return "The console is still reading the log.";
    if (facts.canary && !facts.canary->edges.empty()) {
        const auto well = facts.canary->count(CanaryFacts::State::well);
        const auto tried = well + facts.canary->count(CanaryFacts::State::failing);
        core::Duration slowest{};
        for (const auto& edge : facts.canary->edges) {
            slowest = std::max(slowest, edge.took.value_or(slowest));
        }
        const auto of = std::to_string(well) + " of " +
                        core::counted(facts.canary->edges.size(), "edge", "edges");
        if (tried == 0) return "The canary makes its first push.";
        // A POST that gets to no endpoint says nothing, unless none is alive.
        const bool nobody_takes = facts.log_problem.empty() && !alive(facts, "endpoint");
        if (well == 0 && nobody_takes) return "Push does not work.";
        if (well == 0) return head_of_failures(*facts.canary);
        return (well == tried ? "Push works: " : "Push works in part: ") + of +
               (well == 1 ? " answers in " : " answer in ") + ms_text(slowest) + ".";
    }
    if (!facts.log_problem.empty()) return "Push does not work.";
    for (const auto& need : kNeeds) {
        if (std::string_view{need.role} != "retry" && !alive(facts, need.role)) {
            return "Push does not work.";
        }
    }
    const bool well =
        std::ranges::none_of(findings, [](const auto& one) { return one.level == Level::bad; });
    return std::string{well ? "Nothing is known to be wrong" : "Push may not work"} +
           "; no canary measures whether push works.";
}

}  // namespace

std::optional<double> free_share(const ProcessFacts& one) {
    const auto free = one.gauges.find("disk_free");
    const auto size = one.gauges.find("disk_size");
    if (free == one.gauges.end() || size == one.gauges.end() || size->second <= 0) return {};
    return free->second / size->second;
}

Level disk_level(const ProcessFacts& one) {
    if (!free_share(one)) return Level::ok;
    switch (core::disk_level(one.gauges.at("disk_free"), one.gauges.at("disk_size"))) {
        case core::DiskLevel::ok: break;
        case core::DiskLevel::filling: return Level::warning;
        case core::DiskLevel::full: return Level::bad;
    }
    return Level::ok;
}

Verdict judge(const Installation& facts) {
    Findings found;
    const bool silent = !facts.log_problem.empty();
    if (silent) {
        judge_log(facts, found);
    } else {
        judge_log_of_processes(facts, found);
        judge_roles(facts, found);
        judge_partitions(facts, found);
        judge_load(facts, found);
        judge_groups(facts, found);
    }
    for (const auto& one : facts.processes) {
        if (silent) break;
        judge_gone(facts, one, found);
        judge_disk(one, found);  // before what may follow from it
        judge_ready(one, found);
        judge_clock(one, found);
        judge_certificate(one, found);
    }
    if (!silent) judge_warnings(facts, found);
    judge_canary(facts, found);  // after what may be its cause
    judge_webhooks(facts, found);
    judge_deliveries(facts, found);
    std::ranges::stable_sort(found, std::greater{}, &Finding::level);
    Verdict out{.level = found.empty() ? Level::ok : found.front().level,
                .sentence = head_of(facts, found),
                .findings = {}};
    // Whether pushes arrive has been said; why they do not is told by their cause, if that is
    // known.
    const bool cause_known = found.size() > 1 && found.front().page != kCanaryPage;
    std::size_t left_out = 0;
    std::size_t said = 0;
    for (const auto& one : found) {
        if (one.page == kCanaryPage && cause_known) continue;
        if (said < kSentenceMax) {
            out.sentence += ' ' + one.what;
            ++said;
        } else {
            ++left_out;
        }
    }
    if (left_out > 0) {
        out.sentence +=
            ' ' + core::counted(left_out, "more thing is", "more things are") + " wrong.";
    }
    out.findings = std::move(found);
    return out;
}

}  // namespace beckon::console
