#pragma once

#include "core/result.hpp"
#include "log/event_log.hpp"
#include "log/topics_admin.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

/// The tool `beckon topics create | describe | destroy`: text to `out`, the outcome as a Result.
/// Blocking, main thread only.
namespace beckon::tools {

/// The topics as others make them from a repository. `form`: "kafka-topics", the commands of
/// Kafka's own tool; "strimzi", KafkaTopic resources of Kubernetes; "terraform", kafka_topic
/// resources of the provider Mongey/kafka. Pure.
std::string print_topics(const std::vector<log::TopicSpec>& topics, const std::string& prefix,
                         const std::string& form);

struct TopicsToolOptions {
    std::string prefix;
    log::LayoutOptions layout;
    std::optional<std::string> keyring_fingerprint;  ///< written to `control`, if given
    /// The error if a new log would have to be made, where that needs the operator's consent.
    std::optional<std::string> no_new_log;
    bool dry_run = false;
    std::chrono::milliseconds timeout{10'000};  ///< for reading and writing `control`
};

/// Creates missing topics and writes `control`, with a new log id the first time; prints its steps,
/// or with dry_run the steps that it would make. A second call changes nothing. Errors: invalid
/// (`no_new_log`), conflict (`control` or a topic says otherwise: nothing is changed, both values
/// are in the message), those of TopicsAdmin and of control.hpp.
core::Result<void> create_topics(log::TopicsAdmin& admin, log::EventLog& log,
                                 const TopicsToolOptions& options, std::ostream& out);

/// Makes a copy of the log topics at another cluster (Kafka's MirrorMaker) a log of its own: a new
/// log id, so that stores of the first are refused, and offsets of this cluster in `retry.done`:
/// the ones committed by the group `retry`, which the copy has translated, or the beginning. Prints
/// how many records are taken again. Nobody may serve the log meanwhile; done twice it changes
/// nothing. Errors: not_found (no copy is here), conflict (topics are not as Beckon needs them),
/// those of TopicsAdmin and of control.hpp.
core::Result<void> adopt_topics(log::TopicsAdmin& admin, log::EventLog& log,
                                const TopicsToolOptions& options, std::ostream& out);

/// Prints `control`, every topic with its settings, and all differences from the table. Errors:
/// not_found (topics are missing), conflict (no role would start with them), those of TopicsAdmin.
core::Result<void> describe_topics(log::TopicsAdmin& admin, log::EventLog& log,
                                   const TopicsToolOptions& options, std::ostream& out);

/// Deletes every log topic with the prefix, and all data with them. Errors: invalid (the prefix
/// does not start with `test`), those of TopicsAdmin.
core::Result<void> destroy_topics(log::TopicsAdmin& admin, const TopicsToolOptions& options,
                                  std::ostream& out);

}  // namespace beckon::tools
