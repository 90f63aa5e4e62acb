#include "net/http/request_parser.hpp"

#include "core/ascii.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include <boost/beast/http/basic_parser.hpp>

namespace beckon::net {

namespace http = boost::beast::http;
using BeastError = boost::system::error_code;
using BeastView = boost::beast::string_view;

namespace {

/// The shortest that can be left of a chunked body.
constexpr std::string_view kLastChunk = "0\r\n\r\n";

std::string_view view(BeastView text) { return {text.data(), text.size()}; }

/// RFC 9112 §5.2: a header line that begins with a blank continues the line before. This is
/// obsolete, and parsers disagree on it, so such a request is refused. `header`: whole lines; an
/// empty one is the header's last.
bool has_folded_line(std::string_view header) {
    if (header.starts_with("\r\n")) return false;
    header = header.substr(0, header.find("\r\n\r\n"));
    for (auto end = header.find("\r\n"); end != std::string_view::npos;
         end = header.find("\r\n", end + 2)) {
        const auto next = header.substr(end + 2, 1);
        if (next == " " || next == "\t") return true;
    }
    return false;
}

/// Headers that are one list on any number of lines (RFC 9110 §5.3).
bool is_list(HeaderName name) {
    return name == HeaderName::crypto_key || name == HeaderName::encryption;
}

/// The parts of a request that are kept. The header may come in many pieces, so its texts are
/// positions in `head` until the whole is there.
struct Kept {
    struct Text {
        std::size_t at = 0;
        std::size_t length = 0;
    };
    struct Field {
        HeaderName name;
        Text value;
    };
    struct Extra {
        Text name;
        Text value;
    };

    Text keep(std::string_view text) {
        const Text kept{head.size(), text.size()};
        head += text;
        return kept;
    }
    std::string_view text(Text where) const {
        return std::string_view{head}.substr(where.at, where.length);
    }

    std::string head;
    std::string body;
    std::vector<Field> fields;
    std::vector<Extra> extra;
};

/// Beast knows the grammar; this keeps Beast's results.
class HeaderCollector final : public http::basic_parser<true> {
public:
    HeaderCollector(const RequestLimits& limits, Kept& kept) : limits_(limits), kept_(kept) {
        kept_.head.clear();
        kept_.body.clear();
        kept_.fields.clear();
        kept_.extra.clear();
        eager(true);
        header_limit(static_cast<std::uint32_t>(limits.header_bytes_max));
        // Ours answers in the order of the spec's checks. (boost::none refuses every length in
        // Boost 1.74: an absent limit compares as less than anything.)
        body_limit(std::numeric_limits<std::uint64_t>::max());
    }

    Method method = Method::other;
    bool head = false;
    Kept::Text target;
    Kept::Text host;
    bool expects_continue = false;
    bool body_too_large = false;

    bool is_http_1_0() const { return version_ < 11; }
    /// RFC 9112 §3.2: an HTTP/1.1 request names its host exactly once.
    bool host_is_good() const { return hosts_ == 1 || (hosts_ == 0 && version_ < 11); }

private:
    /// Beast's own limit counts the bytes in the buffer, not the bytes that have gone through it.
    bool count(std::size_t bytes, BeastError& error) {
        header_bytes_ += bytes;
        if (header_bytes_ <= limits_.header_bytes_max) return true;
        error = http::error::header_limit;
        return false;
    }

    void on_request_impl(http::verb, BeastView method_text, BeastView target_text, int version,
                         BeastError& error) override {
        if (!count(method_text.size() + target_text.size() + 12, error)) return;
        version_ = version;
        head = method_text == "HEAD";
        method = head ? Method::get : net::parse_method(view(method_text));
        target = kept_.keep(view(target_text));
    }

    void on_response_impl(int, BeastView, int, BeastError&) override {}

    void on_field_impl(http::field name, BeastView name_text, BeastView value,
                       BeastError& error) override {
        if (!count(name_text.size() + value.size() + 4, error)) return;
        if (is_header_done()) return;  // a trailer: none is read
        // We could not know where it ends; nor can HTTP/1.0, which does not know chunks (RFC 9112
        // §6.1).
        if (name == http::field::transfer_encoding &&
            (version_ < 11 || !boost::beast::iequals(value, "chunked"))) {
            error = http::error::bad_transfer_encoding;
            return;
        }
        if (name == http::field::host) {
            ++hosts_;
            host = kept_.keep(view(value));
        }
        if (name == http::field::expect) {
            expects_continue = boost::beast::iequals(value, "100-continue");
        }
        if (const auto known = parse_header_name(view(name_text))) {
            kept_.fields.push_back({*known, kept_.keep(view(value))});
        }
        if (is_extra(name_text)) {
            kept_.extra.push_back({kept_.keep(view(name_text)), kept_.keep(view(value))});
        }
    }

    bool is_extra(BeastView name) const {
        const auto& prefix = limits_.extra_prefix;
        return prefix && name.size() >= prefix->size() &&
               boost::beast::iequals(name.substr(0, prefix->size()),
                                     BeastView{prefix->data(), prefix->size()});
    }

    void on_header_impl(BeastError&) override {}

    void on_body_init_impl(const boost::optional<std::uint64_t>& length, BeastError&) override {
        if (length && *length <= limits_.body_bytes_max) {
            kept_.body.reserve(static_cast<std::size_t>(*length));
        }
    }

    std::size_t keep_body(std::string_view bytes) {
        if (kept_.body.size() + bytes.size() > limits_.body_bytes_max) body_too_large = true;
        if (!body_too_large) kept_.body += bytes;
        return bytes.size();
    }

    std::size_t on_body_impl(BeastView bytes, BeastError&) override {
        return keep_body(view(bytes));
    }

    void on_chunk_header_impl(std::uint64_t, BeastView, BeastError&) override {}

    std::size_t on_chunk_body_impl(std::uint64_t, BeastView bytes, BeastError&) override {
        return keep_body(view(bytes));
    }

    void on_finish_impl(BeastError&) override {}

    const RequestLimits& limits_;
    Kept& kept_;
    std::size_t header_bytes_ = 0;
    int version_ = 11;
    int hosts_ = 0;
};

}  // namespace

struct RequestParser::Impl : Kept {
    std::optional<HeaderCollector> collector;

    bool take_origin_form(Text& target);
    void join_lists();
};

/// RFC 9112 §3.2.2: every server takes the form that a proxy is sent. False: it names no host.
bool RequestParser::Impl::take_origin_form(Text& target) {
    const auto whole = text(target);
    const auto scheme_end = whole.find("://");
    if (whole.starts_with('/') || scheme_end == std::string_view::npos) return true;
    const auto scheme = core::lower(whole.substr(0, scheme_end));
    if (scheme != "http" && scheme != "https") return true;  // of an unknown form
    const auto place = scheme_end + 3;
    const auto path = std::min(whole.find_first_of("/?#", place), whole.size());
    if (path == place) return false;
    collector->host = {target.at + place, path - place};  // and not Host
    if (whole.substr(path).starts_with('/')) {
        target = {target.at + path, target.length - path};
    } else {
        target = keep("/" + std::string{whole.substr(path)});
    }
    return true;
}

/// The values of a list's other lines are appended to its first line.
void RequestParser::Impl::join_lists() {
    for (auto first = fields.begin(); first != fields.end(); ++first) {
        if (!is_list(first->name)) continue;
        const auto more = [&](const auto& other) { return other.name == first->name; };
        auto next = std::find_if(first + 1, fields.end(), more);
        if (next == fields.end()) continue;
        std::string all{text(first->value)};
        for (; next != fields.end(); next = std::find_if(next, fields.end(), more)) {
            all.append(", ").append(text(next->value));
            next = fields.erase(next);
        }
        first->value = keep(all);
    }
}

RequestParser::RequestParser(const RequestLimits& limits)
    : limits_(limits), impl_(std::make_unique<Impl>()) {
    reset();
}

RequestParser::~RequestParser() = default;

void RequestParser::reset() {
    impl_->collector.emplace(limits_, *impl_);
    request_ = {};
}

std::size_t RequestParser::kept_bytes() const {
    return impl_->head.capacity() + impl_->body.capacity() +
           impl_->fields.capacity() * sizeof(Kept::Field) +
           impl_->extra.capacity() * sizeof(Kept::Extra);
}

RequestParser::Status RequestParser::put(std::string_view bytes, std::size_t& used) {
    auto& collector = *impl_->collector;
    used = 0;
    if (!collector.got_some()) {  // RFC 9112 §2.2: empty lines before a request do not count
        while (used < bytes.size() && (bytes[used] == '\r' || bytes[used] == '\n')) ++used;
        if (used == bytes.size()) return Status::need_more;
    }
    // Beast 1.74 asserts that the end of a chunked body, once begun, is looked at again with its
    // five bytes (boostorg/beast#2861); a client that sends "0\r\n" and then one more ended the
    // process.
    const bool in_chunks = collector.is_header_done() && collector.chunked();
    if (in_chunks && bytes.size() - used < kLastChunk.size()) return Status::need_more;
    BeastError error;
    const bool had_header = collector.is_header_done();
    const auto begin = used;
    used += collector.put({bytes.data() + used, bytes.size() - used}, error);
    // Beast takes a field with all its lines at once.
    if (!had_header && has_folded_line(bytes.substr(begin, used - begin))) {
        return Status::bad_request;
    }
    const auto length = collector.is_header_done() ? collector.content_length() : boost::none;
    if (length && *length > limits_.body_bytes_max) collector.body_too_large = true;
    const bool unfinished = error == http::error::need_more || (!error && !collector.is_done());
    if (error == http::error::header_limit) return Status::header_too_large;
    if (error && !unfinished) return Status::bad_request;
    if (collector.is_header_done() && !collector.host_is_good()) return Status::bad_host;
    if (unfinished && !collector.body_too_large) return Status::need_more;

    if (!impl_->take_origin_form(collector.target)) return Status::bad_request;
    impl_->join_lists();
    request_.method = collector.method;
    request_.head = collector.head;
    request_.target = impl_->text(collector.target);
    request_.authority = impl_->text(collector.host);
    for (const auto& field : impl_->fields) {
        request_.headers.add(field.name, impl_->text(field.value));
    }
    for (const auto& one : impl_->extra) {
        request_.extra.push_back({impl_->text(one.name), impl_->text(one.value)});
    }
    request_.http_1_0 = collector.is_http_1_0();
    request_.body_length_given = length.has_value();
    request_.body_too_large = collector.body_too_large;
    if (collector.body_too_large) return Status::body_too_large;
    request_.body = impl_->body;
    return Status::complete;
}

bool RequestParser::wants_continue() const {
    const auto& collector = *impl_->collector;
    return collector.is_header_done() && !collector.is_done() && collector.expects_continue &&
           impl_->body.empty();
}

bool RequestParser::keep_alive() const { return impl_->collector->keep_alive(); }

}  // namespace beckon::net
