#include "records/client_gone.hpp"

#include "records/events.hpp"
#include "support/record_view.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::core;

namespace {

const ClientGone kGone{.uaid = Uaid{*parse_hex16("0f1e2d3c4b5a49788796a5b4c3d2e1f0")},
                       .token_hash = hash_of_token("a-token")};

}  // namespace

TEST_CASE("a token's end comes back from its record, which compaction keeps") {
    const auto record = encode(kGone);
    CHECK(record.key == "0f1e2d3c4b5a49788796a5b4c3d2e1f0/gone/" + std::string{kGone.token_hash});
    CHECK(record.value == "{}");
    CHECK(decode_client_gone(*test::ReadBack{record}) == kGone);
}

TEST_CASE("other records are no token's end") {
    const auto good = encode(kGone);
    auto tombstone = good;
    tombstone.value.reset();
    auto typed = good;
    typed.headers[1].value = "beckon.client.v1";
    auto cut = good;
    cut.key.pop_back();
    auto upper = good;
    upper.key.back() = 'A';
    auto elsewhere = good;
    elsewhere.key.replace(32, 6, "/come/");
    for (const auto& record :
         {tombstone, typed, cut, upper, elsewhere, encode(ClientRecorded{.uaid = kGone.uaid})}) {
        CAPTURE(record.key);
        CHECK(decode_client_gone(*test::ReadBack{record}) == std::nullopt);
    }
}

TEST_CASE("the token in router data has the hash of the token") {
    CHECK(hash_of_token_in(R"({"token":"a-token","app_id":"x"})") == kGone.token_hash);
    CHECK(hash_of_token_in(R"({"token":"another"})") != kGone.token_hash);
    for (const auto* data : {"", "{}", "[1]", R"({"token":1})"}) {
        CHECK(hash_of_token_in(data) == std::nullopt);
    }
}
