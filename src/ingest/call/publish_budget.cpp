#include "ingest/call/publish_budget.hpp"

namespace beckon::ingest {

bool PublishBudget::reserve(std::size_t bytes) {
    const auto before = bytes_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes > bytes_max_) {
        bytes_.fetch_sub(bytes, std::memory_order_relaxed);
        return false;
    }
    metrics_.publish_waiting.Increment();
    metrics_.publish_waiting_bytes.Increment(static_cast<double>(bytes));
    return true;
}

void PublishBudget::release(std::size_t bytes) {
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
    metrics_.publish_waiting.Decrement();
    metrics_.publish_waiting_bytes.Decrement(static_cast<double>(bytes));
}

}  // namespace beckon::ingest
