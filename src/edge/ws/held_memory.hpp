#pragma once

#include "core/largest_holder.hpp"
#include "net/peer_address.hpp"

#include <cstddef>
#include <map>

namespace beckon::edge {

struct Connection;

/// The memory that the connections of a shard hold: frames that are not sent yet, and pieces of
/// messages that are not complete. Where it is more than the bound, the connection with the most is
/// to end, among those of the address that holds the most: nobody ends a client of an address that
/// holds less than its own. One thread.
class HeldMemory {
public:
    explicit HeldMemory(std::size_t bytes_max) : bytes_max_(bytes_max) {}

    void add(const net::PeerAddress& address, Connection& connection, std::size_t bytes) {
        addresses_.add(address, bytes);
        by_address_[address].add(&connection, bytes);
    }
    void remove(const net::PeerAddress& address, Connection& connection, std::size_t bytes) {
        addresses_.remove(address, bytes);
        const auto at = by_address_.find(address);
        at->second.remove(&connection, bytes);
        if (at->second.total() == 0) by_address_.erase(at);
    }
    /// Null: all connections together are within the bound.
    Connection* excess() const {
        if (addresses_.total() <= bytes_max_) return nullptr;
        return by_address_.at(addresses_.largest()).largest();
    }
    std::size_t total() const { return addresses_.total(); }

private:
    const std::size_t bytes_max_;
    core::LargestHolder<net::PeerAddress> addresses_;
    std::map<net::PeerAddress, core::LargestHolder<Connection*>> by_address_;
};

}  // namespace beckon::edge
