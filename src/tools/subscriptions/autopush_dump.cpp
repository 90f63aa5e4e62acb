#include "tools/subscriptions/autopush_dump.hpp"

#include "app/command/progress.hpp"
#include "app/exit_codes.hpp"
#include "app/process/process.hpp"
#include "core/ascii.hpp"
#include "core/bytes.hpp"
#include "core/json_depth.hpp"
#include "core/json_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <map>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace beckon::tools {

namespace {

constexpr std::string_view kRule = "----";
constexpr std::string_view kRouterFamily = "router:";
constexpr std::string_view kChannelColumn = "chid:";
/// Of a value in a dump: an import takes no deeper lines.
constexpr std::size_t kDumpDepthMax = 16;

/// One user, whatever form it had.
struct DumpedUser {
    std::string uaid;
    std::string router_type = "webpush";
    nlohmann::json router_data;
    std::uint64_t seen_ms = 0;
    std::vector<std::string> channels;
};

std::string line_of(const DumpedUser& user) {
    nlohmann::ordered_json line{{"uaid", user.uaid}, {"channelIDs", user.channels}};
    if (user.router_type != "webpush") {
        line["router_type"] = user.router_type;
        line["router_data"] = core::must_parse_ordered_json(core::json_text(user.router_data));
    }
    if (user.seen_ms > 0) line["last_seen"] = user.seen_ms / 1'000;
    return core::json_text(line);
}

/// Discarded where the text is no JSON, or is nested too deeply to be printed again.
nlohmann::json parse_dumped(std::string_view text) {
    if (core::is_nested_deeper(text, kDumpDepthMax)) return nlohmann::json::value_t::discarded;
    return core::parse_json(text);
}

/// A value that stands as it is, or as its text.
nlohmann::json value_of(const nlohmann::json& value) {
    return value.is_string() ? parse_dumped(value.get_ref<const std::string&>()) : value;
}

std::uint64_t milliseconds_in(const nlohmann::json& value) {
    const auto number = value_of(value);
    return number.is_number_unsigned() ? number.get<std::uint64_t>() : 0;
}

std::optional<DumpedUser> user_of_redis(const nlohmann::json& object) {
    if (!object.is_object()) return std::nullopt;
    const auto record = value_of(object.value("user", nlohmann::json{}));
    if (!record.is_object() || !record.value("uaid", nlohmann::json{}).is_string())
        return std::nullopt;
    DumpedUser user;
    user.uaid = record["uaid"];
    const auto type = record.value("router_type", nlohmann::json("webpush"));
    if (!type.is_string()) return std::nullopt;
    user.router_type = type;
    user.router_data = record.value("router_data", nlohmann::json{});
    user.seen_ms = std::max(milliseconds_in(record.value("connected_at", nlohmann::json{})),
                            milliseconds_in(object.value("co", nlohmann::json{})));
    const auto channels = object.value("channels", nlohmann::json::array());
    if (!channels.is_array()) return std::nullopt;
    for (const auto& channel : channels) {
        if (!channel.is_string()) return std::nullopt;
        user.channels.push_back(channel);
    }
    return user;
}

ConvertedDump convert_redis(std::istream& in, const std::function<void(const std::string&)>& client,
                            const std::function<void(const std::string&)>& refused) {
    ConvertedDump done;
    std::string line;
    for (std::size_t number = 1; std::getline(in, line); ++number) {
        if (line.empty()) continue;
        const auto object = parse_dumped(line);
        // The record has expired between its key and its value.
        if (object.is_object() && object.contains("user") && object["user"].is_null()) {
            ++done.others;
            continue;
        }
        const auto user = user_of_redis(object);
        if (!user) {
            refused(std::to_string(number) + ": no object with a user and its channels");
            continue;
        }
        ++done.clients;
        client(line_of(*user));
    }
    return done;
}

std::string_view trimmed(std::string_view text) { return core::trimmed(text, " \t\r"); }

/// A row of the table: the newest value of each column of the family `router`.
struct TableRow {
    std::string key;
    std::size_t line = 0;  ///< of the dump, where it begins
    std::map<std::string, std::string> cells;
    bool readable = true;
};

std::optional<DumpedUser> user_of_table(const TableRow& row) {
    DumpedUser user;
    user.uaid = row.key;
    for (const auto& [column, value] : row.cells) {
        if (column == "router_type") user.router_type = value;
        if (column == "router_data") user.router_data = parse_dumped(value);
        if (column == "connected_at" && value.size() == sizeof user.seen_ms) {
            user.seen_ms = core::get_fixed<std::uint64_t>(value.data());
        }
        if (column.starts_with(kChannelColumn)) {
            user.channels.push_back(column.substr(kChannelColumn.size()));
        }
    }
    if (!row.readable || user.router_data.is_discarded()) return std::nullopt;
    return user;
}

class TableReader {
public:
    TableReader(const std::function<void(const std::string&)>& client,
                const std::function<void(const std::string&)>& refused)
        : client_(client), refused_(refused) {}

    void take(std::string_view line) {
        ++line_;
        if (line.starts_with(kRule)) return end_row();
        if (line.empty()) return;
        if (!line.starts_with(' ')) {
            end_row();
            row_.emplace() = {.key = std::string{trimmed(line)}, .line = line_, .cells = {}};
            column_.clear();
        } else if (line.starts_with("    ")) {
            take_value(trimmed(line));
        } else {
            const auto at = line.rfind('@');
            column_ = std::string{trimmed(line.substr(0, at))};
        }
    }
    void end_row() {
        if (!row_) return;
        const auto row = *std::exchange(row_, std::nullopt);
        if (!row.cells.contains("router_type")) {
            ++done_.others;
            return;
        }
        const auto user = user_of_table(row);
        if (!user) {
            return refused_(std::to_string(row.line) +
                            ": a row with a value that is not quoted, or router_data that is not "
                            "JSON");
        }
        ++done_.clients;
        client_(line_of(*user));
    }
    const ConvertedDump& done() const { return done_; }

private:
    void take_value(std::string_view text) {
        if (!row_ || !column_.starts_with(kRouterFamily)) return;
        const auto value = unquoted(text);
        if (!value) row_->readable = false;
        // (the newest value of a cell comes first)
        row_->cells.try_emplace(column_.substr(kRouterFamily.size()), value.value_or(""));
    }

    const std::function<void(const std::string&)>& client_;
    const std::function<void(const std::string&)>& refused_;
    std::optional<TableRow> row_;
    std::string column_;
    std::size_t line_ = 0;
    ConvertedDump done_;
};

void append_utf8(std::string& out, std::uint32_t code) {
    const auto byte = [&out](std::uint32_t bits) { out += static_cast<char>(bits); };
    if (code < 0x80) return byte(code);
    if (code < 0x800) {
        byte(0xC0U | code >> 6U);
    } else {
        if (code < 0x10000) {
            byte(0xE0U | code >> 12U);
        } else {
            byte(0xF0U | code >> 18U);
            byte(0x80U | (code >> 12U & 0x3FU));
        }
        byte(0x80U | (code >> 6U & 0x3FU));
    }
    byte(0x80U | (code & 0x3FU));
}

std::optional<std::uint32_t> hex_digits(std::string_view text, std::size_t count) {
    std::uint32_t value = 0;
    if (text.size() < count) return std::nullopt;
    const auto read = std::from_chars(text.data(), text.data() + count, value, 16);
    if (read.ec != std::errc{} || read.ptr != text.data() + count) return std::nullopt;
    return value;
}

}  // namespace

std::optional<std::string> unquoted(std::string_view text) {
    if (text.size() < 2 || text.front() != '"' || text.back() != '"') return std::nullopt;
    text = text.substr(1, text.size() - 2);
    constexpr std::string_view kLetters = "abfnrtv\\\"'";
    constexpr std::string_view kMeant = "\a\b\f\n\r\t\v\\\"'";
    std::string out;
    while (!text.empty()) {
        const char c = text.front();
        text.remove_prefix(1);
        if (c != '\\') {
            out += c;
            continue;
        }
        if (text.empty()) return std::nullopt;
        const char kind = text.front();
        text.remove_prefix(1);
        if (const auto at = kLetters.find(kind); at != std::string_view::npos) {
            out += kMeant[at];
            continue;
        }
        const std::size_t digits = kind == 'x' ? 2 : kind == 'u' ? 4 : kind == 'U' ? 8 : 0;
        const auto value = digits > 0 ? hex_digits(text, digits) : std::nullopt;
        if (!value) return std::nullopt;
        text.remove_prefix(digits);
        if (kind == 'x') {
            out += static_cast<char>(*value);
        } else {
            append_utf8(out, *value);
        }
    }
    return out;
}

ConvertedDump convert_dump(DumpForm form, std::istream& in,
                           const std::function<void(const std::string&)>& client,
                           const std::function<void(const std::string&)>& refused) {
    if (form == DumpForm::redis) return convert_redis(in, client, refused);
    TableReader reader{client, refused};
    std::string line;
    while (std::getline(in, line)) reader.take(line);
    reader.end_row();
    return reader.done();
}

int subscriptions_convert(const std::string& form, const std::string& file) {
    std::ifstream opened;
    if (file != "-") {
        opened.open(file);
        if (!opened) throw app::StartupError("cannot read " + file);
    }
    app::Progress progress{"converting", "clients", 0};
    std::uint64_t converted = 0;
    std::size_t refused = 0;
    const auto done = convert_dump(
        form == "redis" ? DumpForm::redis : DumpForm::bigtable, file == "-" ? std::cin : opened,
        [&](const std::string& line) {
            std::cout << line << '\n';
            progress.at(++converted);
        },
        [&](const std::string& why) {
            ++refused;
            std::cerr << file << ": " << why << std::endl;
        });
    std::cout.flush();
    if (!std::cout) throw app::StartupError("cannot write the lines");
    std::cerr << app::grouped(done.clients) << " clients, " << app::grouped(done.others)
              << " other rows, " << app::grouped(refused) << " refused" << std::endl;
    return refused > 0 ? app::kFailed : app::kDone;
}

}  // namespace beckon::tools
