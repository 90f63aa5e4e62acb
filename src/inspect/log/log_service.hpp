#pragma once

#include "core/key_ring.hpp"
#include "log/event_log.hpp"
#include "ops/ops_server.hpp"

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::inspect {

/// Proves at `/log` of the ops port that the caller has the installation's key ring: a person who
/// may read metrics may not yet read records.
std::string log_proof(const core::KeyRing::Key& key);
/// As a tool gives it: of the oldest key, which also a process has whose ring is that of before a
/// rotation.
std::string log_proof(const core::KeyRing& keys);

/// Checks the proofs of callers of these pages. Any thread.
class LogProofs {
public:
    /// `keys` outlives it, and may grow.
    explicit LogProofs(const core::KeyRing& keys);
    /// `authorization`: the header of that name, "Bearer <log_proof()>" of any key of the ring.
    bool admits(std::string_view authorization) const;

private:
    const core::KeyRing& keys_;
    mutable std::mutex mutex_;
    mutable std::uint64_t version_;            ///< of the ring; guarded by mutex_, as is the next
    mutable std::vector<std::string> proofs_;  ///< of each key
};

/// Lets tools read the log of this process through its ops port, and write the rules about senders:
///   /log/ends?topic=T&partitions=0,1       {"0": [start, end], …}; missing partitions are left out
///   /log/committed?group=G&topic=T&partitions=0,1    {"0": offset, …}
///   /log/records?topic=T&partition=P&from=O&bytes=N  a batch (log_batch.hpp) of about N bytes
///   /log/sender?key=K&value=V              writes that record of `control`, a rule about a sender
///                                          (records/sender_rule.hpp); without V its end
/// Errors are {"fault": name, "error": text}. 401 without `Authorization: Bearer <log_proof()>`.
/// One thread of its own makes the pages, one at a time.
/// The pages are served for as long as the returned object lives; all three outlive it.
[[nodiscard]] ops::Mount mount_log_service(ops::OpsServer& ops, log::EventLog& log,
                                           const core::KeyRing& keys);

}  // namespace beckon::inspect
