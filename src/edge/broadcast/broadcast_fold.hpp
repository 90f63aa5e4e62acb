#pragma once

#include "core/key_ring.hpp"
#include "edge/protocol/broadcasts.hpp"
#include "fold/fold.hpp"
#include "fold/state.hpp"
#include "records/broadcast.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace beckon::edge {

/// Its bearer may change broadcasts at the ops port of a process with this key ring. Made from the
/// oldest key, so that nothing needs to be stored; one of a newer key of the ring is as good.
std::string broadcast_token(const core::KeyRing& keys);
bool is_broadcast_token(const core::KeyRing& keys, std::string_view token);

/// The broadcasts of an installation: a fold of `broadcasts` in memory, and the way to change them.
/// Everything happens on the thread of the executor, construction and destruction too.
class BroadcastFold final : private fold::MemoryState {
public:
    struct Context {
        log::EventLog& log;
        core::Executor& executor;
        const core::Clock& clock;
        /// Something has changed, or everything was read. On that thread.
        std::function<void(BroadcastsPtr)> changed;
    };
    BroadcastFold(const core::NodeId& node, Context context);
    ~BroadcastFold() override;

    /// Publishes a version, or its end. Nothing is published if the log has the same version
    /// already. Fronts are notified when it is read back. `done` as log::Publisher has it.
    void set(const BroadcastSet& broadcast, std::function<void(const core::Result<void>&)> done);

private:
    // fold::State
    void replay(fold::InputIndex input, const core::RecordView& record) override;
    core::Result<void> clear() override;
    void turn_ended() override;
    void caught_up() override;
    void restarted(std::string_view) override { now_.complete = false; }

    void put(const BroadcastSet& broadcast);

    Context context_;
    const std::unique_ptr<log::Publisher> publisher_;
    Broadcasts now_;
    bool changed_ = false;  ///< and the owner was not notified
    fold::Fold fold_;       ///< first to go: it calls us
};

}  // namespace beckon::edge
