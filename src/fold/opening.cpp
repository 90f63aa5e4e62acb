#include "fold/opening.hpp"

#include "core/lasting_executor.hpp"
#include "records/events.hpp"

#include <utility>

namespace beckon::fold {

Opening::Opening(Inputs& inputs, core::NodeId node, Context context, core::Backoff retry,
                 std::function<void()> answered)
    : inputs_(inputs),
      node_(std::move(node)),
      context_(context),
      answered_(std::move(answered)),
      retry_(retry),
      lifetime_(context.executor) {}

/// A first read barrier goes to every input before anything else is asked. Its report has the
/// log's time there, by which trust in a checkpoint is judged; and a reader that has passed it has
/// read all records that were there when this fold began.
void Opening::begin() {
    if (!context_.barriers) return ask_ends();
    answers_missing_ = inputs_.size();
    for (InputIndex i = 0; i < inputs_.size(); ++i) first_barrier(i);
}

void Opening::first_barrier(InputIndex i) {
    context_.publisher.publish(inputs_[i]->where(), core::encode(core::BarrierRecord{node_.text}),
                               lifetime_.guard([this, i](const core::Result<log::Appended>& at) {
                                   if (!at) {
                                       try_again(Need::log_time, i, at.error(), &Opening::begin);
                                       return;
                                   }
                                   inputs_[i]->first_barrier(at->offset);
                                   context_.failures.worked(Need::log_time, i);
                                   if (--answers_missing_ == 0) ask_ends();
                               }));
}

void Opening::ask_ends() {
    answers_missing_ = inputs_.size();
    for (InputIndex i = 0; i < inputs_.size(); ++i) ask_ends(i);
}

void Opening::ask_ends(InputIndex i) {
    core::ask_while(
        lifetime_,
        [&](core::Executor& executor, auto callback) {
            context_.log.ends(inputs_[i]->where(), executor, std::move(callback));
        },
        [this, i](const core::Result<log::Ends>& ends) {
            if (!ends) {
                try_again(Need::ends, i, ends.error(), &Opening::ask_ends);
                return;
            }
            inputs_[i]->received_ends(*ends);
            ask_identity(i);
        });
}

/// The records below the checkpoint may be those of another topic that has the same name.
void Opening::ask_identity(InputIndex i) {
    inputs_[i]->received_identity(false);
    const auto kept = context_.checkpoint(i);
    if (!kept || kept->youngest == core::Timestamp{}) return answered(i);
    core::ask_while(
        lifetime_,
        [&](core::Executor& executor, auto callback) {
            context_.log.is_made_anew(inputs_[i]->where(), {kept->next, kept->youngest}, executor,
                                      std::move(callback));
        },
        [this, i](const core::Result<bool>& made_anew) {
            if (!made_anew) {
                try_again(Need::ends, i, made_anew.error(), &Opening::ask_ends);
                return;
            }
            inputs_[i]->received_identity(*made_anew);
            answered(i);
        });
}

void Opening::answered(InputIndex i) {
    context_.failures.worked(Need::ends, i);
    if (--answers_missing_ == 0) answered_();
}

void Opening::ask_again(Need need, InputIndex input, const core::Error& why) {
    try_again(need, input, why, &Opening::ask_ends);
}

/// Every answer that is still under way is void: `step` asks all of it again.
void Opening::try_again(Need need, InputIndex input, const core::Error& why,
                        void (Opening::*step)()) {
    context_.failures.failed(need, input, why);
    lifetime_.renew();
    context_.executor.post_after(retry_.pause(),
                                 lifetime_.guard([this, step] { (this->*step)(); }));
}

}  // namespace beckon::fold
