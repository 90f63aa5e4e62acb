#include "core/json_parts.hpp"

#include "core/ascii.hpp"
#include "core/json_text.hpp"
#include "core/terminal_text.hpp"

#include <algorithm>
#include <cstdint>

#include <nlohmann/json.hpp>

namespace beckon::core {

namespace {

using PartsJson = nlohmann::json;

constexpr std::string_view kJsonBlanks = " \t\r\n";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// Takes every event of the parser, and keeps only the first fault.
class Acceptor final : public nlohmann::json_sax<PartsJson> {
public:
    explicit Acceptor(std::size_t before) : before_(before) {}
    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t) override { return true; }
    bool number_unsigned(number_unsigned_t) override { return true; }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool string(string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override { return true; }
    bool key(string_t&) override { return true; }
    bool end_object() override { return true; }
    bool start_array(std::size_t) override { return true; }
    bool end_array() override { return true; }
    bool parse_error(std::size_t byte, const std::string&,
                     const PartsJson::exception& fault) override {
        constexpr int kNumberOverflow = 406;
        why = fault.id == kNumberOverflow ? "has a number beyond the range of a double"
                                          : "is not JSON";
        why += " (byte " + std::to_string(before_ + byte) + ")";
        return false;
    }

    std::string why;

private:
    const std::size_t before_;  ///< bytes that were left out before the text
};

/// Walks over text that json_value() has let pass. Of other text it takes something, never beyond
/// its end, and in the end nothing.
class Walker {
public:
    explicit Walker(std::string_view text) : text_(text) {}

    /// Steps over blanks and this character; false if another stands there.
    bool take(char c) {
        skip_blanks();
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    std::string_view take_value() {
        skip_blanks();
        const auto begin = at_;
        if (at_ == text_.size() || text_[at_] == '}' || text_[at_] == ']') return {};
        std::size_t depth = 0;
        do {
            step(depth);
        } while (depth > 0 && at_ < text_.size());
        return text_.substr(begin, at_ - begin);
    }

private:
    void skip_blanks() { at_ = std::min(text_.find_first_not_of(kJsonBlanks, at_), text_.size()); }

    /// Steps over a string, a bracket, or the text before the next of them.
    void step(std::size_t& depth) {
        const char c = text_[at_];
        if (c == '"') return step_over_string();
        if (c == '{' || c == '[') ++depth;
        if (c == '}' || c == ']') --depth;
        ++at_;
        const bool in_scalar = depth == 0 && c != '}' && c != ']';
        if (in_scalar) at_ = std::min(text_.find_first_of(",:]} \t\r\n", at_), text_.size());
    }
    void step_over_string() {
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\') ++at_;
        }
        at_ = std::min(at_ + 1, text_.size());
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

/// The text of a string that has no escapes, as nearly all names have none.
std::optional<std::string_view> plain_string(std::string_view value) {
    if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::nullopt;
    const auto text = value.substr(1, value.size() - 2);
    return text.find('\\') == std::string_view::npos ? std::optional{text} : std::nullopt;
}

}  // namespace

Result<std::string_view> json_value(std::string_view all) {
    auto text = all;
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    text = trimmed(text, kJsonBlanks);
    const auto before = text.empty() ? 0 : static_cast<std::size_t>(text.data() - all.data());
    // The parser takes a second byte-order mark and the end at a zero byte; no value begins or ends
    // so.
    const auto zero = text.find('\0');
    if (text.starts_with(kByteOrderMark) || zero != std::string_view::npos) {
        const auto byte = before + (zero == std::string_view::npos ? 0 : zero) + 1;
        return fail(Fault::invalid, "is not JSON (byte " + std::to_string(byte) + ")");
    }
    Acceptor acceptor{before};
    if (!PartsJson::sax_parse(text.begin(), text.end(), &acceptor)) {
        return fail(Fault::invalid, std::move(acceptor.why));
    }
    return text;
}

Result<std::vector<JsonMember>> json_members(std::string_view value) {
    Walker walker{value};
    if (!walker.take('{')) return fail(Fault::invalid, "must be an object");
    std::vector<JsonMember> members;
    if (walker.take('}')) return members;
    do {
        const auto text = walker.take_value();
        const auto plain = plain_string(text);
        auto name = plain ? std::string{*plain} : PartsJson::parse(text).get<std::string>();
        walker.take(':');
        members.push_back({std::move(name), walker.take_value()});
    } while (walker.take(','));
    return members;
}

Result<std::vector<std::string_view>> json_elements(std::string_view value) {
    Walker walker{value};
    if (!walker.take('[')) return fail(Fault::invalid, "must be a list");
    std::vector<std::string_view> elements;
    if (walker.take(']')) return elements;
    do {
        elements.push_back(walker.take_value());
    } while (walker.take(','));
    return elements;
}

std::vector<std::optional<std::string>> json_string_members(
    std::string_view object, std::initializer_list<std::string_view> names) {
    const auto text_of = [](std::string_view value) -> std::optional<std::string> {
        if (!value.starts_with('"')) return std::nullopt;
        const auto string = parse_json(value);
        return string.is_string() ? std::optional{string.get<std::string>()} : std::nullopt;
    };
    std::vector<std::optional<std::string>> texts(names.size());
    std::vector<bool> is_seen(names.size());
    std::size_t missing = names.size();
    Walker walker{object};
    if (!walker.take('{')) return texts;
    do {
        const auto member = walker.take_value();
        if (!walker.take(':')) break;
        const auto value = walker.take_value();
        const auto plain = plain_string(member);
        const auto name = plain ? std::string{*plain} : text_of(member).value_or("");
        const auto is_it = std::find(names.begin(), names.end(), name);
        if (is_it == names.end()) continue;
        const auto i = static_cast<std::size_t>(is_it - names.begin());
        if (is_seen[i]) continue;
        is_seen[i] = true;
        texts[i] = text_of(value);
        --missing;
    } while (missing > 0 && walker.take(','));
    return texts;
}

std::optional<std::string> json_string_member(std::string_view object, std::string_view name) {
    return json_string_members(object, {name}).front();
}

void append_json_member(std::string& object, std::string_view name, std::string_view value) {
    if (!object.ends_with('{')) object.push_back(',');
    object.append(json_string(name)).append(1, ':').append(value);
}

std::string with_json_member(std::string_view object, std::string_view name,
                             std::string_view value) {
    object.remove_suffix(1);  // the closing brace
    std::string out{trimmed(object, kJsonBlanks)};
    append_json_member(out, name, value);
    return out.append(1, '}');
}

std::string json_string(std::string_view text) { return core::json_text(PartsJson(text)); }

bool is_utf8(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto next = first_character(bytes);
        if (next.is_invalid()) return false;
        bytes.remove_prefix(next.bytes);
    }
    return true;
}

}  // namespace beckon::core
