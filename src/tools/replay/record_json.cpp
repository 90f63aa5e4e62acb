#include "tools/replay/record_json.hpp"

#include "core/base64url.hpp"

#include <array>
#include <charconv>
#include <cstdint>

namespace beckon::tools {

namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

void append_number(std::string& out, std::int64_t number) {
    std::array<char, 24> text{};
    const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
    out.append(text.data(), end);
}

bool is_plain(unsigned char byte) {
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

void append_escaped(std::string& out, unsigned char byte) {
    if (byte == '"' || byte == '\\') {
        out.push_back('\\');
        out.push_back(static_cast<char>(byte));
        return;
    }
    out += "\\u00";
    out.push_back(kHexDigits[byte >> 4]);
    out.push_back(kHexDigits[byte & 15]);
}

void append_text(std::string& out, std::string_view text) {
    out.push_back('"');
    std::size_t plain = 0;  // the bytes that are not written yet begin here
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (is_plain(byte)) continue;
        out.append(text, plain, i - plain);
        append_escaped(out, byte);
        plain = i + 1;
    }
    out.append(text, plain);
    out.push_back('"');
}

}  // namespace

void append_json(std::string& out, log::TopicPartition where, const core::RecordView& record,
                 const RecordJsonOptions& options) {
    out += "{\"topic\":";
    append_text(out, where.topic.name());
    out += ",\"partition\":";
    append_number(out, where.partition);
    out += ",\"offset\":";
    append_number(out, record.offset);
    out += ",\"time\":";
    append_number(out, record.time.time_since_epoch().count());
    out += ",\"key\":";
    append_text(out, record.key);
    out += ",\"bytes\":";
    if (record.value) {
        append_number(out, static_cast<std::int64_t>(record.value->size()));
    } else {
        out += "null";
    }
    out += ",\"headers\":{";
    bool first = true;
    for (const auto& header : record.headers) {
        if (!first) out.push_back(',');
        first = false;
        append_text(out, header.name);
        out.push_back(':');
        append_text(out, header.value);
    }
    out.push_back('}');
    if (options.values && record.value) {
        out += ",\"value\":\"";
        core::append_base64url(out, *record.value);
        out.push_back('"');
    }
    out += "}\n";
}

}  // namespace beckon::tools
