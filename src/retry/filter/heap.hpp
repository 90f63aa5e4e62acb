#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Bytes of values on the heap, with the allocator's overhead for each block: so the memory of a
/// webhook is computed, not measured. Pure.
namespace beckon::retry {

/// Of each block, at most: the allocator's own bytes and the rounding up.
inline constexpr std::size_t kBlockOverhead = 16;

inline std::size_t heap_block(std::size_t bytes) { return bytes == 0 ? 0 : bytes + kBlockOverhead; }

/// Of a text that was copied, or has given back what it does not need: so it is the same for equal
/// texts, wherever they come from.
inline std::size_t heap_of(const std::string& text) {
    return text.size() <= std::string{}.capacity() ? 0 : heap_block(text.size() + 1);
}
template <class T>
std::size_t heap_of(const std::vector<T>& values) {
    return heap_block(values.capacity() * sizeof(T));
}

}  // namespace beckon::retry
