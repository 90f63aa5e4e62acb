// Each seed of each fuzz target goes through it. A target that aborts fails its test, which names
// the seed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include <catch2/catch.hpp>

namespace {

std::vector<std::filesystem::path> seeds_of(const char* target) {
    const auto folder = std::filesystem::path{CORPUS} / target;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator{folder}) {
        files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    return files;
}

std::vector<std::uint8_t> bytes_of(const std::filesystem::path& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

void run_all(const char* name, int (*target)(const std::uint8_t* data, std::size_t size)) {
    const auto seeds = seeds_of(name);
    REQUIRE_FALSE(seeds.empty());
    for (const auto& seed : seeds) {
        INFO(seed.string());
        const auto bytes = bytes_of(seed);
        CHECK(target(bytes.data(), bytes.size()) == 0);
    }
}

}  // namespace

#define TARGET(name)                                                        \
    extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size); \
    TEST_CASE("every seed of fuzz_" #name " goes through it") { run_all(#name, &fuzz_##name); }
#include "targets.inc"
