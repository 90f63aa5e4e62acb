#include "edge/link/link_frame.hpp"

#include "core/assert.hpp"
#include "core/overloaded.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace beckon::edge::link {

using core::fail;
using core::Fault;

namespace {

/// The first byte of a frame's body. Numbers are never reused.
enum class Kind : std::uint8_t {
    greeting = 1,
    ping = 2,
    pong = 3,
    attach = 16,
    from_client = 17,
    detach = 18,
    to_client = 32,
    close_client = 33,
    attached = 34,
};

/// Flags of attach and attached.
constexpr std::uint8_t kOffered = 1;
constexpr std::uint8_t kAgain = 2;
constexpr std::uint8_t kPersisted = 4;

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kNodeIdBytes = 16;

/// Appends the fields of one frame. Numbers are little-endian.
class Writer {
public:
    static constexpr bool kWrites = true;

    Writer(std::string& out, Kind kind) : out_(out), begin_(out.size()) {
        out_.append(kLengthBytes, '\0');
        number(static_cast<std::uint8_t>(kind));
    }

    template <class Int>
    void number(Int value) {
        using Bits = std::make_unsigned_t<Int>;
        for (std::size_t i = 0; i < sizeof value; ++i) {
            out_.push_back(static_cast<char>(static_cast<Bits>(value) >> (8 * i) & 0xff));
        }
    }
    template <class Enum>
    void value(Enum value, Enum /*most*/) {
        number(static_cast<std::underlying_type_t<Enum>>(value));
    }
    void session(const SessionId& id) {
        number(id.shard);
        number(id.number);
    }
    /// A Uaid or a ChannelId.
    template <class Id>
    void uuid(const Id& id) {
        out_.append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
    }
    /// Behind its length.
    void text(std::string_view text) {
        number(static_cast<std::uint32_t>(text.size()));
        rest(text);
    }
    /// Without a length of its own: of a fixed size, or the frame ends with it.
    void fixed(std::string_view text, std::size_t size) {
        BECKON_ASSERT(text.size() == size, "a node id has 16 characters");
        rest(text);
    }
    void rest(std::string_view text) { out_.append(text); }

    core::Result<void> finish() {
        const std::size_t length = out_.size() - begin_ - kLengthBytes;
        if (length > kFrameBytesMax) {
            out_.resize(begin_);
            return fail(Fault::too_large, "a link frame of " + std::to_string(length) +
                                              " bytes; at most " + std::to_string(kFrameBytesMax) +
                                              " are allowed");
        }
        for (std::size_t i = 0; i < kLengthBytes; ++i) {
            out_[begin_ + i] = static_cast<char>(length >> (8 * i) & 0xff);
        }
        return {};
    }

private:
    std::string& out_;
    const std::size_t begin_;
};

/// Reads fields as Writer wrote them; complete() is false if one was missing or of no known form.
class Reader {
public:
    static constexpr bool kWrites = false;

    /// `front`: of the sessions in the frame.
    Reader(std::string_view bytes, const core::NodeId& front) : bytes_(bytes), front_(front) {}

    template <class Int>
    void number(Int& value) {
        using Bits = std::make_unsigned_t<Int>;
        Bits bits = 0;
        const auto bytes = take(sizeof value);
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            bits = static_cast<Bits>(bits | static_cast<Bits>(static_cast<std::uint8_t>(bytes[i]))
                                                << (8 * i));
        }
        value = static_cast<Int>(bits);
    }
    /// Of an enum whose greatest value is `most`.
    template <class Enum>
    void value(Enum& value, Enum most) {
        std::underlying_type_t<Enum> bits{};
        number(bits);
        value = static_cast<Enum>(bits);
        require(value <= most);
    }
    void session(SessionId& id) {
        id.front = front_;
        number(id.shard);
        number(id.number);
    }
    template <class Id>
    void uuid(Id& id) {
        const auto bytes = take(id.bytes.size());
        std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
    }
    void text(std::string& text) {
        std::uint32_t size = 0;
        number(size);
        fixed(text, size);
    }
    void fixed(std::string& text, std::size_t size) { text = take(size); }
    void rest(std::string& text) { text = take(bytes_.size()); }

    void require(bool known) { ok_ = ok_ && known; }
    bool more() const { return ok_ && !bytes_.empty(); }
    /// Every field was there, and nothing is left over.
    bool complete() const { return ok_ && bytes_.empty(); }

private:
    std::string_view take(std::size_t size) {
        if (bytes_.size() < size) {
            ok_ = false;
            return {};
        }
        const auto out = bytes_.substr(0, size);
        bytes_.remove_prefix(size);
        return out;
    }

    std::string_view bytes_;
    const core::NodeId& front_;
    bool ok_ = true;
};

// --- the fields of each message, once for both directions

template <class Io, class Message>
using Of = std::conditional_t<Io::kWrites, const Message, Message>;

template <class Io>
void stamp(Io& io, Of<Io, SessionStamp>& stamp) {
    io.number(stamp.epoch);
    io.number(stamp.sequence);
}
template <class Io>
void command(Io& io, Of<Io, Register>& command) {
    io.uuid(command.channel);
    auto has_key = static_cast<std::uint8_t>(command.key ? 1 : 0);
    io.number(has_key);
    if constexpr (!Io::kWrites) {
        if (has_key == 1) command.key.emplace();
    }
    if (command.key) io.rest(*command.key);
}
template <class Io>
void command(Io& io, Of<Io, Unregister>& command) {
    io.uuid(command.channel);
    io.number(command.code);
}
template <class Io>
void update(Io& io, Of<Io, AckUpdate>& update) {
    io.uuid(update.channel);
    io.number(update.code);
    io.text(update.version);
}
template <class Io>
void command(Io& io, Of<Io, Ack>& command) {
    if constexpr (Io::kWrites) {
        for (const auto& one : command.updates) update(io, one);
    } else {
        while (io.more()) update(io, command.updates.emplace_back());
    }
}
template <class Io>
void command(Io& io, Of<Io, Nack>& command) {
    io.number(command.code);
    io.rest(command.version);
}
template <class Io>
void command(Io&, Of<Io, edge::Ping>&) {}

template <class Io>
void fields(Io& io, Of<Io, Greeting>& greeting) {
    io.number(greeting.version_lowest);
    io.number(greeting.version_highest);
    io.fixed(greeting.node.text, kNodeIdBytes);
    io.rest(greeting.log_id);
}
template <class Io>
void fields(Io& io, Of<Io, Ping>& ping) {
    io.number(ping.number);
}
template <class Io>
void fields(Io& io, Of<Io, Pong>& pong) {
    io.number(pong.number);
}
template <class Io>
void fields(Io& io, Of<Io, Attach>& attach) {
    io.session(attach.session);
    io.uuid(attach.uaid);
    const bool persisted = attach.again && attach.again->persisted;
    auto flags =
        static_cast<std::uint8_t>((attach.offered ? kOffered : 0) | (attach.again ? kAgain : 0) |
                                  (persisted ? kPersisted : 0));
    io.number(flags);
    if constexpr (!Io::kWrites) {
        attach.offered = (flags & kOffered) != 0;
        if ((flags & kAgain) != 0) {
            attach.again = {.stamp = {}, .persisted = (flags & kPersisted) != 0};
        }
        io.require(flags <= (kOffered | kAgain | (attach.again ? kPersisted : 0)));
    }
    if (attach.again) stamp(io, attach.again->stamp);
}
template <class Io>
void fields(Io& io, Of<Io, FromClient>& frame) {
    io.session(frame.session);
    io.uuid(frame.uaid);
    auto number = static_cast<std::uint8_t>(frame.command.index() + 1);
    io.number(number);
    if constexpr (!Io::kWrites) {
        switch (number) {
            case 1: frame.command = Register{}; break;
            case 2: frame.command = Unregister{}; break;
            case 3: frame.command = Ack{}; break;
            case 4: frame.command = Nack{}; break;
            case 5: frame.command = edge::Ping{}; break;
            default: return io.require(false);
        }
    }
    std::visit([&io](auto& of) { command(io, of); }, frame.command);
}
template <class Io>
void fields(Io& io, Of<Io, Detach>& gone) {
    io.session(gone.session);
    io.uuid(gone.uaid);
}
template <class Io>
void fields(Io& io, Of<Io, ToClient>& frame) {
    io.session(frame.session);
    io.rest(frame.text);
}
template <class Io>
void fields(Io& io, Of<Io, CloseClient>& close) {
    io.session(close.session);
    io.value(close.code, CloseCode{0xffff});
    io.value(close.kind, CloseClient::Kind::released);
    io.rest(close.reason);
}
template <class Io>
void fields(Io& io, Of<Io, Attached>& attached) {
    io.session(attached.session);
    io.uuid(attached.uaid);
    std::uint8_t flags = attached.persisted ? kPersisted : 0;
    io.number(flags);
    if constexpr (!Io::kWrites) {
        attached.persisted = flags == kPersisted;
        io.require(flags == 0 || flags == kPersisted);
    }
    stamp(io, attached.stamp);
}

constexpr Kind kind_of(const Greeting&) { return Kind::greeting; }
constexpr Kind kind_of(const Ping&) { return Kind::ping; }
constexpr Kind kind_of(const Pong&) { return Kind::pong; }
constexpr Kind kind_of(const Attach&) { return Kind::attach; }
constexpr Kind kind_of(const FromClient&) { return Kind::from_client; }
constexpr Kind kind_of(const Detach&) { return Kind::detach; }
constexpr Kind kind_of(const ToClient&) { return Kind::to_client; }
constexpr Kind kind_of(const CloseClient&) { return Kind::close_client; }
constexpr Kind kind_of(const Attached&) { return Kind::attached; }

template <class Message>
core::Result<void> write(std::string& out, const Message& message) {
    Writer writer{out, kind_of(message)};
    fields(writer, message);
    return writer.finish();
}

/// `Frame`: itself a frame, or a direction of messages.
template <class Direction, class Message>
std::optional<Frame> read(std::string_view bytes, const core::NodeId& front) {
    Message message;
    Reader reader{bytes, front};
    fields(reader, message);
    if (!reader.complete()) return std::nullopt;
    return Frame{Direction{std::move(message)}};
}

/// nullopt: no frame of a kind that this version knows, or its fields do not fit.
std::optional<Frame> decode(std::string_view body, const Ends& ends) {
    const auto bytes = body.substr(1);
    switch (static_cast<Kind>(body.front())) {
        case Kind::greeting: return read<Greeting, Greeting>(bytes, ends.peer);
        case Kind::ping: return read<Ping, Ping>(bytes, ends.peer);
        case Kind::pong: return read<Pong, Pong>(bytes, ends.peer);
        case Kind::attach: return read<ToHome, Attach>(bytes, ends.peer);
        case Kind::from_client: return read<ToHome, FromClient>(bytes, ends.peer);
        case Kind::detach: return read<ToHome, Detach>(bytes, ends.peer);
        case Kind::to_client: return read<ToFront, ToClient>(bytes, ends.self);
        case Kind::close_client: return read<ToFront, CloseClient>(bytes, ends.self);
        case Kind::attached: return read<ToFront, Attached>(bytes, ends.self);
    }
    return std::nullopt;
}

}  // namespace

core::Result<void> append_frame(std::string& out, const ToHome& message) {
    return std::visit([&out](const auto& m) { return write(out, m); }, message);
}

core::Result<void> append_frame(std::string& out, const ToFront& message) {
    return std::visit([&out](const auto& m) { return write(out, m); }, message);
}

core::Result<void> append_frame(std::string& out, const Frame& frame) {
    return std::visit(
        core::Overloaded{[&](const ToHome& message) { return append_frame(out, message); },
                         [&](const ToFront& message) { return append_frame(out, message); },
                         [&](const auto& own) { return write(out, own); }},
        frame);
}

void FrameReader::append(std::string_view bytes) {
    if (consumed_ > 0) {
        buffer_.erase(0, consumed_);
        consumed_ = 0;
    }
    buffer_.append(bytes);
}

core::Result<std::optional<Frame>> FrameReader::next() {
    const std::string_view left = std::string_view{buffer_}.substr(consumed_);
    if (left.size() < kLengthBytes) return std::optional<Frame>{};
    std::uint32_t length = 0;
    Reader{left, ends_.peer}.number(length);
    if (length > kFrameBytesMax) {
        return fail(Fault::too_large, "the peer sends a frame of " + std::to_string(length) +
                                          " bytes; at most " + std::to_string(kFrameBytesMax) +
                                          " are allowed");
    }
    if (length == 0) return fail(Fault::invalid, "the peer sends a frame without a kind");
    if (left.size() < kLengthBytes + length) return std::optional<Frame>{};
    auto frame = decode(left.substr(kLengthBytes, length), ends_);
    if (!frame) {
        return fail(Fault::invalid,
                    "the peer sends a frame of kind " +
                        std::to_string(static_cast<std::uint8_t>(left[kLengthBytes])) +
                        " that does not decode");
    }
    consumed_ += kLengthBytes + length;
    return frame;
}

}  // namespace beckon::edge::link
