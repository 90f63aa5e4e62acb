#include "cli/topics/topics_command.hpp"

#include "cli/roles/process.hpp"
#include "cli/topics/topics_tool.hpp"
#include "core/key_ring.hpp"

#include <iostream>

namespace beckon::cli {

namespace {

/// The broker, the tool's options, and the outcome as an exit code.
struct Topics {
    Topics(Config config, bool dry_run) {
        if (config.kafka.bootstrap_servers.empty()) {
            throw StartupError(
                "kafka.servers is not set: name the brokers with --kafka-servers HOST:PORT");
        }
        config.kafka.client_id = core::NodeId::random().text;
        admin = log::open_kafka_admin(config.kafka);
        log = log::open_kafka_log(config.kafka);
        options.prefix = config.kafka.prefix;
        options.layout = config.layout;
        options.dry_run = dry_run;
    }
    std::unique_ptr<log::TopicsAdmin> admin;
    std::unique_ptr<log::EventLog> log;
    TopicsToolOptions options;
};

int exit_code(const core::Result<void>& done) {
    if (done) return 0;
    std::cerr << "beckon: " << done.error().message << "\n";
    return 1;
}

}  // namespace

int topics_create(Config config, bool dry_run) {
    // Without a ring there is nothing that the roles could be held to: topics can be made first.
    const auto ring = core::KeyRing::load(config.key_ring_file());
    if (!ring && ring.error().fault != core::Fault::not_found) {
        throw StartupError(ring.error().message);
    }
    Topics topics{std::move(config), dry_run};
    if (ring) topics.options.keyring_fingerprint = ring->fingerprint();
    return exit_code(create_topics(*topics.admin, *topics.log, topics.options, std::cout));
}

int topics_describe(Config config) {
    Topics topics{std::move(config), false};
    return exit_code(describe_topics(*topics.admin, *topics.log, topics.options, std::cout));
}

int topics_destroy(Config config, bool dry_run) {
    Topics topics{std::move(config), dry_run};
    return exit_code(destroy_topics(*topics.admin, topics.options, std::cout));
}

}  // namespace beckon::cli
