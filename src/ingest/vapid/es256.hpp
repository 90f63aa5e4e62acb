#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

namespace beckon::ingest {

/// ES256 verification with OpenSSL contexts that are made once and reused: a fresh set costs a
/// third more per verification. One instance per thread.
class Es256 {
public:
    Es256();
    ~Es256();

    enum class Verdict : std::uint8_t {
        good,
        bad_key,        ///< not an uncompressed P-256 point
        bad_signature,  ///< wrong, or not 64 bytes
    };
    /// `point` is the raw key (65 bytes, leading 0x04), `signature` r ‖ s.
    Verdict verify(std::string_view point, std::string_view message, std::string_view signature);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::ingest
