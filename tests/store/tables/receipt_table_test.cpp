#include "store/edge_fixture.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::store;
using namespace beckon::store::test;
using Keys = std::vector<core::MessageKey>;

namespace {

struct Receipts : EdgeFixture {
    void put(std::string_view name, std::int64_t expires_s) {
        part().put_receipt(key_of(name), {.uaid = uaid,
                                          .expiry = at(expires_s),
                                          .ttl_zero = false,
                                          .subscription = "s",
                                          .message_id = std::string{name}});
    }
    Keys due(std::int64_t now_s) { return part().receipts_due(at(now_s), 10); }
};

}  // namespace

TEST_CASE("a receipt that replaces another leaves nothing of it behind") {
    Receipts store;
    const auto commits = GENERATE(0, 1, 2, 3);  // after which of the two
    store.put("m1", 10);
    if ((commits & 1) != 0) store.commit();
    store.put("m1", 20);
    if ((commits & 2) != 0) store.commit();
    CHECK(store.due(15).empty());
    CHECK(store.due(25) == Keys{key_of("m1")});
    store.finish("m1");
    store.commit();
    CHECK(store.due(100).empty());
    CHECK_FALSE(store.part().receipt(key_of("m1")));
    store.reopen();
    CHECK(store.due(100).empty());
    CHECK_FALSE(store.part().receipt(key_of("m1")));
}

TEST_CASE("a receipt that comes after the end of the one before has its own expiry alone") {
    Receipts store;
    store.put("m1", 10);
    store.commit();
    store.finish("m1");
    store.put("m1", 20);
    store.commit();
    CHECK(store.due(15).empty());
    CHECK(store.due(25) == Keys{key_of("m1")});
}
