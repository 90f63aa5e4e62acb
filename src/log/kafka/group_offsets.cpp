#include "log/kafka/group_offsets.hpp"

#include "log/kafka/handles.hpp"
#include "log/kafka/report.hpp"

#include <chrono>
#include <future>
#include <thread>
#include <utility>

namespace beckon::log::kafka {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kAnswerMax{10'000};
/// How often a job that waits looks whether it is to stop.
constexpr milliseconds kPoll{200};

tl::unexpected<core::Error> failed(const std::string& what, const std::string& group,
                                   rd_kafka_resp_err_t error) {
    return core::fail(fault_of(error),
                      what + " of group " + group + ": " + rd_kafka_err2str(error));
}

PartitionList list_for(std::size_t size) {
    return PartitionList{rd_kafka_topic_partition_list_new(static_cast<int>(size))};
}

rd_kafka_topic_partition_t* add(rd_kafka_topic_partition_list_t* list, const std::string& prefix,
                                TopicPartition where) {
    return rd_kafka_topic_partition_list_add(list, (prefix + where.topic.name()).c_str(),
                                             where.partition);
}

/// The answer to a commit: that of the request, or else of the first partition that was refused.
rd_kafka_resp_err_t outcome(const rd_kafka_event_t* event) {
    if (const auto error = rd_kafka_event_error(const_cast<rd_kafka_event_t*>(event))) return error;
    const auto* list = rd_kafka_event_topic_partition_list(const_cast<rd_kafka_event_t*>(event));
    for (int i = 0; list && i < list->cnt; ++i) {
        if (list->elems[i].err != RD_KAFKA_RESP_ERR_NO_ERROR) return list->elems[i].err;
    }
    return RD_KAFKA_RESP_ERR_NO_ERROR;
}

}  // namespace

GroupOffsets::GroupOffsets(const KafkaConfig& config, std::shared_ptr<KafkaEvents> events)
    : config_(config), events_(std::move(events)), worker_("log-groups", kJobsMax) {}

void GroupOffsets::stop() {
    begin_stop();
    worker_.stop();
    std::vector<ClientHandle> clients;
    for (auto& [group, client] : clients_) clients.push_back(std::move(client));
    clients_.clear();
    close_soon(std::move(clients), events_);
}

core::Result<rd_kafka_t*> GroupOffsets::client_of(const std::string& group) {
    const auto known = clients_.find(group);
    if (known != clients_.end()) return known->second.get();
    auto made = make_group_client(config_, *events_, config_.prefix + group);
    if (!made) return core::fail(made.error());
    return clients_.emplace(group, std::move(*made)).first->second.get();
}

core::Result<void> GroupOffsets::commit(const std::string& group,
                                        const std::vector<GroupOffset>& offsets) {
    const auto client = client_of(group);
    if (!client) return core::fail(client.error());
    const auto list = list_for(offsets.size());
    for (const auto& one : offsets) {
        add(list.get(), config_.prefix, one.where)->offset = one.offset;
    }
    const QueueHandle answers{rd_kafka_queue_new(*client)};
    auto error = rd_kafka_commit_queue(*client, list.get(), answers.get(), nullptr, nullptr);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
        error = RD_KAFKA_RESP_ERR__TIMED_OUT;
        const auto until = steady_clock::now() + kAnswerMax;
        while (!stopping_.stop_requested() && steady_clock::now() < until) {
            const EventHandle event{
                rd_kafka_queue_poll(answers.get(), static_cast<int>(kPoll.count()))};
            if (!event || rd_kafka_event_type(event.get()) != RD_KAFKA_EVENT_OFFSET_COMMIT)
                continue;
            error = outcome(event.get());
            break;
        }
    }
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return failed("cannot commit offsets", group, error);
    return {};
}

core::Result<std::vector<GroupOffset>> GroupOffsets::committed(
    const std::string& group, const std::vector<TopicPartition>& partitions) {
    auto client = make_group_client(config_, *events_, config_.prefix + group);
    if (!client) return core::fail(client.error());
    const std::string what = "cannot look up offsets";
    const auto list = list_for(partitions.size());
    for (const auto where : partitions) add(list.get(), config_.prefix, where);
    auto error = RD_KAFKA_RESP_ERR__TIMED_OUT;
    const auto until = steady_clock::now() + kAnswerMax;
    while (!stopping_.stop_requested() && steady_clock::now() < until) {
        constexpr int kAskMs =
            1000;  // a coordinator that is still to be found is looked for meanwhile
        error = rd_kafka_committed(client->get(), list.get(), kAskMs);
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR || fault_of(error) != core::Fault::unavailable) {
            break;
        }
    }
    std::vector<ClientHandle> used;
    used.push_back(std::move(*client));
    close_soon(std::move(used), events_);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return failed(what, group, error);
    std::vector<GroupOffset> found;
    for (std::size_t i = 0; i < partitions.size(); ++i) {
        const auto& one = list->elems[i];
        if (one.err != RD_KAFKA_RESP_ERR_NO_ERROR) return failed(what, group, one.err);
        if (one.offset >= 0) found.push_back({partitions[i], one.offset});
    }
    return found;
}

namespace {

constexpr std::chrono::milliseconds kCloseMax{200};

}  // namespace

void close_soon(std::vector<ClientHandle> clients, std::shared_ptr<KafkaEvents> events) {
    std::promise<void> closed;
    const auto end = closed.get_future();
    std::thread{[clients = std::move(clients), events = std::move(events),
                 closed = std::move(closed)]() mutable {
        clients.clear();
        closed.set_value();
    }}.detach();
    end.wait_for(kCloseMax);
}

}  // namespace beckon::log::kafka
