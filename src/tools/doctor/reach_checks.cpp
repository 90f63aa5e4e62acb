#include "tools/doctor/reach_checks.hpp"

#include "app/config/config.hpp"
#include "app/config/reader.hpp"
#include "app/installation/installation.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "app/process/process.hpp"
#include "console/overview/verdict.hpp"
#include "core/clock.hpp"
#include "core/ids.hpp"
#include "core/json_text.hpp"
#include "core/setup_error.hpp"
#include "fetch/transfer.hpp"
#include "log/blocking_executor.hpp"
#include "log/control.hpp"
#include "log/event_log.hpp"
#include "log/kafka/kafka_log.hpp"
#include "log/read_partition.hpp"
#include "log/topics_admin.hpp"
#include "records/barrier.hpp"
#include "tools/running/ops_client.hpp"
#include "tools/running/ownership.hpp"
#include "tools/running/tool_log.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace beckon::tools {

namespace {

/// What a role does with the log (docs/operations/rights.md#rights-on-a-locked-kafka).
struct RoleRights {
    std::vector<log::Topic> reads;
    std::vector<log::Topic> writes;
    std::string groups;  ///< the beginning of the names of its groups, without prefix; empty: none
};

using app::Reader;
using core::Fault;
using log::Topic;

constexpr std::chrono::seconds kAnswerMax{10};
constexpr std::chrono::milliseconds kLookEvery{20};
/// The partition that is tried: rights are by topic.
constexpr core::Partition kTried = 0;

/// The topics of the delay tiers, of dead letters and of what is finished.
std::vector<Topic> retry_topics(const std::vector<std::chrono::seconds>& delays) {
    std::vector<Topic> topics{Topic::kRetryDead, Topic::kRetryDone};
    for (auto at = delays.begin(); at != delays.end(); ++at) {
        // Equal delays share the topic of the first of them.
        if (std::find(delays.begin(), at, *at) != at) continue;
        topics.push_back(Topic::retry(static_cast<int>(at - delays.begin())));
    }
    return topics;
}

std::vector<Topic> operator+(std::vector<Topic> topics, const std::vector<Topic>& more) {
    topics.insert(topics.end(), more.begin(), more.end());
    return topics;
}

class Trial {
public:
    Trial(const app::Config& config, const RoleRights& rights)
        : log_(log::open_kafka_log(config.kafka)),
          publisher_(log_->open_publisher(executor_)),
          prefix_(config.kafka.prefix),
          node_(core::NodeId::random().text) {
        for (const auto topic : rights.writes) write(topic);
        for (const auto topic : rights.reads) read(topic);
        if (!rights.groups.empty()) join(rights.groups + ".doctor");
    }

    /// By topic or group and operation.
    std::map<std::string, core::Result<void>> outcome() {
        const auto until = clock_.mono() + kAnswerMax;
        const auto all = [this] {
            return std::ranges::all_of(outcome_,
                                       [](const auto& one) { return one.second.has_value(); });
        };
        while (clock_.mono() < until && !all()) {
            for (auto& [what, reader] : readers_) look(what, reader);
            look_at_group();
            executor_.wait_until(all, clock_.mono() + kLookEvery);
        }
        std::map<std::string, core::Result<void>> found;
        for (const auto& [what, answer] : outcome_) {
            found.emplace(what, answer.value_or(core::fail(Fault::timed_out, "no answer")));
        }
        return found;
    }

private:
    void write(Topic topic) {
        const auto what = "Write on the topic " + prefix_ + topic.name();
        outcome_[what];
        publisher_->publish({topic, kTried}, core::encode(core::BarrierRecord{.node = node_}),
                            [this, what](const core::Result<log::Appended>& done) {
                                outcome_[what] =
                                    done ? core::Result<void>{} : core::fail(done.error());
                            });
    }

    void read(Topic topic) {
        const auto what = "Read on the topic " + prefix_ + topic.name();
        outcome_[what];
        const auto ends = log::ends_of(*log_, log::TopicPartition{topic, kTried}, kAnswerMax);
        if (!ends) {
            outcome_[what] = core::fail(ends.error());
            return;
        }
        readers_[what] = log_->open_reader({topic, kTried}, ends->end, executor_, [] {});
    }

    void look(const std::string& what, std::unique_ptr<log::PartitionReader>& reader) {
        if (!reader) return;
        const auto taken = reader->take(1, [](const core::RecordView&) {});
        if (taken) {
            outcome_[what] = core::Result<void>{};
        } else if (!taken.error().retryable()) {
            outcome_[what] = core::fail(taken.error());
        } else {
            return;
        }
        reader.reset();
    }

    void join(const std::string& group) {
        group_ = prefix_ + group;
        const auto what = right_to_join();
        outcome_[what];
        member_ = log_->join({.group = group, .self = core::NodeId{node_}}, executor_,
                             [this, what](const log::Members& members) {
                                 const auto& alive = members.alive;
                                 const auto self = std::ranges::find(alive, core::NodeId{node_});
                                 if (self != alive.end()) outcome_[what] = core::Result<void>{};
                             });
    }
    std::string right_to_join() const { return "Read on the group " + group_; }

    /// A refusal ends no join: its member tries again.
    void look_at_group() {
        if (group_.empty() || !log::has_refused_group(*log_, group_)) return;
        const auto what = right_to_join();
        outcome_[what] = core::fail(Fault::unauthorized, "the broker refuses " + what);
    }

    const core::SystemClock clock_;
    log::BlockingExecutor executor_;
    const std::unique_ptr<log::EventLog> log_;
    const std::unique_ptr<log::Publisher> publisher_;
    const std::string prefix_;
    const std::string node_;
    std::string group_;  ///< the one to join, its whole name; empty: the role has none
    std::map<std::string, std::optional<core::Result<void>>> outcome_;
    std::map<std::string, std::unique_ptr<log::PartitionReader>> readers_;
    std::unique_ptr<log::Member> member_;
};

/// `delays`: those of the installation (Control::tiers).
RoleRights rights_of(Reader role, const std::vector<std::chrono::seconds>& delays) {
    switch (role) {
        case Reader::endpoint:
            return {.reads = {Topic::kControl, Topic::kSubscriptions, Topic::kWebhooks,
                              Topic::kEvents, Topic::kReliabilityTotals, Topic::kOwnership},
                    .writes = {Topic::kControl, Topic::kNotifications, Topic::kSubscriptions,
                               Topic::kEvents, Topic::kWebhooks, Topic::kReliability,
                               Topic::kReliabilityTotals, Topic::kOwnership},
                    .groups = "endpoint"};
        case Reader::edge:
            return {.reads = {Topic::kControl, Topic::kNotifications, Topic::kSubscriptions,
                              Topic::kOwnership, Topic::kBroadcasts, Topic::kWebhooks},
                    .writes = {Topic::kNotifications, Topic::kSubscriptions, Topic::kOwnership,
                               Topic::kBroadcasts, Topic::kEvents, Topic::kWebhooks,
                               Topic::kReliability},
                    .groups = "edge"};
        case Reader::retry:
            return {.reads = std::vector{Topic::kControl, Topic::kOwnership, Topic::kEvents,
                                         Topic::kWebhooks, Topic::kSubscriptions} +
                             retry_topics(delays),
                    .writes = std::vector{Topic::kOwnership, Topic::kEvents, Topic::kWebhooks,
                                          Topic::kSubscriptions, Topic::kNotifications,
                                          Topic::kReliability} +
                              retry_topics(delays),
                    .groups = "retry"};
        case Reader::reliability:
            return {.reads = {Topic::kControl, Topic::kOwnership, Topic::kReliability,
                              Topic::kReliabilityTotals},
                    .writes = {Topic::kOwnership, Topic::kReliability, Topic::kReliabilityTotals},
                    .groups = "reliability"};
        case Reader::console:
            return {.reads = std::vector{Topic::kControl, Topic::kNotifications,
                                         Topic::kSubscriptions, Topic::kOwnership,
                                         Topic::kBroadcasts, Topic::kEvents, Topic::kWebhooks,
                                         Topic::kReliability, Topic::kReliabilityTotals} +
                             retry_topics(delays),
                    .writes = {Topic::kReliabilityTotals, Topic::kOwnership},
                    .groups = {}};
        default: return {};
    }
}

/// Tries each of them: reads at the end of a topic, writes a read barrier, which every reader
/// passes over, and joins a group of its own for a moment. One finding for each topic or group that
/// is refused, with the operation; one that all is well otherwise. Blocks for some seconds.
Findings check_rights(const app::Config& config, const log::Control& control, Reader role) {
    Trial trial{config, rights_of(role, control.tiers)};
    Findings findings;
    const auto outcome = trial.outcome();
    for (const auto& [what, allowed] : outcome) {
        if (allowed) continue;
        const auto& error = allowed.error();
        const bool refused = error.fault == Fault::unauthorized;
        findings.push_back(
            {Verdict::bad, "rights",
             refused ? "the broker refuses " + what : what + ": " + error.message,
             refused
                 ? "grant it: docs/operations/rights.md#rights-on-a-locked-kafka has the commands"
                 : "look at the brokers"});
    }
    if (findings.empty()) {
        findings.push_back({.what = "rights",
                            .detail = std::to_string(outcome.size()) +
                                      " topics and groups, each with what the role does there"});
    }
    return findings;
}

constexpr std::chrono::seconds kCheckTimeout{10};
constexpr std::size_t kCheckBytesMax = 64U << 10;
/// VAPID tokens are judged by the clock, and a TTL of seconds too.
constexpr std::chrono::seconds kSkewMax{5};

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
Findings process_findings(const app::Config& config, ToolLog& log) {
    Ownership ownership{log};
    if (const auto read = ownership.read(kCheckTimeout); !read) {
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

void append(Findings& findings, const Findings& more) {
    findings.insert(findings.end(), more.begin(), more.end());
}

Findings check_log(const app::Config& config, std::optional<app::Reader> role) {
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
            append(findings,
                   role ? check_rights(config, control, *role) : process_findings(config, log));
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
    fetch::Transfer transfer{
        curl.get(), {.url = url, .timeout = kCheckTimeout, .body_bytes_max = kCheckBytesMax}};
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
    curl_header* date = nullptr;
    curl_easy_header(curl.get(), "Date", 0, CURLH_HEADER, -1, &date);
    return {{.what = "public URL", .detail = origin + " answers"},
            skew_of(date ? date->value : "", now)};
}

}  // namespace beckon::tools
