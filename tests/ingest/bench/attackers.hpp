#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

namespace beckon::bench {

struct AttackOptions {
    std::uint16_t port = 0;
    int idle = 10'000;    ///< kept alive after one request each
    int drippers = 500;   ///< a byte each second, half of them in the head, half in the body
    int floods = 4;       ///< endless chunks, again and again
    std::string request;  ///< of the idle ones
};

/// A child process that misuses the server while this object lives.
class Attackers {
public:
    /// Returns when all connections stand.
    explicit Attackers(const AttackOptions& options);
    ~Attackers();
    Attackers(const Attackers&) = delete;
    Attackers& operator=(const Attackers&) = delete;

private:
    pid_t child_;
};

}  // namespace beckon::bench
