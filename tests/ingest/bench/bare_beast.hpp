#pragma once

#include <cstdint>
#include <memory>

namespace beckon::bench {

/// A Boost.Beast server as its examples have it, on one thread, with a deadline timer: it answers
/// every request 201 at once. It shows the cost of HTTP alone.
class BareBeast {
public:
    BareBeast();
    ~BareBeast();
    std::uint16_t port() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace beckon::bench
