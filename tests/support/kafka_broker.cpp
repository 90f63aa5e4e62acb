#include "support/kafka_broker.hpp"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>

#include <arpa/inet.h>
#include <fcntl.h>
#include <librdkafka/rdkafka.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace beckon::test {

namespace {

/// Somebody else may take the port between our look and the broker's: so try a few.
constexpr int kStarts = 5;

bool is_free(int port) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool free = bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(fd);
    return free;
}

/// Below 32768, where the kernel does not choose ports for outgoing connections.
int random_free_port() {
    static std::mt19937 random{std::random_device{}()};
    std::uniform_int_distribution<int> ports{15'000, 32'767};
    for (;;) {
        const int port = ports(random);
        if (is_free(port)) return port;
    }
}

}  // namespace

KafkaBroker::KafkaBroker() {
    for (int start = 1;; ++start) {
        choose_ports();
        spawn();
        try {
            await_answer();
            return;
        } catch (const std::runtime_error& error) {
            kill();
            const bool taken = std::string{error.what()}.find("in use") != std::string::npos;
            if (!taken || start == kStarts) throw;
        }
    }
}

KafkaBroker::~KafkaBroker() { kill(); }

std::string KafkaBroker::servers() const { return "127.0.0.1:" + std::to_string(port_); }

void KafkaBroker::choose_ports() {
    port_ = random_free_port();
    do {
        controller_port_ = random_free_port();
    } while (controller_port_ == port_);
}

void KafkaBroker::spawn() {
    const auto script = std::string{BECKON_SOURCE_DIR} + "/scripts/kafka/start.sh";
    const auto data = (directory_ / "kafka").string();
    const auto port = std::to_string(port_);
    const auto controller = std::to_string(controller_port_);
    const auto log = (directory_ / "broker.log").string();
    const auto parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("cannot fork");
    if (pid_ == 0) {
        setpgid(0, 0);  // a ^C in the terminal and kill() below concern the whole group
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(out, STDOUT_FILENO);
        dup2(out, STDERR_FILENO);
        execl(script.c_str(), script.c_str(), data.c_str(), port.c_str(), controller.c_str(),
              static_cast<char*>(nullptr));
        _exit(127);
    }
    setpgid(pid_, pid_);  // whoever comes first; the other call changes nothing
}

bool KafkaBroker::exited() {
    if (pid_ < 0) return true;
    if (waitpid(pid_, nullptr, WNOHANG) != pid_) return false;
    pid_ = -1;
    return true;
}

bool KafkaBroker::answers() const {
    char why[256];
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", servers().c_str(), why, sizeof why);
    rd_kafka_conf_set(conf, "log_level", "0", why, sizeof why);
    rd_kafka_conf_set(conf, "reconnect.backoff.ms", "50", why, sizeof why);
    rd_kafka_conf_set(conf, "reconnect.backoff.max.ms", "100", why, sizeof why);
    rd_kafka_conf_set_log_cb(conf, [](const rd_kafka_t*, int, const char*, const char*) {});
    std::unique_ptr<rd_kafka_t, void (*)(rd_kafka_t*)> client{
        rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, sizeof why), rd_kafka_destroy};
    if (!client) throw std::runtime_error(why);
    const rd_kafka_metadata_t* metadata = nullptr;
    if (rd_kafka_metadata(client.get(), 1, nullptr, &metadata, 1000) != 0) return false;
    const bool in_service = metadata->broker_cnt > 0;  // a fenced broker does not list itself
    rd_kafka_metadata_destroy(metadata);
    return in_service;
}

void KafkaBroker::await_answer(std::chrono::seconds limit) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!answers()) {
        if (exited()) throw std::runtime_error("the broker did not start: " + last_lines());
        if (std::chrono::steady_clock::now() > until) {
            throw std::runtime_error("the broker does not answer: " + last_lines());
        }
    }
}

void KafkaBroker::kill() {
    if (pid_ < 0) return;
    ::kill(-pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void KafkaBroker::restart_without_waiting() {
    kill();
    spawn();
}

void KafkaBroker::restart() {
    restart_without_waiting();
    await_answer();
}

void KafkaBroker::pause() {
    ::kill(-pid_, SIGSTOP);
    // The signal is on its way when kill() returns; the broker answers until its last thread
    // stands.
    int status = 0;
    while (waitpid(pid_, &status, WUNTRACED) == pid_ && !WIFSTOPPED(status)) {
    }
}
void KafkaBroker::resume() { ::kill(-pid_, SIGCONT); }

std::string KafkaBroker::last_lines() const {
    std::ifstream in{directory_ / "broker.log"};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    constexpr std::size_t kShown = 2000;
    return text.size() > kShown ? text.substr(text.size() - kShown) : text;
}

KafkaBroker& KafkaBroker::shared() {
    static KafkaBroker broker;
    return broker;
}

}  // namespace beckon::test
