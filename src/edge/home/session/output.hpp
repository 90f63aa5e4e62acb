#pragma once

#include "core/ids.hpp"
#include "core/milestone.hpp"
#include "edge/protocol/closings.hpp"
#include "edge/switchboard/messages.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace beckon::edge {

/// The milestones that a tracked message reaches when its frame or report leaves.
struct Report {
    core::Tracked message;
    std::vector<core::Milestone> reached;
    /// When the log got the message, where that is to be reported too (`int_transmitted`).
    std::optional<core::Timestamp> logged;
};

/// The frames that a home has decided to send to its fronts, and its reports. They leave at the end
/// of a turn: the records that they follow from are in the log and folded. The store is written up
/// to a second later (decision 0030), and a write that is due and fails holds the frames back.
/// Until they leave, a frame is withdrawn if its message turns out to be finished.
class Output {
public:
    /// `milestones`: where reports go; null: nowhere.
    explicit Output(core::MilestoneSink* milestones = nullptr) : milestones_(milestones) {}

    /// `of`: the message that the frame carries. The report leaves with the frame, or not at all.
    void frame(const SessionId& to, std::string text, std::optional<core::MessageKey> of = {},
               std::optional<Report> report = {});
    /// A report without a frame.
    void report(Report report);
    /// True if there is a receiver of reports.
    bool reports() const { return milestones_ != nullptr; }
    void attached(Attached what);
    void close(const SessionId& session, Closing closing,
               CloseClient::Kind kind = CloseClient::Kind::closed);
    /// The home does not serve: the front finds another one for the client.
    void release(const SessionId& session, Closing closing) {
        close(session, closing, CloseClient::Kind::released);
    }

    /// The message is finished: a frame of it that still waits here does not leave.
    void withdraw(const core::MessageKey& message);
    /// Drops the frames that have not left. Only closes stay: their sessions are gone already.
    void drop_frames();
    void flush(FrontTransport& fronts);

    /// The memory of all entries that wait.
    std::size_t bytes() const { return bytes_; }

private:
    struct Entry {
        std::optional<ToFront> what;  ///< empty: withdrawn, or only a report
        std::optional<core::MessageKey> message;
        std::optional<Report> report;
    };
    void publish(const Report& report);
    void index();

    core::MilestoneSink* const milestones_;
    std::vector<Entry> entries_;
    std::size_t bytes_ = 0;
    /// Made when the first message is withdrawn, which is seldom: covers entries below `indexed_`.
    std::unordered_map<core::MessageKey, std::size_t> by_message_;
    std::size_t indexed_ = 0;
};

}  // namespace beckon::edge
