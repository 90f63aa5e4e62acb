#pragma once

#include "retry/filter/steps.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::retry {

/// A dotted path into an event (`data.items.price`), split once. The path enters each element of an
/// array. A name in the event may have dots itself, so several names of the path can be one name
/// there. Immutable; any thread.
class FieldPath {
public:
    using Json = nlohmann::json;

    explicit FieldPath(std::string text);

    const std::string& text() const { return text_; }
    std::size_t names() const { return ends_.size(); }
    /// The bytes that it holds on the heap.
    std::size_t heap_bytes() const;

    /// True if `f` is true for one of the values at the path, which may be null or objects but not
    /// arrays. An object costs one step for each of its members or each name of the path, whichever
    /// are fewer, so a walk costs at most the number of the event's values.
    template <class F>
    bool any(const Json& event, Steps& steps, F&& f) const {
        return walk(event, 0, steps, f);
    }
    /// True if `f` is true for one of the values at the path that are strings, numbers or booleans.
    template <class F>
    bool any_scalar(const Json& event, Steps& steps, F&& f) const {
        const auto of_scalar = [&](const Json& value) {
            return (value.is_string() || value.is_number() || value.is_boolean()) && f(value);
        };
        return walk(event, 0, steps, of_scalar);
    }

private:
    std::size_t begin_of(std::size_t name) const { return name == 0 ? 0 : ends_[name - 1] + 1U; }
    /// The number of the name that begins after `key`, if the path goes on with `key` at `name`; 0
    /// if it does not.
    std::size_t after(std::size_t name, std::string_view key) const;

    template <class F>
    bool walk(const Json& at, std::size_t name, Steps& steps, F& f) const {
        if (!steps.take()) return false;
        if (at.is_array()) {
            for (const auto& one : at) {
                if (walk(one, name, steps, f)) return true;
                if (steps.exhausted()) return false;
            }
            return false;
        }
        if (name == ends_.size()) return f(at);
        if (!at.is_object()) return false;
        const auto& members = at.get_ref<const Json::object_t&>();
        return members.size() <= ends_.size() - name ? by_members(members, name, steps, f)
                                                     : by_names(members, name, steps, f);
    }
    template <class F>
    bool by_members(const Json::object_t& members, std::size_t name, Steps& steps, F& f) const {
        for (const auto& [key, value] : members) {
            if (!steps.take()) return false;
            const auto next = after(name, key);
            if (next != 0 && walk(value, next, steps, f)) return true;
        }
        return false;
    }
    template <class F>
    bool by_names(const Json::object_t& members, std::size_t name, Steps& steps, F& f) const {
        const std::string_view text{text_};
        const auto begin = begin_of(name);
        for (auto next = name + 1; next <= ends_.size(); ++next) {
            const auto key = text.substr(begin, ends_[next - 1] - begin);
            if (!steps.take_text(key.size())) return false;
            const auto found = members.find(key);
            if (found != members.end() && walk(found->second, next, steps, f)) return true;
        }
        return false;
    }

    std::string text_;
    std::vector<std::uint32_t> ends_;  ///< of each name
};

}  // namespace beckon::retry
