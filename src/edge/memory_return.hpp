#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"

#include <chrono>
#include <cstddef>
#include <functional>

namespace beckon::edge {

/// Gives memory back to the system once many clients have left and no more of them leave. What is
/// freed stays in glibc's arenas otherwise, and the process keeps what its clients have cost
/// (docs/decisions/0176-memory-is-given-back-when-many-clients-have-left.md). One thread: the
/// executor's, which is no shard's.
class MemoryReturn {
public:
    /// Fewer clients that leave are not worth it: they free some MB.
    static constexpr std::size_t kManyClients = 1'000;
    static constexpr core::Duration kLookEvery = std::chrono::seconds{1};
    /// Since the last one left: others may follow.
    static constexpr core::Duration kQuiet = std::chrono::seconds{5};
    /// Where many come and go all the time, memory is needed again at once.
    static constexpr core::Duration kAtMostEvery = std::chrono::minutes{1};

    struct Context {
        core::Executor& executor;
        const core::Clock& clock;
        std::function<std::size_t()> clients;  ///< how many there are now
        std::function<void()> give_back;
    };
    explicit MemoryReturn(Context context);

private:
    void look();
    void look_again();

    const Context context_;
    core::Lifetime lifetime_;
    std::size_t most_ = 0;      ///< clients since memory was last given back
    std::size_t last_ = 0;      ///< clients at the last look
    core::MonoTime left_at_{};  ///< when clients were last seen to leave
    core::MonoTime not_before_{};
};

/// Gives back what malloc() has free, in all arenas, and says in the log how long that took. A
/// thread that allocates from an arena waits while that is looked through.
void give_free_memory_back();

}  // namespace beckon::edge
