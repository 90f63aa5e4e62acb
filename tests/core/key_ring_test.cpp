#include "core/key_ring.hpp"

#include "core/base64url.hpp"
#include "support/temp_dir.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <catch2/catch.hpp>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace beckon;
using namespace beckon::core;
namespace fs = std::filesystem;

namespace {

const std::string kSecret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";  // bytes 0 … 31
const std::string kFernetKey = kSecret + "=";

Secret32 counting_secret() {
    Secret32 secret{};
    for (std::size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<std::uint8_t>(i);
    return secret;
}

KeyRing ring_of(std::vector<std::string> crypto_keys = {},
                std::vector<std::string> auth_keys = {}) {
    return KeyRing{{{.id = 0, .secret = counting_secret(), .created = "2026-11-20T00:00:00Z"}},
                   std::move(crypto_keys),
                   std::move(auth_keys)};
}

void write(const fs::path& file, const std::string& text, mode_t mode = 0600) {
    std::ofstream{file} << text;
    REQUIRE(::chmod(file.c_str(), mode) == 0);
}

std::string read(const fs::path& file) {
    std::ifstream in{file};
    return {std::istreambuf_iterator<char>{in}, {}};
}

std::string key_json(const std::string& members) {
    return R"({"version":1,"keys":[{)" + members + "}]}";
}

struct Dir : test::TempDir {
    fs::path file = path() / "keys.json";
    /// The error of load() for a file with this text, without the part that names the file.
    std::string fault_of(const std::string& text) const {
        write(file, text);
        const auto ring = KeyRing::load(file);
        REQUIRE_FALSE(ring);
        CHECK(ring.error().fault == Fault::corrupt);
        const std::string head = "key ring " + file.string() + ": ";
        REQUIRE(ring.error().message.rfind(head, 0) == 0);
        return ring.error().message.substr(head.size());
    }
};

}  // namespace

TEST_CASE("a generated ring has one key of 32 bytes and one auth key, new each time") {
    const auto a = KeyRing::generate();
    const auto b = KeyRing::generate();
    CHECK(a.keys().size() == 1);
    CHECK(a.newest().id == 0);
    CHECK(a.newest().created.size() == 20);
    CHECK(a.newest().created.back() == 'Z');
    CHECK(a.newest().secret != b.newest().secret);
    CHECK(a.auth_keys().size() == 1);
    CHECK(a.auth_keys() != b.auth_keys());
    CHECK(a.crypto_keys().empty());
    CHECK(a.fingerprint() != b.fingerprint());
}

TEST_CASE("a saved ring is loaded back whole, and its file is for the owner alone") {
    const Dir dir;
    const auto ring = *ring_of({kFernetKey, kSecret}, {"first auth key", "second"}).rotated();
    REQUIRE(ring.save(dir.file));
    struct stat info {};
    REQUIRE(::stat(dir.file.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0600);

    const auto loaded = KeyRing::load(dir.file);
    REQUIRE(loaded);
    CHECK(loaded->keys().size() == 2);
    CHECK(loaded->keys()[0].secret == counting_secret());
    CHECK(loaded->keys()[0].created == "2026-11-20T00:00:00Z");
    CHECK(loaded->newest().secret == ring.newest().secret);
    CHECK(loaded->crypto_keys() == ring.crypto_keys());
    CHECK(loaded->auth_keys() == ring.auth_keys());
    CHECK(loaded->fingerprint() == ring.fingerprint());
}

TEST_CASE("saving replaces the file and leaves nothing beside it") {
    const Dir dir;
    write(dir.file, "old, and readable for all", 0644);
    REQUIRE(ring_of().save(dir.file));
    CHECK(KeyRing::load(dir.file));
    CHECK(std::distance(fs::directory_iterator{dir.path()}, fs::directory_iterator{}) == 1);
}

TEST_CASE("saving removes what a killed save has left, and nothing else") {
    const Dir dir;
    write(dir.path() / ".keys.json.new-a1B2c3", "of a save that was killed", 0600);
    for (const auto* name : {"keys.json.backup", ".keys.json.old", ".other.json.new-a1B2c3"}) {
        write(dir.path() / name, "somebody's", 0600);
    }
    const auto under_way = dir.path() / ".keys.json.new-d4E5f6";
    write(under_way, "of a save that goes on", 0600);
    const int held = ::open(under_way.c_str(), O_RDONLY | O_CLOEXEC);
    REQUIRE(::flock(held, LOCK_EX) == 0);
    REQUIRE(ring_of().save(dir.file));
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator{dir.path()}) {
        names.insert(entry.path().filename().string());
    }
    CHECK(names == std::set<std::string>{"keys.json", "keys.json.backup", ".keys.json.old",
                                         ".other.json.new-a1B2c3", ".keys.json.new-d4E5f6"});
    ::close(held);
    REQUIRE(ring_of().save(dir.file));
    CHECK_FALSE(fs::exists(under_way));
}

TEST_CASE("a save that is killed before its end is made up for by the next one") {
    const Dir dir;
    const auto child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {  // killed by its first write, as by kill -9
        const rlimit none{.rlim_cur = 0, .rlim_max = 0};
        if (::setrlimit(RLIMIT_FSIZE, &none) == 0) static_cast<void>(ring_of().save(dir.file));
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    CHECK_FALSE(fs::is_empty(dir.path()));
    REQUIRE(ring_of().save(dir.file));
    CHECK(std::distance(fs::directory_iterator{dir.path()}, fs::directory_iterator{}) == 1);
}

TEST_CASE("a save that fails leaves the old file as it was") {
    const Dir dir;
    const auto missing = ring_of().save(dir.path() / "none" / "keys.json");
    REQUIRE_FALSE(missing);
    CHECK(missing.error().fault == Fault::not_found);
    CHECK(missing.error().message.find("cannot write key ring") != std::string::npos);

    fs::create_directory(dir.file);  // rename() cannot replace a directory by a file
    write(dir.file / "inside", "x");
    CHECK_FALSE(ring_of().save(dir.file));
    CHECK(read(dir.file / "inside") == "x");
    CHECK(std::distance(fs::directory_iterator{dir.path()}, fs::directory_iterator{}) == 1);
}

TEST_CASE("when the disk takes no more, the old ring stays and nothing lies about") {
    const Dir dir;
    REQUIRE(ring_of().save(dir.file));
    const auto before = read(dir.file);
    // A file size limit of 0 stands in for the full disk.
    const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit old_limit{};
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = old_limit.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
    const auto saved = KeyRing::generate().save(dir.file);
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &old_limit) == 0);
    std::signal(SIGXFSZ, old_handler);

    REQUIRE_FALSE(saved);
    CHECK(saved.error().fault == Fault::full);
    CHECK(read(dir.file) == before);
    CHECK(std::distance(fs::directory_iterator{dir.path()}, fs::directory_iterator{}) == 1);
}

TEST_CASE("the highest id encrypts, whatever the order in the file") {
    const Dir dir;
    write(dir.file, R"({"version":1,"keys":[{"id":7,"secret":")" + kSecret +
                        R"("},{"id":3,"secret":")" + kSecret + R"(","created":"x"}]})");
    const auto ring = KeyRing::load(dir.file);
    REQUIRE(ring);
    CHECK(ring->newest().id == 7);
    CHECK(ring->keys().front().id == 3);
    CHECK(ring->find(3)->created == "x");
    CHECK(ring->find(7)->created.empty());
    CHECK(ring->find(4) == nullptr);
}

TEST_CASE("rotation adds a key and keeps the others, up to 32") {
    auto ring = ring_of({kFernetKey}, {"auth"});
    for (std::uint8_t id = 1; id < KeyRing::kKeysMax; ++id) {
        auto next = ring.rotated();
        REQUIRE(next);
        CHECK(next->newest().id == id);
        CHECK(next->fingerprint() != ring.fingerprint());
        ring.grow(*next, *next);
    }
    CHECK(ring.keys().size() == 32);
    CHECK(ring.find(0)->secret == counting_secret());
    CHECK(ring.crypto_keys().size() == 1);
    const auto full = ring.rotated();
    REQUIRE_FALSE(full);
    CHECK(full.error().fault == Fault::full);
}

TEST_CASE("HKDF-SHA256 separates keys and purposes") {
    const auto ring = ring_of();
    const auto token = KeyRing::derive(ring.newest(), "beckon/token/1");
    // Computed with Python's cryptography: HKDF(SHA256, 32, salt=None, info=…).derive(bytes 0 … 31)
    CHECK(base64url({reinterpret_cast<const char*>(token.data()), token.size()}) ==
          "e0z3_j99vfZtuqQVuVG6J2zovmVnbjkZ8E-SePH-mVM");
    CHECK(token == KeyRing::derive(ring.newest(), "beckon/token/1"));
    CHECK(token != KeyRing::derive(ring.newest(), "beckon/message-id/1"));
    CHECK(token != KeyRing::derive(ring.rotated()->newest(), "beckon/token/1"));
}

TEST_CASE("the fingerprint follows all key material and nothing else") {
    const auto plain = ring_of().fingerprint();
    CHECK(plain.size() == 16);
    CHECK(plain.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(ring_of({kFernetKey}).fingerprint() != plain);
    CHECK(ring_of({}, {"a"}).fingerprint() != plain);
    CHECK(ring_of({}, {"a", "b"}).fingerprint() != ring_of({}, {"ab"}).fingerprint());
    CHECK(ring_of({}, {kFernetKey}).fingerprint() != ring_of({kFernetKey}).fingerprint());
    const KeyRing later{
        {{.id = 0, .secret = counting_secret(), .created = "2027-01-01T00:00:00Z"}}, {}, {}};
    CHECK(later.fingerprint() == plain);
}

// ------------------------------------------------------------------------------ file faults

TEST_CASE("a missing key ring is not found") {
    const Dir dir;
    const auto ring = KeyRing::load(dir.file);
    REQUIRE_FALSE(ring);
    CHECK(ring.error() == Error{Fault::not_found, "cannot read key ring " + dir.file.string() +
                                                      ": No such file or directory"});
}

TEST_CASE("a key ring that others may use is refused with its mode") {
    const Dir dir;
    const auto [mode, text] = GENERATE(table<mode_t, std::string>(
        {{0644, "0644"}, {0640, "0640"}, {0604, "0604"}, {0620, "0620"}, {0601, "0601"}}));
    REQUIRE(ring_of().save(dir.file));
    REQUIRE(::chmod(dir.file.c_str(), mode) == 0);
    const auto ring = KeyRing::load(dir.file);
    REQUIRE_FALSE(ring);
    CHECK(ring.error() ==
          Error{Fault::unauthorized, "key ring " + dir.file.string() + " has mode " + text +
                                         ": others may use it; allowed is 0600 (chmod 600)"});
    REQUIRE(::chmod(dir.file.c_str(), 0400) == 0);
    CHECK(KeyRing::load(dir.file));
}

TEST_CASE("a key ring is a file of reasonable size") {
    const Dir dir;
    fs::create_directory(dir.file);
    CHECK(KeyRing::load(dir.file).error().message ==
          "key ring " + dir.file.string() + " is not a regular file");
    fs::remove(dir.file);
    REQUIRE(::mkfifo(dir.file.c_str(), 0600) == 0);
    CHECK(KeyRing::load(dir.file).error().message ==
          "key ring " + dir.file.string() + " is not a regular file");
    fs::remove(dir.file);
    write(dir.file, "x");
    fs::resize_file(dir.file, KeyRing::kFileBytesMax + 1);
    CHECK(KeyRing::load(dir.file).error() ==
          Error{Fault::too_large, "key ring " + dir.file.string() + " is larger than 1 MiB"});
}

TEST_CASE("a file that is no JSON: the line, and no secret") {
    const Dir dir;
    CHECK(dir.fault_of("") == "line 1 is not JSON");
    CHECK(dir.fault_of("{\n  \"version\": 1,\n  \"keys\": [{\"secret\": \"hidden!\n") ==
          "line 3 is not JSON");
    auto text = R"({"version":1,"keys":[{"id":0,"secret":")" + kSecret + R"("}]})";
    text.resize(text.size() - 3);  // a write that did not end
    CHECK(dir.fault_of(text) == "line 1 is not JSON");
    CHECK(dir.fault_of(std::string(1000, '[')) == "line 1 is not JSON");
}

TEST_CASE("each fault inside the file is named with its place") {
    const Dir dir;
    constexpr auto kVersionFault = "\"version\" must be 1, the only one that this build reads";
    constexpr auto kKeysFault = "\"keys\" must be a list with at least one key";
    CHECK(dir.fault_of("[]") == "must be a JSON object");
    CHECK(dir.fault_of("{}") == kVersionFault);
    CHECK(dir.fault_of(R"({"version":2})") == kVersionFault);
    CHECK(dir.fault_of(R"({"version":"1"})") == kVersionFault);
    CHECK(dir.fault_of(R"({"version":1,"crypto_key":[]})") ==
          "has an unknown member \"crypto_key\"; allowed are version, keys, crypto_keys, "
          "auth_keys");
    CHECK(dir.fault_of(R"({"version":1})") == kKeysFault);
    CHECK(dir.fault_of(R"({"version":1,"keys":[]})") == kKeysFault);
    CHECK(dir.fault_of(R"({"version":1,"keys":{}})") == kKeysFault);
    CHECK(dir.fault_of(R"({"version":1,"keys":[5]})") == "keys[0] is not an object");
    CHECK(dir.fault_of(key_json(R"("id":0,"sceret":"x")")) ==
          "keys[0] has an unknown member \"sceret\"; allowed are id, secret, created");
    for (const auto* id : {"-1", "32", "0.5", "\"0\"", "null"}) {
        CAPTURE(id);
        CHECK(dir.fault_of(key_json(std::string{"\"id\":"} + id)) ==
              "keys[0].id must be a number from 0 to 31");
    }
    CHECK(dir.fault_of(key_json(R"("secret":"x")")) == "keys[0].id must be a number from 0 to 31");
    for (const auto& secret : {std::string{"5"}, std::string{"\"\""}, "\"" + kSecret + "AA\"",
                               "\"" + kSecret.substr(2) + "\"", "\"!" + kSecret.substr(1) + "\""}) {
        CAPTURE(secret);
        CHECK(dir.fault_of(key_json("\"id\":0,\"secret\":" + secret)) ==
              "keys[0].secret must be base64url of 32 bytes");
    }
    const std::string good = R"("id":0,"secret":")" + kSecret + "\"";
    CHECK(dir.fault_of(key_json(good + ",\"created\":5")) == "keys[0].created must be text");
    CHECK(dir.fault_of(R"({"version":1,"keys":[{)" + good + "},{" + good + "}]}") ==
          "keys[1].id is there twice");
    const std::string head = R"({"version":1,"keys":[{)" + good + "}],";
    CHECK(dir.fault_of(head + R"("crypto_keys":"x"})") ==
          "\"crypto_keys\" must be a list of texts");
    CHECK(dir.fault_of(head + R"("auth_keys":[""]})") ==
          "\"auth_keys\" must be a list of non-empty texts");
    CHECK(dir.fault_of(head + R"("crypto_keys":[")" + kFernetKey + R"(","short"]})") ==
          "crypto_keys[1] must be base64url of 32 bytes (a Fernet key)");
}

// ------------------------------------------------------------------ the reference's notation

TEST_CASE("a key list stands in brackets; blanks and quotes are stripped") {
    using Keys = std::vector<std::string>;
    CHECK(*parse_key_list("[]") == Keys{});
    CHECK(*parse_key_list("[a]") == Keys{"a"});
    CHECK(*parse_key_list(" [ \"a==\" ,\tb ] ") == Keys{"a==", "b"});
    CHECK(*parse_crypto_keys("[" + kFernetKey + ",\"" + kSecret + "\"]") ==
          Keys{kFernetKey, kSecret});
}

TEST_CASE("a faulty key list is refused without quoting it") {
    constexpr auto kBrackets = "a key list stands in square brackets: [key1,key2]";
    for (const auto* text : {"", "[", "]", "a,b", "[a,b", "a]", "(a)"}) {
        CAPTURE(text);
        CHECK(parse_key_list(text).error() == Error{Fault::invalid, kBrackets});
    }
    CHECK(parse_key_list("[,]").error().message ==
          "key 1 of the list is empty; allowed is [key1,key2]");
    CHECK(parse_key_list("[a,]").error().message ==
          "key 2 of the list is empty; allowed is [key1,key2]");
    CHECK(parse_key_list("[a,,b]").error().message ==
          "key 2 of the list is empty; allowed is [key1,key2]");
    CHECK(parse_crypto_keys("[" + kFernetKey + ",abc]").error() ==
          Error{Fault::invalid, "key 2 of the list is no Fernet key: base64url of 32 bytes"});
    CHECK(parse_crypto_keys(kFernetKey).error().message == kBrackets);
}

TEST_CASE("a ring grows under its readers, and what it handed out stays") {
    KeyRing ring = ring_of({}, {"first"});
    const auto& keys = ring.keys();
    const auto* auth = ring.auth_key();
    const auto version = ring.version();
    const auto grown = ring.rotated()->imported({}, {"imported"});
    const KeyRing before = ring;

    ring.grow(grown, before);
    CHECK(ring.version() != version);
    CHECK(ring.keys().size() == 2);
    CHECK(ring.fingerprint() == grown.fingerprint());
    CHECK(ring.sealing().id == 0);
    CHECK(*ring.auth_key() == "first");  // the other processes do not have "imported" yet
    CHECK(ring.auth_keys() == std::vector<std::string>{"imported", "first"});

    ring.grow(grown, grown);
    CHECK(ring.sealing().id == 1);
    CHECK(*ring.auth_key() == "imported");
    CHECK(keys.size() == 1);
    CHECK(*auth == "first");
    CHECK(before.keys().size() == 1);
}

TEST_CASE("a ring without auth keys makes no registration secrets") {
    const auto ring = ring_of();
    CHECK(ring.auth_key() == nullptr);
    CHECK(*ring.imported({}, {"auth"}).auth_key() == "auth");
}
