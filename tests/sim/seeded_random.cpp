#define OPENSSL_SUPPRESS_DEPRECATED  // a provider would be the other way, in ten times the lines

#include "sim/seeded_random.hpp"

#include "core/ids.hpp"

#include <random>

#include <openssl/rand.h>

namespace beckon::sim {

namespace {

std::mt19937_64& generator() {
    static std::mt19937_64 random;
    return random;
}

int fill(unsigned char* out, int count) {
    for (int i = 0; i < count; ++i) out[i] = static_cast<unsigned char>(generator()());
    return 1;
}

int ready() { return 1; }

}  // namespace

void seed_openssl_random(std::uint64_t seed) {
    static const RAND_METHOD method{.seed = nullptr,
                                    .bytes = fill,
                                    .cleanup = nullptr,
                                    .add = nullptr,
                                    .pseudorand = fill,
                                    .status = ready};
    generator().seed(seed);
    RAND_set_rand_method(&method);
    core::forget_random_bytes();
}

}  // namespace beckon::sim
