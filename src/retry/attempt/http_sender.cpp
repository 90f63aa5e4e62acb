#include "retry/attempt/http_sender.hpp"

#include "core/clock.hpp"
#include "core/contain.hpp"
#include "core/handle.hpp"
#include "core/lifetime.hpp"
#include "retry/attempt/transfer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace beckon::retry {

using std::chrono::milliseconds;

namespace {

/// Sockets of one round; then posted tasks have their turn. Each may be an answer to parse.
constexpr int kEventsMax = 16;
/// After so long no further event is handled in a turn: steps of TLS handshakes, and answers of
/// many bytes, take longer than others.
constexpr core::Duration kTurn = std::chrono::microseconds{125};
/// After so many steps of libcurl for one attempt its received bytes are counted. Most attempts
/// have ended by then, and pay nothing. libcurl 7.88 reads up to 1.6 MB in a step, if a receiver
/// sends as quickly as it reads.
constexpr unsigned kStepsUncounted = 16;

using Multi = core::Handle<CURLM, curl_multi_cleanup>;

void global_start() {
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    if (started != CURLE_OK) throw std::runtime_error("libcurl does not start");
}

/// The bytes that have come in on the socket since it was connected, whoever has read them, or
/// whether nobody has; 0 if the kernel does not say.
std::uint64_t received_bytes(curl_socket_t socket) {
    // tcpi_bytes_received of the kernel's tcp_info. That of the C library has no such field, and
    // the kernel's header cannot be included beside the library's.
    constexpr std::size_t kAt = 128;
    std::array<std::byte, kAt + sizeof(std::uint64_t)> info{};
    socklen_t size = info.size();
    std::uint64_t bytes = 0;
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, info.data(), &size) == 0) {
        std::memcpy(&bytes, info.data() + kAt, sizeof bytes);
    }
    return bytes;
}

}  // namespace

struct HttpSender::Impl {
    Impl(Options o, net::IoLoop& l)
        : options(std::move(o)), loop(l), lookups(options.look_up, loop) {
        if (has_control_character(options.user_agent)) {
            throw std::runtime_error("the user agent has a control character");
        }
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

    ~Impl() {
        lifetime.end();
        for (const auto& [easy, transfer] : transfers) curl_multi_remove_handle(multi.get(), easy);
        transfers.clear();
        multi.reset();  // closes its connections, which leave the set with that
    }

    const std::string unknown_name = curl_easy_strerror(CURLE_COULDNT_RESOLVE_HOST);
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
    std::uint64_t ended = 0;   ///< attempts
    core::Duration charged{};  ///< the thread's time that is charged to attempts, or not theirs
    NameLookups lookups;
    std::map<std::uint64_t, std::unique_ptr<Transfer>> waiting;  ///< for a lookup, by its asker

    void charge_from_now() { charged = core::thread_time(); }

    static int on_socket(CURL* easy, curl_socket_t socket, int what, void* user, void*) noexcept {
        auto& self = *static_cast<Impl*>(user);
        const int set = self.sockets.descriptor();
        epoll_event event{};
        event.data.fd = socket;
        const auto of = self.transfers.find(easy);
        if (of != self.transfers.end()) {
            of->second->socket = what == CURL_POLL_REMOVE ? CURL_SOCKET_BAD : socket;
        }
        if (what == CURL_POLL_REMOVE) return ::epoll_ctl(set, EPOLL_CTL_DEL, socket, &event), 0;
        if (what == CURL_POLL_IN || what == CURL_POLL_INOUT) event.events |= EPOLLIN;
        if (what == CURL_POLL_OUT || what == CURL_POLL_INOUT) event.events |= EPOLLOUT;
        // A closed descriptor has left the set, and its number may be used again.
        if (::epoll_ctl(set, EPOLL_CTL_MOD, socket, &event) != 0) {
            ::epoll_ctl(set, EPOLL_CTL_ADD, socket, &event);
        }
        return 0;
    }

    void wait() {
        sockets.wait(net::Watch::Event::readable, [this] { act_on_ready(); });
    }

    /// Some of the ready sockets; then others on the loop have their turn.
    void act_on_ready() {
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
            // libcurl passes over a socket that it has closed in this round.
            act(one.data.fd, flags);
        }
        if (!term.over()) wait();
    }

    static int on_timer(CURLM*, long ms, void* user) noexcept {
        auto& self = *static_cast<Impl*>(user);
        self.timer.reset();
        if (ms >= 0) self.set_timer(self.clock.mono() + milliseconds{ms});
        return 0;
    }

    /// libcurl sets its timer anew with most of its steps, mostly for a later time: then the loop's
    /// timer stays, and is set again when it wakes.
    void set_timer(core::MonoTime at) {
        timer = at;
        if (wakes_at && *wakes_at <= at) return;
        wakes_at = at;
        loop.post_after(at - clock.mono(), lifetime.guard([this, at] { wake(at); }));
    }

    void wake(core::MonoTime at) {
        if (wakes_at != at) return;  // another one wakes earlier, or has
        wakes_at.reset();
        if (!timer) return;
        if (*timer > clock.mono()) return set_timer(*timer);
        timer.reset();
        charge_from_now();
        act(CURL_SOCKET_TIMEOUT, 0);
    }

    void act(curl_socket_t socket, int events) {
        int running = 0;
        curl_multi_socket_action(multi.get(), socket, events, &running);
        take_ended();
    }

    /// Whether more bytes have come in on the attempt's socket than it may have, those too that
    /// libcurl shows to no callback. Within a call of libcurl, after each step for the attempt.
    bool has_too_much(Transfer& transfer) {
        if (transfer.socket == CURL_SOCKET_BAD || ++transfer.steps < kStepsUncounted) return false;
        const auto received = received_bytes(transfer.socket);
        auto& before = transfer.received_before;
        before = std::min(before.value_or(received), received);
        // With HTTP/2 it has been that of all attempts since this one began.
        const auto others = transfers.size() - 1 + ended - transfer.ended_before;
        return received - *before > kReceivedBytesMax * (options.http2 ? 1 + others : 1);
    }

    core::Duration take_time() {
        const auto now = core::thread_time();
        return now - std::exchange(charged, now);
    }

    void take_ended() {
        int left = 0;
        std::vector<std::pair<CURL*, CURLcode>> all;
        while (const auto* message = curl_multi_info_read(multi.get(), &left)) {
            if (message->msg == CURLMSG_DONE) {
                all.emplace_back(message->easy_handle, message->data.result);
            }
        }
        const auto term = lifetime.term();
        for (const auto& one : all) {
            core::contain("retry", [&] { end(one.first, one.second); });
            if (term.over()) return;  // an answer has destroyed the sender
            charge_from_now();        // what its maker does with an answer is not the sender's
        }
    }

    void end(CURL* easy, CURLcode code) {
        auto node = transfers.extract(easy);
        if (node.empty()) return;
        ++ended;
        auto& transfer = *node.mapped();
        curl_multi_remove_handle(multi.get(), easy);
        auto answer = take_answer(transfer, code, clock);
        const auto done = std::move(transfer.done);
        node = {};
        answer.processor += take_time();
        done(std::move(answer));
    }

    /// Then the request begins, with the rest of its time.
    void find_addresses(std::unique_ptr<Transfer> transfer) {
        if (const auto* known = lookups.known(transfer->name, transfer->started)) {
            transfer->addresses = *known;
            return begin(std::move(transfer));
        }
        if (!may_have_addresses(transfer->name)) {
            return answer_later({.end = HttpAnswer::End::unreachable, .why = unknown_name},
                                std::move(transfer->done));
        }
        const auto timeout = transfer->request.timeout;
        const auto asker = lookups.ask(
            transfer->request.owner, transfer->name,
            [this](auto number, const auto& addresses) { looked_up(number, addresses); });
        waiting.emplace(asker, std::move(transfer));
        loop.post_after(timeout, lifetime.guard([this, asker] {
            not_looked_up(asker, HttpAnswer::End::timed_out, "its host's name was not looked up");
        }));
    }

    void looked_up(std::uint64_t asker, const NameLookups::Addresses& addresses) {
        if (addresses.empty()) {
            return not_looked_up(asker, HttpAnswer::End::unreachable, unknown_name);
        }
        auto node = waiting.extract(asker);
        if (node.empty()) return;
        auto& transfer = node.mapped();
        transfer->addresses = addresses;
        const auto done = transfer->done;
        charge_from_now();
        if (core::contain("retry", [&] { begin(std::move(transfer)); })) return;
        done({.end = HttpAnswer::End::unsendable, .why = "it could not be begun"});
    }

    void not_looked_up(std::uint64_t asker, HttpAnswer::End end, std::string_view why) {
        const auto node = waiting.extract(asker);
        if (node.empty()) return;
        lookups.forget(asker);
        const auto& transfer = node.mapped();
        transfer->done(
            {.end = end, .why = std::string{why}, .took = clock.mono() - transfer->started});
    }

    void answer_later(HttpAnswer answer, std::function<void(HttpAnswer)> done) {
        loop.post(
            lifetime.guard([answer = std::move(answer), done = std::move(done)] { done(answer); }));
    }

    void begin(std::unique_ptr<Transfer> transfer) {
        prepare(*transfer, clock.mono());
        transfer->ended_before = ended;
        transfer->after_step = [this, of = transfer.get()] {
            of->answer.processor += take_time();
            return has_too_much(*of);
        };
        CURL* easy = transfer->easy.get();
        transfers.emplace(easy, std::move(transfer));
        curl_multi_add_handle(multi.get(), easy);  // asks for its timer, so nothing runs yet
    }

    void send(HttpRequest request, std::function<void(HttpAnswer)> done) {
        if (const auto why = unsendable(request); !why.empty()) {
            return answer_later({.end = HttpAnswer::End::unsendable, .why = std::string{why}},
                                std::move(done));
        }
        auto transfer = std::make_unique<Transfer>();
        transfer->request = std::move(request);
        transfer->done = std::move(done);
        transfer->options = &options;
        transfer->started = clock.mono();
        if (!find_route(*transfer)) {
            return answer_later(
                {.end = HttpAnswer::End::forbidden, .why = not_allowed(transfer->refused)},
                std::move(transfer->done));
        }
        if (!transfer->name.empty()) return find_addresses(std::move(transfer));
        begin(std::move(transfer));
    }
};

HttpSender::HttpSender(Options options, net::IoLoop& loop)
    : impl_(std::make_unique<Impl>(std::move(options), loop)) {}

HttpSender::~HttpSender() = default;

void HttpSender::send(HttpRequest request, std::function<void(HttpAnswer)> done) {
    impl_->send(std::move(request), std::move(done));
}

std::size_t HttpSender::under_way() const {
    return impl_->transfers.size() + impl_->waiting.size();
}

}  // namespace beckon::retry
