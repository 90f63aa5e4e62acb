#include "records/process.hpp"

#include "records/ownership.hpp"

#include <limits>

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::cluster;

namespace {

core::RecordView view_of(const core::Record& record) {
    core::RecordView view;
    view.key = record.key;
    if (record.value) view.value = *record.value;
    return view;
}

ProcessRecord example() {
    ProcessRecord process;
    process.role = "edge";
    process.id = "0123456789abcdef";
    process.name = "edge-1:8080";
    process.version = "0.1.0 (abc)";
    process.started = core::Timestamp{std::chrono::seconds{5}};
    process.at = core::Timestamp{std::chrono::seconds{9}};
    process.ready = true;
    process.warnings = {"key ring: it is older"};
    process.counters = {{"delivered", 12}};
    process.gauges = {{"clients", 3.5}};
    process.refused = {{.endpoint = refused_name("gAAAAABn"),
                        .at = core::Timestamp{std::chrono::seconds{8}},
                        .status = 401,
                        .problem = "unauthorized",
                        .message = "The request is not authorized.",
                        .count = 3}};
    process.view = {7, 0};
    return process;
}

}  // namespace

TEST_CASE("what a process says of itself is the same after the log") {
    const auto record = encode(example());
    CHECK(record.key == "process/edge/0123456789abcdef");
    CHECK(decode_process(view_of(record)) == example());
}

TEST_CASE("a process that has ended leaves a tombstone") {
    auto ended = example();
    ended.removed = true;
    const auto record = encode(ended);
    CHECK_FALSE(record.value);
    CHECK(decode_process(view_of(record))->removed);
}

TEST_CASE("roles fold no record of a process") {
    const auto record = encode(example());
    CHECK(std::holds_alternative<OwnershipBarrier>(decode_ownership(view_of(record))));
}

TEST_CASE("a record is bounded, and numbers that are none are left out") {
    auto process = example();
    for (int i = 0; i < 1'000; ++i) {
        process.counters["c" + std::to_string(i)] = i;
        process.faults.emplace_back(10'000, 'x');
        process.refused.push_back({.endpoint = "e", .message = std::string(100, 'x')});
    }
    process.gauges["never"] = std::numeric_limits<double>::infinity();
    process.view.resize(ProcessRecord::kPartitionsMax + 1);
    const auto record = encode(process);
    CHECK(record.value->size() < 40'000);
    const auto read = decode_process(view_of(record));
    REQUIRE(read);
    CHECK(read->counters.size() == ProcessRecord::kNumbersMax);
    CHECK(read->faults.size() == ProcessRecord::kReasonsMax);
    CHECK(read->refused.size() == ProcessRecord::kRefusedMax);
    CHECK_FALSE(read->gauges.contains("never"));
    CHECK(read->view.empty());
    process.view.pop_back();
    CHECK(decode_process(view_of(encode(process)))->view == process.view);
}

TEST_CASE("what is no record of a process is none") {
    for (const auto* value :
         {"", "[]", "1", R"({"ready": "yes"})", R"({"counters": {"a": "b"}})", R"({"faults": [1]})",
          R"({"at": 1e300})", R"({"at": 1.5})", R"({"started": 9223372036854775808})",
          R"({"started": true})", R"({"view": [1.5]})", R"({"view": [1e300]})", R"({"view": [-1]})",
          R"({"view": [9223372036854775808]})"}) {
        CAPTURE(value);
        core::Record record{.key = "process/edge/a", .value = value, .headers = {}};
        CHECK_FALSE(decode_process(view_of(record)));
    }
    CHECK_FALSE(decode_process(view_of({.key = "process/edge", .value = "{}", .headers = {}})));
    CHECK_FALSE(decode_process(view_of({.key = "edge/node/a", .value = "{}", .headers = {}})));
}

TEST_CASE("a value that is nested without end is no process") {
    auto record = encode(example());
    record.value = R"({"faults":)" + std::string(300'000, '[') + std::string(300'000, ']') + "}";
    CHECK_FALSE(decode_process(view_of(record)));
}
