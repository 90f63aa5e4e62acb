#include "net/self_signed.hpp"

#include "core/handle.hpp"
#include "net/descriptor.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <system_error>

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <unistd.h>

namespace beckon::net {

namespace {

using core::Fault;
using core::Handle;

using Key = Handle<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Handle<X509, X509_free>;
using Extension = Handle<X509_EXTENSION, X509_EXTENSION_free>;
using Bio = Handle<BIO, BIO_free_all>;

bool is_address(const std::string& name) {
    std::array<unsigned char, 16> bytes{};
    return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
           inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

std::string alternative_names(const std::vector<std::string>& names) {
    std::string out;
    for (const auto& name : names) {
        if (!out.empty()) out += ',';
        out += is_address(name) ? "IP:" : "DNS:";
        out += name;
    }
    return out;
}

bool add_extension(X509* certificate, int id, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
    const Extension extension{X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str())};
    return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

/// Browsers refuse certificates with a serial number that they have seen from the same issuer.
bool set_random_serial(X509* certificate) {
    std::array<unsigned char, 16> bytes{};
    if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return false;
    bytes[0] &= 0x7f;
    const Handle<BIGNUM, BN_free> number{
        BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr)};
    return number &&
           BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

Certificate sign(EVP_PKEY* key, const SelfSignedOptions& options) {
    Certificate made{X509_new()};
    auto* certificate = made.get();
    X509_set_version(certificate, X509_VERSION_3);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);  // clocks differ
    X509_gmtime_adj(X509_getm_notAfter(certificate),
                    std::chrono::duration_cast<std::chrono::seconds>(options.valid).count());
    X509_set_pubkey(certificate, key);
    auto* subject = X509_get_subject_name(certificate);
    const auto& common_name = options.names.front();
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(common_name.data()),
                               static_cast<int>(common_name.size()), -1, 0);
    X509_set_issuer_name(certificate, subject);
    const bool good =
        set_random_serial(certificate) &&
        add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") &&
        add_extension(certificate, NID_key_usage, "critical,digitalSignature") &&
        add_extension(certificate, NID_ext_key_usage, "serverAuth") &&
        add_extension(certificate, NID_subject_key_identifier, "hash") &&
        add_extension(certificate, NID_subject_alt_name, alternative_names(options.names)) &&
        X509_sign(certificate, key, EVP_sha256()) > 0;
    return good ? std::move(made) : nullptr;
}

core::Result<void> write_file(const std::filesystem::path& path, mode_t mode, BIO* pem) {
    char* bytes = nullptr;
    const auto length = static_cast<std::size_t>(BIO_get_mem_data(pem, &bytes));
    std::error_code ignored;
    std::filesystem::remove(path, ignored);  // an existing file would keep its own mode
    const Descriptor fd{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)};
    if (fd && core::write_all(fd.get(), {bytes, length}) && ::fsync(fd.get()) == 0) return {};
    return core::fail(Fault::unavailable,
                      "cannot write " + path.string() + ": " + std::strerror(errno));
}

}  // namespace

core::Result<void> write_self_signed(const std::filesystem::path& certificate,
                                     const std::filesystem::path& key,
                                     const SelfSignedOptions& options) {
    if (options.names.empty()) return core::fail(Fault::invalid, "a certificate needs a name");
    const Key pair{EVP_EC_gen("P-256")};
    const auto made = pair ? sign(pair.get(), options) : nullptr;
    if (!made) {
        return core::fail(Fault::invalid,
                          "cannot make a certificate for " + alternative_names(options.names));
    }
    const Bio key_pem{BIO_new(BIO_s_mem())};
    const Bio certificate_pem{BIO_new(BIO_s_mem())};
    PEM_write_bio_PKCS8PrivateKey(key_pem.get(), pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    PEM_write_bio_X509(certificate_pem.get(), made.get());
    if (auto written = write_file(key, 0600, key_pem.get()); !written) return written;
    return write_file(certificate, 0644, certificate_pem.get());
}

namespace {

std::string text_of(const GENERAL_NAME& name) {
    if (name.type == GEN_DNS) {
        const auto* text = name.d.dNSName;
        return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                static_cast<std::size_t>(ASN1_STRING_length(text))};
    }
    if (name.type != GEN_IPADD) return {};
    const auto* bytes = name.d.iPAddress;
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
    if (!inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), text.size())) return {};
    return text.data();
}

std::vector<std::string> names_of(X509* certificate) {
    using Names = Handle<GENERAL_NAMES, GENERAL_NAMES_free>;
    const Names all{static_cast<GENERAL_NAMES*>(
        X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr))};
    std::vector<std::string> names;
    for (int i = 0; all && i < sk_GENERAL_NAME_num(all.get()); ++i) {
        auto text = text_of(*sk_GENERAL_NAME_value(all.get(), i));
        if (!text.empty()) names.push_back(std::move(text));
    }
    return names;
}

}  // namespace

core::Result<CertificateFacts> read_certificate(const std::filesystem::path& file) {
    std::error_code ignored;
    const bool is_file = std::filesystem::is_regular_file(file, ignored);
    const Bio pem{is_file ? BIO_new_file(file.c_str(), "r") : nullptr};
    if (!pem) return core::fail(Fault::not_found, "cannot read " + file.string());
    const Certificate certificate{PEM_read_bio_X509(pem.get(), nullptr, nullptr, nullptr)};
    std::tm begin{};
    std::tm end{};
    if (!certificate || ASN1_TIME_to_tm(X509_get0_notBefore(certificate.get()), &begin) != 1 ||
        ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1) {
        return core::fail(Fault::invalid, file.string() + " holds no PEM certificate");
    }
    return CertificateFacts{.begins = std::chrono::system_clock::from_time_t(::timegm(&begin)),
                            .expires = std::chrono::system_clock::from_time_t(::timegm(&end)),
                            .names = names_of(certificate.get())};
}

}  // namespace beckon::net
