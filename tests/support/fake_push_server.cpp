#include "support/fake_push_server.hpp"

#include "core/base64url.hpp"
#include "core/handle.hpp"
#include "core/ids.hpp"
#include "support/certificate.hpp"
#include "support/temp_dir.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <list>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nlohmann/json.hpp>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace beckon::test {

namespace {

using nlohmann::json;
using Request = FakePushServer::Request;
using Reply = FakePushServer::Reply;
using Ssl = core::Handle<SSL, SSL_free>;

constexpr std::string_view kHeadEnd = "\r\n\r\n";

struct Message {
    std::string channel;
    std::string version;
    std::string frame;
};

struct Client {
    std::set<std::string> channels;
    std::list<Message> messages;
};

/// RFC 6455 section 4.2.2.
std::string accept_of(const std::string& key) {
    const auto text = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, SHA_DIGEST_LENGTH> hash{};
    SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), hash.data());
    std::array<unsigned char, 64> base64{};
    const int size = EVP_EncodeBlock(base64.data(), hash.data(), hash.size());
    return {reinterpret_cast<const char*>(base64.data()), static_cast<std::size_t>(size)};
}

/// One connection: requests, and frames of a WebSocket behind an upgrade.
class Connection {
public:
    Connection(int fd, Ssl ssl) : fd_(fd), ssl_(std::move(ssl)) {}
    ~Connection() {
        ssl_.reset();
        ::close(fd_);
    }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    int fd() const { return fd_; }
    bool is_websocket() const { return websocket_; }
    void drop() const { ::shutdown(fd_, SHUT_RDWR); }

    /// Reads what has come; false at the end.
    bool fill() {
        do {
            std::array<char, 16'384> piece{};
            const auto n = ssl_ ? SSL_read(ssl_.get(), piece.data(), piece.size())
                                : static_cast<int>(::recv(fd_, piece.data(), piece.size(), 0));
            if (n <= 0) return false;
            buffer_.append(piece.data(), static_cast<std::size_t>(n));
        } while (ssl_ && SSL_pending(ssl_.get()) > 0);
        return websocket_ || std::isupper(static_cast<unsigned char>(buffer_.front())) != 0;
    }
    /// The next whole request; an upgrade is answered here.
    std::optional<Request> next_request() {
        const auto end = buffer_.find(kHeadEnd);
        if (websocket_ || end == std::string::npos) return std::nullopt;
        auto request = head_of(std::string_view{buffer_}.substr(0, end + 2));
        const auto begin = end + kHeadEnd.size();
        const auto length = request.headers.find("content-length");
        const std::size_t size = length == request.headers.end() ? 0 : std::stoul(length->second);
        if (buffer_.size() < begin + size) return std::nullopt;
        request.body = buffer_.substr(begin, size);
        buffer_.erase(0, begin + size);
        if (!request.headers.contains("sec-websocket-key")) return request;
        websocket_ = true;
        write(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Accept: " +
            accept_of(request.headers["sec-websocket-key"]) + "\r\n\r\n");
        return std::nullopt;
    }
    /// The payload of the next whole text frame. Others have no meaning here.
    std::optional<std::string> next_text() {
        const auto byte = [this](std::size_t at) {
            return static_cast<unsigned char>(buffer_[at]);
        };
        while (websocket_ && buffer_.size() >= 2) {
            std::size_t size = byte(1) & 0x7fU;
            const std::size_t more = size < 126 ? 0 : size == 126 ? 2 : 8;
            const auto begin = 2 + more + 4;
            if (buffer_.size() < begin) return std::nullopt;
            if (more > 0) size = 0;
            for (std::size_t i = 0; i < more; ++i) size = size << 8U | byte(2 + i);
            if (buffer_.size() < begin + size) return std::nullopt;
            const bool is_text = (byte(0) & 0x0fU) == 1;
            auto text = buffer_.substr(begin, size);
            for (std::size_t i = 0; i < size; ++i) {
                text[i] = static_cast<char>(text[i] ^ buffer_[begin - 4 + i % 4]);
            }
            buffer_.erase(0, begin + size);
            if (is_text) return text;
        }
        return std::nullopt;
    }
    void reply(const Reply& reply) {
        auto text = "HTTP/1.1 " + std::to_string(reply.status) + " Fake\r\n";
        for (const auto& [name, value] : reply.headers) text += name + ": " + value + "\r\n";
        text += "Content-Length: " + std::to_string(reply.body.size()) + "\r\n\r\n";
        write(text + reply.body);
    }
    void send(std::string_view text) {
        std::string frame = "\x81";
        if (text.size() < 126) {
            frame.push_back(static_cast<char>(text.size()));
        } else {
            frame.push_back(126);
            frame.push_back(static_cast<char>(text.size() >> 8U));
            frame.push_back(static_cast<char>(text.size() & 0xffU));
        }
        write(frame.append(text));
    }

    std::string uaid;  ///< of the client, once it has said hello

private:
    static Request head_of(std::string_view head) {
        const auto line = [&head] {
            const auto end = head.find("\r\n");
            const auto one = head.substr(0, end);
            head.remove_prefix(end + 2);
            return std::string{one};
        };
        Request request;
        const auto first = line();
        const auto blank = first.find(' ');
        request.method = first.substr(0, blank);
        request.target = first.substr(blank + 1, first.rfind(' ') - blank - 1);
        while (!head.empty()) {
            const auto field = line();
            const auto colon = field.find(':');
            auto name = field.substr(0, colon);
            std::ranges::transform(name, name.begin(),
                                   [](unsigned char c) { return std::tolower(c); });
            request.headers[name] = field.substr(field.find_first_not_of(' ', colon + 1));
        }
        return request;
    }
    void write(std::string_view bytes) {
        while (!bytes.empty()) {
            const auto n =
                ssl_ ? SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()))
                     : static_cast<int>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
            if (n <= 0) return;  // it has ended, which the next read shows
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }

    const int fd_;
    Ssl ssl_;
    std::string buffer_;
    bool websocket_ = false;
};

}  // namespace

struct FakePushServer::Impl {
    explicit Impl(Options o);
    ~Impl();
    void run();
    void accept();
    bool serve(Connection& connection);
    Reply handle(const Request& request);
    Reply post(const Request& request);
    void on_frame(Connection& peer, const std::string& text);
    void on_hello(Connection& peer, const json& frame);
    void deliver(const std::string& uaid, const std::string& frame);
    void acknowledge(const std::string& uaid, const json& update);
    template <class Act>
    void each_peer(Act act) {
        for (auto& one : open) {
            if (one.is_websocket()) act(one);
        }
    }

    const Options options;
    core::Handle<SSL_CTX, SSL_CTX_free> tls;
    std::string certificate;
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::uint16_t port = 0;

    std::mutex mutex;  ///< of the rest
    bool stopping = false;
    std::list<Connection> open;
    std::map<std::string, Client> clients;  ///< by uaid
    std::deque<Reply> replies;
    std::vector<std::string> frames;
    std::vector<Request> requests;
    std::size_t connections = 0;
    int next_version = 0;
    bool silent = false;
    bool twice = false;

    std::thread thread;
};

FakePushServer::Impl::Impl(Options o) : options(o) {
    if (options.tls) {
        const TempDir files;
        write_certificate(files / "certificate", files / "key", "localhost");
        std::ifstream in{files / "certificate"};
        certificate = {std::istreambuf_iterator<char>{in}, {}};
        tls.reset(SSL_CTX_new(TLS_server_method()));
        SSL_CTX_use_certificate_chain_file(tls.get(), (files / "certificate").c_str());
        SSL_CTX_use_PrivateKey_file(tls.get(), (files / "key").c_str(), SSL_FILETYPE_PEM);
    }
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    auto* const any = reinterpret_cast<sockaddr*>(&at);
    if (::bind(listener, any, size) != 0 || ::listen(listener, 128) != 0 ||
        ::getsockname(listener, any, &size) != 0) {
        throw std::runtime_error("the fake push server cannot listen");
    }
    port = ntohs(at.sin_port);
    thread = std::thread{[this] { run(); }};
}

FakePushServer::Impl::~Impl() {
    {
        const std::scoped_lock lock{mutex};
        stopping = true;
    }
    ::shutdown(listener, SHUT_RDWR);  // wakes the thread
    thread.join();
    ::close(listener);
}

void FakePushServer::Impl::run() {
    for (;;) {
        std::vector<pollfd> all{{.fd = listener, .events = POLLIN, .revents = 0}};
        for (const auto& one : open)
            all.push_back({.fd = one.fd(), .events = POLLIN, .revents = 0});
        ::poll(all.data(), all.size(), -1);
        const std::scoped_lock lock{mutex};
        if (stopping) return;
        std::size_t i = 1;
        for (auto one = open.begin(); one != open.end(); ++i) {
            one = all[i].revents != 0 && !serve(*one) ? open.erase(one) : std::next(one);
        }
        if (all[0].revents != 0) accept();
    }
}

void FakePushServer::Impl::accept() {
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    ++connections;
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Ssl ssl;
    if (tls) {
        ssl.reset(SSL_new(tls.get()));
        SSL_set_fd(ssl.get(), fd);
    }
    const bool refused = ssl && SSL_accept(ssl.get()) != 1;
    open.emplace_back(fd, std::move(ssl));
    if (refused) open.pop_back();
}

/// False: the connection has ended; what its client has stays.
bool FakePushServer::Impl::serve(Connection& connection) {
    if (!connection.fill()) return false;
    while (const auto request = connection.next_request()) connection.reply(handle(*request));
    while (const auto text = connection.next_text()) on_frame(connection, *text);
    return true;
}

FakePushServer::Reply FakePushServer::Impl::handle(const Request& request) {
    requests.push_back(request);
    if (request.method == "DELETE") {
        const std::string version = request.target.substr(request.target.rfind('/') + 1);
        for (auto& [uaid, client] : clients) {
            client.messages.remove_if([&](const Message& m) { return m.version == version; });
        }
        return {204, {}, ""};
    }
    if (replies.empty()) return post(request);
    auto reply = std::move(replies.front());
    replies.pop_front();
    return reply;
}

FakePushServer::Reply FakePushServer::Impl::post(const Request& request) {
    // The target is /wpush/<uaid>.<channel>
    const std::string token = request.target.substr(request.target.rfind('/') + 1);
    const auto dot = token.find('.');
    const std::string uaid = token.substr(0, dot);
    const std::string channel = dot == std::string::npos ? "" : token.substr(dot + 1);
    const auto client = clients.find(uaid);
    if (client == clients.end() || !client->second.channels.contains(channel)) {
        return {410,
                {{"Content-Type", "application/json"}},
                R"({"code":410,"errno":106,"error":"Gone","message":"no such subscription"})"};
    }
    const std::string version = "v" + std::to_string(next_version++);
    json frame{{"messageType", "notification"}, {"channelID", channel}, {"version", version}};
    if (!request.body.empty()) {
        json headers;
        const std::map<std::string, std::string> names{{"content-encoding", "encoding"},
                                                       {"encryption", "encryption"},
                                                       {"crypto-key", "crypto_key"}};
        for (const auto& [header, name] : names) {
            const auto found = request.headers.find(header);
            if (found != request.headers.end()) headers[name] = found->second;
        }
        frame["data"] = core::base64url(request.body);
        frame["headers"] = headers;
    }
    const Message message{channel, version, frame.dump()};
    if (request.headers.at("ttl") != "0") client->second.messages.push_back(message);
    deliver(uaid, message.frame);
    return {201, {{"Location", "/m/" + version}, {"TTL", request.headers.at("ttl")}}, ""};
}

void FakePushServer::Impl::deliver(const std::string& uaid, const std::string& frame) {
    each_peer([&](Connection& peer) {
        if (peer.uaid != uaid) return;
        peer.send(frame);
        if (twice) peer.send(frame);
    });
}

void FakePushServer::Impl::on_hello(Connection& peer, const json& frame) {
    peer.uaid = frame.value("uaid", "");
    if (!clients.contains(peer.uaid)) peer.uaid = core::to_hex(core::random_uuid4());
    peer.send(json{{"messageType", "hello"},
                   {"uaid", peer.uaid},
                   {"status", 200},
                   {"use_webpush", true},
                   {"broadcasts", json::object()}}
                  .dump());
    const auto client = clients.find(peer.uaid);
    if (client == clients.end()) return;
    for (const Message& message : client->second.messages) peer.send(message.frame);
}

void FakePushServer::Impl::acknowledge(const std::string& uaid, const json& update) {
    clients[uaid].messages.remove_if(
        [version = update.at("version").get<std::string>()](const Message& message) {
            return message.version == version;
        });
}

void FakePushServer::Impl::on_frame(Connection& peer, const std::string& text) {
    frames.push_back(text);
    if (silent) return;
    const json frame = json::parse(text);
    const std::string type = frame.value("messageType", "");
    if (type == "hello") return on_hello(peer, frame);
    if (frame.empty()) return peer.send("{}");
    if (type == "ack") {
        for (const json& update : frame.at("updates")) acknowledge(peer.uaid, update);
        return;
    }
    const std::string channel = frame.value("channelID", "");
    json reply{{"messageType", type}, {"channelID", channel}, {"status", 200}};
    if (type == "register") {
        clients[peer.uaid].channels.insert(channel);
        reply["pushEndpoint"] = std::string{options.tls ? "https" : "http"} +
                                "://127.0.0.1:" + std::to_string(port) + "/wpush/" + peer.uaid +
                                "." + channel;
        return peer.send(reply.dump());
    }
    if (type == "unregister") {
        clients[peer.uaid].channels.erase(channel);
        return peer.send(reply.dump());
    }
}

FakePushServer::FakePushServer(Options options) : impl_(std::make_unique<Impl>(options)) {}
FakePushServer::~FakePushServer() = default;

std::uint16_t FakePushServer::port() const { return impl_->port; }

std::string FakePushServer::ws_url() const {
    return std::string{impl_->options.tls ? "wss" : "ws"} +
           "://127.0.0.1:" + std::to_string(impl_->port) + "/";
}

const std::string& FakePushServer::certificate() const { return impl_->certificate; }

void FakePushServer::answer_next_post(Reply reply) {
    const std::scoped_lock lock{impl_->mutex};
    impl_->replies.push_back(std::move(reply));
}

void FakePushServer::fall_silent() {
    const std::scoped_lock lock{impl_->mutex};
    impl_->silent = true;
}

void FakePushServer::drop_clients() {
    const std::scoped_lock lock{impl_->mutex};
    impl_->each_peer([](const Connection& peer) { peer.drop(); });
}

void FakePushServer::forget_clients() {
    const std::scoped_lock lock{impl_->mutex};
    impl_->clients.clear();
}

void FakePushServer::send_frame(const std::string& frame) {
    const std::scoped_lock lock{impl_->mutex};
    impl_->each_peer([&](Connection& peer) { peer.send(frame); });
}

void FakePushServer::deliver_twice() {
    const std::scoped_lock lock{impl_->mutex};
    impl_->twice = true;
}

std::vector<std::string> FakePushServer::frames() const {
    const std::scoped_lock lock{impl_->mutex};
    return impl_->frames;
}

std::vector<FakePushServer::Request> FakePushServer::requests() const {
    const std::scoped_lock lock{impl_->mutex};
    return impl_->requests;
}

std::size_t FakePushServer::unacknowledged() const {
    const std::scoped_lock lock{impl_->mutex};
    std::size_t sum = 0;
    for (const auto& [uaid, client] : impl_->clients) sum += client.messages.size();
    return sum;
}

std::size_t FakePushServer::connections() const {
    const std::scoped_lock lock{impl_->mutex};
    return impl_->connections;
}

}  // namespace beckon::test
