#include "net/http/connection.hpp"

#include "core/contain.hpp"
#include "core/logger.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <new>
#include <utility>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace beckon::net {

namespace {

/// Steps of one run before other connections get their turn: a body that comes fast.
constexpr int kStepsMax = 64;
/// Of input after our last reply; more and the peer gets a reset.
constexpr std::size_t kLingerBytesMax = 1U << 20;
constexpr std::string_view kConnection = "Connection";
constexpr std::string_view kStreamEnd = "0\r\n\r\n";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

CloseReason close_reason_of(Rejection why) {
    switch (why) {
        case Rejection::bad_request:
        case Rejection::bad_host: return CloseReason::bad_request;
        case Rejection::header_too_large: return CloseReason::header_too_large;
        case Rejection::too_slow: return CloseReason::deadline;
        case Rejection::too_many_connections: return CloseReason::connections;
        case Rejection::stopping: return CloseReason::stopping;
        case Rejection::failed: return CloseReason::broken;
    }
    return CloseReason::bad_request;
}

/// RFC 9112 §7.1.
void append_piece(std::string& out, std::string_view piece, bool chunked) {
    if (!chunked) {
        out += piece;
        return;
    }
    std::array<char, 16> digits{};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), piece.size(), 16).ptr;
    out.append(digits.data(), end).append("\r\n").append(piece).append("\r\n");
}

}  // namespace

Connection::Connection(Descriptor socket, std::shared_ptr<const TlsContext> tls, const Peer& peer,
                       ConnectionSet& set)
    : set_(set),
      peer_(peer),
      socket_(set.loop(), std::move(socket)),
      transport_(socket_.descriptor(), std::move(tls)) {
    if (transport_.secure()) state_ = State::handshaking;
    if (!set.wants_proxy_header(peer_)) return;
    introduction_ = std::make_unique<ProxyHeaderReader>();
    state_ = State::introducing;
}

void Connection::start() {
    entry_ = set_.add(shared_from_this());
    may_begin_ = true;
    run();
}

/// The only driver. A handler that replies at once comes back here through reply(): the loop that
/// runs already goes on then, so a thousand pipelined requests are no recursion. An exception (no
/// memory for a request) ends this connection alone.
void Connection::run() {
    if (running_) return;
    running_ = true;
    const auto self = shared_from_this();
    if (!core::contain(set_.name(), [this] { run_steps(); })) close(CloseReason::broken);
    running_ = false;
}

void Connection::run_steps() {
    int steps = 0;
    while (step()) {
        if (++steps < kStepsMax) continue;
        defer();
        return;
    }
}

/// Goes on when those have had their turn that wait for one event: a peer that pipelines requests,
/// or sends fast, holds nobody up.
bool Connection::defer() {
    if (!deferred_) {
        deferred_ = true;
        set_.defer(shared_from_this());
    }
    return false;
}

void Connection::run_deferred() {
    deferred_ = false;
    may_begin_ = true;
    run();
}

/// One step; false if there is nothing to do until something happens.
bool Connection::step() {
    switch (state_) {
        case State::introducing: return introduce_step();
        case State::handshaking: return handshake_step();
        case State::reading: return read_step();
        case State::handling: return false;
        case State::writing: return write_step();
        case State::streaming: return stream_step();
        case State::lingering: return linger_step();
        case State::closed: return false;
    }
    return false;
}

bool Connection::introduce_step() {
    const auto header = introduction_->read(socket_.descriptor());
    if (header && *header) return introduced(**header);
    if (header) return wait(Watch::Event::readable);
    core::log_sparsely(core::LogLevel::warn, "net", "proxy_header_refused",
                       {{"proxy", to_string(peer_.address)}, {"why", to_string(header.error())}});
    close(CloseReason::proxy_header);
    return false;
}

bool Connection::introduced(const ProxyHeader& header) {
    introduction_.reset();
    state_ = transport_.secure() ? State::handshaking : State::reading;
    readable_ = true;
    if (!header.client || set_.introduce(peer_, *header.client)) return true;
    if (transport_.secure()) {
        close(CloseReason::address);
        return false;
    }
    begin_request();
    reject(Rejection::too_many_connections);
    reason_ = CloseReason::address;
    return true;
}

bool Connection::handshake_step() {
    const auto io = transport_.handshake().io;
    if (io != Transport::Io::done) return wait_or_close(io, CloseReason::tls);
    state_ = State::reading;
    readable_ = true;
    if (draining_) set_.set_deadline(entry_, ConnectionSet::Deadline::last_request);
    return true;
}

bool Connection::read_step() {
    if (deferred_) return false;
    const bool pipelined = !starved_ && rest_at_ < rest_.size();
    if (!active_ && !may_begin_) {  // one request in a turn
        if (pipelined || transport_.has_buffered()) return defer();
        return wait(Watch::Event::readable);
    }
    if (pipelined) {
        return parse(std::string_view{rest_}.substr(rest_at_), true);
    }
    if (!readable_ && !transport_.has_buffered()) return wait(Watch::Event::readable);
    readable_ = false;
    auto& scratch = set_.scratch();
    const auto outcome = transport_.read(scratch);
    if (outcome.io == Transport::Io::ended) return wait_or_close(outcome.io, CloseReason::by_peer);
    if (outcome.io != Transport::Io::done) {
        return wait_or_close(outcome.io,
                             transport_.secure() ? CloseReason::tls : CloseReason::broken);
    }
    readable_ = transport_.secure();  // a record may hold more than one read took
    starved_ = false;
    const std::string_view input{scratch.data(), outcome.bytes};
    if (rest_at_ == rest_.size()) return parse(input, false);
    rest_.erase(0, rest_at_);
    rest_at_ = 0;
    rest_ += input;
    return parse(rest_, true);
}

void Connection::begin_request() {
    active_ = set_.borrow_request();
    continued_ = false;
    set_.set_deadline(
        entry_, draining_ ? ConnectionSet::Deadline::linger : ConnectionSet::Deadline::request);
}

bool Connection::parse(std::string_view input, bool from_rest) {
    if (!active_) begin_request();
    std::size_t used = 0;
    const auto status = active_->parser.put(input, used);
    if (from_rest) {
        rest_at_ += used;
    } else {
        rest_.assign(input.substr(used));
        rest_at_ = 0;
    }
    if (rest_at_ == rest_.size()) {
        rest_.clear();
        rest_at_ = 0;
    }
    return parsed(status);
}

bool Connection::parsed(RequestParser::Status status) {
    switch (status) {
        case RequestParser::Status::complete:
            if (!active_->parser.keep_alive()) close_after_ = true;
            return handle();
        case RequestParser::Status::body_too_large:
            close_after_ = true;
            reason_ = CloseReason::body_too_large;
            return handle();
        case RequestParser::Status::header_too_large: return reject(Rejection::header_too_large);
        case RequestParser::Status::bad_host: return reject(Rejection::bad_host);
        case RequestParser::Status::bad_request: return reject(Rejection::bad_request);
        case RequestParser::Status::need_more: return want_more_input();
    }
    return false;
}

bool Connection::want_more_input() {
    starved_ = true;
    if (rest_.size() - rest_at_ > set_.limits().header_bytes_max) {
        return reject(Rejection::header_too_large);
    }
    if (active_->parser.wants_continue() && !continued_) {
        continued_ = true;
        interim_ = true;
        active_->out = kContinue;
        begin_writing();
    }
    return true;
}

bool Connection::handle() {
    active_->parser.request().peer = peer_.address;
    state_ = State::handling;
    may_begin_ = false;
    if (set_.has_answer_time()) {
        set_.set_deadline(entry_, ConnectionSet::Deadline::answer);
    } else if (draining_) {
        set_.set_deadline(entry_, ConnectionSet::Deadline::request);
    }
    const bool handled =
        core::contain(set_.name(), [this] { set_.handler().handle(shared_from_this()); });
    if (!handled && state_ == State::handling) fail();
    return true;
}

/// The handler threw. The exchange that it may still hold leads nowhere: the connection ends with
/// the reply.
void Connection::fail() {
    abandoned_ = std::exchange(active_, set_.borrow_request());
    reject(Rejection::failed);
}

void Connection::reply(HttpReply reply) {
    if (state_ != State::handling) return;  // closed meanwhile: its reply has no receiver
    if (draining_ && !has_more()) close_after_ = true;
    active_->out.clear();
    held_ = std::move(reply.held);
    // append_reply() writes it where the connection ends.
    if (std::erase_if(reply.headers, [](const auto& one) { return one.name == kConnection; }) > 0) {
        close_after_ = true;
    }
    const bool head = request().head;
    const bool chunked = !request().http_1_0;
    if (reply.stream && !chunked) close_after_ = true;  // nothing else marks its end
    append_reply(active_->out, reply, {.close = close_after_, .head = head, .chunked = chunked});
    if (reply.stream && !head) begin_stream(std::move(reply.stream));
    begin_writing();
    run();
}

void Connection::begin_stream(std::shared_ptr<BodyStream> stream) {
    chunked_ = !request().http_1_0;
    streaming_ = true;
    stream_ = std::move(stream);
    set_.set_deadline(entry_, ConnectionSet::Deadline::request);
    stream_->start(stream_life_.emplace().guard([this] { wake_stream(); }));
}

/// From within next(), or while a piece is being written: then it is asked for the next one anyway.
void Connection::wake_stream() {
    stream_woken_ = true;
    if (state_ == State::streaming) run();
}

bool Connection::stream_step() {
    if (draining_) stream_.reset();  // its reader asks the new owner
    if (!stream_) return end_stream();
    stream_woken_ = false;
    std::string piece;
    if (stream_->next(piece) == BodyStream::Next::ended) stream_.reset();
    if (piece.empty()) {
        if (!stream_ || stream_woken_) return true;
        watch_reader();
        return false;
    }
    active_->out.clear();
    append_piece(active_->out, piece, chunked_);
    set_.set_deadline(entry_, ConnectionSet::Deadline::request);
    begin_writing();
    return true;
}

bool Connection::end_stream() {
    streaming_ = false;
    if (draining_ && !has_more()) close_after_ = true;
    active_->out = chunked_ ? kStreamEnd : std::string_view{};
    if (active_->out.empty()) return written();
    begin_writing();
    return true;
}

/// Notices a client that leaves while there is nothing to write. The client's next requests are
/// kept, up to one read, and handled when this reply has ended.
void Connection::watch_reader() {
    if (watching_ || !rest_.empty()) return;
    watching_ = true;
    socket_.wait(Watch::Event::readable, [self = shared_from_this()] {
        self->watching_ = false;
        self->readable_ = true;
        if (self->state_ == State::streaming) self->read_behind_stream();
    });
}

void Connection::read_behind_stream() {
    const auto outcome = transport_.read(set_.scratch());
    switch (outcome.io) {
        case Transport::Io::done: rest_.assign(set_.scratch().data(), outcome.bytes); return;
        case Transport::Io::want_read:
        case Transport::Io::want_write: return watch_reader();
        case Transport::Io::ended: return close(CloseReason::by_peer);
        case Transport::Io::broken: return close(CloseReason::broken);
    }
}

void Connection::begin_writing() {
    written_ = 0;
    state_ = State::writing;
}

bool Connection::write_step() {
    const auto& out = active_->out;
    const auto outcome = transport_.write({out.data() + written_, out.size() - written_});
    if (outcome.io != Transport::Io::done) return wait_or_close(outcome.io, CloseReason::broken);
    written_ += outcome.bytes;
    return written_ < out.size() || written();
}

bool Connection::written() {
    state_ = State::reading;
    if (std::exchange(interim_, false)) return true;
    if (streaming_) {
        state_ = State::streaming;
        return true;
    }
    set_.give_back(std::move(active_));
    held_.reset();
    if (close_after_) {
        linger();
        return true;
    }
    starved_ = false;
    set_.set_deadline(entry_, draining_ ? ConnectionSet::Deadline::last_request
                                        : ConnectionSet::Deadline::keep_alive);
    if (rest_.empty() && rest_.capacity() > 4096) rest_.shrink_to_fit();
    return true;
}

/// Our end of output; the peer's is awaited. Closing at once would reset the connection where input
/// is unread or still on its way, and the peer might lose the reply, or a request that crosses our
/// close might look as if it had been read.
void Connection::linger() {
    transport_.end_output();
    state_ = State::lingering;
    set_.set_deadline(entry_, ConnectionSet::Deadline::linger);
}

bool Connection::linger_step() {
    const auto outcome = transport_.read(set_.scratch());
    discarded_ += outcome.bytes;
    if (outcome.io == Transport::Io::done && discarded_ <= kLingerBytesMax) return true;
    return wait_or_close(outcome.io, reason_);
}

/// After a step that ends here: until the socket is ready for the next one, or for good.
bool Connection::wait_or_close(Transport::Io io, CloseReason reason) {
    switch (io) {
        case Transport::Io::want_read: return wait(Watch::Event::readable);
        case Transport::Io::want_write: return wait(Watch::Event::writable);
        case Transport::Io::done:
        case Transport::Io::ended:
        case Transport::Io::broken: break;
    }
    close(reason);
    return false;
}

bool Connection::wait(Watch::Event event) {
    if (waiting_) return false;
    waiting_ = true;
    socket_.wait(event, [self = shared_from_this()] {
        self->waiting_ = false;
        if (self->state_ == State::closed) return;
        self->readable_ = true;
        self->may_begin_ = true;
        self->run();
    });
    return false;
}

/// For requests that no handler sees, or that wait for one for too long.
bool Connection::reject(Rejection why) {
    reason_ = close_reason_of(why);
    close_after_ = true;
    rest_.clear();
    rest_at_ = 0;
    interim_ = false;
    active_->out.clear();
    append_reply(active_->out, set_.handler().rejection(why),
                 {.close = true, .head = request().head});
    begin_writing();
    return true;
}

void Connection::expire() {
    const auto at = entry_.kind;
    if (half_request()) {
        set_.set_deadline(entry_, ConnectionSet::Deadline::linger);
        reject(draining_ ? Rejection::stopping : Rejection::too_slow);
        run();
        return;
    }
    switch (at) {
        case ConnectionSet::Deadline::request:
        case ConnectionSet::Deadline::answer: return close(CloseReason::deadline);
        case ConnectionSet::Deadline::keep_alive: return end_idle(CloseReason::keep_alive);
        case ConnectionSet::Deadline::linger: return close(reason_);
        case ConnectionSet::Deadline::last_request: return end_idle(CloseReason::stopping);
    }
}

/// To an idle peer.
void Connection::end_idle(CloseReason reason) {
    reason_ = reason;
    linger();
    run();
}

void Connection::drain() {
    draining_ = true;
    if (reason_ == CloseReason::finished) reason_ = CloseReason::stopping;
    if (idle()) set_.set_deadline(entry_, ConnectionSet::Deadline::last_request);
    if (half_request() || state_ == State::handshaking || state_ == State::introducing) {
        set_.set_deadline(entry_, ConnectionSet::Deadline::linger);
    }
    if (state_ == State::streaming) run();
}

void Connection::give_up() {
    close_after_ = true;
    if (idle()) return end_idle(CloseReason::stopping);
    if (state_ != State::handling && !half_request())
        return;  // no reply is owed, or it is being written
    if (state_ == State::handling) abandoned_ = std::exchange(active_, set_.borrow_request());
    reject(Rejection::stopping);
    run();
}

bool Connection::waits_for_peer() const {
    return state_ == State::reading || state_ == State::lingering || state_ == State::handshaking ||
           state_ == State::introducing || (state_ == State::writing && waiting_);
}

void Connection::abort(CloseReason reason) {
    if (state_ != State::closed) close(reason);
}

void Connection::close(CloseReason reason) {
    if (state_ == State::closed) return;
    const auto self = shared_from_this();  // the set drops its reference to us
    const bool handling = state_ == State::handling;
    state_ = State::closed;
    stream_.reset();
    held_.reset();
    set_.own_descriptors().give_back(socket_.release());
    if (active_ && !handling) set_.give_back(std::move(active_));
    set_.remove(entry_, peer_, reason);
}

namespace {

constexpr std::size_t kTlsRecord = 16'384;

}  // namespace

Transport::Transport(int socket, std::shared_ptr<const TlsContext> tls)
    : socket_(socket), tls_(std::move(tls)) {
    if (!tls_) return;
    ssl_ = SSL_new(tls_->get());
    if (!ssl_) throw std::bad_alloc{};
    SSL_set_fd(ssl_, socket_);
    SSL_set_accept_state(ssl_);
}

Transport::~Transport() {
    if (ssl_) SSL_free(ssl_);
}

Transport::Outcome Transport::outcome_of(int result) {
    switch (SSL_get_error(ssl_, result)) {
        case SSL_ERROR_WANT_READ: return {Io::want_read, 0};
        case SSL_ERROR_WANT_WRITE: return {Io::want_write, 0};
        case SSL_ERROR_ZERO_RETURN: return {Io::ended, 0};
        default: break;
    }
    ERR_clear_error();
    return {Io::broken, 0};
}

Transport::Outcome Transport::handshake() {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_);
    return result == 1 ? Outcome{Io::done, 0} : outcome_of(result);
}

Transport::Outcome Transport::read(std::span<char> into) {
    if (ssl_) {
        ERR_clear_error();
        const auto capacity = std::min(into.size(), kTlsRecord);
        const int n = SSL_read(ssl_, into.data(), static_cast<int>(capacity));
        return n > 0 ? Outcome{Io::done, static_cast<std::size_t>(n)} : outcome_of(n);
    }
    const auto n = ::recv(socket_, into.data(), into.size(), 0);
    if (n > 0) return {Io::done, static_cast<std::size_t>(n)};
    if (n == 0) return {Io::ended, 0};
    if (errno == EAGAIN || errno == EINTR) return {Io::want_read, 0};
    return {Io::broken, 0};
}

Transport::Outcome Transport::write(std::span<const char> from) {
    if (ssl_) {
        ERR_clear_error();
        const auto capacity = std::min(from.size(), kTlsRecord);
        const int n = SSL_write(ssl_, from.data(), static_cast<int>(capacity));
        return n > 0 ? Outcome{Io::done, static_cast<std::size_t>(n)} : outcome_of(n);
    }
    const auto n = ::send(socket_, from.data(), from.size(), MSG_NOSIGNAL);
    if (n >= 0) return {Io::done, static_cast<std::size_t>(n)};
    if (errno == EAGAIN || errno == EINTR) return {Io::want_write, 0};
    return {Io::broken, 0};
}

bool Transport::has_buffered() const { return ssl_ && SSL_has_pending(ssl_) == 1; }

bool Transport::has_input() const {
    int waiting = 0;
    return has_buffered() || (::ioctl(socket_, FIONREAD, &waiting) == 0 && waiting > 0);
}

void Transport::end_output() {
    if (ssl_ && SSL_is_init_finished(ssl_)) {
        SSL_shutdown(ssl_);
        ERR_clear_error();
    }
    ::shutdown(socket_, SHUT_WR);
}

}  // namespace beckon::net
