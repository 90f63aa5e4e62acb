#include "retry/filter/field_path.hpp"

#include "retry/filter/heap.hpp"

#include <algorithm>
#include <utility>

namespace beckon::retry {

FieldPath::FieldPath(std::string text) : text_(std::move(text)) {
    ends_.reserve(1 + static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '.')));
    for (std::size_t i = 0; i < text_.size(); ++i) {
        if (text_[i] == '.') ends_.push_back(static_cast<std::uint32_t>(i));
    }
    ends_.push_back(static_cast<std::uint32_t>(text_.size()));
}

std::size_t FieldPath::heap_bytes() const { return heap_of(text_) + heap_of(ends_); }

std::size_t FieldPath::after(std::size_t name, std::string_view key) const {
    const auto begin = begin_of(name);
    const auto end = begin + key.size();
    if (end > text_.size() || text_.compare(begin, key.size(), key) != 0) return 0;
    if (end != text_.size() && text_[end] != '.') return 0;
    const auto first = ends_.begin() + static_cast<std::ptrdiff_t>(name);
    const auto found = std::lower_bound(first, ends_.end(), end);
    return static_cast<std::size_t>(found - ends_.begin()) + 1;
}

}  // namespace beckon::retry
