#include "support/allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#ifdef BECKON_SANITIZED

namespace beckon::test {

Allocations allocations() { return {}; }
bool allocations_are_counted() { return false; }

}  // namespace beckon::test

#else

namespace {

std::atomic<std::size_t> held = 0;
std::atomic<std::size_t> in_all = 0;

}  // namespace

/// The size stands in front of each block.
void* operator new(std::size_t size) {
    auto* block = static_cast<std::size_t*>(std::malloc(size + 16));
    if (block == nullptr) throw std::bad_alloc{};
    *block = size;
    held += size + 16;
    in_all += size + 16;
    return reinterpret_cast<char*>(block) + 16;
}
void operator delete(void* at) noexcept {
    if (at == nullptr) return;
    auto* block = reinterpret_cast<std::size_t*>(static_cast<char*>(at) - 16);
    held -= *block + 16;
    std::free(block);
}
void operator delete(void* at, std::size_t) noexcept { operator delete(at); }

namespace beckon::test {

Allocations allocations() { return {.held = held, .in_all = in_all}; }
bool allocations_are_counted() { return true; }

}  // namespace beckon::test

#endif
