#pragma once

#include "core/result.hpp"
#include "retry/event/filter/percolator.hpp"
#include "retry/webhook/webhook.hpp"

#include <cstddef>

/// The memory that a webhook holds in every process with the role retry, on all threads that know
/// it, as long as it exists. It follows from the webhook alone, so the answer to its creation can
/// name it. Pure.
namespace beckon::retry {

/// The most memory that webhooks may hold, in bytes of memory_of().
struct MemoryLimits {
    std::size_t per_owner = std::size_t{16} << 20;
    std::size_t in_all = std::size_t{256} << 20;
};

/// The webhook's entry in the percolator. Errors: invalid (the filter does not compile).
core::Result<Percolator::Entry> filter_entry(const Webhook& webhook, Query::From from);

/// The bytes that a webhook holds, `entry` included.
std::size_t memory_of(const Webhook& webhook, const Percolator::Entry& entry);

/// The number of some webhooks, and the bytes that they hold.
struct Usage {
    std::size_t webhooks = 0;
    std::size_t bytes = 0;
    Usage& operator+=(const Usage& other);
    Usage& operator-=(const Usage& other);
    bool operator==(const Usage&) const = default;
};

}  // namespace beckon::retry
