#pragma once

#include "retry/filter/json_tree.hpp"
#include "retry/filter/steps.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace beckon::retry {

/// A dotted path into an event (`data.items.price`), split once. The path enters each element of an
/// array. A name in the event may have dots itself, so several names of the path can be one name
/// there. Immutable; any thread.
class FieldPath {
public:
    using Value = JsonTree::Value;

    explicit FieldPath(std::string text);

    const std::string& text() const { return text_; }
    std::size_t names() const { return ends_.size(); }
    /// The bytes that it holds on the heap.
    std::size_t heap_bytes() const;

    /// True if `f` is true for one of the values at the path, which may be null or objects but not
    /// lists. A value costs a step, and an object one more for each kMembersPerStep of its members.
    template <class F>
    bool any(const Value& event, Steps& steps, F&& f) const {
        return walk(event, 0, steps, f);
    }
    /// True if `f` is true for one of the values at the path that are strings, numbers or booleans.
    template <class F>
    bool any_scalar(const Value& event, Steps& steps, F&& f) const {
        const auto of_scalar = [&](const Value& value) {
            return (value.is_text() || value.is_number() || value.is_boolean()) && f(value);
        };
        return walk(event, 0, steps, of_scalar);
    }

private:
    std::size_t begin_of(std::size_t name) const { return name == 0 ? 0 : ends_[name - 1] + 1U; }
    /// The number of the name that begins after `key`, if the path goes on with `key` at `name`; 0
    /// if it does not.
    std::size_t after(std::size_t name, std::string_view key) const;

    /// Ends when the steps are exhausted; the result means nothing then.
    template <class F>
    bool walk(const Value& at, std::size_t name, Steps& steps, F& f) const {
        if (!steps.take()) return false;
        if (at.is_list()) {
            return at.any_element(
                [&](const Value& one) { return walk(one, name, steps, f) || steps.exhausted(); });
        }
        if (name == ends_.size()) return f(at);
        if (!at.is_object() || !steps.take(at.size() / kMembersPerStep)) return false;
        return at.any_member([&](std::string_view key, const Value& value) {
            const auto next = after(name, key);
            return next != 0 && (walk(value, next, steps, f) || steps.exhausted());
        });
    }

    static constexpr std::size_t kMembersPerStep = 4;
    std::string text_;
    std::vector<std::uint32_t> ends_;  ///< of each name
};

}  // namespace beckon::retry
