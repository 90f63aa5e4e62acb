#include "core/partition.hpp"

#include <catch2/catch.hpp>

using namespace beckon::core;

namespace {

struct Vector {
    std::string_view key;
    std::uint32_t hash;
    Partition of_3, of_16, of_65535;
};

// Printed by a Java program over org.apache.kafka:kafka-clients:4.3.1, one line per key:
//   byte[] b = key.getBytes(UTF_8); int h = Utils.murmur2(b); int p = Utils.toPositive(h);
//   h in hex, p % 3, p % 16, p % 65535
// The keys: all lengths of a last block, the texts of Kafka's own test, random UAIDs.
constexpr Vector kVectors[] = {
    {"", 0x106e08d9U, 0, 9, 6471},
    {"a", 0xa2d0b27cU, 1, 12, 54604},
    {"ab", 0x12d8262aU, 2, 10, 14594},
    {"abc", 0x1c94221bU, 0, 11, 16047},
    {"abcd", 0xb11ab5f4U, 2, 4, 59150},
    {"abcde", 0x1b897eddU, 1, 13, 39526},
    {"abcdef", 0x6f7fdafcU, 0, 12, 19068},
    {"abcdefg", 0xeb595499U, 1, 9, 49138},
    {"21", 0xc5f2f8ecU, 0, 12, 16095},
    {"foobar", 0xd0e47bbeU, 0, 14, 52386},
    {"a-little-bit-long-string", 0xc53b1da0U, 2, 0, 25307},
    {"a-little-bit-longer-string", 0xa768c9c3U, 2, 3, 61739},
    {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", 0xfc7d49cdU, 2, 13, 50762},
    {"\xc3\xa9\xc3\x9f\xe6\xb0\xb4", 0x61639f19U, 2, 9, 125},
    {"0f1e2d3c4b5a49788796a5b4c3d2e1f0", 0x8d048221U, 0, 1, 36645},
    {"99170fbb183447a39a94c9bf390b7702", 0x8e169a28U, 2, 8, 43070},
    {"09d32a595d4a487d81f4b3e592471abe", 0xad7bf6acU, 1, 12, 9256},
    {"05194bb55dca43918016175aa147e1f3", 0xb35447f3U, 2, 3, 31559},
    {"e98ee81edf7f4e40bfe793d9fced52b2", 0x3f130b6eU, 2, 14, 19073},
    {"02e34d15e5c44aaf966fc2edcea4fb1b", 0x44c5a15eU, 1, 14, 58915},
    {"65e240a4e944431d8705e6c8b71cf8bd", 0x9ea45ebcU, 2, 12, 32096},
    {"fc97c696693048b2aedd1479f1953297", 0x083dc8eeU, 0, 14, 53547},
    {"e1c82141a6a44d99b64cf461b317c99f", 0x48c498d0U, 1, 0, 57748},
    {"ee614cc5a74b429f8f814e38d93995b6", 0x7d20a422U, 1, 2, 8515},
    {"94aa2150847841d79da8ddddc46434af", 0xe7f5d832U, 2, 2, 16424},
    {"eb50781ae04344f9b3a3f3707eab7947", 0x1aa8ed8bU, 0, 11, 2100},
    {"0ba3c885b66c499880da641a22a420ee", 0x7d2a029fU, 1, 15, 32713},
    {"9989ec985901441689c38fbf7ae22a00", 0x041bd671U, 1, 1, 55948},
    {"a4174c64b5144dc69831c2d5e9f8c7dc", 0xdef36551U, 0, 1, 50244},
    {"b1c3a276da0345c5b47dd8728b234273", 0xa15c98a2U, 1, 2, 47614},
    {"149eb6e9bb0f45f4911a021c9a0168a9", 0x2767c3d9U, 2, 9, 60224},
    {"81181c9a324f4aec89395a3213018ebd", 0x731c7aafU, 2, 15, 60875},
    {"e232b69b463d4fe98c73ba9c9960c80b", 0xa1005057U, 2, 7, 29015},
    {"6a214cc7b067490295b0180a98eba8fc", 0x2fa3b3d1U, 1, 1, 58228},
    {"e9bf8a819b0145529ebc20efacd4d95a", 0x3b116174U, 1, 4, 40069},
    {"6166595aac5e405c963fcdf74452a17e", 0x9a8f6d40U, 0, 0, 34767},
    {"daf2ce71419a4512900fcbc182e1ef30", 0x4497b8eeU, 2, 14, 64901},
    {"721c8d57fcee40eebd07ad4165535585", 0xe0d202b8U, 0, 8, 25482},
    {"b7631557828246259de9a5922a085741", 0xfe635abeU, 1, 14, 55585},
};

}  // namespace

TEST_CASE("murmur2 and the partition are those of Kafka's own client") {
    for (const auto& vector : kVectors) {
        CAPTURE(vector.key);
        CHECK(murmur2(vector.key) == vector.hash);
        CHECK(partition_of(vector.key, 1) == 0);
        CHECK(partition_of(vector.key, 3) == vector.of_3);
        CHECK(partition_of(vector.key, 16) == vector.of_16);
        CHECK(partition_of(vector.key, 65535) == vector.of_65535);
    }
}

TEST_CASE("a client's partition is that of its UAID in hex") {
    const Uaid uaid{*parse_hex16("0f1e2d3c4b5a49788796a5b4c3d2e1f0")};
    for (const Partition partitions : {1, 2, 16, 100, 65535}) {
        CHECK(partition_of(uaid, partitions) ==
              partition_of("0f1e2d3c4b5a49788796a5b4c3d2e1f0", partitions));
    }
}

TEST_CASE("clients spread over all partitions") {
    std::array<int, 16> clients{};
    for (int i = 0; i < 16'000; ++i) {
        ++clients[static_cast<std::size_t>(partition_of(Uaid{random_uuid4()}, 16))];
    }
    for (const int count : clients) CHECK(count > 700);  // 1,000 ± 9 standard deviations
}
