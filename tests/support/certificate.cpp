#include "support/certificate.hpp"

#include <cstdio>
#include <memory>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace beckon::test {

namespace {

template <class Write>
void write_pem(const std::filesystem::path& path, const Write& write) {
    const std::unique_ptr<std::FILE, decltype(&std::fclose)> file{std::fopen(path.c_str(), "w"),
                                                                  &std::fclose};
    if (!file || write(file.get()) != 1) throw std::runtime_error("cannot write " + path.string());
}

}  // namespace

void write_certificate(const std::filesystem::path& certificate, const std::filesystem::path& key,
                       const std::string& common_name, KeyKind kind) {
    const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> pair{
        kind == KeyKind::ec ? EVP_EC_gen("P-256") : EVP_RSA_gen(2'048U), &EVP_PKEY_free};
    const std::unique_ptr<X509, decltype(&X509_free)> x{X509_new(), &X509_free};
    X509_set_version(x.get(), 2);
    ASN1_INTEGER_set(X509_get_serialNumber(x.get()), 1);
    X509_gmtime_adj(X509_getm_notBefore(x.get()), -60);
    X509_gmtime_adj(X509_getm_notAfter(x.get()), 3600);
    X509_set_pubkey(x.get(), pair.get());
    X509_NAME* name = X509_get_subject_name(x.get());
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                               0);
    X509_set_issuer_name(x.get(), name);
    X509_sign(x.get(), pair.get(), EVP_sha256());
    write_pem(certificate, [&](std::FILE* f) { return PEM_write_X509(f, x.get()); });
    write_pem(key, [&](std::FILE* f) {
        return PEM_write_PrivateKey(f, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
}

}  // namespace beckon::test
