#pragma once

#include "log/contract.hpp"

#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Helpers of the contract's test cases: short words for long dialogues.
namespace beckon::test {

/// A record as it was read, whole and printable.
struct Read {
    core::Offset offset = 0;
    core::Timestamp time{};
    std::string key;
    std::optional<std::string> value;
    std::vector<std::pair<std::string, std::string>> headers;
    bool operator==(const Read&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Read& read) {
    out << read.offset << '@' << read.time.time_since_epoch().count() << ' ' << read.key << '='
        << (read.value ? *read.value : "null");
    for (const auto& [name, value] : read.headers) out << ' ' << name << ':' << value;
    return out;
}

inline Read to_read(const core::RecordView& view) {
    Read read{view.offset, view.time, std::string{view.key}, std::nullopt, {}};
    if (view.value) read.value = std::string{*view.value};
    for (const auto& h : view.headers) read.headers.emplace_back(h.name, h.value);
    return read;
}

/// The record as a reader must see it.
inline Read expected(const core::Record& record, const log::Appended& appended) {
    Read read{appended.offset, appended.time, record.key, record.value, {}};
    for (const auto& h : record.headers) read.headers.emplace_back(h.name, h.value);
    return read;
}

inline core::Record record(std::string key, std::optional<std::string> value = "value") {
    return {std::move(key), std::move(value), {}};
}

/// A reader that takes all records, `at_once` at a time.
class Collector {
public:
    Collector(LogUnderTest& under_test, log::TopicPartition where, core::Offset from,
              std::size_t at_once = 100)
        : at_once_(at_once) {
        reader = under_test.log().open_reader(where, from, under_test.executor(), [this] {
            ++ready_calls;
            take();
        });
    }

    void take() {
        for (;;) {
            const auto taken = reader->take(
                at_once_, [this](const core::RecordView& view) { seen.push_back(to_read(view)); });
            if (!taken) {
                fault = taken.error().fault;
                return;
            }
            fault.reset();
            drained = taken->drained;
            if (drained) return;
            if (taken->records == 0) throw std::logic_error("no records, not drained, not paused");
        }
    }

    std::vector<std::string> keys() const {
        std::vector<std::string> all;
        for (const auto& read : seen) all.push_back(read.key);
        return all;
    }

    std::unique_ptr<log::PartitionReader> reader;
    std::vector<Read> seen;
    int ready_calls = 0;
    bool drained = false;
    std::optional<core::Fault> fault;

private:
    std::size_t at_once_;
};

/// A reader that takes only on demand, as an owner that holds the head of a partition.
class HandReader {
public:
    HandReader(LogUnderTest& under_test, log::TopicPartition where, core::Offset from)
        : under_test_(under_test) {
        reader = under_test.log().open_reader(where, from, under_test.executor(),
                                              [this] { ++ready_calls; });
    }

    /// Takes `max` at once until `done()`, and waits for `ready` when there is nothing at hand.
    /// False if nothing came.
    bool take_until(std::size_t max, const std::function<bool()>& done,
                    const log::RecordSink& sink) {
        while (!done()) {
            const auto ready_before = ready_calls;
            const auto taken = reader->take(max, sink);
            drained = taken && taken->drained;
            if (taken && taken->records > max) return false;
            if (taken && !taken->drained) continue;
            if (done()) return true;
            if (!under_test_.wait_until([&] { return ready_calls > ready_before; })) return false;
        }
        return true;
    }
    /// As above, and adds the records to `seen`.
    bool take_until(std::size_t max, const std::function<bool()>& done) {
        return take_until(max, done,
                          [this](const core::RecordView& view) { seen.push_back(to_read(view)); });
    }

    std::unique_ptr<log::PartitionReader> reader;
    std::vector<Read> seen;
    int ready_calls = 0;
    bool drained = false;

private:
    LogUnderTest& under_test_;
};

/// Publishes and waits for every answer.
std::vector<core::Result<log::Appended>> publish_all(LogUnderTest& under_test,
                                                     log::Publisher& publisher,
                                                     log::TopicPartition where,
                                                     const std::vector<core::Record>& records);

/// Publishes with a publisher of its own, and requires that all succeed; returns the records as
/// readers must see them.
std::vector<Read> append(LogUnderTest& under_test, log::TopicPartition where,
                         const std::vector<core::Record>& records);

/// All that stands in the partition from `from` on.
std::vector<Read> read_all(LogUnderTest& under_test, log::TopicPartition where,
                           core::Offset from = 0);

core::Result<log::Ends> ends_of(LogUnderTest& under_test, log::TopicPartition where);

/// `<prefix>0` … `<prefix>count-1`.
std::vector<core::Record> numbered(const std::string& prefix, int count);

}  // namespace beckon::test
