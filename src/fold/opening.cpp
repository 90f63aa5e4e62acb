#include "fold/opening.hpp"

#include "records/events.hpp"

#include <utility>

namespace beckon::fold {

Opening::Opening(Inputs& inputs, core::NodeId node, Context context, core::Backoff retry)
    : inputs_(inputs),
      node_(std::move(node)),
      context_(std::move(context)),
      retry_(retry),
      lifetime_(context_.executor) {}

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
                                   if (!at)
                                       return try_again(Need::log_time, i, at.error(),
                                                        &Opening::begin);
                                   inputs_[i]->first_barrier(at->offset);
                                   context_.failures.worked(Need::log_time, i);
                                   if (--answers_missing_ == 0) ask_ends();
                               }));
}

void Opening::ask_ends() {
    answers_missing_ = inputs_.size();
    for (InputIndex i = 0; i < inputs_.size(); ++i) {
        ask_ends(i, [this, i](const core::Result<void>& ends) {
            if (!ends) return try_again(Need::ends, i, ends.error(), &Opening::ask_ends);
            identified(i);
        });
    }
}

void Opening::ask_ends(InputIndex i, std::function<void(const core::Result<void>&)> done) {
    core::ask_while(
        lifetime_,
        [&](core::Executor& executor, auto callback) {
            context_.log.ends(inputs_[i]->where(), executor, std::move(callback));
        },
        [this, i, done = std::move(done)](const core::Result<log::Ends>& ends) {
            if (!ends) return done(core::fail(ends.error()));
            inputs_[i]->received_ends(*ends);
            done({});
        });
}

void Opening::ask_identity(InputIndex i, const log::ReadUpTo& known, Identity done) {
    if (known.youngest == core::Timestamp{}) return done(false);
    core::ask_while(
        lifetime_,
        [&](core::Executor& executor, auto callback) {
            context_.log.is_made_anew(inputs_[i]->where(), known, executor, std::move(callback));
        },
        std::move(done));
}

/// The records below the checkpoint may be those of another topic that has the same name.
void Opening::identified(InputIndex i) {
    const auto kept = context_.checkpoint(i).value_or(core::Checkpoint{});
    ask_identity(i, {kept.next, kept.youngest}, [this, i](const core::Result<bool>& made_anew) {
        if (!made_anew) return try_again(Need::ends, i, made_anew.error(), &Opening::ask_ends);
        inputs_[i]->received_identity(*made_anew);
        context_.failures.worked(Need::ends, i);
        if (--answers_missing_ == 0) context_.answered();
    });
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

void Opening::succeeded() {
    retry_.worked();
    watched_at_ = context_.clock.mono();
}

void Opening::watch() {
    const auto now = context_.clock.mono();
    if (now - watched_at_ < kEndsEvery) return;
    watched_at_ = now;
    for (InputIndex i = 0; i < inputs_.size(); ++i) {
        ask_ends(i, [this, i](const core::Result<void>& ends) { watched(i, ends); });
    }
}

void Opening::watched(InputIndex i, const core::Result<void>& ends) {
    if (!ends) return not_watched(i, ends.error());
    const auto read = inputs_[i]->read_up_to();  // before the answer, which vouches for it
    ask_identity(i, inputs_[i]->confirmed(), [this, i, read](const core::Result<bool>& made_anew) {
        if (!made_anew) return not_watched(i, made_anew.error());
        if (*made_anew) return context_.made_anew(i);
        context_.failures.worked(Need::ends, i);
        inputs_[i]->confirm(read);
    });
}

void Opening::not_watched(InputIndex i, const core::Error& why) {
    context_.failures.failed(Need::ends, i, why);
    watched_at_ = {};  // again in a second
}

}  // namespace beckon::fold
