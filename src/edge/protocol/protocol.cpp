#include "edge/protocol/protocol.hpp"

#include <cstring>
#include <limits>

#include <simdjson.h>

namespace beckon::edge {

namespace {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;
template <class T>
using Parsed = tl::expected<T, FrameFault>;

tl::unexpected<FrameFault> refuse(FrameFault fault) { return tl::unexpected<FrameFault>(fault); }

/// Codes of acks and nacks; docs/protocol/client-protocol.md#ack-and-nack.
constexpr std::uint16_t kNotDecrypted = 101;
constexpr std::uint16_t kNotDelivered = 102;
constexpr std::int32_t kNackNotDecrypted = 301;

/// The known members of all messages together. A message ignores members that it does not use, but
/// none of these may come twice.
enum Name : std::size_t {
    message_type,
    uaid,
    channel_ids,
    broadcasts,
    channel_id,
    key,
    code,
    updates,
    version,
    name_count,
};
constexpr std::array<std::string_view, name_count> kNames = {
    "messageType", "uaid", "channelIDs", "broadcasts", "channelID",
    "key",         "code", "updates",    "version"};

/// The members of one object, each read once.
class Fields {
public:
    static Parsed<Fields> of(const Object& object) {
        Fields out;
        for (const auto field : object) {
            ++out.members_;
            for (std::size_t name = 0; name < name_count; ++name) {
                if (field.key != kNames[name]) continue;
                if (out.values_[name]) return refuse(FrameFault::duplicate_field);
                out.values_[name] = field.value;
            }
        }
        return out;
    }

    bool empty() const { return members_ == 0; }

    /// nullptr if absent or null, which is the same for an optional member.
    const Element* find(Name name) const {
        const auto& value = values_[name];
        return value && !value->is_null() ? &*value : nullptr;
    }

    Parsed<std::string_view> text(Name name) const {
        if (!values_[name]) return refuse(FrameFault::missing_field);
        std::string_view out;
        if (values_[name]->get_string().get(out)) return refuse(FrameFault::mistyped_field);
        return out;
    }

    Parsed<std::optional<std::string_view>> optional_text(Name name) const {
        if (!find(name)) return std::optional<std::string_view>{};
        const auto out = text(name);
        if (!out) return refuse(out.error());
        return std::optional{*out};
    }

    template <class Int>
    Parsed<Int> number_or(Name name, Int otherwise) const {
        const auto* value = find(name);
        if (!value) return otherwise;
        std::int64_t out = 0;
        if (!value->is<std::int64_t>() || value->get_int64().get(out)) {
            return refuse(FrameFault::mistyped_field);
        }
        if (out < std::numeric_limits<Int>::min() || out > std::numeric_limits<Int>::max()) {
            return refuse(FrameFault::mistyped_field);
        }
        return static_cast<Int>(out);
    }

    Parsed<core::ChannelId> uuid(Name name) const {
        const auto value = text(name);
        if (!value) return refuse(value.error());
        const auto bytes = core::parse_uuid(*value);
        if (!bytes) return refuse(FrameFault::bad_uuid);
        return core::ChannelId{*bytes};
    }

private:
    std::array<std::optional<Element>, name_count> values_;
    std::size_t members_ = 0;
};

Parsed<BroadcastList> broadcast_list(const Element& value) {
    Object object;
    if (value.get_object().get(object)) return refuse(FrameFault::mistyped_field);
    BroadcastList out;
    for (const auto field : object) {
        std::string_view version;
        if (field.value.get_string().get(version)) return refuse(FrameFault::mistyped_field);
        out.emplace_back(field.key, version);
    }
    return out;
}

/// `channelIDs` of a hello: checked for form, then ignored.
Parsed<void> check_channel_ids(const Element& value) {
    simdjson::dom::array list;
    if (value.get_array().get(list)) return refuse(FrameFault::mistyped_field);
    for (const auto item : list) {
        std::string_view text;
        if (item.get_string().get(text)) return refuse(FrameFault::mistyped_field);
        if (!core::parse_uuid(text)) return refuse(FrameFault::bad_uuid);
    }
    return {};
}

Parsed<ClientFrame> hello(const Fields& fields) {
    Hello out;
    const auto offered = fields.optional_text(uaid);
    if (!offered) return refuse(offered.error());
    if (*offered) {
        if (const auto bytes = core::parse_uuid(**offered)) out.uaid = core::Uaid{*bytes};
    }
    if (const auto* ids = fields.find(channel_ids)) {
        const auto checked = check_channel_ids(*ids);
        if (!checked) return refuse(checked.error());
    }
    if (const auto* wanted = fields.find(broadcasts)) {
        auto list = broadcast_list(*wanted);
        if (!list) return refuse(list.error());
        out.broadcasts = std::move(*list);
    }
    return out;
}

Parsed<ClientFrame> register_channel(const Fields& fields) {
    const auto value = fields.text(channel_id);
    if (!value) return refuse(value.error());
    const auto bytes = core::parse_dashed(*value);
    if (!bytes) return refuse(FrameFault::bad_channel_id);
    const auto vapid = fields.optional_text(key);
    if (!vapid) return refuse(vapid.error());
    Register out{.channel = {*bytes}, .key = std::nullopt};
    if (*vapid) out.key.emplace(**vapid);
    return out;
}

Parsed<ClientFrame> unregister_channel(const Fields& fields) {
    const auto channel = fields.uuid(channel_id);
    if (!channel) return refuse(channel.error());
    const auto why = fields.number_or<std::uint32_t>(code, 200);
    if (!why) return refuse(why.error());
    return Unregister{*channel, *why};
}

Parsed<ClientFrame> broadcast_subscribe(const Fields& fields) {
    const auto* wanted = fields.find(broadcasts);
    if (!wanted) return refuse(FrameFault::missing_field);
    auto list = broadcast_list(*wanted);
    if (!list) return refuse(list.error());
    return BroadcastSubscribe{std::move(*list)};
}

Parsed<AckUpdate> ack_update(const Element& item) {
    Object object;
    if (item.get_object().get(object)) return refuse(FrameFault::mistyped_field);
    const auto fields = Fields::of(object);
    if (!fields) return refuse(fields.error());
    const auto channel = fields->uuid(channel_id);
    if (!channel) return refuse(channel.error());
    const auto of = fields->text(version);
    if (!of) return refuse(of.error());
    const auto result = fields->number_or<std::uint16_t>(code, 100);
    if (!result) return refuse(result.error());
    return AckUpdate{*channel, std::string{*of}, *result};
}

Parsed<ClientFrame> ack(const Fields& fields) {
    const auto* list_value = fields.find(updates);
    if (!list_value) return refuse(FrameFault::missing_field);
    simdjson::dom::array list;
    if (list_value->get_array().get(list)) return refuse(FrameFault::mistyped_field);
    Ack out;
    for (const auto item : list) {
        auto update = ack_update(item);
        if (!update) return refuse(update.error());
        out.updates.push_back(std::move(*update));
    }
    return out;
}

Parsed<ClientFrame> nack(const Fields& fields) {
    const auto of = fields.text(version);
    if (!of) return refuse(of.error());
    const auto why = fields.number_or<std::int32_t>(code, 0);
    if (!why) return refuse(why.error());
    return Nack{std::string{*of}, *why};
}

Parsed<ClientFrame> frame(const Fields& fields) {
    if (fields.empty()) return Ping{};  // `{}`
    const auto type = fields.text(message_type);
    if (!type) {
        return refuse(type.error() == FrameFault::missing_field ? FrameFault::no_message_type
                                                                : type.error());
    }
    if (*type == "ack") return ack(fields);
    if (*type == "ping") return Ping{};
    if (*type == "hello") return hello(fields);
    if (*type == "register") return register_channel(fields);
    if (*type == "unregister") return unregister_channel(fields);
    if (*type == "nack") return nack(fields);
    if (*type == "broadcast_subscribe") return broadcast_subscribe(fields);
    return refuse(FrameFault::unknown_type);
}

}  // namespace

std::size_t bytes_of(const ClientCommand& command) {
    std::size_t bytes = sizeof command;
    if (const auto* asked = std::get_if<Register>(&command); asked && asked->key) {
        bytes += asked->key->size();
    } else if (const auto* nack = std::get_if<Nack>(&command)) {
        bytes += nack->version.size();
    } else if (const auto* ack = std::get_if<Ack>(&command)) {
        for (const auto& update : ack->updates) bytes += sizeof update + update.version.size();
    }
    return bytes;
}

namespace {

/// Three codes in a row, and the rest.
std::size_t place_of(std::int64_t code, std::int64_t first, std::size_t place) {
    const auto behind = code - first;
    return place + (behind >= 0 && behind < 3 ? static_cast<std::size_t>(behind) : 3);
}

}  // namespace

std::size_t answer_code(const AckUpdate& ack) { return place_of(ack.code, 100, 0); }
std::size_t answer_code(const Nack& nack) { return place_of(nack.code, 301, 4); }
std::size_t answer_code(const Unregister& unregister) { return place_of(unregister.code, 200, 8); }

core::Milestone end_of_ack(std::uint16_t code) {
    switch (code) {
        case kNotDecrypted: return core::Milestone::decryption_error;
        case kNotDelivered: return core::Milestone::not_delivered;
        default: return core::Milestone::delivered;
    }
}

core::Milestone end_of_nack(std::int32_t code) {
    return code == kNackNotDecrypted ? core::Milestone::decryption_error
                                     : core::Milestone::not_delivered;
}

Closing closing_for(FrameFault fault) {
    // A bad channel id in register is the state machine's complaint, all else the parser's.
    return fault == FrameFault::bad_channel_id ? closing::kOutOfPlace : closing::kMalformed;
}

/// The DOM parser and not the on-demand one: it checks all of the text, also unused members, and a
/// frame of 170 bytes still takes a third of a microsecond.
struct FrameParser::Impl {
    simdjson::dom::parser parser;
    std::string padded;  ///< the frame with the space behind it that simdjson reads into
};

FrameParser::FrameParser() : impl_(std::make_unique<Impl>()) {}
FrameParser::~FrameParser() = default;
FrameParser::FrameParser(FrameParser&&) noexcept = default;

tl::expected<ClientFrame, FrameFault> FrameParser::parse(std::string_view text) {
    auto& padded = impl_->padded;
    if (padded.size() < text.size() + simdjson::SIMDJSON_PADDING) {
        padded.resize(text.size() + simdjson::SIMDJSON_PADDING);
    }
    std::memcpy(padded.data(), text.data(), text.size());
    Element root;
    if (impl_->parser.parse(padded.data(), text.size(), false).get(root)) {
        return refuse(FrameFault::not_json);
    }
    Object object;
    if (root.get_object().get(object)) return refuse(FrameFault::not_an_object);
    const auto fields = Fields::of(object);
    if (!fields) return refuse(fields.error());
    return frame(*fields);
}

}  // namespace beckon::edge
