#include "log/kafka/group_offsets.hpp"

#include "log/kafka/handles.hpp"
#include "log/kafka/report.hpp"

namespace beckon::log::kafka {

namespace {

constexpr int kRequestMs = 5000;
/// librdkafka ends the operation itself; this is for the case that it does not.
constexpr int kAnswerMs = 2 * kRequestMs;

using AlterHandle =
    Handle<rd_kafka_AlterConsumerGroupOffsets_t, rd_kafka_AlterConsumerGroupOffsets_destroy>;
using ListHandle =
    Handle<rd_kafka_ListConsumerGroupOffsets_t, rd_kafka_ListConsumerGroupOffsets_destroy>;

AdminOptionsHandle options_for(rd_kafka_t* client, rd_kafka_admin_op_t op) {
    AdminOptionsHandle options{rd_kafka_AdminOptions_new(client, op)};
    rd_kafka_AdminOptions_set_request_timeout(options.get(), kRequestMs, nullptr, 0);
    return options;
}

tl::unexpected<core::Error> failed(const std::string& what, const std::string& group,
                                   rd_kafka_resp_err_t error) {
    return core::fail(fault_of(error),
                      what + " of group " + group + ": " + rd_kafka_err2str(error));
}

void add(rd_kafka_topic_partition_list_t* list, const std::string& prefix, TopicPartition where,
         core::Offset offset) {
    rd_kafka_topic_partition_list_add(list, (prefix + where.topic.name()).c_str(), where.partition)
        ->offset = offset;
}

/// The one group of a result, or its error.
core::Result<const rd_kafka_topic_partition_list_t*> partitions_of(
    const rd_kafka_group_result_t** groups, std::size_t count, const std::string& what,
    const std::string& group) {
    if (count != 1) return core::fail(core::Fault::unavailable, what + ": no answer for " + group);
    if (const auto* error = rd_kafka_group_result_error(groups[0])) {
        return failed(what, group, rd_kafka_error_code(error));
    }
    return rd_kafka_group_result_partitions(groups[0]);
}

}  // namespace

core::Result<void> commit_offsets(rd_kafka_t* client, const std::string& prefix,
                                  const std::string& group,
                                  const std::vector<GroupOffset>& offsets) {
    const std::string what = "cannot commit offsets";
    const PartitionList list{rd_kafka_topic_partition_list_new(static_cast<int>(offsets.size()))};
    for (const auto& one : offsets) add(list.get(), prefix, one.where, one.offset);
    const AlterHandle request{
        rd_kafka_AlterConsumerGroupOffsets_new((prefix + group).c_str(), list.get())};
    const auto options = options_for(client, RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS);
    const QueueHandle queue{rd_kafka_queue_new(client)};
    auto* requests = request.get();
    rd_kafka_AlterConsumerGroupOffsets(client, &requests, 1, options.get(), queue.get());
    const EventHandle event{rd_kafka_queue_poll(queue.get(), kAnswerMs)};
    if (!event) return failed(what, group, RD_KAFKA_RESP_ERR__TIMED_OUT);
    if (const auto error = rd_kafka_event_error(event.get())) return failed(what, group, error);
    std::size_t count = 0;
    const auto** groups = rd_kafka_AlterConsumerGroupOffsets_result_groups(
        rd_kafka_event_AlterConsumerGroupOffsets_result(event.get()), &count);
    const auto answered = partitions_of(groups, count, what, group);
    if (!answered) return core::fail(answered.error());
    for (int i = 0; i < (*answered)->cnt; ++i) {
        const auto error = (*answered)->elems[i].err;
        if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return failed(what, group, error);
    }
    return {};
}

core::Result<std::vector<GroupOffset>> committed_offsets(
    rd_kafka_t* client, const std::string& prefix, const std::string& group,
    const std::vector<TopicPartition>& partitions) {
    const std::string what = "cannot look up offsets";
    const PartitionList list{
        rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size()))};
    for (const auto where : partitions) {
        add(list.get(), prefix, where, RD_KAFKA_OFFSET_INVALID);
    }
    const ListHandle request{
        rd_kafka_ListConsumerGroupOffsets_new((prefix + group).c_str(), list.get())};
    const auto options = options_for(client, RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS);
    const QueueHandle queue{rd_kafka_queue_new(client)};
    auto* requests = request.get();
    rd_kafka_ListConsumerGroupOffsets(client, &requests, 1, options.get(), queue.get());
    const EventHandle event{rd_kafka_queue_poll(queue.get(), kAnswerMs)};
    if (!event) return failed(what, group, RD_KAFKA_RESP_ERR__TIMED_OUT);
    if (const auto error = rd_kafka_event_error(event.get())) return failed(what, group, error);
    std::size_t count = 0;
    const auto** groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
        rd_kafka_event_ListConsumerGroupOffsets_result(event.get()), &count);
    const auto answered = partitions_of(groups, count, what, group);
    if (!answered) return core::fail(answered.error());
    std::vector<GroupOffset> found;
    for (const auto where : partitions) {
        const auto* one = rd_kafka_topic_partition_list_find(
            const_cast<rd_kafka_topic_partition_list_t*>(*answered),
            (prefix + where.topic.name()).c_str(), where.partition);
        if (!one) continue;
        if (one->err != RD_KAFKA_RESP_ERR_NO_ERROR) return failed(what, group, one->err);
        if (one->offset >= 0) found.push_back({where, one->offset});
    }
    return found;
}

}  // namespace beckon::log::kafka
