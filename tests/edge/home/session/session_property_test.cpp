#include "edge/home/session/session.hpp"

#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using namespace std::chrono_literals;
using namespace beckon;
using edge::Effects;
using edge::Session;

// The session machine alone, over a store that is a map. Each run is made from its seed, which a
// failure shows: `edge_home_test "<name of the test>" -c <seed>` runs that one again.

namespace {

constexpr std::size_t kWindow = 3;
constexpr std::size_t kBytes = 2'000;
constexpr core::Duration kPatience = 1min;

struct Message {
    core::MessageKey key;
    std::string version;
    std::string body;
};

class RandomSession {
public:
    explicit RandomSession(unsigned seed) : random_(seed) { connect(); }

    void step() {
        switch (below(14)) {
            case 0:
            case 1:
            case 2:
            case 3: fold(); break;
            case 4:
            case 5:
            case 6: ack_one(); break;
            case 7: nack_one(); break;
            case 8: finish_one(); break;
            case 9: now_ += std::chrono::seconds{below(40)}; break;
            case 10: send_legal(); break;
            case 11: send_nonsense(); break;
            case 12: send_illegal(); break;
            case 13: log_catches_up(); break;
        }
        read();
        CHECK(counted() <= kWindow);
    }

    /// The client goes on to acknowledge what it gets, on this session and on a last one.
    void finish() {
        for (const bool again : {false, true}) {
            if (again) connect();
            for (int round = 0; round < 10'000 && !(in_flight_.empty() && !more()); ++round) {
                log_catches_up();
                now_ += kPatience;
                read();
                while (!in_flight_.empty()) ack_one();
            }
        }
        CHECK(pending_.empty());
    }

private:
    std::size_t below(std::size_t n) { return random_() % n; }
    bool more() const { return !session_->live() && !pending_.empty(); }

    void connect() {
        const auto number = ++sessions_;
        session_ =
            std::make_unique<Session>(edge::SessionId{{"front"}, 0, number}, uaid_, options_);
        session_->read_store();
        sent_here_.clear();
        in_flight_.clear();
        not_durable_.clear();
    }

    /// One frame of the client. It leads to an answer, to a change that is answered later, to the
    /// end, or to nothing where the protocol has no answer.
    void send_frame(const std::string& text, bool silent = false) {
        CAPTURE(text);
        auto effects =
            session_->on(std::get<edge::ClientCommand>(*parser_.parse(text)), tokens_, now_);
        CHECK((silent || effects.close || effects.frames.size() + effects.changes.size() == 1));
        for (std::size_t i = 0; i < effects.changes.size(); ++i) session_->change_answered();
        for (const auto& answered : effects.acked) {
            if (pending_offset(answered.key) < 0) continue;  // unknown, or done with
            forget(answered.key);
            done_.insert(answered.key);
            session_->add_pending_tombstone(answered.key);
            not_durable_.push_back(answered.key);
        }
        for (const auto& answered : effects.nacked) {
            CHECK(in_flight_.erase(answered.key) == 1);
        }
        if (effects.close) connect();
    }

    void fold() {
        Message message{core::new_message_key(core::Timestamp{}), "",
                        std::string(below(3) == 0 ? below(3'000) : 10, 'x')};
        message.version = tokens_.seal_message({uaid_, message.key});
        core::NotificationAccepted event;
        event.uaid = uaid_;
        event.key = message.key;
        event.message_id = message.version;
        event.ttl_s = 3600;
        event.body = message.body;
        const auto offset = next_++;
        pending_.emplace(offset, message);
        sent(session_->on(event, offset, now_), message);
    }

    /// As a home does after a commit.
    void read() {
        if (!session_->wants_read(now_)) return;
        for (auto capacity = session_->capacity(now_); capacity > 0 && !session_->live();
             capacity = session_->capacity(now_)) {
            auto& cursor = session_->cursor(next_);
            if (!read_some(cursor, capacity)) return;
        }
    }
    bool read_some(store::DrainCursor& cursor, std::size_t capacity) {
        auto at = pending_.lower_bound(std::max(cursor.after + 1, cursor.from));
        std::size_t taken = 0;
        for (; at != pending_.end() && at->first < cursor.until && taken < capacity;
             ++at, ++taken) {
            const auto& [offset, message] = *at;
            store::MessageView view;
            view.offset = offset;
            view.key = message.key;
            view.message_id = message.version;
            view.body = message.body;
            cursor.topics = false;
            cursor.after = offset;
            sent(session_->on(view, now_), message);
        }
        return !session_->read_over(at == pending_.end() || at->first >= cursor.until);
    }

    void sent(const Effects& effects, const Message& message) {
        CHECK(effects.frames.size() <= 1);
        if (effects.frames.empty()) return;
        CHECK(effects.frames[0].message == message.key);
        CHECK_FALSE(done_.contains(message.key));      // nothing comes after its end
        CHECK(sent_here_.insert(message.key).second);  // nor twice on one session
        CHECK((message.body.size() < kBytes || counted() == 0));
        in_flight_.emplace(message.key, now_);
    }

    std::size_t counted() const {
        std::size_t count = 0;
        for (const auto& [key, at] : in_flight_) count += now_ - at < kPatience ? 1 : 0;
        return count;
    }

    core::MessageKey any_in_flight() {
        return std::next(in_flight_.begin(), static_cast<std::ptrdiff_t>(below(in_flight_.size())))
            ->first;
    }
    void ack_one() {
        if (!in_flight_.empty()) ack(tokens_.seal_message({uaid_, any_in_flight()}));
    }
    void ack(const std::string& version) {
        send_frame(
            R"({"messageType":"ack","updates":[{"channelID":"00000000-0000-0000-0000-000000000000",)"
            R"("version":")" +
                version + R"(","code":)" + std::to_string(100 + below(3)) + "}]}",
            true);
    }
    void nack_one() {
        if (in_flight_.empty()) return;
        const auto version = tokens_.seal_message({uaid_, any_in_flight()});
        send_frame(R"({"messageType":"nack","version":")" + version + R"(","code":301})", true);
    }
    /// Its sender deletes it, or a newer one replaces it.
    void finish_one() {
        if (pending_.empty()) return;
        const auto at =
            std::next(pending_.begin(), static_cast<std::ptrdiff_t>(below(pending_.size())));
        const auto key = at->second.key;
        done_.insert(key);
        forget(key);
        session_->finished(key);
    }
    void log_catches_up() {
        for (const auto& key : std::exchange(not_durable_, {})) session_->durable(key);
    }
    void send_legal() {
        const std::string channel =
            R"("channelID":")" + core::to_dashed(core::ChannelId{core::random_uuid4()}) + '"';
        send_frame(R"({"messageType":")" + std::string{below(2) == 0 ? "register" : "unregister"} +
                   R"(",)" + channel + "}");
        now_ += 1min;
        send_frame("{}");
    }
    /// A frame that is allowed and changes nothing.
    void send_nonsense() {
        switch (below(4)) {
            case 0: return ack("made up");
            case 1: return ack(tokens_.seal_message({core::Uaid{core::random_uuid4()}, {}}));
            case 2: return send_frame(R"({"messageType":"nack","version":"made up"})", true);
            case 3:
                if (done_.empty()) return;
                return ack(tokens_.seal_message({uaid_, *done_.begin()}));  // once more
        }
    }
    void send_illegal() {
        const auto before = sessions_;
        send_frame("{}");
        if (sessions_ == before) send_frame("{}");  // too soon behind that one
        CHECK(sessions_ == before + 1);             // it was closed
    }

    core::Offset pending_offset(const core::MessageKey& key) const {
        for (const auto& [offset, message] : pending_) {
            if (message.key == key) return offset;
        }
        return -1;
    }
    void forget(const core::MessageKey& key) {
        pending_.erase(pending_offset(key));
        in_flight_.erase(key);
    }

    std::mt19937 random_;
    const core::Uaid uaid_{core::random_uuid4()};
    const edge::EdgeOptions options_{.window = {.messages_min = kWindow,
                                                .messages_max = kWindow,
                                                .bytes = kBytes,
                                                .bytes_max = kBytes,
                                                .unacked = 10,
                                                .acked_not_durable = 5,
                                                .patience = kPatience}};
    core::Tokens tokens_{std::make_shared<core::KeyRing>(core::KeyRing::generate())};
    edge::FrameParser parser_;
    core::MonoTime now_{};
    core::Offset next_ = 0;
    std::uint64_t sessions_ = 0;
    std::unique_ptr<Session> session_;
    std::map<core::Offset, Message> pending_;               ///< the store
    std::map<core::MessageKey, core::MonoTime> in_flight_;  ///< sent on this session, unanswered
    std::set<core::MessageKey> sent_here_;
    std::set<core::MessageKey> done_;  ///< acknowledged, or finished by somebody else
    std::vector<core::MessageKey> not_durable_;
};

}  // namespace

TEST_CASE(
    "whatever frames and records come, a session keeps its window and sends no finished message") {
    const auto seed = GENERATE(range(0U, 100U));
    DYNAMIC_SECTION(seed) {
        CAPTURE(seed);
        RandomSession session{seed};
        for (int i = 0; i < 300; ++i) session.step();
        session.finish();
    }
}
