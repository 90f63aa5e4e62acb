#include "app/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/keys/keys_tool.hpp"

#include <CLI/CLI.hpp>

namespace beckon::tools {

namespace {

void add_import(app::CommandLine& line, CLI::App& keys) {
    static KeyLists lists;
    auto& command = line.add_configured(
        keys, "import", "Import the keys of another installation, before the ring's own",
        app::Reader::keys,
        [](const app::Config& config, const app::Sources&) { return keys_import(config, lists); });
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
    line.add_configured(keys, "generate", "Make a key ring file", app::Reader::keys,
                        [](const app::Config& config, const app::Sources&) {
                            return keys_generate(config, force_generate);
                        })
        .add_flag("--force", force_generate,
                  "Also beside a log whose own ring is lost for good: its endpoint URLs are dead");
    line.add_configured(
        keys, "list", "Show ids, ages and the fingerprint", app::Reader::keys,
        [](const app::Config& config, const app::Sources&) { return keys_list(config); });
    line.add_configured(keys, "rotate", "Add a key that encrypts from SIGHUP or the next start on",
                        app::Reader::keys, [](app::Config config, const app::Sources&) {
                            return keys_rotate(std::move(config));
                        });
    static bool force_publish = false;
    line.add_configured(keys, "publish",
                        "Write this ring's fingerprint to the log, so that roles with it may start",
                        app::Reader::keys,
                        [](app::Config config, const app::Sources&) {
                            return keys_publish(std::move(config), force_publish);
                        })
        .add_flag("--force", force_publish,
                  "Also a ring that lacks keys of the published one: their endpoint URLs die");
    add_import(line, keys);
    add_convert(line, keys);
    add_vapid(line, keys);
}

}  // namespace beckon::tools
