#include "edge/link/link_frame.hpp"

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
constexpr unsigned kOffered = 1;
constexpr unsigned kAgain = 2;
constexpr unsigned kPersisted = 4;

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kNodeIdBytes = 16;

/// Numbers are little-endian.
class Writer {
public:
    Writer(std::string& out, Kind kind) : out_(out), begin_(out.size()) {
        out_.append(kLengthBytes, '\0');
        number(static_cast<std::uint8_t>(kind));
    }

    template <class Int>
    Writer& number(Int value) {
        static_assert(std::is_unsigned_v<Int>);
        for (std::size_t i = 0; i < sizeof value; ++i) {
            out_.push_back(static_cast<char>(value >> (8 * i) & 0xff));
        }
        return *this;
    }
    Writer& session(const SessionId& id) { return number(id.shard).number(id.number); }
    Writer& stamp(const SessionStamp& stamp) { return number(stamp.epoch).number(stamp.sequence); }
    /// A Uaid or a ChannelId.
    template <class Id>
    Writer& uuid(const Id& id) {
        out_.append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
        return *this;
    }
    /// Behind its length.
    Writer& text(std::string_view text) {
        number(static_cast<std::uint32_t>(text.size()));
        return rest(text);
    }
    /// Without a length of its own: the frame ends with it.
    Writer& rest(std::string_view text) {
        out_.append(text);
        return *this;
    }

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

/// Reads fields in the order in which Writer wrote them; `ok()` is false once one was missing.
class Fields {
public:
    explicit Fields(std::string_view bytes) : bytes_(bytes) {}

    template <class Int>
    Int number() {
        Int value = 0;
        const auto bytes = take(sizeof value);
        for (std::size_t i = 0; i < bytes.size(); ++i) {
            value = static_cast<Int>(value | static_cast<Int>(static_cast<std::uint8_t>(bytes[i]))
                                                 << (8 * i));
        }
        return value;
    }
    SessionId session(const core::NodeId& front) {
        SessionId id{.front = front};
        id.shard = number<std::uint32_t>();
        id.number = number<std::uint64_t>();
        return id;
    }
    SessionStamp stamp() {
        const auto epoch = number<std::uint64_t>();
        return {.epoch = epoch, .sequence = number<std::uint64_t>()};
    }
    template <class Id>
    Id uuid() {
        Id id;
        const auto bytes = take(id.bytes.size());
        std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
        return id;
    }
    std::string text(std::size_t size) { return std::string{take(size)}; }
    /// The bytes are of no known form.
    void fail() { ok_ = false; }
    std::string rest() { return std::string{take(bytes_.size())}; }

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
    bool ok_ = true;
};

void write_command(Writer& writer, const Register& command) {
    writer.uuid(command.channel).number(static_cast<std::uint8_t>(command.key ? 1 : 0));
    if (command.key) writer.rest(*command.key);
}
void write_command(Writer& writer, const Unregister& command) {
    writer.uuid(command.channel).number(command.code);
}
void write_command(Writer& writer, const Ack& command) {
    for (const auto& update : command.updates) {
        writer.uuid(update.channel).number(update.code).text(update.version);
    }
}
void write_command(Writer& writer, const Nack& command) {
    writer.number(static_cast<std::uint32_t>(command.code)).rest(command.version);
}
void write_command(Writer&, const edge::Ping&) {}

core::Result<void> write(std::string& out, const Greeting& greeting) {
    if (greeting.node.text.size() != kNodeIdBytes) {
        return fail(Fault::invalid, "a node id has 16 characters");
    }
    return Writer{out, Kind::greeting}
        .number(greeting.version_lowest)
        .number(greeting.version_highest)
        .rest(greeting.node.text)
        .rest(greeting.log_id)
        .finish();
}
core::Result<void> write(std::string& out, const Ping& ping) {
    return Writer{out, Kind::ping}.number(ping.number).finish();
}
core::Result<void> write(std::string& out, const Pong& pong) {
    return Writer{out, Kind::pong}.number(pong.number).finish();
}
core::Result<void> write(std::string& out, const Attach& attach) {
    const bool persisted = attach.again && attach.again->persisted;
    const auto flags = (attach.offered ? kOffered : 0) | (attach.again ? kAgain : 0) |
                       (persisted ? kPersisted : 0);
    Writer writer{out, Kind::attach};
    writer.session(attach.session).uuid(attach.uaid).number(static_cast<std::uint8_t>(flags));
    if (attach.again) writer.stamp(attach.again->stamp);
    return writer.finish();
}
core::Result<void> write(std::string& out, const FromClient& frame) {
    Writer writer{out, Kind::from_client};
    writer.session(frame.session).uuid(frame.uaid);
    writer.number(static_cast<std::uint8_t>(frame.command.index() + 1));
    std::visit([&writer](const auto& command) { write_command(writer, command); }, frame.command);
    return writer.finish();
}
core::Result<void> write(std::string& out, const Detach& gone) {
    return Writer{out, Kind::detach}.session(gone.session).uuid(gone.uaid).finish();
}
core::Result<void> write(std::string& out, const ToClient& frame) {
    return Writer{out, Kind::to_client}.session(frame.session).rest(frame.text).finish();
}
core::Result<void> write(std::string& out, const CloseClient& close) {
    return Writer{out, Kind::close_client}
        .session(close.session)
        .number(static_cast<std::uint16_t>(close.code))
        .number(static_cast<std::uint8_t>(close.kind))
        .rest(close.reason)
        .finish();
}
core::Result<void> write(std::string& out, const Attached& attached) {
    return Writer{out, Kind::attached}
        .session(attached.session)
        .uuid(attached.uaid)
        .number(static_cast<std::uint8_t>(attached.persisted ? kPersisted : 0))
        .stamp(attached.stamp)
        .finish();
}

std::optional<Frame> read_greeting(Fields fields) {
    Greeting greeting;
    greeting.version_lowest = fields.number<std::uint16_t>();
    greeting.version_highest = fields.number<std::uint16_t>();
    greeting.node.text = fields.text(kNodeIdBytes);
    greeting.log_id = fields.rest();
    if (!fields.complete()) return std::nullopt;
    return greeting;
}

std::optional<Frame> read_attach(Fields fields, const core::NodeId& front) {
    Attach attach;
    attach.session = fields.session(front);
    attach.uaid = fields.uuid<core::Uaid>();
    const auto flags = fields.number<std::uint8_t>();
    const bool again = (flags & kAgain) != 0;
    const bool persisted = (flags & kPersisted) != 0;
    attach.offered = (flags & kOffered) != 0;
    if (again) attach.again = {.stamp = fields.stamp(), .persisted = persisted};
    const bool known = (flags & ~(kOffered | kAgain | kPersisted)) == 0 && (again || !persisted);
    if (!fields.complete() || !known) return std::nullopt;
    return ToHome{std::move(attach)};
}

std::optional<Frame> read_close(Fields fields, const core::NodeId& front) {
    CloseClient close;
    close.session = fields.session(front);
    close.code = static_cast<CloseCode>(fields.number<std::uint16_t>());
    const auto kind = fields.number<std::uint8_t>();
    close.kind = static_cast<CloseClient::Kind>(kind);
    close.reason = fields.rest();
    const bool known = kind <= static_cast<std::uint8_t>(CloseClient::Kind::released);
    if (!fields.complete() || !known) return std::nullopt;
    return ToFront{std::move(close)};
}

std::optional<Frame> read_attached(Fields fields, const core::NodeId& front) {
    Attached attached;
    attached.session = fields.session(front);
    attached.uaid = fields.uuid<core::Uaid>();
    const auto flags = fields.number<std::uint8_t>();
    attached.persisted = flags == kPersisted;
    attached.stamp = fields.stamp();
    if (!fields.complete() || (flags != 0 && flags != kPersisted)) return std::nullopt;
    return ToFront{std::move(attached)};
}

Register read_register(Fields& fields) {
    Register out{.channel = fields.uuid<core::ChannelId>(), .key = std::nullopt};
    if (fields.number<std::uint8_t>() == 1) out.key = fields.rest();
    return out;
}

Ack read_ack(Fields& fields) {
    Ack out;
    while (fields.more()) {
        auto& update = out.updates.emplace_back();
        update.channel = fields.uuid<core::ChannelId>();
        update.code = fields.number<std::uint16_t>();
        update.version = fields.text(fields.number<std::uint32_t>());
    }
    return out;
}

/// Of an unknown command the fields are not read, so that the frame is not complete.
ClientCommand read_command(Fields& fields) {
    switch (fields.number<std::uint8_t>()) {
        case 1: return read_register(fields);
        case 2: {
            const auto channel = fields.uuid<core::ChannelId>();
            return Unregister{.channel = channel, .code = fields.number<std::uint32_t>()};
        }
        case 3: return read_ack(fields);
        case 4: {
            const auto code = static_cast<std::int32_t>(fields.number<std::uint32_t>());
            return Nack{.version = fields.rest(), .code = code};
        }
        case 5: return edge::Ping{};
        default: fields.fail(); return edge::Ping{};
    }
}

/// Reads the fields of `message` with `fill` and makes it a `Direction`.
template <class Direction, class Message, class Fill>
std::optional<Frame> read(Fields fields, Message message, Fill fill) {
    fill(fields, message);
    if (!fields.complete()) return std::nullopt;
    return Frame{Direction{std::move(message)}};
}

template <class Number>
std::optional<Frame> read_number(Fields fields) {
    Number out;
    out.number = fields.number<std::uint64_t>();
    if (!fields.complete()) return std::nullopt;
    return out;
}

/// nullopt: no frame of a kind that this version knows, or its fields do not fit.
std::optional<Frame> decode(std::string_view body, const Ends& ends) {
    const Fields fields{body.substr(1)};
    const auto session_and_uaid_of_peer = [&ends](Fields& f, auto& message) {
        message.session = f.session(ends.peer);
        message.uaid = f.uuid<core::Uaid>();
    };
    switch (static_cast<Kind>(body.front())) {
        case Kind::greeting: return read_greeting(fields);
        case Kind::ping: return read_number<Ping>(fields);
        case Kind::pong: return read_number<Pong>(fields);
        case Kind::attach: return read_attach(fields, ends.peer);
        case Kind::from_client:
            return read<ToHome>(fields, FromClient{}, [&](Fields& f, FromClient& message) {
                session_and_uaid_of_peer(f, message);
                message.command = read_command(f);
            });
        case Kind::detach: return read<ToHome>(fields, Detach{}, session_and_uaid_of_peer);
        case Kind::to_client:
            return read<ToFront>(fields, ToClient{}, [&ends](Fields& f, ToClient& message) {
                message.session = f.session(ends.self);
                message.text = f.rest();
            });
        case Kind::close_client: return read_close(fields, ends.self);
        case Kind::attached: return read_attached(fields, ends.self);
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
        [&out](const auto& f) -> core::Result<void> {
            using F = std::decay_t<decltype(f)>;
            if constexpr (std::is_same_v<F, ToHome> || std::is_same_v<F, ToFront>) {
                return append_frame(out, f);
            } else {
                return write(out, f);
            }
        },
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
    const std::size_t length = Fields{left.substr(0, kLengthBytes)}.number<std::uint32_t>();
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
