#include "tools/doctor/reach_checks.hpp"

#include "app/installation/installation.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "app/process/process.hpp"
#include "console/overview/verdict.hpp"
#include "core/json_text.hpp"
#include "core/setup_error.hpp"
#include "fetch/transfer.hpp"
#include "log/topics_admin.hpp"
#include "tools/doctor/rights_check.hpp"
#include "tools/running/ops_client.hpp"
#include "tools/running/ownership.hpp"
#include "tools/running/tool_log.hpp"

#include <chrono>
#include <exception>

namespace beckon::tools {

namespace {

constexpr std::chrono::seconds kTimeout{10};
constexpr std::size_t kReplyBytesMax = 64U << 10;
/// VAPID tokens are judged by the clock, and a TTL of seconds too.
constexpr std::chrono::seconds kSkewMax{5};

std::size_t note_date(char* data, std::size_t size, std::size_t count, void* user) noexcept {
    const std::string_view line{data, size * count};
    constexpr std::string_view kDate = "date:";
    if (line.size() > kDate.size() && (line[0] == 'd' || line[0] == 'D') &&
        line.substr(1, 4) == kDate.substr(1)) {
        *static_cast<std::string*>(user) = line.substr(kDate.size());
    }
    return size * count;
}

Finding skew_of(const std::string& date, core::Timestamp now) {
    const auto seconds = curl_getdate(date.c_str(), nullptr);
    if (date.empty() || seconds < 0) {
        return {Verdict::unknown, "clocks", "the public URL names no date", ""};
    }
    const auto there = core::Timestamp{std::chrono::seconds{seconds}};
    const auto apart = std::chrono::duration_cast<std::chrono::seconds>(now - there);
    const auto detail = "this host's is " + std::to_string(apart.count()) +
                        " s ahead of the one behind the public URL";
    if (std::chrono::abs(apart) <= kSkewMax) return {.what = "clocks", .detail = detail};
    return {Verdict::doubtful, "clocks", detail, "let a time service keep both"};
}

Finding fingerprint_finding(const app::Config& config, const log::Control& control) {
    const auto ring = config.load_key_ring();
    if (!ring || !control.keyring_fingerprint) {
        return {Verdict::unknown, "key ring of the log", "there is nothing to compare", ""};
    }
    switch (app::match(*ring, *control.keyring_fingerprint)) {
        case app::RingMatch::same:
            return {.what = "key ring of the log", .detail = "it is the one that the log names"};
        case app::RingMatch::grown:
            return {Verdict::doubtful, "key ring of the log",
                    "it has keys that the log does not name yet",
                    "restart the roles one by one, all with this key ring"};
        case app::RingMatch::other: break;
    }
    return {Verdict::bad, "key ring of the log",
            "it lacks keys of the one that the log names: " + *control.keyring_fingerprint,
            "name the installation's newest key ring with --key-ring; without keys of it, senders "
            "would get 410, as if their subscriptions were gone"};
}

Findings topics_findings(const app::Config& config, const log::Control& control) {
    const auto admin = log::open_kafka_admin(config.kafka);
    const auto existing = admin->describe();
    if (!existing) {
        const bool forbidden = existing.error().fault == core::Fault::unauthorized;
        return {{Verdict::bad, "log topics", existing.error().message,
                 forbidden ? "the broker's ACLs must allow Describe and DescribeConfigs on topics "
                             "with this prefix"
                           : "look at the brokers"}};
    }
    const auto found =
        log::plan(log::topic_table(app::layout_of(config.layout, control)), *existing);
    Findings findings;
    if (const auto here = log::check_cluster(*admin, control.cluster); !here) {
        findings.push_back({Verdict::bad, "log", here.error().message, "beckon topics adopt"});
    }
    for (const auto& spec : found.missing) {
        findings.push_back({Verdict::bad, "log topics",
                            config.kafka.prefix + spec.topic.name() + " is missing",
                            "beckon topics create"});
    }
    for (const auto& difference : found.differences) {
        findings.push_back({difference.essential ? Verdict::bad : Verdict::doubtful, "log topics",
                            log::to_string(difference, config.kafka.prefix),
                            difference.essential ? "no role starts so: set it as expected"
                                                 : "set it as expected, unless you mean it"});
    }
    if (findings.empty()) {
        findings.push_back({.what = "log topics",
                            .detail = std::to_string(existing->size()) + ", all as expected"});
    }
    return findings;
}

/// Which processes live, and what they report of themselves: in the console's words.
Findings process_findings(const app::Config& config, const log::Control& control,
                          log::EventLog& log) {
    Ownership ownership{{.partitions = control.partitions}, log};
    if (const auto read = ownership.read(kTimeout); !read) {
        return {{Verdict::unknown, "processes", read.error().message, ""}};
    }
    auto& view = ownership.view();
    const console::Installation facts{.complete = true,
                                      .processes = view.processes(config.layout.history_window),
                                      .homeless = view.homeless(),
                                      .hot = view.hot()};
    if (facts.processes.empty()) {
        return {{Verdict::unknown, "processes", "none has reported itself yet", ""}};
    }
    Findings findings;
    for (const auto& one : console::judge(facts).findings) {
        findings.push_back({one.level == console::Level::bad ? Verdict::bad : Verdict::doubtful,
                            "processes", one.what, one.todo});
    }
    if (findings.empty()) {
        findings.push_back({.what = "processes",
                            .detail = std::to_string(facts.processes.size()) + ", all are well"});
    }
    return findings;
}

}  // namespace

Findings check_log(app::Config config, std::optional<app::Reader> role) {
    const bool kafka = config.on_kafka();
    const std::string where = kafka ? config.kafka.bootstrap_servers : config.data.string();
    try {
        ToolLog log{config};
        const auto& control = log.control();
        Findings findings{{.what = "log",
                           .detail = where + ": log " + control.log_id + ", " +
                                     std::to_string(control.partitions) + " partitions"},
                          fingerprint_finding(config, control)};
        if (kafka) {
            append(findings, topics_findings(config, control));
            append(findings, role ? check_rights(config, control, *role)
                                  : process_findings(config, control, log.log()));
        }
        return findings;
    } catch (const core::SetupError& error) {
        return {{Verdict::bad, "log", where + ": " + error.what(), "correct what it names"}};
    } catch (const std::exception& error) {
        return {{Verdict::bad, "log", where + ": " + error.what(),
                 kafka ? "name the brokers with --kafka-servers, and look whether they run"
                       : "name the data directory with --data, the port with --ops-port"}};
    }
}

Finding check_process(const app::Config& config, bool needed) {
    const auto reply = OpsConnection{config.ops, {}}.get("/ready");
    if (!reply) {
        return {needed ? Verdict::bad : Verdict::unknown, "process", reply.error().message,
                needed ? "" : "start it, or name its port"};
    }
    const auto page = core::parse_json(reply->body);
    if (reply->status == 200) {
        return {.what = "process",
                .detail = "ready, version " +
                          (page.is_object() ? page.value("version", "unknown") : "unknown")};
    }
    const auto why = page.is_object() && page.contains("faults")
                         ? core::json_text(page.at("faults"))
                         : std::to_string(reply->status);
    return {Verdict::bad, "process", "not ready: " + why,
            "docs/operations/kubernetes.md explains each reason"};
}

Findings check_public_url(const std::string& origin, core::Timestamp now) {
    const auto url = origin + "/__lbheartbeat__";
    const auto curl = fetch::make_easy();
    std::string date;
    curl_easy_setopt(curl.get(), CURLOPT_HEADERFUNCTION, note_date);
    curl_easy_setopt(curl.get(), CURLOPT_HEADERDATA, &date);
    fetch::Transfer transfer{curl.get(),
                             {.url = url, .timeout = kTimeout, .body_bytes_max = kReplyBytesMax}};
    const auto answer = transfer.perform();
    if (!answer) {
        return {{Verdict::bad, "public URL", origin + ": " + answer.error().message,
                 "senders use this origin: its name, port, certificate and proxy must work from "
                 "outside, and from here"}};
    }
    if (answer->status != 200) {
        return {{Verdict::bad, "public URL", origin + " answers " + std::to_string(answer->status),
                 "the server there is not Beckon's HTTP API, or the proxy cannot reach it"}};
    }
    return {{.what = "public URL", .detail = origin + " answers"}, skew_of(date, now)};
}

}  // namespace beckon::tools
