#include "edge/home/session/output.hpp"

#include <utility>

namespace beckon::edge {

namespace {

/// The bytes of an entry beside the text of its frame, the name of its front on the heap included.
constexpr std::size_t kEntryBytes = 256;

}  // namespace

void Output::frame(const SessionId& to, std::string text, std::optional<core::MessageKey> of,
                   std::optional<Report> report) {
    static_assert(sizeof(Entry) + 32 <= kEntryBytes);
    bytes_ += kEntryBytes + text.size();
    entries_.push_back({ToClient{to, std::move(text)}, of, std::move(report)});
}

void Output::report(Report report) {
    if (!reports()) return;
    bytes_ += kEntryBytes;
    entries_.push_back({std::nullopt, std::nullopt, std::move(report)});
}

void Output::publish(const Report& report) {
    const auto& [id, expires] = report.message;
    if (report.logged) {
        milestones_->reached(id, expires, core::Milestone::int_transmitted, *report.logged);
    }
    for (const auto milestone : report.reached) milestones_->reached(id, expires, milestone);
}

void Output::attached(Attached what) {
    bytes_ += kEntryBytes;
    entries_.push_back({std::move(what), std::nullopt, std::nullopt});
}

void Output::close(const SessionId& session, Closing closing, CloseClient::Kind kind) {
    bytes_ += kEntryBytes;
    entries_.push_back({close_client(session, closing, kind), std::nullopt, std::nullopt});
}

void Output::index() {
    for (; indexed_ < entries_.size(); ++indexed_) {
        const auto& message = entries_[indexed_].message;
        if (message) by_message_.insert_or_assign(*message, indexed_);
    }
}

void Output::withdraw(const core::MessageKey& message) {
    if (entries_.empty()) return;
    index();
    const auto at = by_message_.find(message);
    if (at == by_message_.end()) return;
    auto& what = entries_[at->second].what;
    if (!what) return;
    bytes_ -= std::get<ToClient>(*what).text.size();  // the entry stays
    what.reset();
    entries_[at->second].report.reset();
}

void Output::drop_frames() {
    std::erase_if(entries_, [](const Entry& entry) {
        return !entry.what || !std::holds_alternative<CloseClient>(*entry.what);
    });
    bytes_ = entries_.size() * kEntryBytes;
    by_message_.clear();
    indexed_ = 0;
}

void Output::flush(FrontTransport& fronts) {
    bytes_ = 0;
    by_message_.clear();
    indexed_ = 0;
    for (auto& entry : std::exchange(entries_, {})) {
        if (entry.what) fronts.to_front(std::move(*entry.what));
        if (entry.report && reports()) publish(*entry.report);
    }
}

}  // namespace beckon::edge
