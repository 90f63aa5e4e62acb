#include "support/fake_push_server.hpp"

#include "core/base64url.hpp"
#include "core/ids.hpp"

#include <deque>
#include <functional>
#include <future>
#include <list>
#include <set>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <nlohmann/json.hpp>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace beckon::test {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;
using asio::use_awaitable;
using asio::ip::tcp;
using nlohmann::json;

using HttpRequest = http::request<http::string_body>;
using HttpResponse = http::response<http::string_body>;

struct Identity {
    std::string certificate;
    std::string key;
};

std::string take_pem(BIO* bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(bio, &data);
    std::string text{data, static_cast<std::size_t>(size)};
    BIO_free(bio);
    return text;
}

Identity make_identity() {
    EVP_PKEY* key = EVP_EC_gen("prime256v1");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_sign(certificate, key, EVP_sha256());
    BIO* certificate_pem = BIO_new(BIO_s_mem());
    BIO* key_pem = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(certificate_pem, certificate);
    PEM_write_bio_PrivateKey(key_pem, key, nullptr, nullptr, 0, nullptr, nullptr);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return {take_pem(certificate_pem), take_pem(key_pem)};
}

/// The sending half of a WebSocket: frames leave one after another.
struct Peer {
    std::string uaid;
    std::function<void(std::string)> send;
    std::function<void()> drop;
};

struct Message {
    std::string channel;
    std::string version;
    std::string frame;
};

struct Client {
    std::set<std::string> channels;
    std::list<Message> messages;
};

HttpResponse respond(const FakePushServer::Reply& reply) {
    HttpResponse response{static_cast<http::status>(reply.status), 11};
    for (const auto& [name, value] : reply.headers) response.set(name, value);
    response.body() = reply.body;
    response.prepare_payload();
    return response;
}

}  // namespace

struct FakePushServer::Impl {
    explicit Impl(Options o);
    ~Impl() {
        io.stop();
        thread.join();
    }

    /// Runs `task` on the loop's thread and waits for its result.
    template <class Task>
    auto on_loop(Task task) {
        std::packaged_task<decltype(task())()> packaged{std::move(task)};
        auto result = packaged.get_future();
        asio::post(io, [&] { packaged(); });
        return result.get();
    }

    asio::awaitable<void> accept();
    asio::awaitable<void> start(tcp::socket socket);
    template <class Stream>
    asio::awaitable<void> serve(Stream stream);
    template <class Stream>
    asio::awaitable<void> serve_client(Stream stream, HttpRequest request);

    HttpResponse handle(const HttpRequest& request);
    Reply post(const Request& request);
    void on_frame(Peer& peer, const std::string& text);
    void on_hello(Peer& peer, const json& frame);
    void deliver(const std::string& uaid, const std::string& frame);
    void acknowledge(const std::string& uaid, const json& update);

    const Options options;
    asio::io_context io{1};
    asio::ssl::context tls{asio::ssl::context::tls_server};
    std::string certificate;
    tcp::acceptor acceptor{io, tcp::endpoint{asio::ip::address_v4::loopback(), 0}};
    const std::uint16_t port = acceptor.local_endpoint().port();

    // Owned by the loop's thread.
    std::map<std::string, Client> clients;  ///< by uaid
    std::list<Peer*> peers;
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
        const Identity identity = make_identity();
        certificate = identity.certificate;
        tls.use_certificate_chain(asio::buffer(identity.certificate));
        tls.use_private_key(asio::buffer(identity.key), asio::ssl::context::pem);
    }
    asio::co_spawn(io, accept(), asio::detached);
    thread = std::thread{[this] { io.run(); }};
}

asio::awaitable<void> FakePushServer::Impl::accept() {
    for (;;) {
        auto socket = co_await acceptor.async_accept(use_awaitable);
        socket.set_option(tcp::no_delay{true});
        ++connections;
        asio::co_spawn(io, start(std::move(socket)), asio::detached);
    }
}

asio::awaitable<void> FakePushServer::Impl::start(tcp::socket socket) {
    try {
        if (options.tls) {
            beast::ssl_stream<beast::tcp_stream> stream{std::move(socket), tls};
            co_await stream.async_handshake(asio::ssl::stream_base::server, use_awaitable);
            co_await serve(std::move(stream));
        } else {
            co_await serve(beast::tcp_stream{std::move(socket)});
        }
    } catch (const boost::system::system_error&) {
        // The connection ended; what clients have stays.
    }
}

template <class Stream>
asio::awaitable<void> FakePushServer::Impl::serve(Stream stream) {
    beast::flat_buffer buffer;
    for (;;) {
        HttpRequest request;
        co_await http::async_read(stream, buffer, request, use_awaitable);
        if (websocket::is_upgrade(request)) {
            co_await serve_client(std::move(stream), std::move(request));
            co_return;
        }
        HttpResponse response = handle(request);
        co_await http::async_write(stream, response, use_awaitable);
    }
}

template <class Stream>
asio::awaitable<void> FakePushServer::Impl::serve_client(Stream stream, HttpRequest request) {
    auto ws = std::make_shared<websocket::stream<Stream>>(std::move(stream));
    co_await ws->async_accept(request, use_awaitable);
    auto outbox = std::make_shared<std::deque<std::string>>();
    auto write = std::make_shared<std::function<void()>>();
    *write = [ws, outbox, again = std::weak_ptr{write}] {
        ws->async_write(asio::buffer(outbox->front()),
                        [ws, outbox, again](beast::error_code error, std::size_t) {
                            outbox->pop_front();
                            const auto next = again.lock();
                            if (!error && !outbox->empty() && next) (*next)();
                        });
    };
    Peer peer{"",
              [outbox, write](std::string text) {
                  outbox->push_back(std::move(text));
                  if (outbox->size() == 1) (*write)();
              },
              [ws] {
                  beast::error_code ignored;
                  beast::get_lowest_layer(*ws).socket().close(ignored);
              }};
    const auto place = peers.insert(peers.end(), &peer);
    try {
        for (;;) {
            beast::flat_buffer buffer;
            co_await ws->async_read(buffer, use_awaitable);
            on_frame(peer, beast::buffers_to_string(buffer.data()));
        }
    } catch (const boost::system::system_error&) {
        peers.erase(place);
    }
}

HttpResponse FakePushServer::Impl::handle(const HttpRequest& raw) {
    Request request{std::string{raw.method_string()}, std::string{raw.target()}, {}, raw.body()};
    for (const auto& field : raw) {
        std::string name{field.name_string()};
        for (char& c : name) c = static_cast<char>(std::tolower(c));
        request.headers[name] = std::string{field.value()};
    }
    requests.push_back(request);
    if (request.method == "DELETE") {
        const std::string version = request.target.substr(request.target.rfind('/') + 1);
        for (auto& [uaid, client] : clients) {
            client.messages.remove_if([&](const Message& m) { return m.version == version; });
        }
        return respond({204, {}, ""});
    }
    if (!replies.empty()) {
        const Reply reply = std::move(replies.front());
        replies.pop_front();
        return respond(reply);
    }
    return respond(post(request));
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
    for (Peer* peer : peers) {
        if (peer->uaid != uaid) continue;
        peer->send(frame);
        if (twice) peer->send(frame);
    }
}

void FakePushServer::Impl::on_hello(Peer& peer, const json& frame) {
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

void FakePushServer::Impl::on_frame(Peer& peer, const std::string& text) {
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
    impl_->on_loop([&] { impl_->replies.push_back(std::move(reply)); });
}

void FakePushServer::fall_silent() {
    impl_->on_loop([&] { impl_->silent = true; });
}

void FakePushServer::drop_clients() {
    impl_->on_loop([&] {
        for (Peer* peer : impl_->peers) peer->drop();
    });
}

void FakePushServer::forget_clients() {
    impl_->on_loop([&] { impl_->clients.clear(); });
}

void FakePushServer::send_frame(const std::string& frame) {
    impl_->on_loop([&] {
        for (Peer* peer : impl_->peers) peer->send(frame);
    });
}

void FakePushServer::deliver_twice() {
    impl_->on_loop([&] { impl_->twice = true; });
}

std::vector<std::string> FakePushServer::frames() const {
    return impl_->on_loop([&] { return impl_->frames; });
}

std::vector<FakePushServer::Request> FakePushServer::requests() const {
    return impl_->on_loop([&] { return impl_->requests; });
}

std::size_t FakePushServer::unacknowledged() const {
    return impl_->on_loop([&] {
        std::size_t sum = 0;
        for (const auto& [uaid, client] : impl_->clients) sum += client.messages.size();
        return sum;
    });
}

std::size_t FakePushServer::connections() const {
    return impl_->on_loop([&] { return impl_->connections; });
}

}  // namespace beckon::test
