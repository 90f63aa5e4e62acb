#include "fold/ends_watch.hpp"

#include "core/lasting_executor.hpp"

namespace beckon::fold {

void EndsWatch::update() {
    const auto now = context_.clock.mono();
    if (now - asked_ < kEvery) return;
    asked_ = now;
    for (InputIndex i = 0; i < inputs_.size(); ++i) ask(i);
}

void EndsWatch::ask(InputIndex i) {
    core::ask_while(
        lifetime_,
        [&](core::Executor& executor, auto callback) {
            context_.log.ends(inputs_[i]->where(), executor, std::move(callback));
        },
        [this, i](const core::Result<log::Ends>& ends) {
            if (!ends) return failed(i, ends.error());
            inputs_[i]->received_ends(*ends);
            ask_identity(i);
        });
}

void EndsWatch::ask_identity(InputIndex i) {
    auto& input = *inputs_[i];
    const auto read = input.read_up_to();  // before the answer, which vouches for it
    if (input.confirmed().youngest == core::Timestamp{}) return confirmed(i, read);
    core::ask_while(
        lifetime_,
        [&](core::Executor& executor, auto callback) {
            context_.log.is_made_anew(input.where(), input.confirmed(), executor,
                                      std::move(callback));
        },
        [this, i, read](const core::Result<bool>& made_anew) {
            if (!made_anew) return failed(i, made_anew.error());
            if (*made_anew) return made_anew_(i);
            confirmed(i, read);
        });
}

void EndsWatch::confirmed(InputIndex i, const log::ReadUpTo& read) {
    context_.failures.worked(Need::ends, i);
    inputs_[i]->confirm(read);
}

void EndsWatch::failed(InputIndex i, const core::Error& why) {
    context_.failures.failed(Need::ends, i, why);
    asked_ = {};  // again in a second
}

}  // namespace beckon::fold
