#include "console/web/live_stream.hpp"

#include <algorithm>
#include <utility>

namespace beckon::console {

namespace {

/// A comment of the stream, which readers leave out.
constexpr std::string_view kBeat = ": still here\n\n";

std::string event_text(const LivePages::News& news) {
    const std::string_view kind = news.whole ? "" : ".change";
    // JSON has no line ends of its own.
    return "event: " + news.name + std::string{kind} + "\ndata: " + *news.text + "\n\n";
}

}  // namespace

LiveStream::LiveStream(const LivePages& pages, Options options)
    : pages_(pages), options_(std::move(options)) {}

LiveStream::~LiveStream() { options_.ended(); }

net::BodyStream::Next LiveStream::next(std::string& out) {
    if (!options_.may_go_on()) return Next::ended;
    if (at_ == text_.size()) collect();
    if (text_.empty()) return Next::waiting;
    const auto size = std::min(text_.size() - at_, kPieceBytesMax);
    out.append(text_, at_, size);
    at_ += size;
    spoke_ = true;
    return Next::piece;
}

void LiveStream::collect() {
    text_ = {};  // a page may be large, and readers stay for hours
    at_ = 0;
    for (const auto& news : pages_.changes(options_.names, seen_)) text_ += event_text(news);
    if (text_.empty() && beat_due_) text_ = kBeat;
    beat_due_ = false;
}

void LiveStream::notify() {
    if (wake_) wake_();
}

void LiveStream::beat() {
    beat_due_ = !std::exchange(spoke_, false);
    if (beat_due_) notify();
}

}  // namespace beckon::console
