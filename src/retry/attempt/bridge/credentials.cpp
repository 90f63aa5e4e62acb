#include "retry/attempt/bridge/credentials.hpp"

#include "core/json_member.hpp"
#include "core/json_text.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <nlohmann/json.hpp>

namespace beckon::retry {

using core::Fault;
using Json = nlohmann::json;

namespace {

constexpr std::size_t kFileBytesMax = std::size_t{64} * 1024;
constexpr const char* kTopicPrefix = "com.mozilla.org.";

struct Entry {
    std::string app;
    std::filesystem::path file;
};

core::Result<Entry> split(const std::string& entry) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == entry.size()) {
        return core::fail(Fault::invalid, "'" + entry + "' is not NAME=FILE");
    }
    return Entry{entry.substr(0, equals), entry.substr(equals + 1)};
}

core::Error in_file(const std::filesystem::path& file, const core::Error& error) {
    return {error.fault, file.string() + ": " + error.message};
}

core::Result<std::string> read(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    if (std::filesystem::is_directory(file) || !in) {
        return core::fail(Fault::not_found, "cannot be read");
    }
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    if (text.size() > kFileBytesMax) return core::fail(Fault::invalid, "is no credentials file");
    return text;
}

core::Result<Json> read_object(const std::filesystem::path& file) {
    const auto text = read(file);
    if (!text) return core::fail(text.error());
    auto object = core::parse_json(*text);
    if (!object.is_object()) return core::fail(Fault::invalid, "is not a JSON object");
    return object;
}

core::Result<std::string> member(const Json& object, const char* name) {
    auto text = core::text_member(object, name);
    if (text.empty()) return core::fail(Fault::invalid, std::string{"has no text `"} + name + "`");
    return text;
}

/// Reads several members; the first that is missing decides.
class Members {
public:
    explicit Members(const Json& object) : object_(object) {}
    std::string operator[](const char* name) {
        auto value = member(object_, name);
        if (value) return std::move(*value);
        if (!error) error = value.error();
        return {};
    }
    std::optional<core::Error> error{};

private:
    const Json& object_;
};

core::Result<FcmCredentials> fcm_from(const Entry& entry, const Json& object) {
    const auto type = member(object, "type");
    if (!type || *type != "service_account") {
        return core::fail(Fault::invalid, "is no service account (`type` is not service_account)");
    }
    Members text{object};
    const auto project = text["project_id"];
    const auto email = text["client_email"];
    const auto key_id = text["private_key_id"];
    const auto token_uri = text["token_uri"];
    const auto pem = text["private_key"];
    if (text.error) return core::fail(*text.error);
    auto key = SigningKey::from_pem(pem, SigningKey::Kind::rs256);
    if (!key) return core::fail(Fault::invalid, "`private_key` " + key.error().message);
    return FcmCredentials{entry.app, project, email, key_id, token_uri, std::move(*key)};
}

core::Result<ApnsCredentials> apns_from(const Entry& entry, const Json& object) {
    Members text{object};
    const auto team = text["team_id"];
    const auto key_id = text["key_id"];
    const auto key_file = entry.file.parent_path() / text["key_file"];
    if (text.error) return core::fail(*text.error);
    const auto topic = object.value("topic", Json(kTopicPrefix + entry.app));
    const auto sandbox = object.value("sandbox", Json(false));
    if (!topic.is_string()) return core::fail(Fault::invalid, "`topic` is not text");
    if (!sandbox.is_boolean()) return core::fail(Fault::invalid, "`sandbox` is not true or false");
    const auto pem = read(key_file);
    if (!pem) return core::fail(in_file(key_file, pem.error()));
    auto key = SigningKey::from_pem(*pem, SigningKey::Kind::es256);
    if (!key) return core::fail(in_file(key_file, key.error()));
    return ApnsCredentials{entry.app,           team,           key_id, topic.get<std::string>(),
                           sandbox.get<bool>(), std::move(*key)};
}

/// The credentials that `make` makes of the entry's file.
template <class Credentials, class Make>
core::Result<Credentials> load(const std::string& text, Make make) {
    const auto entry = split(text);
    if (!entry) return core::fail(entry.error());
    const auto object = read_object(entry->file);
    if (!object) return core::fail(in_file(entry->file, object.error()));
    auto made = make(*entry, *object);
    if (!made) return core::fail(in_file(entry->file, made.error()));
    return made;
}

}  // namespace

std::string app_of(const std::string& entry) {
    const auto equals = entry.find('=');
    return equals == std::string::npos ? "" : entry.substr(0, equals);
}

core::Result<FcmCredentials> load_fcm_credentials(const std::string& text) {
    return load<FcmCredentials>(text, fcm_from);
}

core::Result<ApnsCredentials> load_apns_credentials(const std::string& text) {
    return load<ApnsCredentials>(text, apns_from);
}

}  // namespace beckon::retry
