#pragma once

#include "retry/event/filter/heap.hpp"
#include "retry/event/filter/json_tree.hpp"
#include "retry/event/filter/steps.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace beckon::retry {

/// A dotted path into an event (`data.items.price`). The path enters each element of an array. A
/// name in the event may have dots itself, so several names of the path can be one name there.
/// Immutable; any thread.
class FieldPath {
public:
    using Value = JsonTree::Value;

    explicit FieldPath(std::string text) : text_(std::move(text)) {}

    const std::string& text() const { return text_; }
    std::size_t names() const {
        return 1 + static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '.'));
    }
    /// The bytes that it holds on the heap.
    std::size_t heap_bytes() const { return heap_of(text_); }

    /// True if `f` is true for one of the values at the path, which may be null or objects but not
    /// lists. A value costs a step, and an object one more for each kMembersPerStep of its members.
    template <class F>
    bool any(const Value& event, Steps& steps, F&& f) const {
        return walk(event, 0, steps, f);
    }

private:
    /// Where the next name begins behind `key`, if the path goes on with `key` at `begin`, and
    /// text_.size() + 1 behind the last one; 0 if it does not.
    std::size_t after(std::size_t begin, std::string_view key) const {
        const auto end = begin + key.size();
        if (text_.compare(begin, key.size(), key) != 0) return 0;
        return end == text_.size() || text_[end] == '.' ? end + 1 : 0;
    }

    /// Ends when the steps are exhausted; the result means nothing then.
    template <class F>
    bool walk(const Value& at, std::size_t begin, Steps& steps, F& f) const {
        if (!steps.take()) return false;
        if (at.is_list()) {
            return at.any_element(
                [&](const Value& one) { return walk(one, begin, steps, f) || steps.exhausted(); });
        }
        if (begin > text_.size()) return f(at);
        if (!at.is_object() || !steps.take(at.size() / kMembersPerStep)) return false;
        return at.any_member([&](std::string_view key, const Value& value) {
            const auto next = after(begin, key);
            return next != 0 && (walk(value, next, steps, f) || steps.exhausted());
        });
    }

    static constexpr std::size_t kMembersPerStep = 4;
    std::string text_;
};

}  // namespace beckon::retry
