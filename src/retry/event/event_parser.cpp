#include "retry/event/event_parser.hpp"

#include "core/json_text.hpp"
#include "retry/event/thrown_by.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

namespace {

EventParser::Json parsed(const std::string& text) {
    return std::make_shared<const nlohmann::json>(core::must_parse_json(text));
}

}  // namespace

EventParser::EventParser(core::Executor& executor, FanOutTurns& turns)
    : turns_(turns), lifetime_(executor) {}

bool EventParser::parse(const Text& text, const ParsedPtr& event, WorkJournal::Piece piece,
                        Then then) {
    if (event->json_) return true;
    if (text->size() <= kParsedHereMax) {
        event->json_ = parsed(*text);
        bytes_ += text->size();
        return true;
    }
    auto& waiting = waiting_[event.get()];
    waiting.push_back(std::move(then));
    if (waiting.size() > 1) return false;
    line_.push_back({text, event, std::move(piece)});
    begin_next();
    return false;
}

void EventParser::may_forget(const std::string& text, Parsed& event) {
    if (bytes_ > kParsedBytesMax || !line_.empty()) forget(text, event);
}

void EventParser::forget(const std::string& text, Parsed& event) {
    if (!event.json_) return;
    event.json_.reset();
    bytes_ -= text.size();
    begin_next();
}

/// One that is larger than the space has it alone.
void EventParser::begin_next() {
    while (!line_.empty() &&
           (bytes_ == 0 || bytes_ + line_.front().text->size() <= kParsedBytesMax)) {
        const auto next = std::move(line_.front());
        line_.pop_front();
        bytes_ += next.text->size();
        begin(next);
    }
}

void EventParser::begin(const Large& one) {
    struct Work {
        Json json;
        std::optional<core::Error> thrown;
    };
    const auto work = std::make_shared<Work>();
    turns_.do_aside(
        one.piece,
        [work, text = one.text] { work->thrown = thrown_by([&] { work->json = parsed(*text); }); },
        lifetime_.guard([this, one, work] { end(one, std::move(work->json), work->thrown); }));
}

void EventParser::end(const Large& one, Json json, const std::optional<core::Error>& thrown) {
    if (thrown) bytes_ -= one.text->size();
    one.event->json_ = std::move(json);
    const auto waiting = waiting_.extract(one.event.get());
    for (const auto& then : waiting.mapped()) then(thrown);
    if (thrown) begin_next();
}

}  // namespace beckon::retry
