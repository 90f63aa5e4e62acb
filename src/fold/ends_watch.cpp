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
            if (!ends) {
                context_.failures.failed(Need::ends, i, ends.error());
                asked_ = {};  // again in a second
                return;
            }
            context_.failures.worked(Need::ends, i);
            inputs_[i]->received_ends(*ends);
        });
}

}  // namespace beckon::fold
