#pragma once

#include "console/pages/search_workers.hpp"
#include "console/web/answer.hpp"
#include "core/clock.hpp"
#include "core/partition.hpp"
#include "log/event_log.hpp"

#include <chrono>
#include <cstddef>

namespace beckon::console {

/// The console's browser of the log: partitions, and their records page by page, from an offset or
/// a time on. Its answers have no names that let a reader act for a client, and no values that hold
/// secrets. It reads the log on the caller's thread (SearchWorkers has some). Any thread.
class LogBrowser {
public:
    static constexpr std::size_t kRecordsMax = 50;   ///< of a page
    static constexpr std::size_t kValueMax = 4'096;  ///< bytes of one record's value
    static constexpr std::size_t kHeaderMax = 256;   ///< bytes of a header's value, and of a key

    explicit LogBrowser(QueryContext read) : read_(read) {}
    LogBrowser(const LogBrowser&) = delete;
    LogBrowser& operator=(const LogBrowser&) = delete;

    /// Parameter `topic`, which may be absent. {"topics": [names], "partitions": of the topic:
    /// [{"partition", "start", "end"}], "history_begins": ms}
    Answer topics(const Parameters& asked) const;
    /// Parameters `topic`, `partition`, and one of `from` (an offset), `before` (an offset: the
    /// page that ends there) and `at` (Unix milliseconds); without one the newest. {"topic",
    /// "partition", "start", "end", "history_begins", "records": [{"offset", "time", "type", "key",
    /// "bytes" (null: no value), "headers": [{"name", "value"}], "words", "message", "client":
    /// whether Find knows the record's}], "next": offset behind the page}
    Answer records(const Parameters& asked) const;
    /// Parameters `topic`, `partition`, `offset`. {"record": as above, "bytes", "shown", "text": if
    /// it is UTF-8, else null, "hex", "withheld": why the value is not shown, or empty}; 404 where
    /// the log has no record there.
    Answer record(const Parameters& asked) const;

private:
    core::Timestamp history_begins() const;

    const QueryContext read_;
};

}  // namespace beckon::console
