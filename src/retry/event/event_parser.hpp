#pragma once

#include "core/executor.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "retry/event/fan_out_turns.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace beckon::retry {

/// Parses the JSON of events that are being matched: small ones at once, large ones aside
/// (FanOutTurns::do_aside()), as a parse cannot be cut into parts. The memory of what is parsed has
/// a bound; large events wait for space in it, in order. On the executor's thread.
class EventParser {
public:
    /// The text of events that stay parsed between two parts of their matching. Beyond that small
    /// events are parsed again, and large ones wait.
    static constexpr std::size_t kParsedBytesMax = std::size_t{1} << 18;
    /// Larger events are parsed aside.
    static constexpr std::size_t kParsedHereMax = std::size_t{1} << 13;

    using Text = std::shared_ptr<const std::string>;
    using Json = std::shared_ptr<const nlohmann::json>;
    /// With the exception of the parse.
    using Then = std::function<void(const std::optional<core::Error>&)>;

    /// An event, as far as it is parsed.
    class Parsed {
    public:
        const Json& json() const { return json_; }  ///< null: it is not parsed now

    private:
        friend class EventParser;
        Json json_;
    };
    using ParsedPtr = std::shared_ptr<Parsed>;

    EventParser(core::Executor& executor, FanOutTurns& turns);

    /// True: it is parsed. False: `then` is called, later, when it is, or cannot be.
    bool parse(const Text& text, const ParsedPtr& event, WorkJournal::Piece piece, Then then);
    /// A part of its matching is over: it stays parsed unless the space is needed.
    void may_forget(const std::string& text, Parsed& event);
    void forget(const std::string& text, Parsed& event);

private:
    struct Large {
        Text text;
        ParsedPtr event;
        WorkJournal::Piece piece;
    };
    void begin_next();
    void begin(const Large& one);
    void end(const Large& one, Json json, const std::optional<core::Error>& thrown);

    FanOutTurns& turns_;
    std::size_t bytes_ = 0;   ///< parsed, or being parsed
    std::deque<Large> line_;  ///< until there is space
    /// For large events that are being parsed, or are in the line.
    std::map<const Parsed*, std::vector<Then>> waiting_;
    core::Lifetime lifetime_;
};

}  // namespace beckon::retry
