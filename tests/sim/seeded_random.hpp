#pragma once

#include <cstdint>

namespace beckon::sim {

/// From now on OpenSSL's random generator, from which all ids and keys come, follows from the seed,
/// so that a run can be repeated exactly. For programs of one thread that keep no secrets.
void seed_openssl_random(std::uint64_t seed);

}  // namespace beckon::sim
