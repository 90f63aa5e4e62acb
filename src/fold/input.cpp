#include "fold/input.hpp"

#include "core/contain.hpp"
#include "records/events.hpp"

#include <algorithm>
#include <utility>

namespace beckon::fold {

namespace {

/// A checkpoint's "caught up" is renewed so often where nothing happens.
constexpr core::Duration kReportEndEvery = std::chrono::minutes{1};
/// The reader reports "drained" also when it cannot reach the log. That this is the end counts only
/// if the log has answered so recently.
constexpr core::Duration kEndsLife = std::chrono::seconds{30};

}  // namespace

std::uint64_t Waiters::add(core::Offset offset, Answer answer) {
    const auto id = next_id_++;
    waiters_.emplace(offset, Waiter{id, std::move(answer)});
    return id;
}

void Waiters::passed(core::Offset next) {
    std::vector<Answer> answers;
    while (!waiters_.empty() && waiters_.begin()->first < next) {
        answers.push_back(std::move(waiters_.extract(waiters_.begin()).mapped().answer));
    }
    for (const auto& answer : answers) {
        core::contain("fold answers", [&] { answer({}); });
    }
}

void Waiters::cut_off(std::uint64_t id, const core::Error& why) {
    const auto found = std::find_if(waiters_.begin(), waiters_.end(),
                                    [id](const auto& entry) { return entry.second.id == id; });
    if (found == waiters_.end()) return;
    const auto node = waiters_.extract(found);
    node.mapped().answer(core::fail(why));
}

void Waiters::refuse_all(const core::Error& why) {
    for (const auto& [offset, waiter] : std::exchange(waiters_, {})) {
        waiter.answer(core::fail(why));
    }
}

void Input::received_ends(const log::Ends& ends) {
    note_end();  // as far as was known until now
    ends_ = ends;
    ends_received_ = clock_.mono();
}

void Input::begin_at(const core::Checkpoint& checkpoint, std::unique_ptr<ReadBarrier> barrier) {
    replayed_ = position_ = checkpoint.next;
    newest_ = checkpoint.caught_up;
    youngest_ = checkpoint.youngest;
    confirmed_ = read_up_to();
    drained_ = has_more_ = left_some_ = moved_ = false;
    at_end_.reset();
    reported_end_ = {};
    barrier_ = std::move(barrier);
}

void Input::stop_reading() {
    reader_.reset();
    drained_ = has_more_ = false;
}

core::Result<log::Taken> Input::take(std::size_t max, const log::RecordSink& sink) {
    auto taken = reader_->take(std::min(max, kChunk), [&](const core::RecordView& record) {
        core::fold_step([this] { return where_.topic.name(); },
                        [&] {
                            log_clock_.read(record.time, record.offset);
                            newest_ = record.time;
                            youngest_ = std::max(youngest_, record.time);
                            if (!core::is_control_key(record.key)) others_wrote_ = clock_.mono();
                            sink(record);
                        });
    });
    // Records that the reader passed on before an error are replayed.
    const auto next = reader_->position();
    moved_ = moved_ || next != replayed_ || (taken && taken->records > 0);
    replayed_ = next;
    drained_ = taken && taken->drained;
    has_more_ = taken && !taken->drained;
    if (taken) left_some_ = !taken->drained;
    if (drained_) ends_.end = std::max(ends_.end, replayed_);
    return taken;
}

void Input::turn_ended() {
    position_ = replayed_;
    note_end();
}

/// The reader has no more records, and no report has named a later end.
void Input::note_end() {
    if (drained_ && position_ >= ends_.end) at_end_ = clock_.mono();
}

bool Input::at_end() const {
    return drained_ && replayed_ >= ends_.end && clock_.mono() - ends_received_ < kEndsLife;
}

bool Input::end_report_is_due() const {
    return at_end() &&
           (reported_end_ == core::MonoTime{} || clock_.mono() - reported_end_ >= kReportEndEvery);
}

void Input::reported(bool at_end) {
    moved_ = false;
    if (at_end) reported_end_ = clock_.mono();
}

bool Input::wants_report() const {
    return others_wrote_ > log_clock_.reported_at() &&
           clock_.mono() - log_clock_.reported_at() >= kReportEvery;
}

InputProgress Input::progress() const {
    InputProgress out{where_, position_, std::max(ends_.end, position_), {}};
    if ((position_ < out.end || left_some_) && newest_ != core::Timestamp{} &&
        log_clock_.learned()) {
        out.lag = std::max<core::Duration>(log_clock_.now() - newest_, core::Duration::zero());
        // If no record came for an hour, the next one is not an hour old.
        if (at_end_) out.lag = std::min(out.lag, clock_.mono() - *at_end_);
    }
    return out;
}

std::vector<InputIndex> indexes_of(const Inputs& inputs) {
    std::vector<InputIndex> out(inputs.size());
    for (InputIndex i = 0; i < out.size(); ++i) out[i] = i;
    return out;
}

}  // namespace beckon::fold
