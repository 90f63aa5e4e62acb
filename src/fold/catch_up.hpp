#pragma once

#include "core/clock.hpp"
#include "core/result.hpp"
#include "fold/barrier_queries.hpp"
#include "fold/failures.hpp"
#include "fold/input.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace beckon::fold {

/// Proves that a restoring fold has reached the log's end: no reader has a further record, and read
/// barriers prove it.
class CatchUp {
public:
    struct Context {
        BarrierQueries& queries;
        Failures& failures;
        const core::Clock& clock;
        bool barriers = true;  ///< else the ends that the log named are the proof
    };
    /// `name`: of the fold, in log lines. `proven` is called once for each begin(), unless the fold
    /// begins again first.
    CatchUp(Inputs& inputs, std::string_view folder, std::string name,
            core::Duration delete_retention, const Context& context, std::function<void()> proven);

    /// The fold reads from now on: from a checkpoint, or from the log's start.
    void begin(bool from_start);
    bool from_start() const { return from_start_; }
    /// Drops the open query for read barriers.
    void cancel() { asked_ = false; }

    /// Call it after each commit while the fold restores. Error `out_of_range`: the restore took so
    /// long that the log may have dropped tombstones meanwhile; its state is no better than an old
    /// checkpoint.
    core::Result<void> update();

private:
    bool first_barriers_do() const;
    void caught_up();
    core::Duration took() const { return context_.clock.mono() - began_; }

    Inputs& inputs_;
    const std::string_view folder_;
    const std::string name_;
    const core::Duration delete_retention_;
    const Context context_;
    const std::function<void()> proven_;
    bool from_start_ = false;
    core::MonoTime began_{};
    bool asked_ = false;  ///< for read barriers
};

}  // namespace beckon::fold
