#include "log/groups.hpp"
#include "log/kafka/assignment.hpp"
#include "log/kafka/client_conf.hpp"
#include "log/kafka/group_offsets.hpp"
#include "log/kafka/handles.hpp"
#include "log/kafka/kafka_events.hpp"
#include "log/kafka/metadata.hpp"
#include "log/kafka/report.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace beckon::log {

using core::Fault;
using namespace kafka;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

/// One request waits so long; a stop waits for two of them at most.
constexpr int kGroupsTimeoutMs = 1000;
constexpr int kAttempts = 5;
/// While no connection stands.
constexpr milliseconds kConnectMax{5000};
/// The partitions of a group, and the retention of topics, change seldom.
constexpr std::chrono::seconds kDiscoverEvery{60};
/// Partitions begin later once segments are removed, which brokers check every few minutes.
constexpr std::chrono::seconds kStartsEvery{30};
/// Partitions in one request: librdkafka looks each of an answer up by walking along the list of
/// those that were asked for.
constexpr std::size_t kAskedAtOnce = 200;
constexpr std::string_view kInternal = "__";

using GroupListHandle = Handle<const rd_kafka_group_list, rd_kafka_group_list_destroy>;
using ConfigResourceHandle = Handle<rd_kafka_ConfigResource_t, rd_kafka_ConfigResource_destroy>;

using Partitions = std::vector<NamedPartition>;

struct Listed {
    std::string name;
    std::map<NamedPartition, std::string> owners;
};

PartitionList list_of(std::span<const NamedPartition> partitions) {
    PartitionList list{rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size()))};
    for (const auto& one : partitions) {
        rd_kafka_topic_partition_list_add(list.get(), one.topic.c_str(), one.partition);
    }
    return list;
}

/// Calls `ask` with lists of kAskedAtOnce until it returns false.
template <class Ask>
void in_lists(const Partitions& partitions, const Ask& ask) {
    for (std::size_t from = 0; from < partitions.size(); from += kAskedAtOnce) {
        const auto count = std::min(kAskedAtOnce, partitions.size() - from);
        const auto list = list_of(std::span{partitions}.subspan(from, count));
        if (!ask(*list)) return;
    }
}

/// "<client id> at <host>": Kafka puts a slash before the host.
std::string name_of_member(const rd_kafka_group_member_info& member) {
    std::string_view host = member.client_host ? member.client_host : "";
    if (host.starts_with('/')) host.remove_prefix(1);
    std::string id = member.client_id ? member.client_id : "";
    if (host.empty()) return id;
    return id.empty() ? std::string{host} : id + " at " + std::string{host};
}

Listed listed(const rd_kafka_group_info& group) {
    Listed out{group.group, {}};
    for (int m = 0; m < group.member_cnt; ++m) {
        const auto& member = group.members[m];
        const std::string_view bytes{static_cast<const char*>(member.member_assignment),
                                     static_cast<std::size_t>(member.member_assignment_size)};
        for (const auto& one : parse_assignment(bytes).value_or(Partitions{})) {
            out.owners[one] = name_of_member(member);
        }
    }
    return out;
}

/// The protocol type of a group that reads is `consumer`; a group that only commits offsets, as
/// ours do, has none.
bool reads(const rd_kafka_group_info& group) {
    const std::string_view protocol = group.protocol_type ? group.protocol_type : "";
    return group.err == RD_KAFKA_RESP_ERR_NO_ERROR && (protocol.empty() || protocol == "consumer");
}

class KafkaGroups final : public Groups {
public:
    explicit KafkaGroups(const KafkaConfig& config)
        : config_(config),
          events_(std::make_shared<KafkaEvents>(config.bootstrap_servers)),
          client_(make_client(RD_KAFKA_CONSUMER,
                              make_conf(config_, *events_,
                                        {.required = {{"group.id", config_.prefix + "console"},
                                                      {"enable.auto.commit", "false"},
                                                      {"enable.auto.offset.store", "false"}}}))) {
        rd_kafka_poll_set_consumer(client_.get());
    }

    ~KafkaGroups() override {
        std::vector<ClientHandle> clients;
        for (auto& [group, known] : known_) clients.push_back(std::move(known.client));
        clients.push_back(std::move(client_));
        close_soon(std::move(clients), events_);
    }
    KafkaGroups(const KafkaGroups&) = delete;
    KafkaGroups& operator=(const KafkaGroups&) = delete;

    core::Result<GroupsSnapshot> poll(const std::stop_token& stop) override {
        GroupsSnapshot found;
        if (const auto now = steady_clock::now(); now >= discover_at_) {
            if (const auto known = discover(stop); !known) return core::fail(known.error());
            discover_at_ = now + kDiscoverEvery;
        }
        auto groups = list_groups();
        if (!groups) return core::fail(groups.error());
        leave_out(*groups, found);
        for (const auto& group : *groups) {
            if (stop.stop_requested()) return core::fail(Fault::unavailable, "stopping");
            add(group, found, stop);
        }
        add_ends(found, stop);
        found.retention = retention_;
        return found;
    }

    core::Result<std::optional<core::Timestamp>> append_time(const NamedPartition& where,
                                                             core::Offset offset,
                                                             const std::stop_token& stop) override {
        const TopicHandle topic{rd_kafka_topic_new(client_.get(), where.topic.c_str(), nullptr)};
        if (rd_kafka_consume_start(topic.get(), where.partition, offset) != 0) {
            return core::fail(failed("read " + where.topic, rd_kafka_last_error()));
        }
        std::optional<core::Timestamp> time;
        for (int attempt = 0; attempt < 2 && !time && !stop.stop_requested(); ++attempt) {
            const MessageHandle message{
                rd_kafka_consume(topic.get(), where.partition, kGroupsTimeoutMs)};
            if (!message || message->err != RD_KAFKA_RESP_ERR_NO_ERROR) continue;
            rd_kafka_timestamp_type_t type{};
            const auto ms = rd_kafka_message_timestamp(message.get(), &type);
            if (ms >= 0) time = core::Timestamp{milliseconds{ms}};
        }
        rd_kafka_consume_stop(topic.get(), where.partition);
        return time;
    }

private:
    struct Known {
        ClientHandle client;
        Partitions partitions;  ///< it has offsets for
        steady_clock::time_point discover_at{};
    };

    core::Error failed(const std::string& what, rd_kafka_resp_err_t error) const {
        return {fault_of(error), "cannot " + what + " at " + config_.bootstrap_servers + ": " +
                                     rd_kafka_err2str(error)};
    }

    core::Result<void> discover(const std::stop_token& stop) {
        const auto asked =
            ask_metadata(client_.get(), *events_, kConnectMax, "ask for the topics", stop);
        if (!asked) return core::fail(asked.error());
        const auto& metadata = *asked;
        all_.clear();
        std::vector<std::string> topics;
        for (int t = 0; t < metadata->topic_cnt; ++t) {
            const auto& topic = metadata->topics[t];
            if (std::string_view{topic.topic}.starts_with(kInternal)) continue;
            topics.emplace_back(topic.topic);
            for (int p = 0; p < topic.partition_cnt; ++p) all_.push_back({topic.topic, p});
        }
        read_retention(topics);
        return {};
    }

    /// Without an answer the former values stay: they only serve a warning.
    void read_retention(const std::vector<std::string>& topics) {
        std::vector<ConfigResourceHandle> owners;
        std::vector<rd_kafka_ConfigResource_t*> resources;
        for (const auto& topic : topics) {
            owners.emplace_back(
                rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
            resources.push_back(owners.back().get());
        }
        if (resources.empty()) return;
        const QueueHandle answers{rd_kafka_queue_new(client_.get())};
        const AdminOptionsHandle options{
            rd_kafka_AdminOptions_new(client_.get(), RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS)};
        rd_kafka_AdminOptions_set_request_timeout(options.get(), kGroupsTimeoutMs, nullptr, 0);
        rd_kafka_DescribeConfigs(client_.get(), resources.data(), resources.size(), options.get(),
                                 answers.get());
        const EventHandle event{rd_kafka_queue_poll(answers.get(), 2 * kGroupsTimeoutMs)};
        const auto* result = event ? rd_kafka_event_DescribeConfigs_result(event.get()) : nullptr;
        if (!result || rd_kafka_event_error(event.get())) return;
        std::size_t count = 0;
        const auto** reported = rd_kafka_DescribeConfigs_result_resources(result, &count);
        retention_.clear();
        for (std::size_t i = 0; i < count; ++i) {
            if (const auto time = retention_of(reported[i])) {
                retention_[rd_kafka_ConfigResource_name(reported[i])] = *time;
            }
        }
    }

    static std::optional<milliseconds> retention_of(const rd_kafka_ConfigResource_t* resource) {
        std::size_t count = 0;
        const auto** entries = rd_kafka_ConfigResource_configs(resource, &count);
        std::int64_t ms = -1;
        bool deletes = false;
        for (std::size_t i = 0; i < count; ++i) {
            const std::string_view name = rd_kafka_ConfigEntry_name(entries[i]);
            const auto* raw = rd_kafka_ConfigEntry_value(entries[i]);
            const std::string_view value = raw ? raw : "";
            if (name == "retention.ms") {
                std::from_chars(value.data(), value.data() + value.size(), ms);
            }
            if (name == "cleanup.policy") deletes = value.find("delete") != value.npos;
        }
        if (!deletes || ms < 0) return std::nullopt;
        return milliseconds{ms};
    }

    /// Not with the Admin API (docs/facts/kafka.md#traps).
    core::Result<std::vector<Listed>> list_groups() {
        const rd_kafka_group_list* raw = nullptr;
        const auto error = rd_kafka_list_groups(client_.get(), nullptr, &raw, 2 * kGroupsTimeoutMs);
        if (error != RD_KAFKA_RESP_ERR_NO_ERROR && error != RD_KAFKA_RESP_ERR__PARTIAL) {
            return core::fail(failed("list the consumer groups", error));
        }
        const GroupListHandle list{raw};
        std::vector<Listed> groups;
        for (int i = 0; i < list->group_cnt; ++i) {
            if (reads(list->groups[i])) groups.push_back(listed(list->groups[i]));
        }
        std::sort(groups.begin(), groups.end(),
                  [](const auto& a, const auto& b) { return a.name < b.name; });
        return groups;
    }

    void leave_out(std::vector<Listed>& groups, GroupsSnapshot& found) {
        if (groups.size() > kGroupsMax) {
            found.problems.push_back("of " + std::to_string(groups.size()) +
                                     " consumer groups only the first " +
                                     std::to_string(kGroupsMax) + " by name are shown");
            groups.resize(kGroupsMax);
        }
        std::set<std::string> names;
        for (const auto& group : groups) names.insert(group.name);
        std::erase_if(known_, [&](const auto& item) { return !names.contains(item.first); });
    }

    core::Result<Known*> known(const std::string& group) {
        if (const auto at = known_.find(group); at != known_.end()) return &at->second;
        auto client = make_group_client(config_, *events_, group);
        if (!client) return core::fail(client.error());
        return &known_.emplace(group, Known{std::move(*client), {}, {}}).first->second;
    }

    void add(const Listed& group, GroupsSnapshot& found, const std::stop_token& stop) {
        auto asked = known(group.name);
        if (!asked) return found.problems.push_back(asked.error().message);
        auto& one = **asked;
        const bool all = steady_clock::now() >= one.discover_at;
        const auto partitions = all ? all_ : one.partitions;
        if (all) one.partitions.clear();
        auto error = RD_KAFKA_RESP_ERR_NO_ERROR;
        in_lists(partitions, [&](rd_kafka_topic_partition_list_t& list) {
            error = ask_positions(one, list, stop);
            if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
            for (int i = 0; i < list.cnt; ++i) take(group, list.elems[i], all, one, found);
            return true;
        });
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
            if (all) one.discover_at = steady_clock::now() + kDiscoverEvery;
            return;
        }
        one.discover_at = {};  // the discovered partitions may be a part of all
        found.problems.push_back(failed("ask for the offsets of " + group.name, error).message);
    }

    static rd_kafka_resp_err_t ask_positions(const Known& group,
                                             rd_kafka_topic_partition_list_t& list,
                                             const std::stop_token& stop) {
        auto error = RD_KAFKA_RESP_ERR__TIMED_OUT;
        for (int i = 0; i < kAttempts && !stop.stop_requested(); ++i) {
            error = rd_kafka_committed(group.client.get(), &list, kGroupsTimeoutMs);
            if (error == RD_KAFKA_RESP_ERR_NO_ERROR || fault_of(error) != Fault::unavailable) break;
        }
        return error;
    }

    static void take(const Listed& group, const rd_kafka_topic_partition_t& reported, bool all,
                     Known& one, GroupsSnapshot& found) {
        if (reported.err != RD_KAFKA_RESP_ERR_NO_ERROR || reported.offset < 0) return;
        const NamedPartition where{reported.topic, reported.partition};
        if (all) one.partitions.push_back(where);
        const auto owner = group.owners.find(where);
        found.positions.push_back(
            {.group = group.name,
             .where = where,
             .position = reported.offset,
             .ends = {},
             .owner = owner == group.owners.end() ? std::string{} : owner->second});
    }

    /// Positions whose partition does not answer are left out. The ends are asked after the
    /// positions, so that no position is above its end.
    void add_ends(GroupsSnapshot& found, const std::stop_token& stop) {
        std::map<NamedPartition, Ends> ends;
        for (const auto& position : found.positions) ends.try_emplace(position.where);
        Partitions partitions;
        for (const auto& item : ends) partitions.push_back(item.first);
        ask_starts(partitions, stop);
        const auto lasts = ask_ends(partitions, RD_KAFKA_OFFSET_END, stop);
        const auto unknown = [&](const GroupPosition& position) {
            return !starts_.contains(position.where) || !lasts.contains(position.where);
        };
        if (std::any_of(found.positions.begin(), found.positions.end(), unknown)) {
            found.problems.emplace_back("the ends of some partitions could not be asked");
        }
        std::erase_if(found.positions, unknown);
        for (auto& position : found.positions) {
            const auto last = lasts.at(position.where);
            position.ends = {std::min(starts_.at(position.where), last), last};
        }
    }

    /// Known partitions now and then, new ones at once.
    void ask_starts(Partitions partitions, const std::stop_token& stop) {
        if (const auto now = steady_clock::now(); now >= starts_at_) {
            starts_.clear();
            starts_at_ = now + kStartsEvery;
        }
        std::erase_if(partitions, [&](const auto& one) { return starts_.contains(one); });
        starts_.merge(ask_ends(partitions, RD_KAFKA_OFFSET_BEGINNING, stop));
    }

    /// Not rd_kafka_query_watermark_offsets, which ignores its time-out
    /// (docs/facts/kafka.md#traps). A partition without an answer has one at the next look.
    std::map<NamedPartition, core::Offset> ask_ends(const Partitions& partitions,
                                                    std::int64_t which,
                                                    const std::stop_token& stop) {
        std::map<NamedPartition, core::Offset> found;
        std::set<std::string> unanswered;  // topics of partitions without an answer
        in_lists(partitions, [&](rd_kafka_topic_partition_list_t& list) {
            if (stop.stop_requested()) return false;
            for (int i = 0; i < list.cnt; ++i) list.elems[i].offset = which;
            rd_kafka_offsets_for_times(client_.get(), &list, kGroupsTimeoutMs);
            for (int i = 0; i < list.cnt; ++i) {
                const auto& one = list.elems[i];
                if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR || one.offset < 0) {
                    unanswered.insert(one.topic);
                } else {
                    found[{one.topic, one.partition}] = one.offset;
                }
            }
            return true;
        });
        for (const auto& topic : unanswered) {
            if (stop.stop_requested()) break;
            learn_leaders(client_.get(), topic, kGroupsTimeoutMs);
        }
        return found;
    }

    const KafkaConfig config_;
    const std::shared_ptr<KafkaEvents> events_;
    ClientHandle client_;
    Partitions all_;  ///< of the cluster, without Kafka's own
    steady_clock::time_point discover_at_{};
    std::map<std::string, milliseconds> retention_;
    std::map<NamedPartition, core::Offset> starts_;
    steady_clock::time_point starts_at_{};
    std::map<std::string, Known> known_;
};

}  // namespace

std::unique_ptr<Groups> open_kafka_groups(const KafkaConfig& config) {
    return std::make_unique<KafkaGroups>(config);
}

}  // namespace beckon::log
