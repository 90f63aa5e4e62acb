#include "fold/catch_up.hpp"

#include "core/logger.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace beckon::fold {

namespace {

/// A fold that took so long to catch up logs it at info; the others only at debug, for there are
/// many.
constexpr core::Duration kWorthALine = std::chrono::seconds{5};

}  // namespace

CatchUp::CatchUp(Inputs& inputs, std::string_view folder, std::string name,
                 core::Duration delete_retention, const Context& context,
                 std::function<void()> proven)
    : inputs_(inputs),
      folder_(folder),
      name_(std::move(name)),
      delete_retention_(delete_retention),
      context_(context),
      proven_(std::move(proven)) {}

void CatchUp::begin(bool from_start) {
    from_start_ = from_start;
    began_ = context_.clock.mono();
    core::log_debug(folder_, "folding",
                    {{"fold", name_}, {"from", from_start ? "the log's start" : "checkpoint"}});
}

core::Result<void> CatchUp::update() {
    const bool drained = std::all_of(inputs_.begin(), inputs_.end(),
                                     [](const auto& input) { return input->drained(); });
    if (asked_ || !drained) return {};
    if (!context_.barriers) {
        const bool at_ends = std::all_of(inputs_.begin(), inputs_.end(),
                                         [](const auto& input) { return input->at_end(); });
        if (at_ends) caught_up();
        return {};
    }
    if (from_start_ && took() > delete_retention_ / 2) {
        return core::fail(
            {core::Fault::out_of_range, "the restore took longer than tombstones are kept"});
    }
    if (first_barriers_do()) {
        caught_up();
        return {};
    }
    asked_ = true;
    context_.queries.ask_barriers(indexes_of(inputs_), [this](const core::Result<void>& confirmed) {
        asked_ = false;
        if (confirmed) return caught_up();
        context_.failures.failed(Need::barrier, 0,
                                 confirmed.error());  // the next second tries again
    });
    return {};
}

/// True if the barriers that were published when this fold began are passed, and it began not long
/// ago.
bool CatchUp::first_barriers_do() const {
    return took() < kAnswerTimeout &&
           std::all_of(inputs_.begin(), inputs_.end(),
                       [](const auto& input) { return input->passed_first_barrier(); });
}

void CatchUp::caught_up() {
    context_.failures.worked(Need::barrier, 0);
    core::log_line(took() < kWorthALine ? core::LogLevel::debug : core::LogLevel::info, folder_,
                   "caught_up",
                   {{"fold", name_},
                    {"from", from_start_ ? "the log's start" : "checkpoint"},
                    {"seconds", std::chrono::duration<double>(took()).count()}});
    proven_();
}

}  // namespace beckon::fold
