#include "net/descriptor.hpp"

#include "core/descriptors.hpp"

#include <utility>

#include <fcntl.h>

namespace beckon::net {

namespace {

/// The file behind every placeholder.
int nothing() {
    static const Descriptor opened{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    return opened.get();
}

}  // namespace

OwnDescriptors::OwnDescriptors(std::size_t count) : count_(count) { refill(); }

Descriptor OwnDescriptors::take() {
    if (placeholders_.empty()) return {};
    auto one = std::move(placeholders_.back());
    placeholders_.pop_back();
    return one;
}

void OwnDescriptors::give_back(Descriptor descriptor) {
    if (placeholders_.size() >= count_ || !descriptor) return;
    if (::dup3(nothing(), descriptor.get(), O_CLOEXEC) < 0) return;
    placeholders_.push_back(std::move(descriptor));
}

void OwnDescriptors::refill() {
    while (placeholders_.size() < count_) {
        Descriptor one{::fcntl(nothing(), F_DUPFD_CLOEXEC, 0)};
        if (!one || core::is_reserved(one.get())) return;
        placeholders_.push_back(std::move(one));
    }
}

}  // namespace beckon::net
