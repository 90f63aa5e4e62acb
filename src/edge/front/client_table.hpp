#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace beckon::edge {

struct Client;

/// A front's clients by session number: an index into a table plus a generation, so that finding
/// one reads two words, and no number is used twice. One thread.
class ClientTable {
public:
    std::uint64_t add(Client& client);
    /// Null: that session is over.
    Client* find(std::uint64_t number) const;
    void remove(std::uint64_t number);
    /// Gives a client another number: messages to the old one find no client.
    std::uint64_t renumber(std::uint64_t number);

    std::size_t size() const { return slots_.size() - free_.size(); }
    /// The first client at or after `index` in the table, which moves behind it; null at the end.
    Client* next(std::size_t& index) const;

private:
    /// 16 million clients a front, 1.1e12 sessions a place.
    static constexpr unsigned kIndexBits = 24;

    struct Slot {
        std::uint64_t generation = 1;
        Client* client = nullptr;
    };
    std::vector<Slot> slots_;
    std::vector<std::uint32_t> free_;
};

}  // namespace beckon::edge
