#include "core/key_ring.hpp"

#include "core/assert.hpp"
#include "core/base64url.hpp"
#include "core/clock.hpp"
#include "core/descriptors.hpp"
#include "core/handle.hpp"
#include "core/json_member.hpp"
#include "core/json_text.hpp"
#include "core/time_text.hpp"
#include "core/tokens.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <optional>
#include <stdexcept>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <openssl/core_names.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace beckon::core {

namespace {

using Json = nlohmann::json;

constexpr int kFileVersion = 1;

Secret32 random_secret() {
    Secret32 secret{};
    const int ok = RAND_bytes(secret.data(), static_cast<int>(secret.size()));
    BECKON_ASSERT(ok == 1, "the system's random generator failed");
    return secret;
}

std::string_view as_text(const Secret32& secret) {
    return {reinterpret_cast<const char*>(secret.data()), secret.size()};
}

// ----------------------------------------------------------------------------------- files

Fault fault_of_errno(int code) {
    switch (code) {
        case ENOENT:
        case ENOTDIR: return Fault::not_found;
        case EACCES:
        case EPERM:
        case EROFS:
        case ELOOP: return Fault::unauthorized;
        case EFBIG:
        case ENOSPC:
        case EDQUOT: return Fault::full;
        default: return Fault::unavailable;
    }
}

tl::unexpected<Error> file_fault(int code, std::string_view doing,
                                 const std::filesystem::path& file) {
    return fail(fault_of_errno(code), std::string{"cannot "}
                                          .append(doing)
                                          .append(" ")
                                          .append(file.string())
                                          .append(": ")
                                          .append(std::strerror(code)));
}

Result<void> check_file(const struct stat& info, const std::filesystem::path& file,
                        KeyRing::Access access) {
    if (!S_ISREG(info.st_mode)) {
        return fail(Fault::corrupt, "key ring " + file.string() + " is not a regular file");
    }
    const bool group = access == KeyRing::Access::group;
    if ((info.st_mode & (group ? 037U : 077U)) != 0) {
        std::array<char, 8> mode{};
        std::snprintf(mode.data(), mode.size(), "%04o", info.st_mode & 07777U);
        return fail(Fault::unauthorized, "key ring " + file.string() + " has mode " + mode.data() +
                                             ": others may use it; allowed is " +
                                             (group ? "0640 (chmod 640)" : "0600 (chmod 600)"));
    }
    if (static_cast<std::uintmax_t>(info.st_size) > KeyRing::kFileBytesMax) {
        return fail(Fault::too_large, "key ring " + file.string() + " is larger than 1 MiB");
    }
    return {};
}

Result<std::string> read_file(const std::filesystem::path& file, KeyRing::Access access) {
    // Non-blocking, in case a FIFO stands in the file's place.
    const Descriptor fd{::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (!fd) return file_fault(errno, "read key ring", file);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) return file_fault(errno, "read key ring", file);
    if (auto ok = check_file(info, file, access); !ok) return fail(ok.error());
    std::string text(static_cast<std::size_t>(info.st_size), '\0');
    std::size_t have = 0;
    while (have < text.size()) {
        const auto got = ::read(fd.get(), text.data() + have, text.size() - have);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return file_fault(errno, "read key ring", file);
        if (got == 0) break;
        have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return text;
}

/// The rename itself must survive a power loss, too.
Result<void> sync_directory(const std::filesystem::path& directory) {
    const Descriptor fd{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!fd || ::fsync(fd.get()) != 0) return file_fault(errno, "sync", directory);
    return {};
}

/// The file that a chain of symbolic links ends at.
std::filesystem::path target_of(const std::filesystem::path& file) {
    std::error_code error;
    const auto target = std::filesystem::canonical(file, error);
    return error ? file : target;
}

/// Gives the new file the mode and owner of the old one. Only root may change a file's owner: any
/// other user who rewrites it becomes its owner.
void keep_mode_and_owner(int fd, const std::filesystem::path& old) {
    struct stat info {};
    if (::stat(old.c_str(), &info) != 0) return;
    if (::fchown(fd, info.st_uid, info.st_gid) != 0 && ::fchown(fd, uid_t(-1), info.st_gid) != 0) {
        return;  // then its mode stays 0600: another group must not read it
    }
    // One that others could use was no key ring: then the mode stays 0600.
    if ((info.st_mode & 037U) == 0) static_cast<void>(::fchmod(fd, info.st_mode & 0777U));
}

std::filesystem::path directory_of(const std::filesystem::path& file) {
    const auto parent = file.parent_path();
    return parent.empty() ? std::filesystem::path{"."} : parent;
}

/// With this begin the names of temporary files, and of no file that a person makes.
std::string temporary_beginning(const std::filesystem::path& file) {
    return "." + file.filename().string() + ".new-";
}

/// A save that was killed has left its temporary file, with keys that nobody uses. The file of a
/// save that goes on is locked.
void remove_left_overs(const std::filesystem::path& file) {
    const auto beginning = temporary_beginning(file);
    std::error_code error;
    std::filesystem::directory_iterator entry{directory_of(file), error};
    for (; !error && entry != std::filesystem::directory_iterator{}; entry.increment(error)) {
        const auto& path = entry->path();
        if (!path.filename().string().starts_with(beginning)) continue;
        const Descriptor fd{::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)};
        if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
    }
}

struct Temporary {
    std::string path;
    int fd = -1;
};

/// A locked file of mode 0600 beside `file`; without a descriptor: errno says why.
Temporary open_temporary(const std::filesystem::path& file) {
    while (true) {
        auto path = (directory_of(file) / (temporary_beginning(file) + "XXXXXX")).string();
        const int fd = ::mkostemp(path.data(), O_CLOEXEC);
        if (fd < 0) return {};
        static_cast<void>(::flock(fd, LOCK_EX));  // where there are no locks, nobody removes it
        struct stat info {};
        if (::fstat(fd, &info) != 0 || info.st_nlink > 0) return {std::move(path), fd};
        ::close(fd);  // another save has removed it before it was locked
    }
}

Result<void> write_file(const std::filesystem::path& named, std::string_view text) {
    const auto file = target_of(named);
    remove_left_overs(file);
    const auto [temporary, opened] = open_temporary(file);
    const Descriptor fd{opened};
    if (!fd) return file_fault(errno, "write key ring", file);
    keep_mode_and_owner(fd.get(), file);
    if (!write_all(fd.get(), text) || ::fsync(fd.get()) != 0 ||
        ::rename(temporary.c_str(), file.c_str()) != 0) {
        const int code = errno;
        ::unlink(temporary.c_str());
        return file_fault(code, "write key ring", file);
    }
    return sync_directory(directory_of(file));
}

// ------------------------------------------------------------------------------- the format

/// Names the place of a fault in the file, and never quotes it.
class RingFile {
public:
    explicit RingFile(const std::filesystem::path& file) : file_(file.string()) {}
    tl::unexpected<Error> corrupt(std::string_view what) const {
        return fail(Fault::corrupt, "key ring " + file_ + ": " + std::string{what});
    }

private:
    std::string file_;
};

/// `byte` counts from 1, as the parser does.
std::string line_of(std::string_view text, std::size_t byte) {
    const auto upto = text.substr(0, byte == 0 ? 0 : byte - 1);
    return std::to_string(1 + std::count(upto.begin(), upto.end(), '\n'));
}

std::optional<std::string> unknown_member(const Json& object,
                                          std::initializer_list<std::string_view> known) {
    for (const auto& item : object.items()) {
        if (std::find(known.begin(), known.end(), item.key()) == known.end()) return item.key();
    }
    return std::nullopt;
}

std::optional<Secret32> parse_secret(std::string_view text) {
    Secret32 secret{};
    if (parse_base64url(text, secret) != secret.size()) return std::nullopt;
    return secret;
}

Result<KeyRing::Key> read_key(const Json& item, const std::string& where, const RingFile& in) {
    if (!item.is_object()) return in.corrupt(where + " is not an object");
    if (const auto name = unknown_member(item, {"id", "secret", "created"})) {
        return in.corrupt(where + " has an unknown member \"" + *name +
                          "\"; allowed are id, secret, created");
    }
    const auto id = item.find("id");
    if (id == item.end() || !id->is_number_unsigned() ||
        id->get<std::uint64_t>() >= KeyRing::kKeysMax) {
        return in.corrupt(where + ".id must be a number from 0 to 31");
    }
    const auto* secret = find_text(item, "secret");
    const auto bytes = secret ? parse_secret(*secret) : std::nullopt;
    if (!bytes) return in.corrupt(where + ".secret must be base64url of 32 bytes");
    const auto created = item.find("created");
    if (created != item.end() && !created->is_string()) {
        return in.corrupt(where + ".created must be text");
    }
    return KeyRing::Key{.id = id->get<std::uint8_t>(),
                        .secret = *bytes,
                        .created = created == item.end() ? "" : created->get<std::string>()};
}

Result<std::vector<KeyRing::Key>> read_keys(const Json& root, const RingFile& in) {
    const auto list = root.find("keys");
    if (list == root.end() || !list->is_array() || list->empty()) {
        return in.corrupt("\"keys\" must be a list with at least one key");
    }
    std::vector<KeyRing::Key> keys;
    for (std::size_t i = 0; i < list->size(); ++i) {
        const std::string where = "keys[" + std::to_string(i) + "]";
        auto key = read_key((*list)[i], where, in);
        if (!key) return fail(key.error());
        const auto same = [&](const KeyRing::Key& other) { return other.id == key->id; };
        if (std::any_of(keys.begin(), keys.end(), same)) {
            return in.corrupt(where + ".id is there twice");
        }
        keys.push_back(std::move(*key));
    }
    return keys;
}

Result<std::vector<std::string>> read_texts(const Json& root, const char* name,
                                            const RingFile& in) {
    std::vector<std::string> texts;
    const auto list = root.find(name);
    if (list == root.end()) return texts;
    const std::string quoted = std::string{"\""} + name + "\"";
    if (!list->is_array()) return in.corrupt(quoted + " must be a list of texts");
    for (const auto& item : *list) {
        if (!item.is_string() || item.get_ref<const std::string&>().empty()) {
            return in.corrupt(quoted + " must be a list of non-empty texts");
        }
        texts.push_back(item.get<std::string>());
    }
    return texts;
}

/// The number, from 1, of the first that is no Fernet key.
std::optional<std::size_t> first_bad_crypto_key(const std::vector<std::string>& keys) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (!parse_secret(keys[i])) return i + 1;
    }
    return std::nullopt;
}

Result<KeyRing> read_ring(const Json& root, const RingFile& in) {
    if (!root.is_object()) return in.corrupt("must be a JSON object");
    const auto version = root.find("version");
    if (version == root.end() || *version != kFileVersion) {
        return in.corrupt("\"version\" must be 1, the only one that this build reads");
    }
    if (const auto name = unknown_member(root, {"version", "keys", "crypto_keys", "auth_keys"})) {
        return in.corrupt("has an unknown member \"" + *name +
                          "\"; allowed are version, keys, crypto_keys, auth_keys");
    }
    auto keys = read_keys(root, in);
    if (!keys) return fail(keys.error());
    auto crypto_keys = read_texts(root, "crypto_keys", in);
    if (!crypto_keys) return fail(crypto_keys.error());
    if (const auto bad = first_bad_crypto_key(*crypto_keys)) {
        return in.corrupt("crypto_keys[" + std::to_string(*bad - 1) +
                          "] must be base64url of 32 bytes (a Fernet key)");
    }
    auto auth_keys = read_texts(root, "auth_keys", in);
    if (!auth_keys) return fail(auth_keys.error());
    return KeyRing{std::move(*keys), std::move(*crypto_keys), std::move(*auth_keys)};
}

std::string print_ring(const KeyRing& ring) {
    Json keys = Json::array();
    for (const auto& key : ring.keys()) {
        keys.push_back(
            {{"id", key.id}, {"secret", base64url(as_text(key.secret))}, {"created", key.created}});
    }
    const Json root{{"version", kFileVersion},
                    {"keys", std::move(keys)},
                    {"crypto_keys", ring.crypto_keys()},
                    {"auth_keys", ring.auth_keys()}};
    return core::json_text(root, 2) + "\n";
}

}  // namespace

KeyRing::KeyRing(std::vector<Key> keys, std::vector<std::string> crypto_keys,
                 std::vector<std::string> auth_keys)
    : KeyRing(State{.keys = std::move(keys),
                    .crypto_keys = std::move(crypto_keys),
                    .auth_keys = std::move(auth_keys),
                    .auth_key = {}}) {}

KeyRing::KeyRing(State state) {
    const auto by_id = [](const Key& a, const Key& b) { return a.id < b.id; };
    const auto same_id = [](const Key& a, const Key& b) { return a.id == b.id; };
    auto& keys = state.keys;
    std::sort(keys.begin(), keys.end(), by_id);
    BECKON_ASSERT(!keys.empty(), "a key ring has a key");
    BECKON_ASSERT(keys.back().id < kKeysMax, "key ids have five bits");
    BECKON_ASSERT(std::adjacent_find(keys.begin(), keys.end(), same_id) == keys.end(),
                  "key ids are unique");
    BECKON_ASSERT(!first_bad_crypto_key(state.crypto_keys),
                  "Fernet keys are checked where they enter");
    state.sealing = keys.back().id;
    if (!state.auth_keys.empty()) state.auth_key = state.auth_keys.front();
    states_.push_back(std::make_unique<const State>(std::move(state)));
    now_ = states_.back().get();
}

KeyRing::KeyRing(const KeyRing& other) {
    states_.push_back(std::make_unique<const State>(other.state()));
    now_ = states_.back().get();
}

void KeyRing::grow(const KeyRing& all, const KeyRing& in_force) {
    const std::lock_guard lock{growing_};
    for (const auto& key : keys()) {
        const auto* same = all.find(key.id);
        BECKON_ASSERT(same && same->secret == key.secret, "a ring that grows loses no key");
    }
    State grown = all.state();
    grown.sealing = in_force.newest().id;
    grown.auth_key = in_force.auth_keys().empty() ? "" : in_force.auth_keys().front();
    grown.version = state().version + 1;
    BECKON_ASSERT(all.find(grown.sealing), "the key that encrypts is in the ring");
    states_.push_back(std::make_unique<const State>(std::move(grown)));
    now_.store(states_.back().get(), std::memory_order_release);
}

const std::string* KeyRing::auth_key() const {
    const auto& now = state();
    return now.auth_key.empty() ? nullptr : &now.auth_key;
}

KeyRing KeyRing::generate() {
    return KeyRing{{Key{.id = 0,
                        .secret = random_secret(),
                        .created = time_text_in_seconds(SystemClock{}.wall())}},
                   {},
                   {base64url(as_text(random_secret()))}};
}

Result<KeyRing> KeyRing::load(const std::filesystem::path& file, Access access) {
    const auto text = read_file(file, access);
    if (!text) return fail(text.error());
    const RingFile in{file};
    try {
        return read_ring(must_parse_json(*text), in);
    } catch (const Json::parse_error& fault) {
        // The parser's own message would quote the file.
        return in.corrupt("line " + line_of(*text, fault.byte) + " is not JSON");
    }
}

Result<void> KeyRing::save(const std::filesystem::path& file) const {
    return write_file(file, print_ring(*this));
}

Result<KeyRing> KeyRing::rotated() const {
    if (newest().id + 1U >= kKeysMax) {
        return fail(Fault::full, "the key ring already has key 31, the last possible");
    }
    auto keys = this->keys();
    keys.push_back(Key{.id = static_cast<std::uint8_t>(newest().id + 1),
                       .secret = random_secret(),
                       .created = time_text_in_seconds(SystemClock{}.wall())});
    return KeyRing{std::move(keys), crypto_keys(), auth_keys()};
}

KeyRing KeyRing::imported(std::vector<std::string> crypto_keys,
                          std::vector<std::string> auth_keys) const {
    const auto append_missing = [](std::vector<std::string>& list,
                                   const std::vector<std::string>& others) {
        for (const auto& key : others) {
            if (std::find(list.begin(), list.end(), key) == list.end()) list.push_back(key);
        }
    };
    append_missing(crypto_keys, this->crypto_keys());
    append_missing(auth_keys, this->auth_keys());
    return KeyRing{keys(), std::move(crypto_keys), std::move(auth_keys)};
}

const KeyRing::Key* KeyRing::find(std::uint8_t id) const {
    const auto& all = keys();
    const auto at =
        std::find_if(all.begin(), all.end(), [id](const Key& key) { return key.id == id; });
    return at == all.end() ? nullptr : &*at;
}

std::string KeyRing::fingerprint() const {
    // Each part with its length in front, so that no two rings give the same bytes.
    std::string material;
    const auto add = [&material](std::string_view part) {
        material.append(std::to_string(part.size())).append(":").append(part);
    };
    add("keys");
    const auto& now = state();
    for (const auto& key : now.keys) {
        add(std::to_string(key.id));
        add(as_text(key.secret));
    }
    add("crypto_keys");
    for (const auto& key : now.crypto_keys) add(key);
    add("auth_keys");
    for (const auto& key : now.auth_keys) add(key);
    const Sha256 digest = sha256(material);
    return hex({reinterpret_cast<const char*>(digest.data()), 8});
}

Secret32 KeyRing::derive(const Key& key, std::string_view purpose) {
    const Handle<EVP_KDF, EVP_KDF_free> kdf{EVP_KDF_fetch(nullptr, "HKDF", nullptr)};
    const Handle<EVP_KDF_CTX, EVP_KDF_CTX_free> context{EVP_KDF_CTX_new(kdf.get())};
    if (!context) throw std::runtime_error("this OpenSSL has no HKDF");
    std::string digest = "SHA256";
    auto secret = key.secret;
    std::string info{purpose};
    const std::array<OSSL_PARAM, 4> params{
        OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
        OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
        OSSL_PARAM_construct_end()};
    Secret32 derived{};
    const int ok = EVP_KDF_derive(context.get(), derived.data(), derived.size(), params.data());
    BECKON_ASSERT(ok == 1, "HKDF-SHA256 of 32 bytes cannot fail");
    return derived;
}

// ------------------------------------------------------------------- lists in one setting

Result<std::vector<std::string>> parse_key_list(std::string_view text) {
    std::string stripped;
    std::copy_if(text.begin(), text.end(), std::back_inserter(stripped), [](char c) {
        return c != '"' && c != ' ' && c != '\t' && c != '\r' && c != '\n';
    });
    if (stripped.size() < 2 || stripped.front() != '[' || stripped.back() != ']') {
        return fail(Fault::invalid, "a key list stands in square brackets: [key1,key2]");
    }
    std::vector<std::string> keys;
    const std::string_view inner{stripped.data() + 1, stripped.size() - 2};
    if (inner.empty()) return keys;
    for (std::size_t from = 0; from <= inner.size();) {
        const auto comma = std::min(inner.find(',', from), inner.size());
        if (comma == from) {
            return fail(Fault::invalid, "key " + std::to_string(keys.size() + 1) +
                                            " of the list is empty; allowed is [key1,key2]");
        }
        keys.emplace_back(inner.substr(from, comma - from));
        from = comma + 1;
    }
    return keys;
}

Result<std::vector<std::string>> parse_crypto_keys(std::string_view text) {
    auto keys = parse_key_list(text);
    if (!keys) return keys;
    if (const auto bad = first_bad_crypto_key(*keys)) {
        return fail(Fault::invalid, "key " + std::to_string(*bad) +
                                        " of the list is no Fernet key: base64url of 32 bytes");
    }
    return keys;
}

}  // namespace beckon::core
