#include "log/checked_publisher.hpp"

#include "records/events.hpp"

#include <string>
#include <utility>
#include <variant>

namespace beckon::log {

namespace {

template <class Decoded>
core::Result<void> known_event(const Decoded& event) {
    const auto* unknown = std::get_if<core::Unknown>(&event);
    if (!unknown) return {};
    return core::fail(core::Fault::invalid,
                      "its record could not be read again: " + std::string{unknown->why});
}

}  // namespace

CheckedPublisher::CheckedPublisher(std::unique_ptr<Publisher> inner, core::Executor& executor,
                                   Check check)
    : inner_(std::move(inner)), check_(std::move(check)), lifetime_(executor) {}

void CheckedPublisher::publish(TopicPartition where, core::Record record, AppendDone done) {
    headers_.clear();
    for (const auto& header : record.headers) headers_.push_back({header.name, header.value});
    core::RecordView view;
    view.key = record.key;
    view.headers = headers_;
    if (record.value) view.value = *record.value;
    if (auto checked = check_(where, view); !checked) {
        return lifetime_.remote().post([done = std::move(done), why = checked.error()] {
            done(core::Result<Appended>{core::fail(why)});
        });
    }
    inner_->publish(where, std::move(record), std::move(done));
}

core::Result<void> check_core_record(const TopicPartition& where, const core::RecordView& record) {
    core::DecodeScratch scratch;
    if (where.topic == Topic::kNotifications) {
        return known_event(core::decode_notification(record, scratch));
    }
    if (where.topic == Topic::kSubscriptions) {
        return known_event(core::decode_subscription(record, scratch));
    }
    return {};
}

}  // namespace beckon::log
