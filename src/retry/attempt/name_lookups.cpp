#include "retry/attempt/name_lookups.hpp"

#include "core/contain.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <system_error>
#include <thread>

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

namespace beckon::retry {

namespace {

constexpr const char* kThreadName = "retry-names";
/// An owner's share of the free threads: alone, an owner holds a sixth of all.
constexpr std::size_t kThreadsFraction = 4;

std::string text_of(const addrinfo& info) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* address = nullptr;
    if (info.ai_family == AF_INET) {
        address = &reinterpret_cast<const sockaddr_in*>(info.ai_addr)->sin_addr;
    } else if (info.ai_family == AF_INET6) {
        address = &reinterpret_cast<const sockaddr_in6*>(info.ai_addr)->sin6_addr;
    }
    if (!address) return {};
    return inet_ntop(info.ai_family, address, text.data(), text.size()) ? text.data() : "";
}

}  // namespace

NameLookups::Addresses system_addresses(const std::string& name) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return {};
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all{found, &::freeaddrinfo};
    NameLookups::Addresses addresses;
    for (const auto* one = found; one; one = one->ai_next) {
        auto text = text_of(*one);
        const bool is_new = std::find(addresses.begin(), addresses.end(), text) == addresses.end();
        if (!text.empty() && is_new) addresses.push_back(std::move(text));
    }
    return addresses;
}

NameLookups::NameLookups(LookUp look_up, core::Executor& executor)
    : look_up_(std::move(look_up)), lifetime_(executor) {}

const NameLookups::Addresses* NameLookups::known(const std::string& name,
                                                 core::MonoTime now) const {
    const auto found = known_.find(name);
    if (found == known_.end() || found->second.until <= now) return nullptr;
    return &found->second.addresses;
}

/// Owners do not wait for each other's lookups, even of the same name.
std::uint64_t NameLookups::ask(const std::string& owner, const std::string& name, Done done) {
    const auto asker = next_asker_++;
    const Key key{owner, name};
    const auto [lookup, is_new] = lookups_.try_emplace(key);
    lookup->second.askers.emplace(asker, std::move(done));
    askers_.emplace(asker, key);
    if (is_new) owners_[owner].names.push_back(name);
    begin_waiting();
    return asker;
}

void NameLookups::forget(std::uint64_t asker) {
    const auto of = askers_.extract(asker);
    if (of.empty()) return;
    const auto& [owner, name] = of.mapped();
    const auto lookup = lookups_.find(of.mapped());
    lookup->second.askers.erase(asker);
    if (lookup->second.begun || !lookup->second.askers.empty()) return;
    lookups_.erase(lookup);
    const auto found = owners_.find(owner);
    std::erase(found->second.names, name);
    if (found->second.names.empty() && found->second.threads == 0) owners_.erase(found);
}

/// Those whose owners have a share left, an owner after the other.
void NameLookups::begin_waiting() {
    for (auto tries = owners_.size(); tries > 0 && threads_.free() > 0; --tries) {
        auto next = owners_.upper_bound(last_owner_);
        if (next == owners_.end()) next = owners_.begin();
        last_owner_ = next->first;
        auto& [owner, of] = *next;
        if (of.names.empty() || of.threads >= threads_.share(kThreadsFraction)) continue;
        const Key key{owner, std::move(of.names.front())};
        of.names.pop_front();
        ++of.threads;
        threads_.take(1);
        begin(key);
        tries = owners_.size() + 1;
    }
}

void NameLookups::begin(const Key& key) {
    lookups_.at(key).begun = true;
    const auto end = [this, key, remote = lifetime_.remote()](Addresses addresses) {
        remote.post([this, key, addresses = std::move(addresses)] { ended(key, addresses); });
    };
    try {
        std::thread{[end, look_up = look_up_, name = key.second] {
            pthread_setname_np(pthread_self(), kThreadName);
            Addresses addresses;
            core::contain("retry", [&] { addresses = look_up(name); });
            end(std::move(addresses));
        }}.detach();
    } catch (const std::system_error& none) {
        core::report_thrown("retry", none.what());
        end({});
    }
}

void NameLookups::ended(const Key& key, const Addresses& addresses) {
    const auto lookup = lookups_.extract(key);
    threads_.give_back(1);
    const auto owner = owners_.find(key.first);
    --owner->second.threads;
    if (owner->second.names.empty() && owner->second.threads == 0) owners_.erase(owner);
    if (!addresses.empty()) remember(key.second, addresses);
    const auto& askers = lookup.mapped().askers;
    for (const auto& [asker, done] : askers) askers_.erase(asker);
    begin_waiting();
    const auto term = lifetime_.term();
    for (const auto& [asker, done] : askers) {
        if (term.over()) return;
        done(addresses);
    }
}

void NameLookups::remember(const std::string& name, const Addresses& addresses) {
    const auto now = clock_.mono();
    if (known_.size() >= kNamesMax && !known_.contains(name)) {
        std::erase_if(known_, [now](const auto& one) { return one.second.until <= now; });
        if (known_.size() >= kNamesMax) known_.erase(known_.begin());
    }
    known_[name] = {.addresses = addresses, .until = now + kKnownFor};
}

}  // namespace beckon::retry
