#include "tools/keys/keys_tool.hpp"

#include "app/command/output.hpp"
#include "app/command_line.hpp"
#include "app/exit_codes.hpp"
#include "app/installation/installation.hpp"
#include "app/installation/key_ring_guard.hpp"
#include "app/process/process.hpp"
#include "client/p256_key.hpp"
#include "client/private_file.hpp"
#include "client/vapid.hpp"
#include "core/base64url.hpp"
#include "core/key_ring.hpp"
#include "inspect/log/log_service.hpp"
#include "tools/commands.hpp"

#include <sstream>

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

constexpr const char* kWhatDies =
    "every endpoint URL that was made with another ring: senders receive 410 (gone) for those "
    "subscriptions, and pages must subscribe again";

/// Prints the parts one behind the other.
template <class... Parts>
void say(const Parts&... parts) {
    std::ostringstream text;
    (text << ... << parts);
    app::print_text(text.str());
}

core::KeyRing load(const app::Config& config) { return app::must(config.load_key_ring()); }

void save(const core::KeyRing& ring, const std::filesystem::path& file) {
    if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path());
    app::must(ring.save(file));
}

void refuse_beside_log(const app::Config& config, const char* instead) {
    if (config.on_kafka() || !app::has_embedded_log(config)) return;
    throw app::StartupError((config.data / "log").string() +
                            " holds the log of an installation, and its own key ring is not at " +
                            config.key_ring_file().string() + ": put that back instead. " +
                            instead);
}

void publish(app::Installation& installation, const core::KeyRing& ring) {
    auto changed = installation.control();
    changed.keyring_fingerprint = ring.fingerprint();
    installation.write(changed);
    say("published the fingerprint ", ring.fingerprint(), "\n");
}

int pem_to_point(const std::string& pem, const std::string& file) {
    say(core::base64url(app::must(client::public_point_in(pem), file + " holds ")), "\n");
    return 0;
}

}  // namespace

int keys_generate(const app::Config& config, bool force) {
    const auto file = config.key_ring_file();
    if (std::filesystem::exists(file)) {
        throw app::StartupError(
            file.string() +
            " exists already; its endpoints would die with it. Use `beckon keys rotate`, "
            "or name another file with --key-ring");
    }
    if (!force) {
        refuse_beside_log(config, "If it is lost for good, --force makes a new one");
    }
    const auto ring = core::KeyRing::generate();
    save(ring, file);
    say("wrote ", file.string(), " (mode 0600), fingerprint ", ring.fingerprint(),
        "\ngive every endpoint and edge the same file; without it all endpoints are lost\n");
    return 0;
}

int keys_list(const app::Config& config) {
    const auto ring = load(config);
    say("fingerprint ", ring.fingerprint(), "\n");
    for (const auto& key : ring.keys()) {
        say("key ", int{key.id}, "  created ", key.created,
            (&key == &ring.newest() ? "  encrypts" : "  still read"), "\n");
    }
    say(ring.crypto_keys().size(), " Fernet keys (crypto_keys), ", ring.auth_keys().size(),
        " auth keys\n");
    return 0;
}

namespace {

core::KeyRing rotated(const app::Config& config) { return app::must(load(config).rotated()); }

/// Only the ring that the log names may be rotated.
void hold_to_published(const app::Config& config, const std::string& published) {
    const auto ring = load(config);
    const auto how = app::match(ring, published);
    if (how == app::RingMatch::same) return;
    const auto both = "the key ring " + config.key_ring_file().string() + " has the fingerprint " +
                      ring.fingerprint() + ", the log has " + published + ": ";
    throw app::StartupError(both + (how == app::RingMatch::grown
                                        ? "it has keys that wait for `beckon keys publish`, which "
                                          "ends the rotation before"
                                        : "it lacks keys of that; rotate the newest keys.json, "
                                          "which the roles use"));
}

}  // namespace

int keys_rotate(const app::Config& config) {
    const bool kafka = config.on_kafka();
    if (kafka || (app::has_embedded_log(config) && !app::DataDirectory::in_use(config.data))) {
        app::Installation installation{config};
        if (const auto& published = installation.control().keyring_fingerprint) {
            hold_to_published(config, *published);
        }
    }
    const auto ring = rotated(config);
    save(ring, config.key_ring_file());
    say("key ", int{ring.newest().id}, " is in ", config.key_ring_file().string());
    if (kafka) {
        say("\ncopy the file to every node and send SIGHUP to every role: then all read "
            "the key\nthen run `beckon keys publish`: it encrypts from then on\n");
    } else {
        say("; it encrypts from SIGHUP or the next start on\n");
    }
    return 0;
}

int keys_import(const app::Config& config, const KeyLists& lists) {
    if (lists.crypto_keys.empty() && lists.auth_keys.empty()) {
        throw app::StartupError("give --crypto-keys, --auth-keys or both, each as [key1,key2]");
    }
    const auto parsed = [](const char* option, const std::string& text, auto parse) {
        if (text.empty()) return std::vector<std::string>{};
        return app::must(parse(text), std::string{option} + ": ");
    };
    const auto crypto = parsed("--crypto-keys", lists.crypto_keys, core::parse_crypto_keys);
    const auto auth = parsed("--auth-keys", lists.auth_keys, core::parse_key_list);
    const bool made = !std::filesystem::exists(config.key_ring_file());
    if (made) refuse_beside_log(config, "`beckon keys generate --force` makes a new one");
    const auto ring = (made ? core::KeyRing::generate() : load(config)).imported(crypto, auth);
    save(ring, config.key_ring_file());
    if (made) say("made ", config.key_ring_file().string(), " (mode 0600)\n");
    say("the ring has ", ring.crypto_keys().size(), " Fernet keys (crypto_keys) and ",
        ring.auth_keys().size(), " auth keys now, fingerprint ", ring.fingerprint(),
        "\nif the log exists already, publish the ring to it with `beckon keys publish`; "
        "copy the file to every node\n");
    return 0;
}

int keys_publish(const app::Config& config, bool force) {
    const auto ring = load(config);
    app::Installation installation{config};
    const auto published = installation.control().keyring_fingerprint;
    if (published && app::match(ring, *published) == app::RingMatch::other) {
        if (!force) {
            throw app::StartupError("the key ring " + config.key_ring_file().string() +
                                    " has the fingerprint " + ring.fingerprint() +
                                    " and lacks keys of "
                                    "the published one, " +
                                    *published +
                                    ". --force publishes it all "
                                    "the same and kills " +
                                    kWhatDies);
        }
        say("this kills ", kWhatDies, "\n");
    }
    publish(installation, ring);
    return 0;
}

int keys_vapid(const std::filesystem::path& file, const std::filesystem::path& pem) {
    const bool made = !std::filesystem::exists(file);
    const auto key = app::must(client::load_vapid_key(file, client::IfMissing::create));
    if (!pem.empty()) app::must(client::write_private_file(pem, key.private_pem()));
    say((made ? "made " : "read "), file.string(),
        " (JSON with publicKey and privateKey, as npm web-push has them; keep it secret)\n");
    if (!pem.empty()) {
        say("wrote ", pem.string(), " (PEM, as pywebpush and py-vapid read it)\n");
    }
    say("applicationServerKey for pages: ", core::base64url(key.public_point()), "\n");
    return 0;
}

int keys_convert(const std::string& input) {
    if (std::filesystem::exists(input)) {
        return pem_to_point(app::must(client::read_text_file(input)), input);
    }
    const auto point = core::parse_base64_any(input);
    const auto pem = point ? client::public_pem(*point) : std::nullopt;
    if (!pem) {
        throw app::StartupError(
            "neither a PEM file nor a P-256 point in base64url (65 bytes, 87 characters, begins "
            "with B)");
    }
    say(*pem);
    return 0;
}

namespace {

void add_import(app::CommandLine& line, CLI::App& keys) {
    static KeyLists lists;
    auto& command =
        line.add(keys, "import", "Import the keys of another installation, before the ring's own",
                 app::Reader::keys, [](const auto& config) { return keys_import(config, lists); });
    command.add_option("--crypto-keys", lists.crypto_keys, "Fernet keys, as [key1,key2]")
        ->envname("AUTOEND__CRYPTO_KEYS");
    command
        .add_option("--auth-keys", lists.auth_keys,
                    "Keys that registration secrets are made with, as [key1,key2]")
        ->envname("AUTOEND__AUTH_KEYS");
}

void add_convert(app::CommandLine& line, CLI::App& keys) {
    static std::string input;
    auto& command = line.add(keys, "convert", "Turn a PEM file into a raw base64url point, or back",
                             [] { return keys_convert(input); });
    command.add_option("KEY", input, "A PEM file, or a raw point in base64url")->required();
}

void add_vapid(app::CommandLine& line, CLI::App& keys) {
    static std::filesystem::path file = "vapid.json";
    static std::filesystem::path pem;
    auto& command = line.add(keys, "vapid",
                             "Make or read the key pair of an application server, and print it in "
                             "the forms that pages and sender libraries need",
                             [] { return keys_vapid(file, pem); });
    command.add_option("FILE", file, "Key file; made if it does not exist")->capture_default_str();
    command.add_option("--pem", pem, "Also write the private key to this file as PEM");
}

}  // namespace

void add_keys_command(app::CommandLine& line) {
    auto& keys = line.add_group("keys", "The key ring, and keys of application servers");
    static bool force_generate = false;
    line.add(keys, "generate", "Make a key ring file", app::Reader::keys,
             [](const auto& config) { return keys_generate(config, force_generate); })
        .add_flag("--force", force_generate,
                  "Also beside a log whose own ring is lost for good: its endpoint URLs are dead");
    line.add(keys, "list", "Show ids, ages and the fingerprint", app::Reader::keys,
             [](const auto& config) { return keys_list(config); });
    line.add(keys, "rotate", "Add a key that encrypts from SIGHUP or the next start on",
             app::Reader::keys, [](const auto& config) { return keys_rotate(config); });
    static bool force_publish = false;
    line.add(keys, "publish",
             "Write this ring's fingerprint to the log, so that roles with it may start",
             app::Reader::keys,
             [](const auto& config) { return keys_publish(config, force_publish); })
        .add_flag("--force", force_publish,
                  "Also a ring that lacks keys of the published one: their endpoint URLs die");
    line.add(keys, "proof",
             "Print the token for pages of the ops port that need a proof of this ring",
             app::Reader::keys, [](const auto& config) {
                 app::print_line(inspect::log_proof(*app::load_key_ring(config)));
                 return app::kDone;
             });
    add_import(line, keys);
    add_convert(line, keys);
    add_vapid(line, keys);
}

}  // namespace beckon::tools
