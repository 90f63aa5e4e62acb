#include "retry/event/filter/wildcard.hpp"

#include "retry/event/filter/heap.hpp"
#include "retry/event/filter/words.hpp"

#include <algorithm>

namespace beckon::retry {

namespace {

constexpr std::size_t kBits = 64;

std::uint64_t bit(std::size_t state) { return std::uint64_t{1} << (state % kBits); }

}  // namespace

Wildcard::Wildcard(std::string_view pattern) {
    struct Step {
        char32_t code_point;
        bool any;
    };
    std::vector<Step> path;
    std::vector<std::size_t> stars;
    while (!pattern.empty()) {
        const auto c = take_code_point(pattern);
        if (c == U'*') {
            if (stars.empty() || stars.back() != path.size()) stars.push_back(path.size());
            continue;
        }
        path.push_back({c, c == U'?'});
        wildcards_ += path.back().any ? 1 : 0;
        if (!path.back().any) alphabet_.push_back(c);
    }
    wildcards_ += stars.size();
    std::sort(alphabet_.begin(), alphabet_.end());
    alphabet_.erase(std::unique(alphabet_.begin(), alphabet_.end()), alphabet_.end());
    alphabet_.shrink_to_fit();
    states_ = path.size() + 1;
    words_ = (states_ + kBits - 1) / kBits;
    loops_.resize(words_);
    for (const auto state : stars) loops_[state / kBits] |= bit(state);
    rows_.resize((alphabet_.size() + 1) * words_);
    for (std::size_t state = 0; state < path.size(); ++state) {
        for (std::size_t row = 0; row <= alphabet_.size(); ++row) {
            const bool named = row > 0 && alphabet_[row - 1] == path[state].code_point;
            if (!named && !path[state].any) continue;
            rows_[row * words_ + state / kBits] |= bit(state);
        }
    }
    for (char32_t c = 0; c < ascii_.size(); ++c) {
        ascii_[c] = static_cast<std::uint8_t>(row_of(c));  // the alphabet begins with them
    }
}

std::size_t Wildcard::row_of(char32_t code_point) const {
    const auto found = std::lower_bound(alphabet_.begin(), alphabet_.end(), code_point);
    const bool named = found != alphabet_.end() && *found == code_point;
    return named ? static_cast<std::size_t>(found - alphabet_.begin()) + 1 : 0;
}

/// The row of the first code point, which is removed.
const Wildcard::Word* Wildcard::take_row(std::string_view& text) const {
    const auto first = static_cast<unsigned char>(text.front());
    if (first >= ascii_.size()) return rows_.data() + row_of(take_code_point(text)) * words_;
    text.remove_prefix(1);
    return rows_.data() + ascii_[first] * words_;
}

bool Wildcard::fits(std::string_view text) const {
    std::vector<Word> active(words_);
    active[0] = 1;
    const auto last = (states_ - 1) / kBits;
    const auto end = bit(states_ - 1);
    while (!text.empty()) {
        if ((active[last] & loops_[last] & end) != 0) return true;  // a `*` ends the pattern
        const auto* row = take_row(text);
        Word carry = 0;
        Word any = 0;
        for (std::size_t i = 0; i < words_; ++i) {
            const auto on = active[i] & row[i];
            active[i] = (on << 1) | carry | (active[i] & loops_[i]);
            carry = on >> (kBits - 1);
            any |= active[i];
        }
        if (any == 0) return false;
    }
    return (active[last] & end) != 0;
}

std::size_t Wildcard::heap_bytes() const {
    return heap_of(alphabet_) + heap_of(rows_) + heap_of(loops_);
}

}  // namespace beckon::retry
