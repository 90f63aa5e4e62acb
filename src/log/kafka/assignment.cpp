#include "log/kafka/assignment.hpp"

#include <cstdint>
#include <string>

namespace beckon::log::kafka {

namespace {

/// Big-endian numbers from the front of some bytes; after the first that is missing, nothing more.
class Bytes {
public:
    explicit Bytes(std::string_view bytes) : bytes_(bytes) {}
    bool good() const { return good_; }

    std::int64_t number(std::size_t size) {
        const auto text = take(size);
        std::uint64_t value =
            text.empty() || (static_cast<unsigned char>(text[0]) < 0x80) ? 0 : ~std::uint64_t{0};
        for (const char c : text) value = (value << 8) | static_cast<unsigned char>(c);
        return static_cast<std::int64_t>(value);
    }
    std::string_view take(std::size_t size) {
        good_ = good_ && size <= bytes_.size();
        if (!good_) return {};
        const auto text = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return text;
    }
    /// A length, bounded by the remaining bytes.
    std::size_t length(std::size_t size) {
        const auto value = number(size);
        good_ = good_ && value >= 0 && static_cast<std::size_t>(value) <= bytes_.size();
        return good_ ? static_cast<std::size_t>(value) : 0;
    }

private:
    std::string_view bytes_;
    bool good_ = true;
};

constexpr std::size_t kShort = 2;
constexpr std::size_t kInt = 4;

}  // namespace

std::optional<std::vector<NamedPartition>> parse_assignment(std::string_view bytes) {
    std::vector<NamedPartition> found;
    if (bytes.empty()) return found;  // a member that has nothing
    Bytes in{bytes};
    in.number(kShort);  // the version
    const auto topics = in.length(kInt);
    for (std::size_t t = 0; t < topics && in.good(); ++t) {
        const std::string topic{in.take(in.length(kShort))};
        const auto partitions = in.length(kInt);
        for (std::size_t p = 0; p < partitions && in.good(); ++p) {
            found.push_back({topic, static_cast<core::Partition>(in.number(kInt))});
        }
    }
    if (!in.good()) return std::nullopt;
    return found;
}

}  // namespace beckon::log::kafka
