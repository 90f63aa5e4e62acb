#include "core/bytes.hpp"

#include <catch2/catch.hpp>

using namespace beckon::core;

TEST_CASE("values are read back in the order in which they were appended") {
    std::string bytes;
    append_fixed(bytes, std::uint8_t{7});
    append_fixed(bytes, std::uint16_t{0x0102});
    append_fixed(bytes, std::uint32_t{0x01020304});
    append_fixed(bytes, std::uint64_t{0x0102030405060708});
    append_varint(bytes, 300);
    append_varint(bytes, ~std::uint64_t{0});
    append_text(bytes, "text");
    ByteReader reader{bytes};
    CHECK(reader.fixed<std::uint8_t>() == 7);
    CHECK(reader.fixed<std::uint16_t>() == 0x0102);
    CHECK(reader.fixed<std::uint32_t>() == 0x01020304);
    CHECK(reader.fixed<std::uint64_t>() == 0x0102030405060708);
    CHECK(reader.varint() == 300);
    CHECK(reader.varint() == ~std::uint64_t{0});
    CHECK(reader.text() == "text");
    CHECK(reader.finished());
}

TEST_CASE("numbers of a fixed length sort as their bytes do") {
    std::string small;
    std::string large;
    append_fixed(small, std::uint32_t{255});
    append_fixed(large, std::uint32_t{256});
    CHECK(small == std::string({0, 0, 0, '\xff'}));
    CHECK(small < large);
}

TEST_CASE("after the first missing value all reads give 0") {
    for (const std::string_view bytes :
         {"", "\x05text", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"}) {
        CAPTURE(bytes);
        ByteReader reader{bytes};
        CHECK(reader.text().empty());
        CHECK_FALSE(reader.good());
        CHECK(reader.fixed<std::uint8_t>() == 0);
        CHECK(reader.varint() == 0);
        CHECK_FALSE(reader.finished());
    }
}
