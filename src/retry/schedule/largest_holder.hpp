#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace beckon::retry {

/// Counts the entries that each owner holds of a bounded memory, and finds the owner with the most:
/// when the memory is full, an entry of that owner is dropped, so no owner evicts the entries of
/// one that has fewer. Pure; one thread.
class LargestHolder {
public:
    void add(const std::string& name) { change(name, true); }
    void remove(const std::string& name) { change(name, false); }
    std::size_t total() const { return total_; }
    /// One of the owners with the most. Requires that total() is not 0.
    const std::string& largest() const { return by_count_.rbegin()->second; }

private:
    void change(const std::string& name, bool more) {
        auto& count = counts_[name];
        by_count_.erase({count, name});
        more ? (++count, ++total_) : (--count, --total_);
        if (count > 0) {
            by_count_.emplace(count, name);
        } else {
            counts_.erase(name);
        }
    }

    std::map<std::string, std::size_t, std::less<>> counts_;
    std::set<std::pair<std::size_t, std::string>> by_count_;
    std::size_t total_ = 0;
};

}  // namespace beckon::retry
