#pragma once

#include "core/clock.hpp"
#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "retry/owner_budget.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace beckon::retry {

/// Looks up the names of hosts. The system's resolver blocks until name servers answer, which may
/// take half a minute, so a lookup has a thread for that time, kThreadsMax at most. Whoever asks
/// may forget a lookup before it ends; its thread ends when the resolver answers.
///
/// An owner may hold a share of the threads (FairShare), and owners take turns: names whose servers
/// do not answer leave threads to the names of other owners. Addresses are remembered for
/// kKnownFor. On the executor's thread.
class NameLookups {
public:
    static constexpr std::size_t kThreadsMax = 64;
    static constexpr std::size_t kNamesMax = 10'000;  ///< whose addresses are remembered
    static constexpr core::Duration kKnownFor = std::chrono::minutes{1};

    using Addresses = std::vector<std::string>;  ///< as text; none: the name has none
    /// Blocks; any thread; throws nothing.
    using LookUp = std::function<Addresses(const std::string& name)>;
    using Done = std::function<void(std::uint64_t asker, const Addresses&)>;

    NameLookups(LookUp look_up, core::Executor& executor);

    /// The addresses that were looked up less than kKnownFor ago; null: it must be asked.
    const Addresses* known(const std::string& name, core::MonoTime now) const;
    /// Calls `done` in a later turn. Returns the asker's number for forget().
    std::uint64_t ask(const std::string& owner, const std::string& name, Done done);
    /// Its `done` is not called any more.
    void forget(std::uint64_t asker);

    std::size_t threads() const { return budget_.used(kThreads); }
    std::size_t names() const { return known_.size(); }

private:
    using Key = std::pair<std::string, std::string>;  ///< owner and name
    struct Lookup {
        std::map<std::uint64_t, Done> askers;
        bool begun = false;
    };
    struct Known {
        Addresses addresses;
        core::MonoTime until{};
    };

    void begin_waiting();
    void begin(const Key& key);
    void ended(const Key& key, const Addresses& addresses);
    void remember(const std::string& name, const Addresses& addresses);

    const LookUp look_up_;
    const core::SystemClock clock_;
    static constexpr std::size_t kThreads = 0;
    /// An owner's share of the free threads: alone, an owner holds a sixth of all.
    static constexpr std::size_t kThreadsFraction = 4;
    static constexpr core::Duration kCost{1};  ///< each lookup costs the same
    OwnerBudget<std::string, 1> budget_{kCost, {{{kThreadsMax, kThreadsFraction}}}};
    std::map<Key, Lookup> lookups_;
    std::map<std::uint64_t, Key> askers_;
    std::map<std::string, Known> known_;
    std::uint64_t next_asker_ = 1;
    core::Lifetime lifetime_;
};

/// The addresses of a name as the system finds them.
NameLookups::Addresses system_addresses(const std::string& name);

}  // namespace beckon::retry
