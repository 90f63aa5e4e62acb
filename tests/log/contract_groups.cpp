#include "log/contract_support.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;
using log::GroupOffset;
using log::Members;
using log::Topic;
using log::TopicPartition;

namespace {

const TopicPartition kOne{Topic::kNotifications, 0};
const TopicPartition kTwo{Topic::kNotifications, 1};
const TopicPartition kThree{Topic::kSubscriptions, 1};

core::Result<void> commit(LogUnderTest& log, const std::string& group,
                          const std::vector<GroupOffset>& offsets) {
    std::optional<core::Result<void>> answer;
    log.log().commit(group, offsets, log.executor(), [&](auto result) { answer = result; });
    REQUIRE(log.wait_until([&] { return answer.has_value(); }));
    return *answer;
}

std::vector<GroupOffset> committed(LogUnderTest& log, const std::string& group,
                                   const std::vector<TopicPartition>& partitions) {
    std::optional<core::Result<std::vector<GroupOffset>>> answer;
    log.log().committed(group, partitions, log.executor(), [&](auto result) { answer = result; });
    REQUIRE(log.wait_until([&] { return answer.has_value(); }));
    REQUIRE(*answer);
    return **answer;
}

/// A member with a loop that turns until it is stopped.
struct Node {
    Node(LogUnderTest& under_test, const std::string& name,
         const std::string& group = "edge.members")
        : log(under_test) {
        member = log.log().join({group, core::NodeId{name}, log.session_timeout}, log.executor(),
                                [this](const Members& members) { seen = members; });
        turn();
    }
    ~Node() { *alive = false; }
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    void turn() {
        if (turning && member) member->still_alive();
        log.executor().post_after(log.session_timeout / 10, [this, still = alive] {
            if (*still) turn();
        });
    }

    LogUnderTest& log;
    std::shared_ptr<bool> alive = std::make_shared<bool>(true);
    bool turning = true;
    std::unique_ptr<log::Member> member;
    std::optional<Members> seen;
};

Members group_of(std::initializer_list<const char*> names, bool first) {
    Members members;
    for (const auto* name : names) members.alive.push_back(core::NodeId{name});
    members.first = first;
    return members;
}

}  // namespace

TEST_CASE("a group's offsets are found as they were committed") {
    const auto log = make_log_under_test({});
    for (const auto where : {kOne, kTwo, kThree}) append(*log, where, numbered("key", 20));
    CHECK(committed(*log, "edge", {kOne, kTwo}).empty());
    REQUIRE(commit(*log, "edge", {{kOne, 7}, {kThree, 1}}));
    REQUIRE(commit(*log, "edge", {{kOne, 9}}));
    REQUIRE(commit(*log, "retry", {{kOne, 3}}));
    CHECK(committed(*log, "edge", {kOne, kTwo, kThree}) ==
          std::vector<GroupOffset>{{kOne, 9}, {kThree, 1}});
    CHECK(committed(*log, "retry", {kOne, kThree}) == std::vector<GroupOffset>{{kOne, 3}});
    if (!log->restart) return;
    log->restart();
    CHECK(committed(*log, "edge", {kOne, kTwo, kThree}) ==
          std::vector<GroupOffset>{{kOne, 9}, {kThree, 1}});
}

TEST_CASE("members join and leave, and the longest is first") {
    const auto log = make_log_under_test({});
    auto a = std::make_unique<Node>(*log, "aaaa");
    REQUIRE(log->wait_until([&] { return a->seen == group_of({"aaaa"}, true); }));
    Node b{*log, "bbbb"};
    REQUIRE(log->wait_until([&] {
        return a->seen == group_of({"aaaa", "bbbb"}, true) &&
               b.seen == group_of({"aaaa", "bbbb"}, false);
    }));
    a.reset();
    REQUIRE(log->wait_until([&] { return b.seen == group_of({"bbbb"}, true); }));
}

TEST_CASE("groups do not see each other") {
    const auto log = make_log_under_test({});
    Node edge{*log, "aaaa", "edge.members"};
    Node retry{*log, "bbbb", "retry.members"};
    REQUIRE(log->wait_until([&] {
        return edge.seen == group_of({"aaaa"}, true) && retry.seen == group_of({"bbbb"}, true);
    }));
}

TEST_CASE("a member whose loops are stalled is dead to the others, until they turn again") {
    const auto log = make_log_under_test({});
    Node a{*log, "aaaa"};
    REQUIRE(log->wait_until([&] { return a.seen == group_of({"aaaa"}, true); }));
    Node b{*log, "bbbb"};
    REQUIRE(log->wait_until([&] { return b.seen == group_of({"aaaa", "bbbb"}, false); }));
    a.turning = false;
    REQUIRE(log->wait_until([&] { return b.seen == group_of({"bbbb"}, true); },
                            log->session_timeout * 6));
    a.turning = true;
    REQUIRE(log->wait_until(
        [&] {
            return b.seen == group_of({"aaaa", "bbbb"}, true);
        },
        log->session_timeout * 6));
    CHECK(log->wait_until([&] { return a.seen == group_of({"aaaa", "bbbb"}, false); }));
}

TEST_CASE("a member that lives is not taken for dead") {
    const auto log = make_log_under_test({});
    Node a{*log, "aaaa"};
    Node b{*log, "bbbb"};
    REQUIRE(log->wait_until([&] {
        return a.seen && b.seen && a.seen->alive.size() == 2 && b.seen->alive.size() == 2;
    }));
    const auto before = *a.seen;
    const auto until = log->clock().mono() + log->session_timeout * 3;
    log->wait_until([&] { return log->clock().mono() > until || a.seen != before; },
                    log->session_timeout * 4);
    CHECK(a.seen == before);
}

TEST_CASE("a member that is destroyed is not called afterwards") {
    const auto log = make_log_under_test({});
    int called = 0;
    log->log()
        .join({"edge.members", core::NodeId{"aaaa"}, log->session_timeout}, log->executor(),
              [&](const Members&) { ++called; })
        .reset();
    Node b{*log, "bbbb"};
    REQUIRE(log->wait_until([&] { return b.seen == group_of({"bbbb"}, true); },
                            log->session_timeout * 6));
    CHECK(called == 0);
}
