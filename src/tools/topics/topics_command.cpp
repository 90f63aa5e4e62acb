#include "app/command_line.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "app/process/broker_wait.hpp"
#include "app/process/process.hpp"
#include "core/key_ring.hpp"
#include "core/time_text.hpp"
#include "tools/commands.hpp"
#include "tools/topics/topic_forms.hpp"
#include "tools/topics/topics_tool.hpp"

#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>

namespace beckon::tools {

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
                                 std::this_thread::sleep_for(pause);
                                 return 0;  // a signal ends the command
                             }};
        for (auto asked = admin->describe(); !asked; asked = admin->describe()) {
            wait.after(asked.error());
        }
    }
};

int exit_code(const core::Result<void>& done) {
    if (done) return 0;
    std::cerr << "beckon: " << done.error().message << "\n";
    return 1;
}

struct CreateOptions {
    bool dry_run = false;
    bool new_log = false;
    std::optional<TopicForm> print{};
};

int topics_create(app::Config config, const CreateOptions& create) {
    if (create.print) {  // no broker is asked
        std::cout << print_topics(log::topic_table(config.layout), config.kafka.prefix,
                                  *create.print);
        return 0;
    }
    // Without a ring there is nothing that the roles could be held to: topics can be made first.
    const auto ring = config.load_key_ring();
    if (!ring && ring.error().fault != core::Fault::not_found) {
        throw app::StartupError(ring.error().message);
    }
    const auto file = config.key_ring_file().string();
    Topics topics{std::move(config), create.dry_run};
    if (ring) topics.options.keyring_fingerprint = ring->fingerprint();
    if (ring && !create.new_log &&
        app::is_older_than_log(*ring, core::time_text_in_seconds(core::SystemClock{}.wall()))) {
        topics.options.no_new_log =
            "there are no log topics with this prefix, but the key ring " + file +
            " is older than a new log would be: on an empty log every sender would get 410, as if "
            "its subscription were gone. Is this the right cluster and --kafka-prefix? For a new "
            "installation, pass --new-log once";
    }
    return exit_code(create_topics(*topics.admin, *topics.log, topics.options, std::cout));
}

int topics_describe(app::Config config) {
    Topics topics{std::move(config), false};
    return exit_code(describe_topics(*topics.admin, *topics.log, topics.options, std::cout));
}

int topics_destroy(app::Config config, bool dry_run) {
    Topics topics{std::move(config), dry_run};
    return exit_code(destroy_topics(*topics.admin, topics.options, std::cout));
}

void add_topics_create(app::CommandLine& line, CLI::App& topics) {
    static CreateOptions options;
    auto& command = line.add_configured(
        topics, "create", "Create missing topics; a second call changes nothing",
        app::Reader::topics, [](app::Config config, const app::Sources&) {
            return topics_create(std::move(config), options);
        });
    command.add_flag("--dry-run", options.dry_run, "Only show what would be done");
    command.add_flag("--new-log", options.new_log,
                     "Make a new log for a key ring that was in use before");
    static const std::map<std::string, TopicForm> forms{{"kafka-topics", TopicForm::kafka_topics},
                                                        {"strimzi", TopicForm::strimzi},
                                                        {"terraform", TopicForm::terraform}};
    command
        .add_option_function<std::string>(
            "--print", [](const std::string& form) { options.print = forms.at(form); },
            "Only print the topics, for others who make them: kafka-topics, strimzi or terraform")
        ->check(CLI::IsMember({"kafka-topics", "strimzi", "terraform"}))
        ->type_name("FORM");
}

int topics_adopt(app::Config config, bool dry_run) {
    Topics topics{std::move(config), dry_run};
    return exit_code(adopt_topics(*topics.admin, *topics.log, topics.options, std::cout));
}

void add_adopt(app::CommandLine& line, CLI::App& topics) {
    static bool dry_run = false;
    line.add_configured(topics, "adopt",
                        "Make a copy of the topics at another cluster a log of its own, before a "
                        "role starts there",
                        app::Reader::topics,
                        [](app::Config config, const app::Sources&) {
                            return topics_adopt(std::move(config), dry_run);
                        })
        .add_flag("--dry-run", dry_run, "Only show what would be done");
}

void add_destroy(app::CommandLine& line, CLI::App& topics) {
    static bool dry_run = false;
    line.add_configured(topics, "destroy", "Delete all topics of a prefix that begins with 'test'",
                        app::Reader::topics,
                        [](app::Config config, const app::Sources&) {
                            return topics_destroy(std::move(config), dry_run);
                        })
        .add_flag("--dry-run", dry_run, "Only show what would be done");
}

}  // namespace

void add_topics_command(app::CommandLine& line) {
    auto& topics =
        line.add_group("topics", "Create, describe, adopt or destroy the log topics on Kafka");
    add_topics_create(line, topics);
    line.add_configured(
        topics, "describe", "Show topics, settings and differences", app::Reader::topics,
        [](app::Config config, const app::Sources&) { return topics_describe(std::move(config)); });
    add_adopt(line, topics);
    add_destroy(line, topics);
}

}  // namespace beckon::tools
