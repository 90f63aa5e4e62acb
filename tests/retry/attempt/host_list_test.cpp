#include "retry/attempt/host_list.hpp"

#include <catch2/catch.hpp>

using beckon::retry::HostList;

TEST_CASE("hosts are named whole, or by what they end in", "[retry][attempt]") {
    const auto list = HostList::of({"Receiver.Internal", "*.svc.cluster.local"});
    REQUIRE(list);
    for (const auto* host : {"receiver.internal", "RECEIVER.internal.", "a.svc.cluster.local",
                             "a.b.svc.cluster.local"}) {
        CHECK(list->contains(host));
    }
    for (const auto* host : {"svc.cluster.local", "xsvc.cluster.local", "a.receiver.internal",
                             "receiver.internal.evil.example", "10.0.0.1", "", "."}) {
        CHECK_FALSE(list->contains(host));
    }
    CHECK_FALSE(HostList{}.contains("receiver.internal"));
}

TEST_CASE("a text that is no host name is refused", "[retry][attempt]") {
    for (const auto* text : {"", "*", "*.", "a b", "http://a", "a:80", "10.0.0.1", "*.10.0.0.1",
                             "a..b", ".a", "*a.b", "a.*"}) {
        CAPTURE(text);
        CHECK(HostList::of({text}).error().message ==
              "`" + std::string{text} + "` is no host name, e.g. receiver.internal, *.internal");
    }
}
