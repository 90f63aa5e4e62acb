#include "log/event_log.hpp"

namespace beckon::log {

std::size_t size_of(const core::Record& record) {
    auto size = record.key.size() + (record.value ? record.value->size() : 0);
    for (const auto& header : record.headers) size += header.name.size() + header.value.size();
    return size;
}

}  // namespace beckon::log
