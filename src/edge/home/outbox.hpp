#pragma once

#include "core/ids.hpp"
#include "edge/closings.hpp"
#include "edge/messages.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace beckon::edge {

/// What a home has decided to tell its fronts. It leaves only once everything that it follows from
/// is committed; until then a message that turns out to be finished is taken out again.
class Outbox {
public:
    /// `of`: the message that the frame carries.
    void frame(const SessionId& to, std::string text, std::optional<core::MessageKey> of = {});
    void attached(Attached what);
    void close(const SessionId& session, Closing closing);
    /// The home does not serve: the front finds another one for the client.
    void release(const SessionId& session, Closing closing);

    /// The message is finished: a frame of it that still waits here does not leave.
    void withdraw(const core::MessageKey& message);
    /// What was decided is void. Only closes stay: their sessions are gone already.
    void drop_frames();
    void flush(FrontPort& fronts);

    /// Of the frames that wait.
    std::size_t bytes() const { return bytes_; }

private:
    struct Entry {
        std::optional<ToFront> what;  ///< empty: withdrawn
        std::optional<core::MessageKey> message;
    };
    void index();

    std::vector<Entry> entries_;
    std::size_t bytes_ = 0;
    /// Made when the first message is withdrawn, which is seldom: covers entries below `indexed_`.
    std::unordered_map<core::MessageKey, std::size_t> by_message_;
    std::size_t indexed_ = 0;
};

}  // namespace beckon::edge
