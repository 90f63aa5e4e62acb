#include "rocks/write_ahead_scan.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace beckon::rocks {

namespace {

using Kind = WriteAheadGap::Kind;

/// The file is a sequence of blocks. A batch is one fragment, or several if it does not fit into
/// its block; a fragment is: checksum 4 ‖ length 2 ‖ type 1 ‖ bytes. Numbers are little-endian.
constexpr std::size_t kBlockBytes = 32'768;
constexpr std::size_t kHeaderBytes = 7;
constexpr std::size_t kTypeAt = 6;
enum Type : std::uint8_t { kNone = 0, kWhole = 1, kFirst = 2, kMiddle = 3, kLast = 4 };
/// A batch begins with: sequence number 8 ‖ count of its operations 4.
constexpr std::size_t kBatchHeaderBytes = 12;
/// An interrupted write leaves zeros at the end of its last fragment.
constexpr std::size_t kEndBytes = 16;
/// Each byte of so many blocks may begin a fragment behind damage; in further ones only the first.
constexpr int kSearchedBlocksMost = 64;

template <class T>
T little_endian(const char* bytes) {
    T value = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) {
        value = static_cast<T>((value << 8U) | static_cast<unsigned char>(bytes[i]));
    }
    return value;
}

/// CRC-32C of single bytes.
constexpr auto kByteSums = [] {
    std::array<std::uint32_t, 256> sums{};
    for (std::uint32_t byte = 0; byte < sums.size(); ++byte) {
        auto sum = byte;
        for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1U) ^ ((sum & 1U) != 0 ? 0x82F63B78U : 0U);
        sums[byte] = sum;
    }
    return sums;
}();

/// CRC-32C, changed as RocksDB stores it.
std::uint32_t checksum(std::string_view bytes) {
    std::uint32_t sum = 0xFFFFFFFFU;
    for (const char byte : bytes) {
        sum = kByteSums[(sum ^ static_cast<unsigned char>(byte)) & 0xFFU] ^ (sum >> 8U);
    }
    sum = ~sum;
    return ((sum >> 15U) | (sum << 17U)) + 0xA282EAD8U;
}

bool only_zeros(std::string_view bytes) {
    return bytes.find_first_not_of('\0') == std::string_view::npos;
}

struct Fragment {
    Type type;
    std::string_view bytes;
};

/// The fragment at the beginning of `rest`, whatever its checksum; nullopt if none fits there.
std::optional<Fragment> fragment_in(std::string_view rest) {
    if (rest.size() < kHeaderBytes) return std::nullopt;
    const auto type = static_cast<std::uint8_t>(rest[kTypeAt]);
    const std::size_t length = little_endian<std::uint16_t>(rest.data() + 4);
    if (type < kWhole || type > kLast || kHeaderBytes + length > rest.size()) return std::nullopt;
    return Fragment{static_cast<Type>(type), rest.substr(kHeaderBytes, length)};
}

bool is_right(std::string_view rest, const Fragment& fragment) {
    return little_endian<std::uint32_t>(rest.data()) ==
           checksum(rest.substr(kTypeAt, 1 + fragment.bytes.size()));
}

class Scanner {
public:
    explicit Scanner(const std::function<void(const WriteAheadBatch&)>& each) : each_(each) {}

    void block(std::string_view block, std::uint64_t begin) {
        for (std::size_t at = 0; at < block.size();) {
            const auto rest = block.substr(at);
            if (rest.size() < kHeaderBytes && block.size() == kBlockBytes) break;  // filled up
            const auto fragment = fragment_in(rest);
            if (fragment && is_right(rest, *fragment)) {
                take(*fragment, begin + at);
                at += kHeaderBytes + fragment->bytes.size();
                continue;
            }
            broken(kind_of(rest, fragment), begin + at);
            at = next_fragment(block, at + 1);
        }
        end_ = begin + block.size();
    }

    std::optional<WriteAheadGap> finish() {
        if (in_batch_) gap(Kind::unfinished, batch_begin_);
        if (gap_) gap_->end = end_;
        return gap_;
    }

private:
    static Kind kind_of(std::string_view rest, const std::optional<Fragment>& fragment) {
        if (only_zeros(rest)) return Kind::zeros;
        if (!fragment) return has_wrong_header(rest) ? Kind::wrong : Kind::unfinished;
        if (fragment->bytes.size() < kEndBytes) return Kind::unfinished;
        const auto end = fragment->bytes.substr(fragment->bytes.size() - kEndBytes);
        return only_zeros(end) ? Kind::unfinished : Kind::wrong;
    }

    /// Behind a header that was not written to its end there are only zeros; one that was names a
    /// type.
    static bool has_wrong_header(std::string_view rest) {
        if (rest.size() <= kHeaderBytes || only_zeros(rest.substr(kHeaderBytes))) return false;
        const auto type = static_cast<std::uint8_t>(rest[kTypeAt]);
        return type < kWhole || type > kLast;
    }

    void broken(Kind kind, std::uint64_t at) {
        const bool begun = std::exchange(in_batch_, false);
        const bool only_began = begun && kind == Kind::zeros;
        gap(only_began ? Kind::unfinished : kind, begun ? batch_begin_ : at);
    }

    void gap(Kind kind, std::uint64_t begin) {
        if (!gap_) gap_ = WriteAheadGap{.kind = kind, .begin = begin, .end = begin};
        if (kind != Kind::zeros) gap_->kind = std::max(gap_->kind, kind);
    }

    /// Where the next fragment of the block begins; its end if there is none.
    std::size_t next_fragment(std::string_view block, std::size_t from) {
        if (only_zeros(block.substr(from)) || ++searched_ > kSearchedBlocksMost) {
            return block.size();
        }
        for (std::size_t at = from; at + kHeaderBytes < block.size(); ++at) {
            const auto rest = block.substr(at);
            const auto fragment = fragment_in(rest);
            if (fragment && !fragment->bytes.empty() && is_right(rest, *fragment)) return at;
        }
        return block.size();
    }

    void take(const Fragment& fragment, std::uint64_t at) {
        const bool begins = fragment.type == kWhole || fragment.type == kFirst;
        if (begins) {
            if (in_batch_) gap(Kind::unfinished, batch_begin_);
            batch_.clear();
            batch_begin_ = at;
        } else if (!in_batch_) {
            return gap(Kind::unfinished, at);  // its beginning is missing
        }
        batch_.append(fragment.bytes);
        in_batch_ = fragment.type == kFirst || fragment.type == kMiddle;
        if (!in_batch_) emit();
    }

    void emit() {
        if (batch_.size() < kBatchHeaderBytes) return gap(Kind::wrong, batch_begin_);
        const auto first = little_endian<std::uint64_t>(batch_.data());
        const auto count = little_endian<std::uint32_t>(batch_.data() + sizeof first);
        auto before = std::exchange(gap_, std::nullopt);
        if (before) before->end = batch_begin_;
        each_({.first = first,
               .last = first + std::max<std::uint32_t>(count, 1) - 1,
               .bytes = batch_,
               .before = before});
    }

    const std::function<void(const WriteAheadBatch&)>& each_;
    std::string batch_;  ///< its fragments so far
    std::uint64_t batch_begin_ = 0;
    bool in_batch_ = false;
    std::optional<WriteAheadGap> gap_;  ///< behind the last whole batch
    std::uint64_t end_ = 0;             ///< of the blocks so far
    int searched_ = 0;
};

}  // namespace

core::Result<std::optional<WriteAheadGap>> scan_write_ahead_file(
    const std::filesystem::path& file, const std::function<void(const WriteAheadBatch&)>& each) {
    std::ifstream in{file, std::ios::binary};
    Scanner scanner{each};
    std::vector<char> block(kBlockBytes);
    for (std::uint64_t at = 0; in; at += kBlockBytes) {
        in.read(block.data(), static_cast<std::streamsize>(block.size()));
        if (in.gcount() > 0) {
            scanner.block({block.data(), static_cast<std::size_t>(in.gcount())}, at);
        }
    }
    if (!in.eof()) return core::fail(core::Fault::unavailable, "cannot read " + file.string());
    return scanner.finish();
}

}  // namespace beckon::rocks
