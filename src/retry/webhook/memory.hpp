#pragma once

#include "core/result.hpp"
#include "retry/filter/percolator.hpp"
#include "retry/webhook/webhook.hpp"

#include <cstddef>
#include <string>

/// What webhooks hold in the memory of every process with the role retry, for as long as they are
/// there. It follows from the webhook alone, so the answer to whoever makes one has it. Pure.
namespace beckon::retry {

/// How much webhooks may hold, in bytes of memory_of().
struct MemoryLimits {
    std::size_t per_owner = std::size_t{16} << 20;
    std::size_t in_all = std::size_t{256} << 20;
};

/// The webhook as its filter is matched. Errors: invalid (the filter does not compile).
core::Result<Percolator::Entry> filter_entry(const Webhook& webhook, Query::From from);

/// What a webhook holds, `entry` included.
std::size_t memory_of(const Webhook& webhook, const Percolator::Entry& entry);

/// Of webhooks together: how many, and what they hold.
struct Usage {
    std::size_t webhooks = 0;
    std::size_t bytes = 0;
    Usage& operator+=(const Usage& other);
    Usage& operator-=(const Usage& other);
    bool operator==(const Usage&) const = default;
};

}  // namespace beckon::retry
