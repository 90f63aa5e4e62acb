#include "retry/attempt/transfer.hpp"

#include "core/ascii.hpp"
#include "core/authority.hpp"
#include "core/descriptors.hpp"
#include "fetch/url.hpp"
#include "retry/attempt/request_target.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::retry {

using std::chrono::milliseconds;

namespace {

/// A connection whose peer has acknowledged nothing for so long is dead.
constexpr unsigned kUnackedMs = 20'000;

/// Judges the headers Content-Length of an answer, of whose head `line` is the next one. False: one
/// is no number, or two differ, so that nobody knows where the answer ends, and a client must not
/// use it (RFC 9112 section 6.3). libcurl takes the digits that a value begins with, and of two
/// values the last.
bool check_length(std::string_view line, std::string& length) {
    if (line.starts_with("HTTP/")) length.clear();  // it begins anew, as after an interim answer
    const auto colon = line.find(':');
    if (!core::equals_ignoring_case(line.substr(0, colon), "content-length")) return true;
    // A list of equal values is one that a proxy has made of several headers.
    while (!line.empty()) {
        line.remove_prefix(std::min(line.find_first_of(":,"), line.size() - 1) + 1);
        const auto value = core::trimmed(line.substr(0, line.find(',')), " \t\r\n");
        const bool number =
            !value.empty() && std::all_of(value.begin(), value.end(), core::is_digit);
        if (!number || (!length.empty() && value != length)) return false;
        length = value;
        line.remove_prefix(std::min(line.find(','), line.size()));
    }
    return true;
}

extern "C" {

std::size_t on_body(char* data, std::size_t, std::size_t size, void* user) noexcept {
    auto& transfer = *static_cast<Transfer*>(user);
    auto& body = transfer.answer.body;
    body.append(data, std::min(size, transfer.options->body_kept - body.size()));
    curl_off_t announced = -1;
    if (transfer.body_bytes == 0) {
        curl_easy_getinfo(transfer.easy.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    }
    transfer.body_bytes += size;
    const auto bytes =
        std::max(transfer.body_bytes, announced < 0 ? 0 : static_cast<std::size_t>(announced));
    transfer.cut_off |= bytes > HttpSender::kAnswerBytesMax;
    return transfer.cut_off ? 0 : size;
}

std::size_t on_header(char* line, std::size_t, std::size_t size, void* user) noexcept {
    auto& transfer = *static_cast<Transfer*>(user);
    transfer.header_bytes += size;
    transfer.cut_off |= transfer.header_bytes > HttpSender::kHeaderBytesMax;
    transfer.invalid_length |= !check_length({line, size}, transfer.length);
    return transfer.cut_off || transfer.invalid_length ? 0 : size;
}

/// After each step of libcurl for the attempt. libcurl takes steps within one call for as long as
/// more bytes come in at once, so that it may not return.
int on_step(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
    auto& transfer = *static_cast<Transfer*>(user);
    if (!transfer.after_step() && !transfer.cut_off) return 0;
    transfer.cut_off = true;
    // HTTP/2 would only end the stream.
    curl_easy_setopt(transfer.easy.get(), CURLOPT_FORBID_REUSE, 1L);
    return 1;
}

/// The one place where a connection begins: the address that is vetted is the one that it goes to.
curl_socket_t on_open_socket(void* user, curlsocktype, curl_sockaddr* address) noexcept {
    auto& transfer = *static_cast<Transfer*>(user);
    const auto& guard = transfer.options->guard;
    const auto why = transfer.by_proxy ? std::string_view{}
                     : transfer.inside ? guard.forbidden_inside(address->addr)
                                       : guard.forbidden(address->addr);
    if (!why.empty()) {
        transfer.refused = why;
        return CURL_SOCKET_BAD;
    }
    const int made = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    if (made >= 0 && core::is_reserved(made)) {
        ::close(made);
        return CURL_SOCKET_BAD;
    }
    // Many requests share a connection then: one that is dead must not swallow all that follow.
    if (made >= 0 && transfer.options->http2) {
        ::setsockopt(made, IPPROTO_TCP, TCP_USER_TIMEOUT, &kUnackedMs, sizeof kUnackedMs);
    }
    return made;
}

}  // extern "C"

template <class T>
void set(CURL* easy, CURLoption option, T value) {
    if (curl_easy_setopt(easy, option, value) != CURLE_OK) {
        throw std::runtime_error("libcurl refuses option " + std::to_string(option));
    }
}

/// Whether libcurl has ended the answer because one line of it is too long, before on_header() has
/// seen that line. Requests do not come near those bounds of libcurl.
bool has_too_long_line(const Transfer& transfer, CURLcode code) {
    constexpr int kTooLarge = 100;  // CURLE_TOO_LARGE, since libcurl 8.6; before, it has no memory
    if (code != CURLE_OUT_OF_MEMORY && static_cast<int>(code) != kTooLarge) return false;
    curl_off_t first_byte_after = 0;
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_STARTTRANSFER_TIME_T, &first_byte_after);
    return first_byte_after > 0;
}

HttpAnswer::End end_of(const Transfer& transfer, CURLcode code) {
    if (transfer.cut_off || has_too_long_line(transfer, code)) return HttpAnswer::End::too_large;
    if (code == CURLE_OK) return HttpAnswer::End::answered;
    if (code == CURLE_OPERATION_TIMEDOUT) return HttpAnswer::End::timed_out;
    if (!transfer.refused.empty() && code == CURLE_COULDNT_CONNECT) {
        return HttpAnswer::End::forbidden;
    }
    return HttpAnswer::End::unreachable;
}

/// Whether the time was over before or after there was a connection.
std::string late(const Transfer& transfer) {
    curl_off_t connected = 0;
    curl_off_t ready = 0;  // with TLS, if the URL has it
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_CONNECT_TIME_T, &connected);
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_PRETRANSFER_TIME_T, &ready);
    // A kept connection takes no time to be made.
    if (ready > 0) return "a connection was made, but no complete answer came in time";
    if (connected > 0) return "a connection was made, but TLS was not agreed on in time";
    return "no connection was made in time";
}

/// Says more than curl_easy_strerror() where libcurl knows more: one text of that stands for every
/// fault of a certificate (self-signed, expired, another name).
std::string cause_of(const Transfer& transfer, CURLcode code) {
    if (code == CURLE_OPERATION_TIMEDOUT) return late(transfer);
    const bool of_tls = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CONNECT_ERROR;
    if (of_tls && transfer.said.front() != '\0') return transfer.said.data();
    return curl_easy_strerror(code);
}

std::string why_not(const Transfer& transfer, HttpAnswer::End end, CURLcode code) {
    if (end == HttpAnswer::End::forbidden) return not_allowed(transfer.refused);
    if (end == HttpAnswer::End::too_large) return "the answer has too many bytes";
    long answered = 0;  // by the proxy, to our CONNECT
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_HTTP_CONNECTCODE, &answered);
    if (transfer.by_proxy && answered >= 300) {
        return "the proxy (retry.proxy) answered " + std::to_string(answered);
    }
    if (transfer.invalid_length) {
        return "the answer's Content-Length is no number, or two of them differ";
    }
    if (code == CURLE_UNSUPPORTED_PROTOCOL) return "the answer is none of HTTP/1.1 or HTTP/2";
    const auto what = cause_of(transfer, code);
    return transfer.by_proxy ? what + " (by retry.proxy)" : what;
}

/// What libcurl is to know of a name, for as long as an address that it has looked up itself.
std::string resolved_entry(std::string_view name, const Transfer& transfer) {
    std::string entry{"+"};
    entry.append(name).append(":").append(transfer.port).append(":");
    for (std::size_t i = 0; i < transfer.addresses.size(); ++i) {
        const auto& address = transfer.addresses[i];
        if (i > 0) entry.push_back(',');
        entry.append(core::with_brackets(address));
    }
    return entry;
}

/// Method, target, headers and body.
void set_request(Transfer& transfer, core::MonoTime now) {
    const auto& request = transfer.request;
    CURL* easy = transfer.easy.get();
    curl_slist* headers = nullptr;
    for (const auto& header : request.headers) headers = curl_slist_append(headers, header.c_str());
    headers = curl_slist_append(headers, "Expect:");  // no round trip before the body
    transfer.headers.reset(headers);

    set(easy, CURLOPT_URL, in_ascii(request.url).c_str());  // libcurl copies it
    // A proxy receives the whole URL, and sends the same target to the receiver.
    if (!request.target.empty() && !transfer.by_proxy) {
        set(easy, CURLOPT_REQUEST_TARGET, request.target.c_str());
    }
    set(easy, CURLOPT_FOLLOWLOCATION, 0L);
    set(easy, CURLOPT_POST, 1L);
    set(easy, CURLOPT_CUSTOMREQUEST, to_string(request.method));
    set(easy, CURLOPT_POSTFIELDS, request.body.data());
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(easy, CURLOPT_HTTPHEADER, headers);
    set(easy, CURLOPT_USERAGENT, transfer.options->user_agent.c_str());
    const auto left = request.timeout - (now - transfer.started);
    set(easy, CURLOPT_TIMEOUT_MS,
        static_cast<long>(
            std::max<std::int64_t>(1, std::chrono::ceil<milliseconds>(left).count())));
}

/// How it gets to its host.
void set_route(Transfer& transfer) {
    CURL* easy = transfer.easy.get();
    if (!transfer.name.empty()) {
        const std::string_view name{transfer.name};
        auto* resolved = curl_slist_append(nullptr, resolved_entry(name, transfer).c_str());
        if (name.ends_with('.')) {  // libcurl looks for it without the dot
            const auto plain = resolved_entry(name.substr(0, name.size() - 1), transfer);
            resolved = curl_slist_append(resolved, plain.c_str());
        }
        transfer.resolved.reset(resolved);
        set(easy, CURLOPT_RESOLVE, resolved);
    }
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy, CURLOPT_PROXY, transfer.by_proxy ? transfer.options->proxy.c_str() : "");
    set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_QUICK_EXIT, 1L);  // waits for no thread that looks up the proxy's name
    set(easy, CURLOPT_OPENSOCKETFUNCTION, &on_open_socket);
    set(easy, CURLOPT_OPENSOCKETDATA, &transfer);
}

/// HTTP/2, who is trusted, and who we are.
void set_protocol(Transfer& transfer) {
    const auto& options = *transfer.options;
    CURL* easy = transfer.easy.get();
    set(easy, CURLOPT_HTTP_VERSION,
        static_cast<long>(options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    if (options.http2) set(easy, CURLOPT_PIPEWAIT, 1L);  // rather than a connection of its own
    for (const auto version : {CURLOPT_SSLVERSION, CURLOPT_PROXY_SSLVERSION}) {
        set(easy, version, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    }
    if (transfer.certified) {
        set(easy, CURLOPT_SSLCERT, options.client_certificate.c_str());
        set(easy, CURLOPT_SSLKEY, options.client_key.c_str());
    }
    if (options.ca_file.empty()) return;
    for (const auto file : {CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO}) {
        set(easy, file, options.ca_file.c_str());
    }
}

/// Who takes the answer.
void set_callbacks(Transfer& transfer) {
    CURL* easy = transfer.easy.get();
    set(easy, CURLOPT_ERRORBUFFER, transfer.said.data());
    set(easy, CURLOPT_WRITEFUNCTION, &on_body);
    set(easy, CURLOPT_WRITEDATA, &transfer);
    set(easy, CURLOPT_HEADERFUNCTION, &on_header);
    set(easy, CURLOPT_HEADERDATA, &transfer);
    set(easy, CURLOPT_XFERINFOFUNCTION, &on_step);
    set(easy, CURLOPT_XFERINFODATA, &transfer);
    set(easy, CURLOPT_NOPROGRESS, 0L);
}

}  // namespace

std::string not_allowed(std::string_view why) {
    return "leads to an address that is not allowed: " + std::string{why};
}

bool may_have_addresses(std::string_view name) {
    return !name.empty() && core::is_alphanumeric(name, "-._");
}

bool find_route(Transfer& transfer) {
    const auto& options = *transfer.options;
    const auto url = fetch::Url::parse(in_ascii(transfer.request.url));
    const std::string host{core::without_brackets(url ? url->host() : "")};
    transfer.port = url ? url->part(CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("") : "";
    transfer.inside = options.inside.contains(host);
    transfer.by_proxy = !transfer.inside && !options.proxy.empty();
    transfer.certified =
        !options.client_certificate.empty() && (options.client_certificate_hosts.empty() ||
                                                options.client_certificate_hosts.contains(host));
    // The proxy looks names up and vets their addresses; an address in the URL is vetted here.
    const auto address = parse_address(host);
    if (transfer.by_proxy && address) transfer.refused = options.guard.forbidden(*address);
    if (!transfer.by_proxy && !address) transfer.name = host;
    return transfer.refused.empty();
}

void prepare(Transfer& transfer, core::MonoTime now) {
    transfer.easy.reset(curl_easy_init());
    if (!transfer.easy) throw std::runtime_error("libcurl has no memory");
    set_request(transfer, now);
    set_route(transfer);
    set_protocol(transfer);
    set_callbacks(transfer);
}

HttpAnswer take_answer(Transfer& transfer, CURLcode code, const core::Clock& clock) {
    auto answer = std::move(transfer.answer);
    answer.end = end_of(transfer, code);
    answer.took = clock.mono() - transfer.started;
    if (answer.end != HttpAnswer::End::answered) {
        answer.why = why_not(transfer, answer.end, code);
        return answer;
    }
    CURL* easy = transfer.easy.get();
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    answer.status = static_cast<int>(status);
    const auto text_of = [easy](const char* name) -> std::string {
        curl_header* header = nullptr;
        const auto found = curl_easy_header(easy, name, 0, CURLH_HEADER, -1, &header);
        return found == CURLHE_OK ? header->value : "";
    };
    answer.location = text_of("Location");
    answer.allowed_origin = text_of("WebHook-Allowed-Origin");
    answer.retry_after = parse_retry_after(text_of("Retry-After"), clock.wall());
    return answer;
}

}  // namespace beckon::retry
