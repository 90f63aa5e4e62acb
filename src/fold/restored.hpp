#pragma once

#include "core/clock.hpp"
#include "core/ids.hpp"
#include "fold/progress.hpp"

#include <optional>
#include <string>

namespace beckon::fold {

/// The records that a fold which is being restored has behind it, and before it.
struct Restored {
    core::Offset folded = 0;
    core::Offset left = 0;
    core::Duration passed{};  ///< since it began

    /// Two folds that are restored at the same time.
    Restored& operator+=(const Restored& other);
};
/// The same for folds of which some are not being restored.
std::optional<Restored>& operator+=(std::optional<Restored>& sum,
                                    const std::optional<Restored>& other);

/// "43 % restored, 12 s left": at the speed so far. Nothing is known before the first record.
std::string to_string(const Restored& restored);

/// Measures one fold, from the first measurement of a restore on.
class RestoreMeter {
public:
    /// nullopt: it is not being restored, or there is nothing to restore.
    std::optional<Restored> measure(const Progress& progress, core::MonoTime now);

private:
    struct From {
        core::Offset position;  ///< of all inputs together
        core::MonoTime at;
    };
    std::optional<From> from_;
};

}  // namespace beckon::fold
