#include "fold/commits.hpp"

#include "core/logger.hpp"

#include <chrono>
#include <utility>

namespace beckon::fold {

namespace {

/// Mostly the disk is behind for a moment.
constexpr core::Duration kRetryFirst = std::chrono::milliseconds{10};
constexpr core::Duration kRetryMost = std::chrono::milliseconds{640};

}  // namespace

Commits::Commits(State& state, const Inputs& inputs, Failures& failures, std::string_view folder,
                 std::string name)
    : state_(state),
      inputs_(inputs),
      failures_(failures),
      folder_(folder),
      name_(std::move(name)),
      retry_{kRetryFirst, kRetryMost} {}

core::Result<void> Commits::commit() {
    if (state_.dirty()) {
        if (auto committed = state_.commit(); !committed) {
            if (!std::exchange(failed_, true)) log_failure(committed.error());
            return committed;
        }
        retry_.worked();
    }
    failures_.worked(Need::commit, 0);
    failed_ = false;
    return {};
}

void Commits::log_failure(const core::Error& why) const {
    core::log_warn(folder_, "fold_not_committed",
                   {{"fold", name_}, {"fault", core::to_string(why.fault)}, {"why", why.message}});
}

bool Commits::gone_back() const {
    if (state_.dropped_batch()) return true;
    for (InputIndex i = 0; i < inputs_.size(); ++i) {
        const auto kept = state_.checkpoint(i);
        if (kept && kept->next < inputs_[i]->replayed()) return true;
    }
    return false;
}

}  // namespace beckon::fold
