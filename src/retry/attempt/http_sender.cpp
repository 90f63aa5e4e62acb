#include "retry/attempt/http_sender.hpp"

#include "core/ascii.hpp"
#include "core/contain.hpp"
#include "core/handle.hpp"
#include "core/lifetime.hpp"
#include "core/thread_time.hpp"
#include "fetch/url.hpp"
#include "retry/attempt/connection.hpp"
#include "retry/attempt/request_target.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace beckon::retry {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Sockets of one round; then posted tasks have their turn. Each may be an answer to parse.
constexpr int kEventsMax = 16;
/// After so long no further event is handled in a turn: steps of TLS handshakes, and answers of
/// many bytes, take longer than others.
constexpr core::Duration kTurn = std::chrono::microseconds{125};
constexpr seconds kRetryAfterMax = std::chrono::hours{24 * 7};
/// After so many readable events and steps of libcurl for one attempt its received bytes are
/// counted. Most attempts have ended by then, and pay nothing. libcurl 7.88 reads up to 1.6 MB in a
/// step, if a receiver sends as quickly as it reads.
constexpr unsigned kStepsUncounted = 16;
/// A connection whose peer has acknowledged nothing for so long is dead.
constexpr unsigned kUnackedMs = 20'000;

using Easy = core::Handle<CURL, curl_easy_cleanup>;
using Multi = core::Handle<CURLM, curl_multi_cleanup>;
using HeaderList = core::Handle<curl_slist, curl_slist_free_all>;

struct Transfer {
    HttpRequest request;
    std::function<void(HttpAnswer)> done;
    HttpAnswer answer;
    HeaderList headers;
    HeaderList resolved;
    const HttpSender::Options* options = nullptr;
    std::function<bool()> has_too_much;  ///< asked after each step of libcurl
    curl_socket_t socket = CURL_SOCKET_BAD;
    std::string_view refused;  ///< why the guard refused an address
    std::string name;          ///< of the host, to be looked up; empty: it is an address
    std::string port;
    NameLookups::Addresses addresses;  ///< of the name
    bool inside = false;               ///< the operator has named the host
    bool by_proxy = false;
    std::size_t body_bytes = 0;
    std::size_t header_bytes = 0;
    bool cut_off = false;
    core::MonoTime started{};
    Easy easy;  ///< the last to be made and the first to go
};

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

std::size_t on_header(char*, std::size_t, std::size_t size, void* user) noexcept {
    auto& transfer = *static_cast<Transfer*>(user);
    transfer.header_bytes += size;
    transfer.cut_off |= transfer.header_bytes > HttpSender::kHeaderBytesMax;
    return transfer.cut_off ? 0 : size;
}

/// After each step of libcurl for the attempt. libcurl takes steps within one call for as long as
/// more bytes come in at once, so that it may not return.
int on_step(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
    auto& transfer = *static_cast<Transfer*>(user);
    if (!transfer.cut_off && !transfer.has_too_much()) return 0;
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

void global_start() {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (started != CURLE_OK) throw std::runtime_error("libcurl does not start");
}

bool has_control_character(std::string_view text) {
    return std::any_of(text.begin(), text.end(), [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
}

/// RFC 9110 §5.6.2.
bool is_header_name(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) ||
               std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
    });
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

std::string not_allowed(std::string_view why) {
    return "leads to an address that is not allowed: " + std::string{why};
}

std::string why_not(const Transfer& transfer, HttpAnswer::End end, CURLcode code) {
    if (end == HttpAnswer::End::forbidden) return not_allowed(transfer.refused);
    if (end == HttpAnswer::End::too_large) return "the answer has too many bytes";
    long answered = 0;  // by the proxy, to our CONNECT
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_HTTP_CONNECTCODE, &answered);
    if (transfer.by_proxy && answered >= 300) {
        return "the proxy (retry.proxy) answered " + std::to_string(answered);
    }
    const std::string what = curl_easy_strerror(code);
    return transfer.by_proxy ? what + " (by retry.proxy)" : what;
}

struct HostAndPort {
    std::string host;  ///< without the brackets of an IPv6 address
    std::string port;
};

/// Both are empty if the text is no URL.
HostAndPort host_and_port(const std::string& text) {
    const auto url = fetch::Url::parse(text);
    if (!url) return {};
    auto host = url->host();
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    return {std::move(host), url->part(CURLUPART_PORT, CURLU_DEFAULT_PORT).value_or("")};
}

/// Other names have no address, and would have a meaning of their own in resolved_entry(): `*`
/// stands for all hosts.
bool may_have_addresses(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_';
    });
}

/// What libcurl is to know of a name, for as long as an address that it has looked up itself.
std::string resolved_entry(std::string_view name, const Transfer& transfer) {
    std::string entry{"+"};
    entry.append(name).append(":").append(transfer.port).append(":");
    for (std::size_t i = 0; i < transfer.addresses.size(); ++i) {
        const auto& address = transfer.addresses[i];
        const bool v6 = address.find(':') != std::string::npos;
        if (i > 0) entry.push_back(',');
        entry.append(v6 ? "[" + address + "]" : address);
    }
    return entry;
}

}  // namespace

struct HttpSender::Impl {
    Impl(Options o, net::IoLoop& l)
        : options(std::move(o)), loop(l), lookups(options.look_up, loop) {}

    /// A request whose host's name is being looked up.
    struct Waiting {
        std::unique_ptr<Transfer> transfer;
        std::uint64_t asker = 0;
    };

    /// A socket that libcurl waits for.
    struct Served {
        CURL* easy = nullptr;  ///< whose it is; with HTTP/2, one of those
        unsigned steps = 0;    ///< events too; since an attempt on it has begun or ended
        std::optional<std::uint64_t> counted_from{};  ///< received_bytes() before those that count
    };

    const Options options;
    net::IoLoop& loop;
    core::SystemClock clock;
    core::Lifetime lifetime{loop};
    std::optional<core::MonoTime> timer;     ///< libcurl's one
    std::optional<core::MonoTime> wakes_at;  ///< the first time that the loop was asked for
    /// The sockets of libcurl, which opens and closes them, in an epoll set that the loop watches.
    net::Watch sockets{loop, net::Descriptor{::epoll_create1(EPOLL_CLOEXEC)}};
    Multi multi;
    std::map<CURL*, std::unique_ptr<Transfer>> transfers;
    std::unordered_map<curl_socket_t, Served> of_socket;
    std::vector<CURL*> begun;  ///< they start when libcurl's timer runs
    core::Duration charged{};  ///< the thread's time until which owners have been charged
    std::map<std::uint64_t, Waiting> waiting;
    std::uint64_t next_waiting = 0;
    NameLookups lookups;

    void open();
    void send(HttpRequest request, std::function<void(HttpAnswer)> done);
    bool find_route(Transfer& transfer) const;
    void find_addresses(std::unique_ptr<Transfer> transfer);
    void looked_up(std::uint64_t number, const NameLookups::Addresses& addresses);
    void not_looked_up(std::uint64_t number, HttpAnswer::End end, std::string_view why);
    void begin(std::unique_ptr<Transfer> transfer);
    void prepare(Transfer& transfer);
    void refuse(std::string_view why, std::function<void(HttpAnswer)> done);
    void wait();
    void act_on_ready();
    void act(curl_socket_t socket, int events);
    bool has_too_much(curl_socket_t socket);
    bool has_too_much_after_step(const Transfer& transfer);
    std::vector<CURL*> attempts_on(curl_socket_t socket) const;
    void cut_off(const std::vector<CURL*>& easies);
    void charge_from_now();
    core::Duration take_time();
    void charge(const std::string& owner);
    void charge_begun();
    void set_timer(core::MonoTime at);
    void wake(core::MonoTime at);
    bool take_ended();
    void end(CURL* easy, CURLcode code);
    static int on_socket(CURL*, curl_socket_t socket, int what, void* user, void*) noexcept;
    static int on_timer(CURLM*, long ms, void* user) noexcept;
};

void HttpSender::Impl::open() {
    global_start();
    multi.reset(curl_multi_init());
    if (!multi) throw std::runtime_error("libcurl has no memory");
    wait();
    curl_multi_setopt(multi.get(), CURLMOPT_SOCKETFUNCTION, &Impl::on_socket);
    curl_multi_setopt(multi.get(), CURLMOPT_SOCKETDATA, this);
    curl_multi_setopt(multi.get(), CURLMOPT_TIMERFUNCTION, &Impl::on_timer);
    curl_multi_setopt(multi.get(), CURLMOPT_TIMERDATA, this);
    curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS,
                      static_cast<long>(options.connections_max));
}

int HttpSender::Impl::on_socket(CURL* easy, curl_socket_t socket, int what, void* user,
                                void*) noexcept {
    auto& self = *static_cast<Impl*>(user);
    const int set = self.sockets.descriptor();
    epoll_event event{};
    event.data.fd = socket;
    if (what == CURL_POLL_REMOVE) {
        self.of_socket.erase(socket);
        ::epoll_ctl(set, EPOLL_CTL_DEL, socket, &event);
        return 0;
    }
    auto& served = self.of_socket[socket];
    if (served.easy != easy) served = {.easy = easy};
    const auto of = self.transfers.find(easy);
    if (of != self.transfers.end()) of->second->socket = socket;
    if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) event.events |= EPOLLIN;
    if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) event.events |= EPOLLOUT;
    // A closed descriptor has left the set, and its number may be used again.
    if (::epoll_ctl(set, EPOLL_CTL_MOD, socket, &event) != 0) {
        ::epoll_ctl(set, EPOLL_CTL_ADD, socket, &event);
    }
    return 0;
}

void HttpSender::Impl::wait() {
    sockets.wait(net::Watch::Event::readable, [this] { act_on_ready(); });
}

/// Some of the ready sockets; then others on the loop have their turn.
void HttpSender::Impl::act_on_ready() {
    std::array<epoll_event, kEventsMax> ready;
    const int count = ::epoll_wait(sockets.descriptor(), ready.data(), kEventsMax, 0);
    const auto term = lifetime.term();
    const auto until = clock.mono() + kTurn;
    charge_from_now();
    for (int i = 0; i < count && !term.over(); ++i) {
        if (i > 0 && clock.mono() >= until) break;  // they are ready in the next turn too
        const auto& one = ready[static_cast<std::size_t>(i)];
        int flags = 0;
        if (one.events & (EPOLLIN | EPOLLHUP)) flags |= CURL_CSELECT_IN;
        if (one.events & EPOLLOUT) flags |= CURL_CSELECT_OUT;
        if (one.events & EPOLLERR) flags |= CURL_CSELECT_ERR;
        act(one.data.fd, flags);  // libcurl passes over a socket that it has closed in this round
    }
    if (!term.over()) wait();
}

int HttpSender::Impl::on_timer(CURLM*, long ms, void* user) noexcept {
    auto& self = *static_cast<Impl*>(user);
    self.timer.reset();
    if (ms >= 0) self.set_timer(self.clock.mono() + milliseconds{ms});
    return 0;
}

/// libcurl sets its timer anew with most of its steps, mostly for a later time: then the loop's
/// timer stays, and is set again when it wakes.
void HttpSender::Impl::set_timer(core::MonoTime at) {
    timer = at;
    if (wakes_at && *wakes_at <= at) return;
    wakes_at = at;
    loop.post_after(at - clock.mono(), lifetime.guard([this, at] { wake(at); }));
}

void HttpSender::Impl::wake(core::MonoTime at) {
    if (wakes_at != at) return;  // another one wakes earlier, or has
    wakes_at.reset();
    if (!timer) return;
    if (*timer > clock.mono()) return set_timer(*timer);
    timer.reset();
    charge_from_now();
    act(CURL_SOCKET_TIMEOUT, 0);
}

void HttpSender::Impl::act(curl_socket_t socket, int events) {
    const auto found = of_socket.find(socket);
    const auto easy = found == of_socket.end() ? nullptr : found->second.easy;
    if (easy && (events & CURL_CSELECT_IN)) ++found->second.steps;
    int running = 0;
    curl_multi_socket_action(multi.get(), socket, events, &running);
    if (socket == CURL_SOCKET_TIMEOUT) {
        charge_begun();
    } else if (const auto of = transfers.find(easy); of != transfers.end()) {
        charge(of->second->request.owner);
    }
    const auto term = lifetime.term();
    const bool has_ended = take_ended();
    if (term.over()) return;
    const auto still = of_socket.find(socket);
    if (still == of_socket.end()) return;
    if (has_ended) still->second = {.easy = still->second.easy};
    if (has_too_much(socket)) cut_off(attempts_on(socket));
}

/// Whether more bytes have come in on the socket than its attempts may have, those too that libcurl
/// shows to no callback.
bool HttpSender::Impl::has_too_much(curl_socket_t socket) {
    const auto found = of_socket.find(socket);
    if (found == of_socket.end() || found->second.steps < kStepsUncounted) return false;
    auto& served = found->second;
    const auto received = received_bytes(socket);
    if (!served.counted_from) served.counted_from = received;
    const auto counted = received - *served.counted_from;
    if (counted <= kReceivedBytesMax) return false;
    return counted > kReceivedBytesMax * attempts_on(socket).size();
}

/// Within a call of libcurl.
bool HttpSender::Impl::has_too_much_after_step(const Transfer& transfer) {
    const auto found = of_socket.find(transfer.socket);
    if (found == of_socket.end()) return false;
    // The number of a socket that the attempt has no longer may be another attempt's.
    if (!options.http2 && found->second.easy != transfer.easy.get()) return false;
    ++found->second.steps;
    return has_too_much(transfer.socket);
}

std::vector<CURL*> HttpSender::Impl::attempts_on(curl_socket_t socket) const {
    if (!options.http2) return {of_socket.at(socket).easy};
    const auto connection = connection_of(socket);
    std::vector<CURL*> easies;
    for (const auto& [easy, transfer] : transfers) {
        if (connection_of(easy) == connection) easies.push_back(easy);
    }
    return easies;
}

/// Ends all attempts of a connection, and with them the connection. Not within a callback of
/// libcurl.
void HttpSender::Impl::cut_off(const std::vector<CURL*>& easies) {
    const auto term = lifetime.term();
    for (const auto easy : easies) {
        const auto found = transfers.find(easy);
        if (found == transfers.end()) continue;
        found->second->cut_off = true;
        // HTTP/2 would only end the stream.
        curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
        core::contain("retry", [&] { end(easy, CURLE_WRITE_ERROR); });
        if (term.over()) return;  // an answer has destroyed the sender
        charge_from_now();        // what its maker does with an answer is not the sender's
    }
}

void HttpSender::Impl::charge_from_now() {
    if (options.used) charged = core::thread_time();
}

core::Duration HttpSender::Impl::take_time() {
    const auto now = core::thread_time();
    return now - std::exchange(charged, now);
}

void HttpSender::Impl::charge(const std::string& owner) {
    if (options.used) options.used(owner, take_time());
}

/// They have started together, and are charged alike.
void HttpSender::Impl::charge_begun() {
    const auto all = std::exchange(begun, {});
    if (!options.used || all.empty()) return;
    const auto each = take_time() / all.size();
    for (const auto easy : all) {
        const auto found = transfers.find(easy);
        if (found != transfers.end()) options.used(found->second->request.owner, each);
    }
}

/// Whether an attempt has ended.
bool HttpSender::Impl::take_ended() {
    int left = 0;
    std::vector<std::pair<CURL*, CURLcode>> ended;
    while (const auto* message = curl_multi_info_read(multi.get(), &left)) {
        if (message->msg == CURLMSG_DONE) {
            ended.emplace_back(message->easy_handle, message->data.result);
        }
    }
    const auto term = lifetime.term();
    for (const auto& one : ended) {
        core::contain("retry", [&] { end(one.first, one.second); });
        if (term.over()) break;  // an answer has destroyed the sender
        charge_from_now();       // what its maker does with an answer is not the sender's
    }
    return !ended.empty();
}

void HttpSender::Impl::end(CURL* easy, CURLcode code) {
    auto node = transfers.extract(easy);
    if (node.empty()) return;
    auto& transfer = *node.mapped();
    curl_multi_remove_handle(multi.get(), easy);
    auto answer = std::move(transfer.answer);
    answer.end = end_of(transfer, code);
    answer.took = clock.mono() - transfer.started;
    if (answer.end == HttpAnswer::End::answered) {
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        answer.status = static_cast<int>(status);
        curl_header* header = nullptr;
        if (curl_easy_header(easy, "Location", 0, CURLH_HEADER, -1, &header) == CURLHE_OK) {
            answer.location = header->value;
        }
        if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &header) == CURLHE_OK) {
            answer.retry_after = parse_retry_after(header->value, clock.wall());
        }
    } else {
        answer.why = why_not(transfer, answer.end, code);
    }
    const auto owner = std::move(transfer.request.owner);
    const auto done = std::move(transfer.done);
    node = {};
    charge(owner);
    done(std::move(answer));
}

/// How the request gets to its host; false: it may not.
bool HttpSender::Impl::find_route(Transfer& transfer) const {
    auto [host, port] = host_and_port(with_ascii_host(transfer.request.url));
    transfer.inside = options.inside.contains(host);
    transfer.by_proxy = !transfer.inside && !options.proxy.empty();
    // The proxy looks names up and vets their addresses; an address in the URL is vetted here.
    const auto address = parse_address(host);
    if (transfer.by_proxy && address) transfer.refused = options.guard.forbidden(*address);
    if (!transfer.by_proxy && !address) transfer.name = std::move(host);
    transfer.port = std::move(port);
    return transfer.refused.empty();
}

/// Then the request begins, with the rest of its time.
void HttpSender::Impl::find_addresses(std::unique_ptr<Transfer> transfer) {
    if (const auto* known = lookups.known(transfer->name, transfer->started)) {
        transfer->addresses = *known;
        return begin(std::move(transfer));
    }
    const auto number = next_waiting++;
    if (!may_have_addresses(transfer->name)) {
        waiting.emplace(number, Waiting{std::move(transfer), 0});
        return loop.post(lifetime.guard([this, number] { looked_up(number, {}); }));
    }
    const auto timeout = transfer->request.timeout;
    const auto asker =
        lookups.ask(transfer->request.owner, transfer->name,
                    [this, number](const auto& addresses) { looked_up(number, addresses); });
    waiting.emplace(number, Waiting{std::move(transfer), asker});
    loop.post_after(timeout, lifetime.guard([this, number] {
        not_looked_up(number, HttpAnswer::End::timed_out, "its host's name was not looked up");
    }));
}

void HttpSender::Impl::looked_up(std::uint64_t number, const NameLookups::Addresses& addresses) {
    if (addresses.empty()) {
        return not_looked_up(number, HttpAnswer::End::unreachable,
                             curl_easy_strerror(CURLE_COULDNT_RESOLVE_HOST));
    }
    auto node = waiting.extract(number);
    if (node.empty()) return;
    auto transfer = std::move(node.mapped().transfer);
    transfer->addresses = addresses;
    const auto done = transfer->done;
    const auto owner = transfer->request.owner;
    charge_from_now();
    const bool is_begun = core::contain("retry", [&] { begin(std::move(transfer)); });
    charge(owner);
    if (is_begun) return;
    done({.end = HttpAnswer::End::unsendable, .why = "it could not be begun"});
}

void HttpSender::Impl::not_looked_up(std::uint64_t number, HttpAnswer::End end,
                                     std::string_view why) {
    const auto node = waiting.extract(number);
    if (node.empty()) return;
    auto& [transfer, asker] = node.mapped();
    lookups.forget(asker);
    transfer->done({.end = end, .why = std::string{why}, .took = clock.mono() - transfer->started});
}

void HttpSender::Impl::refuse(std::string_view why, std::function<void(HttpAnswer)> done) {
    loop.post(lifetime.guard([why, done = std::move(done)] {
        done({.end = HttpAnswer::End::unsendable, .why = std::string{why}});
    }));
}

void HttpSender::Impl::prepare(Transfer& transfer) {
    const auto& request = transfer.request;
    CURL* easy = transfer.easy.get();
    curl_slist* headers = nullptr;
    for (const auto& header : request.headers) headers = curl_slist_append(headers, header.c_str());
    headers = curl_slist_append(headers, "Expect:");  // no round trip before the body
    transfer.headers.reset(headers);
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

    set(easy, CURLOPT_URL, with_ascii_host(request.url).c_str());  // libcurl copies it
    // A proxy receives the whole URL, and sends the same target to the receiver.
    if (!request.target.empty() && !transfer.by_proxy) {
        set(easy, CURLOPT_REQUEST_TARGET, request.target.c_str());
    }
    set(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    set(easy, CURLOPT_PROXY, transfer.by_proxy ? options.proxy.c_str() : "");
    set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    set(easy, CURLOPT_FOLLOWLOCATION, 0L);
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_QUICK_EXIT, 1L);  // waits for no thread that looks up the proxy's name
    set(easy, CURLOPT_POST, 1L);
    if (request.method == Method::put) set(easy, CURLOPT_CUSTOMREQUEST, "PUT");
    set(easy, CURLOPT_POSTFIELDS, request.body.data());
    set(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(easy, CURLOPT_HTTPHEADER, headers);
    set(easy, CURLOPT_USERAGENT, options.user_agent.c_str());
    const auto left = request.timeout - (clock.mono() - transfer.started);
    set(easy, CURLOPT_TIMEOUT_MS,
        static_cast<long>(
            std::max<std::int64_t>(1, std::chrono::ceil<milliseconds>(left).count())));
    set(easy, CURLOPT_WRITEFUNCTION, &on_body);
    set(easy, CURLOPT_WRITEDATA, &transfer);
    set(easy, CURLOPT_HEADERFUNCTION, &on_header);
    set(easy, CURLOPT_HEADERDATA, &transfer);
    set(easy, CURLOPT_XFERINFOFUNCTION, &on_step);
    set(easy, CURLOPT_XFERINFODATA, &transfer);
    set(easy, CURLOPT_NOPROGRESS, 0L);
    set(easy, CURLOPT_OPENSOCKETFUNCTION, &on_open_socket);
    set(easy, CURLOPT_OPENSOCKETDATA, &transfer);
    set(easy, CURLOPT_HTTP_VERSION,
        static_cast<long>(options.http2 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
    if (options.http2) set(easy, CURLOPT_PIPEWAIT, 1L);  // rather than a connection of its own
    for (const auto version : {CURLOPT_SSLVERSION, CURLOPT_PROXY_SSLVERSION}) {
        set(easy, version, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    }
    if (options.ca_file.empty()) return;
    for (const auto file : {CURLOPT_CAINFO, CURLOPT_PROXY_CAINFO}) {
        set(easy, file, options.ca_file.c_str());
    }
}

void HttpSender::Impl::begin(std::unique_ptr<Transfer> transfer) {
    transfer->easy.reset(curl_easy_init());
    if (!transfer->easy) throw std::runtime_error("libcurl has no memory");
    prepare(*transfer);
    transfer->has_too_much = [this, of = transfer.get()] { return has_too_much_after_step(*of); };
    CURL* easy = transfer->easy.get();
    transfers.emplace(easy, std::move(transfer));
    begun.push_back(easy);
    curl_multi_add_handle(multi.get(), easy);  // asks for its timer, so nothing runs yet
}

HttpSender::HttpSender(Options options, net::IoLoop& loop)
    : impl_(std::make_unique<Impl>(std::move(options), loop)) {
    if (has_control_character(impl_->options.user_agent)) {
        throw std::runtime_error("the user agent has a control character");
    }
    impl_->open();
}

HttpSender::~HttpSender() {
    impl_->lifetime.end();
    for (const auto& [easy, transfer] : impl_->transfers) {
        curl_multi_remove_handle(impl_->multi.get(), easy);
    }
    impl_->transfers.clear();
    impl_->multi.reset();  // closes its connections, which leave the set with that
}

void HttpSender::Impl::send(HttpRequest request, std::function<void(HttpAnswer)> done) {
    if (const auto why = unsendable(request); !why.empty()) return refuse(why, std::move(done));
    auto transfer = std::make_unique<Transfer>();
    transfer->request = std::move(request);
    transfer->done = std::move(done);
    transfer->options = &options;
    transfer->started = clock.mono();
    if (!find_route(*transfer)) {
        HttpAnswer answer{.end = HttpAnswer::End::forbidden, .why = not_allowed(transfer->refused)};
        return loop.post(lifetime.guard(
            [done = std::move(transfer->done), answer = std::move(answer)] { done(answer); }));
    }
    if (!transfer->name.empty()) return find_addresses(std::move(transfer));
    begin(std::move(transfer));
}

void HttpSender::send(HttpRequest request, std::function<void(HttpAnswer)> done) {
    const auto owner = request.owner;
    impl_->charge_from_now();
    impl_->send(std::move(request), std::move(done));
    impl_->charge(owner);
}

std::size_t HttpSender::under_way() const {
    return impl_->transfers.size() + impl_->waiting.size();
}

std::string_view unsendable(const HttpRequest& request) {
    if (has_control_character(request.url)) return "the URL has a control character";
    if (has_control_character(request.target) || request.target.find(' ') != std::string::npos) {
        return "the request target has a blank or a control character";
    }
    for (const auto& header : request.headers) {
        if (has_control_character(header)) return "a header has a control character";
        const auto colon = header.find(':');
        if (colon == std::string::npos || !is_header_name(header.substr(0, colon))) {
            return "a header has no name";
        }
    }
    return {};
}

std::optional<seconds> parse_retry_after(std::string_view value, core::Timestamp now) {
    const auto text = core::trimmed(value);
    std::int64_t count = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (fault == std::errc{} && end == text.data() + text.size() && count >= 0) {
        return std::min(seconds{count}, kRetryAfterMax);
    }
    const std::time_t date = curl_getdate(std::string{text}.c_str(), nullptr);
    if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front())) || date < 0) {
        return std::nullopt;
    }
    const auto wait = seconds{date} - duration_cast<seconds>(now.time_since_epoch());
    return std::clamp<seconds>(wait, seconds{0}, kRetryAfterMax);
}

}  // namespace beckon::retry
