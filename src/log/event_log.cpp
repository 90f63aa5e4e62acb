#include "log/event_log.hpp"

#include <utility>

namespace beckon::log {

std::size_t size_of(const core::Record& record) {
    auto size = record.key.size() + (record.value ? record.value->size() : 0);
    for (const auto& header : record.headers) size += header.name.size() + header.value.size();
    return size;
}

void EventLog::is_made_anew(TopicPartition, ReadUpTo, core::Executor& executor,
                            std::function<void(core::Result<bool>)> done) {
    executor.post([done = std::move(done)] { done(false); });
}

}  // namespace beckon::log
