#include "tools/topics/topics_tool.hpp"

#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "app/installation/installation.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "app/process/broker_wait.hpp"
#include "app/process/process.hpp"
#include "core/ascii.hpp"
#include "core/ids.hpp"
#include "core/key_ring.hpp"
#include "core/time_text.hpp"
#include "log/control.hpp"
#include "log/read_partition.hpp"
#include "tools/commands.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

namespace beckon::tools {

using core::Fault;
using log::Control;
using log::EventLog;
using log::Existing;
using log::Topic;
using log::TopicsAdmin;

namespace {

std::string tiers_text(const std::vector<std::chrono::seconds>& tiers) {
    if (tiers.empty()) return "none";
    return core::joined(tiers, " ", [](auto delay) { return std::to_string(delay.count()) + "s"; });
}

std::string fingerprint_text(const std::optional<std::string>& fingerprint) {
    return fingerprint.value_or("none");
}

/// The settings with which the topics were made beside those of the configuration.
std::string mismatch(const Control& control, const TopicsToolOptions& options) {
    std::string text;
    const auto compare = [&](const std::string& what, const std::string& is,
                             const std::string& asked) {
        if (is != asked) {
            text += (text.empty() ? "" : "; ") + what + ": " + is + " in control, " + asked +
                    " asked for";
        }
    };
    if (options.layout.partitions != 0) {
        compare("partitions", std::to_string(control.partitions),
                std::to_string(options.layout.partitions));
    }
    compare("tiers", tiers_text(control.tiers), tiers_text(options.layout.tiers));
    if (options.keyring_fingerprint && control.keyring_fingerprint) {
        compare("key ring", fingerprint_text(control.keyring_fingerprint),
                fingerprint_text(options.keyring_fingerprint));
    }
    return text;
}

/// `control` as it is; nullopt before the first create.
core::Result<std::optional<Control>> known_control(EventLog& log, const Existing& existing,
                                                   std::chrono::milliseconds timeout) {
    if (!existing.contains(Topic::kControl)) return std::optional<Control>{};
    auto control = log::read_control(log, timeout);
    if (control) return std::optional{std::move(*control)};
    if (control.error().fault == Fault::not_found) return std::optional<Control>{};
    return core::fail(control.error());
}

/// The requested layout; what it leaves open is taken from the existing one.
log::LayoutOptions layout_for(log::LayoutOptions asked, const Existing& existing,
                              const std::optional<Control>& control) {
    if (control) return app::layout_of(std::move(asked), *control);
    if (asked.partitions != 0) return asked;
    const auto made = existing.find(Topic::kNotifications);
    asked.partitions = made == existing.end() ? log::kDefaultPartitions : made->second.partitions;
    return asked;
}

/// Whether stores that were folded from the log do not belong to it any more. Their checkpoints are
/// offsets, which the topics that are made now have again.
bool is_another_log(const log::TopicsPlan& planned) {
    return std::ranges::any_of(planned.missing, [](const auto& spec) {
        return spec.topic == Topic::kNotifications || spec.topic == Topic::kSubscriptions ||
               spec.topic == Topic::kReliability;
    });
}

/// Kafka adds partitions to a topic at anybody's wish; `control` keeps the number.
void print_unused_partitions(const log::TopicsPlan& planned, const std::string& prefix,
                             std::ostream& out) {
    for (const auto& difference : planned.differences) {
        if (difference.what != "partitions" || difference.essential) continue;
        out << "note: " << prefix << difference.topic.name() << " has " << difference.is
            << " partitions, and this log uses " << difference.expected
            << " of them: the others stay empty\n";
    }
}

/// How to remove topics that are not as Beckon needs them and never had a record: a program that
/// only asks for a topic makes it where the brokers allow that. Empty: there are none.
std::string advice(EventLog& log, const log::TopicsPlan& planned, const Existing& existing,
                   const TopicsToolOptions& options) {
    std::string commands;
    for (const auto& [topic, spec] : existing) {
        const bool wrong = std::ranges::any_of(
            planned.differences,
            [&topic = topic](const auto& one) { return one.essential && one.topic == topic; });
        if (!wrong) continue;
        std::vector<log::TopicPartition> all;
        all.reserve(static_cast<std::size_t>(spec.partitions));
        for (core::Partition p = 0; p < spec.partitions; ++p) all.push_back({topic, p});
        const auto ends = log::ends_of(log, all, options.timeout);
        const bool unused =
            ends && ends->size() == all.size() &&
            std::ranges::all_of(*ends, [](const auto& one) { return one.second.end == 0; });
        if (!unused) continue;
        commands += "; kafka-topics --delete --topic " + options.prefix + topic.name();
    }
    if (commands.empty()) return {};
    return ". Topics that never had a record were made by a program that asked for them "
           "(auto.create.topics.enable). Delete them, and give this command again" +
           commands;
}

void print(const Control& control, std::ostream& out) {
    out << "log id " << control.log_id << ", created " << control.created << ", "
        << control.partitions << " partitions, tiers " << tiers_text(control.tiers) << ", key ring "
        << fingerprint_text(control.keyring_fingerprint) << '\n';
}

}  // namespace

core::Result<void> create_topics(TopicsAdmin& admin, EventLog& log,
                                 const TopicsToolOptions& options, std::ostream& out) {
    const auto existing = admin.describe();
    if (!existing) return core::fail(existing.error());
    const auto previous = known_control(log, *existing, options.timeout);
    if (!previous) return core::fail(previous.error());
    if (*previous) {
        if (const auto text = mismatch(**previous, options); !text.empty()) {
            return core::fail(Fault::conflict,
                              "the log topics were made otherwise, nothing is changed: " + text);
        }
    }
    const auto cluster = admin.cluster_id();
    if (!cluster) return core::fail(cluster.error());
    if (*previous) {
        if (auto here = log::check_cluster(admin, (**previous).cluster); !here) return here;
    }
    if (!*previous && options.no_new_log) return core::fail(Fault::invalid, *options.no_new_log);
    const auto layout = layout_for(options.layout, *existing, *previous);
    const auto planned = log::plan(log::topic_table(layout), *existing);
    out << to_string(planned, options.prefix);
    print_unused_partitions(planned, options.prefix, out);
    if (options.layout.replication_factor == 1) {
        out << "note: one copy of each partition is for a trial: messages that were answered 201 "
               "are lost with their broker. Every role then needs --replication-factor 1\n";
    }
    if (const auto text = log::essential_differences(planned, options.prefix); !text.empty()) {
        return core::fail(Fault::conflict,
                          "existing log topics are not as Beckon needs them, nothing is changed: " +
                              text + advice(log, planned, *existing, options));
    }
    Control control{.log_id = core::to_hex(core::random_uuid4()),
                    .created = core::time_text_in_seconds(core::SystemClock{}.wall()),
                    .partitions = layout.partitions,
                    .tiers = layout.tiers,
                    .keyring_fingerprint = options.keyring_fingerprint};
    if (*previous) {
        auto fingerprint = std::exchange(control, **previous).keyring_fingerprint;
        if (!control.keyring_fingerprint) control.keyring_fingerprint = std::move(fingerprint);
    }
    control.cluster = *cluster;
    if (*previous && is_another_log(planned)) {
        control.log_id = core::to_hex(core::random_uuid4());
        out << "topics from which stores are folded were deleted: the log is another one from now "
               "on. Restart every role: each sets its store aside and folds it from the log\n";
    }
    if (options.dry_run) {
        out << (control == *previous ? "control stays as it is\n" : "control would be written\n")
            << "dry run: nothing was changed\n";
        return {};
    }
    if (auto created = admin.create(planned.missing); !created) return created;
    auto written = log::write_control(log, control, *previous, options.timeout);
    if (!written) return written;
    print(control, out);
    return {};
}

core::Result<void> describe_topics(TopicsAdmin& admin, EventLog& log,
                                   const TopicsToolOptions& options, std::ostream& out) {
    const auto existing = admin.describe();
    if (!existing) return core::fail(existing.error());
    const auto control = known_control(log, *existing, options.timeout);
    if (!control) return core::fail(control.error());
    if (*control) print(**control, out);
    const auto layout = layout_for(options.layout, *existing, *control);
    for (const auto& [topic, spec] : *existing) out << to_string(spec, options.prefix) << '\n';
    const auto found = log::plan(log::topic_table(layout), *existing);
    for (const auto& difference : found.differences) {
        out << (difference.essential ? "WRONG   " : "differs ")
            << to_string(difference, options.prefix) << '\n';
    }
    if (!found.missing.empty()) {
        const auto names = core::joined(found.missing, ", ", [&](const log::TopicSpec& spec) {
            return options.prefix + spec.topic.name();
        });
        return core::fail(Fault::not_found,
                          "log topics are missing: " + names + ": run `beckon topics create`");
    }
    if (const auto wrong = log::essential_differences(found, options.prefix); !wrong.empty()) {
        return core::fail(Fault::conflict, "log topics are not as Beckon needs them: " + wrong);
    }
    return {};
}

core::Result<void> destroy_topics(TopicsAdmin& admin, const TopicsToolOptions& options,
                                  std::ostream& out) {
    if (!options.prefix.starts_with("test")) {
        return core::fail(Fault::invalid, "the prefix '" + options.prefix +
                                              "' does not start with 'test': only the log topics "
                                              "of tests can be destroyed");
    }
    const auto existing = admin.describe();
    if (!existing) return core::fail(existing.error());
    std::vector<Topic> topics;
    for (const auto& [topic, spec] : *existing) {
        topics.push_back(topic);
        out << (options.dry_run ? "would destroy " : "destroy ") << options.prefix << topic.name()
            << '\n';
    }
    if (topics.empty()) out << "there are no log topics with the prefix " << options.prefix << '\n';
    if (options.dry_run) {
        out << "dry run: nothing was changed\n";
        return {};
    }
    return admin.destroy(topics);
}

namespace {

/// Names of Kubernetes and Terraform take neither dots nor underscores.
std::string with_dashes(std::string name) {
    std::ranges::replace_if(
        name, [](char c) { return c == '.' || c == '_'; }, '-');
    return name;
}

std::string kafka_topics(const log::TopicSpec& topic, const std::string& name) {
    std::string text =
        "kafka-topics --bootstrap-server \"$KAFKA\" --create --if-not-exists --topic " + name +
        " \\\n    --partitions " + std::to_string(topic.partitions) + " --replication-factor " +
        std::to_string(topic.replication_factor);
    for (const auto& [setting, value] : topic.settings) {
        text += " \\\n    --config " + setting + "=" + value;
    }
    return text + "\n";
}

std::string strimzi(const log::TopicSpec& topic, const std::string& name) {
    std::string text =
        "---\napiVersion: kafka.strimzi.io/v1beta2\nkind: KafkaTopic\nmetadata:\n  name: " +
        with_dashes(name) +
        "\n  labels:\n    strimzi.io/cluster: my-cluster\nspec:\n  topicName: " + name +
        "\n  partitions: " + std::to_string(topic.partitions) +
        "\n  replicas: " + std::to_string(topic.replication_factor) + "\n  config:\n";
    for (const auto& [setting, value] : topic.settings) {
        text += "    " + setting + ": \"" + value + "\"\n";
    }
    return text;
}

std::string terraform(const log::TopicSpec& topic, const std::string& name) {
    std::string text =
        "resource \"kafka_topic\" \"" + with_dashes(name) + "\" {\n  name               = \"" +
        name + "\"\n  partitions         = " + std::to_string(topic.partitions) +
        "\n  replication_factor = " + std::to_string(topic.replication_factor) + "\n  config = {\n";
    for (const auto& [setting, value] : topic.settings) {
        text += "    \"" + setting + "\" = \"" + value + "\"\n";
    }
    return text + "  }\n}\n";
}

const std::map<std::string, std::string (*)(const log::TopicSpec&, const std::string&)> kForms{
    {"kafka-topics", kafka_topics}, {"strimzi", strimzi}, {"terraform", terraform}};

}  // namespace

std::string print_topics(const std::vector<log::TopicSpec>& topics, const std::string& prefix,
                         const std::string& form) {
    const auto print = kForms.at(form);
    std::string text;
    for (const auto& topic : topics) text += print(topic, prefix + topic.topic.name());
    return text;
}

namespace {

/// The broker, which answers, and the tool's options.
struct Topics {
    Topics(app::Config config, bool dry_run) {
        if (!config.on_kafka()) {
            throw app::StartupError(
                "kafka.servers is not set: name the brokers with --kafka-servers HOST:PORT");
        }
        config.kafka.client_id = core::NodeId::random().text;
        admin = log::open_kafka_admin(config.kafka);
        log = log::open_kafka_log(config.kafka);
        await_broker(config);
        options.prefix = config.kafka.prefix;
        options.layout = config.layout;
        options.dry_run = dry_run;
    }
    std::unique_ptr<log::TopicsAdmin> admin;
    std::unique_ptr<log::EventLog> log;
    TopicsToolOptions options;

private:
    /// A broker that was started beside this command may need a moment.
    void await_broker(const app::Config& config) const {
        app::BrokerWait wait{config, [](std::chrono::milliseconds pause) {
                                 std::this_thread::sleep_for(pause);  // a signal ends the command
                             }};
        for (auto asked = admin->describe(); !asked; asked = admin->describe()) {
            wait.pause_after(asked.error());
        }
    }
};

using Work = core::Result<void> (*)(Topics& topics, std::ostream& out);

/// Prints what the work has written, as it stands in the log and with the brokers.
int run(Topics topics, Work work) {
    std::ostringstream out;
    const auto done = work(topics, out);
    app::print_text(out.str());
    if (done) return app::kDone;
    app::print_error("beckon: " + done.error().message);
    return app::kFailed;
}

struct CreateOptions {
    bool dry_run = false;
    bool new_log = false;
    std::string print{};  ///< a form; empty: the topics are made
};

int topics_create(const app::Config& config, const CreateOptions& create) {
    if (!create.print.empty()) {  // no broker is asked
        app::print_text(
            print_topics(log::topic_table(config.layout), config.kafka.prefix, create.print));
        return 0;
    }
    // Without a ring there is nothing that the roles could be held to: topics can be made first.
    const auto ring = config.load_key_ring();
    if (!ring && ring.error().fault != core::Fault::not_found) {
        throw app::StartupError(ring.error().message);
    }
    const auto file = config.key_ring_file().string();
    Topics topics{config, create.dry_run};
    if (ring) topics.options.keyring_fingerprint = ring->fingerprint();
    if (ring && !create.new_log &&
        app::is_older_than_log(*ring, core::time_text_in_seconds(core::SystemClock{}.wall()))) {
        topics.options.no_new_log =
            "there are no log topics with this prefix, but the key ring " + file +
            " is older than a new log would be: on an empty log every sender would get 410, as if "
            "its subscription were gone. Is this the right cluster and --kafka-prefix? For a new "
            "installation, pass --new-log once";
    }
    return run(std::move(topics), [](Topics& made, std::ostream& out) {
        return create_topics(*made.admin, *made.log, made.options, out);
    });
}

void add_topics_create(app::CommandLine& line, CLI::App& topics) {
    static CreateOptions options;
    auto& command = line.add(
        topics, "create", "Create missing topics; a second call changes nothing",
        app::Reader::topics, [](const auto& config) { return topics_create(config, options); });
    command.add_flag("--dry-run", options.dry_run, "Only show what would be done");
    command.add_flag("--new-log", options.new_log,
                     "Make a new log for a key ring that was in use before");
    command
        .add_option(
            "--print", options.print,
            "Only print the topics, for others who make them: kafka-topics, strimzi or terraform")
        ->check(CLI::IsMember({"kafka-topics", "strimzi", "terraform"}))
        ->type_name("FORM");
}

/// A command without options, or with --dry-run where it changes something.
void add_work(app::CommandLine& line, CLI::App& topics, const char* name, const char* help,
              Work work, bool* dry_run = nullptr) {
    auto& command =
        line.add(topics, name, help, app::Reader::topics, [work, dry_run](const auto& config) {
            return run({config, dry_run && *dry_run}, work);
        });
    if (dry_run) command.add_flag("--dry-run", *dry_run, "Only show what would be done");
}

}  // namespace

void add_topics_command(app::CommandLine& line) {
    auto& topics =
        line.add_group("topics", "Create, describe, adopt or destroy the log topics on Kafka");
    add_topics_create(line, topics);
    static bool dry_run = false;
    add_work(line, topics, "describe", "Show topics, settings and differences",
             [](Topics& there, std::ostream& out) {
                 return describe_topics(*there.admin, *there.log, there.options, out);
             });
    add_work(
        line, topics, "adopt",
        "Make a copy of the topics at another cluster a log of its own, before a role starts there",
        [](Topics& there, std::ostream& out) {
            return adopt_topics(*there.admin, *there.log, there.options, out);
        },
        &dry_run);
    add_work(
        line, topics, "destroy", "Delete all topics of a prefix that begins with 'test'",
        [](Topics& there, std::ostream& out) {
            return destroy_topics(*there.admin, there.options, out);
        },
        &dry_run);
}

}  // namespace beckon::tools
