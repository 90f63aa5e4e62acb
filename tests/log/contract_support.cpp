#include "log/contract_support.hpp"

#include <catch2/catch.hpp>

namespace beckon::test {

std::vector<core::Result<log::Appended>> publish_all(LogUnderTest& under_test,
                                                     log::Publisher& publisher,
                                                     log::TopicPartition where,
                                                     const std::vector<core::Record>& records) {
    std::vector<core::Result<log::Appended>> answers;
    for (const auto& r : records) {
        publisher.publish(where, r, [&](const auto& result) { answers.push_back(result); });
    }
    REQUIRE(under_test.wait_until([&] { return answers.size() == records.size(); }));
    return answers;
}

std::vector<Read> append(LogUnderTest& under_test, log::TopicPartition where,
                         const std::vector<core::Record>& records) {
    const auto publisher = under_test.log().open_publisher(under_test.executor());
    const auto answers = publish_all(under_test, *publisher, where, records);
    std::vector<Read> written;
    for (std::size_t i = 0; i < records.size(); ++i) {
        INFO((answers[i] ? "" : answers[i].error().message));
        REQUIRE(answers[i]);
        written.push_back(expected(records[i], *answers[i]));
    }
    return written;
}

std::vector<Read> read_all(LogUnderTest& under_test, log::TopicPartition where, core::Offset from) {
    const auto ends = ends_of(under_test, where);
    REQUIRE(ends);
    Collector collector{under_test, where, from};
    REQUIRE(under_test.wait_until(
        [&] { return collector.drained && collector.reader->position() >= ends->end; }));
    return collector.seen;
}

core::Result<log::Ends> ends_of(LogUnderTest& under_test, log::TopicPartition where) {
    std::optional<core::Result<log::Ends>> answer;
    under_test.log().ends(where, under_test.executor(), [&](auto result) { answer = result; });
    REQUIRE_FALSE(answer);  // never from within
    REQUIRE(under_test.wait_until([&] { return answer.has_value(); }));
    return *answer;
}

std::vector<core::Record> numbered(const std::string& prefix, int count) {
    std::vector<core::Record> records;
    for (int i = 0; i < count; ++i) {
        const auto number = std::to_string(i);
        records.push_back({prefix + number, "value " + number, {}});
    }
    return records;
}

}  // namespace beckon::test
