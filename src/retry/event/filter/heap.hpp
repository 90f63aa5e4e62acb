#pragma once

#include <cstddef>
#include <string>
#include <vector>

/// Bytes of values on the heap, with the allocator's overhead for each block: so the memory of a
/// webhook is computed, not measured. Pure.
namespace beckon::retry {

/// The most extra bytes of a block: the allocator's own, and the rounding up.
inline constexpr std::size_t kBlockOverhead = 16;

inline std::size_t heap_block(std::size_t bytes) { return bytes == 0 ? 0 : bytes + kBlockOverhead; }

/// The heap bytes of a text that was copied, or has released its spare capacity: the same for equal
/// texts from any source.
inline std::size_t heap_of(const std::string& text) {
    return text.size() <= std::string{}.capacity() ? 0 : heap_block(text.size() + 1);
}
template <class T>
std::size_t heap_of(const std::vector<T>& values) {
    return heap_block(values.capacity() * sizeof(T));
}
/// A value with the counts of its owners, as std::make_shared puts them into one block.
template <class T>
std::size_t heap_of_shared() {
    return heap_block(sizeof(T) + 2 * sizeof(void*));
}

}  // namespace beckon::retry
