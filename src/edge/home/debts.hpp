#pragma once

#include "core/executor.hpp"
#include "core/ids.hpp"
#include "log/event_log.hpp"
#include "store/edge_store.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace beckon::edge {

/// Publishes what a serving home owes (DESIGN §3 "Debts"): a tombstone for each finished message,
/// in the order of their puts, until it is *read back*. An unknown outcome is published again;
/// tombstones may repeat. The tombstone of a message goes out only after the log has those of the
/// older messages of its client that were replaced, so that no restore can find an old one alone.
///
/// On the home's thread. Only a serving home has one of these running.
class Debts {
public:
    /// Published and not answered yet.
    static constexpr std::size_t kInFlightMax = 1'000;

    /// `durable`: the log has the tombstone of this debt (told once per debt).
    Debts(core::Partition partition, core::NodeId node, log::Publisher& publisher,
          core::Executor& executor, std::function<void(const store::Debt&)> durable);
    ~Debts();
    Debts(const Debts&) = delete;
    Debts& operator=(const Debts&) = delete;

    /// New debts; those known already are ignored.
    void add(const std::vector<store::Debt>& debts);
    /// The tombstone was read: the debt is paid.
    void read_back(const core::MessageKey& key);

    /// Debts that are not read back.
    std::size_t size() const;

private:
    struct Impl;
    std::shared_ptr<Impl> impl_;
};

}  // namespace beckon::edge
