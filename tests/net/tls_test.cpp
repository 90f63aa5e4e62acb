#include "net/tls.hpp"

#include "core/handle.hpp"
#include "core/logger.hpp"
#include "net/self_signed.hpp"
#include "support/captured_output.hpp"
#include "support/temp_dir.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace beckon;
using namespace beckon::test;
using Catch::Contains;

namespace {

struct Files {
    TempDir directory;
    net::TlsFiles pair{directory / "certificate.pem", directory / "key.pem"};

    Files() { REQUIRE(net::write_self_signed(pair.certificate, pair.key, {})); }

    std::string why(const net::TlsFiles& files) const {
        const auto checked = net::check(files);
        const auto loaded = net::TlsContext::load(files);
        REQUIRE(checked.has_value() == loaded.has_value());
        if (checked) return "";
        CHECK(checked.error().message == loaded.error().message);
        return checked.error().message;
    }
    /// The pair's key with a passphrase, in the form of PKCS #8 or the older form.
    std::filesystem::path encrypted(bool pkcs8) const {
        using File = core::Handle<std::FILE, std::fclose>;
        const auto path = directory / "encrypted.pem";
        const File in{std::fopen(pair.key.c_str(), "r")};
        const core::Handle<EVP_PKEY, EVP_PKEY_free> key{
            PEM_read_PrivateKey(in.get(), nullptr, nullptr, nullptr)};
        REQUIRE(key);
        const File out{std::fopen(path.c_str(), "w")};
        const core::Handle<BIO, BIO_free> bio{BIO_new_fp(out.get(), BIO_NOCLOSE)};
        char secret[] = "secret";
        const int size = sizeof secret - 1;
        const int written =
            pkcs8 ? PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), EVP_aes_256_cbc(), secret,
                                                  size, nullptr, nullptr)
                  : PEM_write_bio_PrivateKey_traditional(bio.get(), key.get(), EVP_aes_256_cbc(),
                                                         reinterpret_cast<unsigned char*>(secret),
                                                         size, nullptr, nullptr);
        REQUIRE(written == 1);
        return path;
    }
};

}  // namespace

TEST_CASE("a certificate or key that cannot be read says so in the system's words") {
    const Files files;
    CHECK(files.why(files.pair).empty());
    const auto missing = files.directory / "missing.pem";
    CHECK(files.why({missing, files.pair.key}) ==
          "the TLS certificate " + missing.string() + " cannot be read: No such file or directory");
    CHECK(files.why({files.pair.certificate, missing}) ==
          "the TLS key " + missing.string() + " cannot be read: No such file or directory");
    CHECK_THAT(files.why({files.directory.path(), files.pair.key}),
               Contains("cannot be read: Is a directory"));
    // A reader would wait for whoever writes to it.
    const auto pipe = files.directory / "pipe";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK_THAT(files.why({pipe, files.pair.key}), Contains("it is no regular file"));
    CHECK_FALSE(net::read_certificate(pipe));
    if (::geteuid() == 0) return;  // root may read everything
    REQUIRE(::chmod(files.pair.key.c_str(), 0) == 0);
    CHECK_THAT(files.why(files.pair), Contains("cannot be read: Permission denied"));
}

TEST_CASE("an encrypted key is refused with a sentence, and nobody is asked for its passphrase") {
    const Files files;
    for (const bool pkcs8 : {true, false}) {
        CAPTURE(pkcs8);
        const auto key = files.encrypted(pkcs8);
        CHECK(files.why({files.pair.certificate, key}) ==
              "the TLS key " + key.string() +
                  " is encrypted: give one without a passphrase, which `openssl pkey -in " +
                  key.string() + " -out FILE` makes");
    }
}

TEST_CASE("a file that holds no certificate or another key says so without OpenSSL's codes") {
    const Files files;
    const Files others;
    CHECK(files.why({files.pair.certificate, others.pair.key}) ==
          "the TLS key " + others.pair.key.string() + " does not fit the certificate " +
              files.pair.certificate.string());
    const auto text = files.directory / "text";
    std::ofstream{text} << "no certificate\n";
    CHECK(files.why({text, files.pair.key}) ==
          "the TLS certificate " + text.string() +
              " cannot be used: it has none in PEM form (-----BEGIN …)");
    for (const auto& key : {text, files.pair.certificate}) {
        CAPTURE(key);
        const auto why = files.why({files.pair.certificate, key});
        CHECK(why == "the TLS key " + key.string() +
                         " cannot be used: it has none in PEM form (-----BEGIN …)");
    }
}

TEST_CASE("a certificate that has expired is used, and a line says so") {
    const Files files;
    const auto said = [](const std::filesystem::path& certificate) {
        CapturedStream output{stderr, STDERR_FILENO};
        core::configure_logging(core::LogLevel::info, core::LogFormat::text);
        net::warn_if_not_valid(certificate);
        core::configure_logging(core::LogLevel::error, core::LogFormat::text);
        return output.finish();
    };
    CHECK(said(files.pair.certificate).empty());
    const net::TlsFiles old{files.directory / "old.pem", files.directory / "old-key.pem"};
    REQUIRE(net::write_self_signed(old.certificate, old.key, {.valid = std::chrono::days{-1}}));
    CHECK(files.why(old).empty());
    CHECK_THAT(said(old.certificate),
               Contains("certificate_not_valid file=" + old.certificate.string() + " from="));
}
