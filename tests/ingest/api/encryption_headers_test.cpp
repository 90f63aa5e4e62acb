#include "ingest/ingest_world.hpp"

#include <catch2/catch.hpp>

using namespace beckon;
using namespace beckon::test;

TEST_CASE("each rule of the encryption headers") {
    IngestWorld world;
    const auto target = world.subscribed();
    const std::string none = "(absent)";
    const std::string ok = "";
    const std::string list_e = "Encryption is not a list of name=value items.";
    const std::string list_k = "Crypto-Key is not a list of name=value items.";
    const std::string coding = "Content-Encoding must be aes128gcm or aesgcm.";

    struct Row {
        std::string encoding;
        std::string encryption;
        std::string crypto_key;
        std::string message;
    };
    const std::vector<Row> rows{
        {none, none, none, coding},
        {"", none, none, coding},
        {"gzip", none, none, coding},
        {"aesgcm128", "salt=AAAA", "dh=BBBB", coding},
        {"AES128GCM", none, none, ok},
        {"AesGcm", "SALT=AAAA", "DH=BBBB", ok},
        {"AES128GCM", "Salt=AAAA", none, "With aes128gcm the salt belongs into the body."},
        {"aes128gcm, gzip", none, none, coding},

        {"aesgcm", "salt=AAAA", "dh=BBBB", ok},
        {"aesgcm", "salt=AAAA", none, ok},
        {"aesgcm", "salt=AAAA", "dh=BBBB;p256ecdsa=CCCC", ok},
        {"aesgcm", "salt=AAAA", "p256ecdsa=CCCC,dh=BBBB", ok},
        {"aesgcm", " salt = AAAA ;rs=4096", "dh=BBBB", ok},
        {"aesgcm", "salt=\"AA-_\"", "dh=\"BB\"", ok},
        {"aesgcm", none, "dh=BBBB", "Encryption is required with aesgcm."},
        {"aesgcm", "nonsense", "dh=BBBB", list_e},
        {"aesgcm", "salt=AAAA;", "dh=BBBB", list_e},
        {"aesgcm", "", "dh=BBBB", list_e},
        {"aesgcm", "keyid=p256dh", "dh=BBBB", "Encryption must have a salt with aesgcm."},
        {"aesgcm", "salt=A+A/", "dh=BBBB", "The salt must be base64url."},
        {"aesgcm", "salt=A A", "dh=BBBB", "The salt must be base64url."},
        {"aesgcm", "salt=AAAA", "nonsense", list_k},
        {"aesgcm", "salt=AAAA", "p256ecdsa=CCCC", "Crypto-Key must have a dh with aesgcm."},
        {"aesgcm", "salt=AAAA", "dh=B*B", "The dh must be base64url."},

        {"aes128gcm", none, none, ok},
        {"aes128gcm", none, "p256ecdsa=CCCC", ok},
        {"aes128gcm", "keyid=x", "p256ecdsa=CCCC", ok},
        {"aes128gcm", "salt=AAAA", none, "With aes128gcm the salt belongs into the body."},
        {"aes128gcm", "nonsense", none, list_e},
        {"aes128gcm", none, "dh=BBBB", "With aes128gcm the dh belongs into the body."},
        {"aes128gcm", none, "p256ecdsa=CCCC;dh=BBBB",
         "With aes128gcm the dh belongs into the body."},
        {"aes128gcm", none, "p256ecdsa=CCCC,", list_k},
    };
    for (const auto& row : rows) {
        CAPTURE(row.encoding, row.encryption, row.crypto_key);
        auto request = IngestWorld::post(target.path).with_body("data");
        if (row.encoding != none) request = request.with("Content-Encoding", row.encoding);
        if (row.encryption != none) request = request.with("Encryption", row.encryption);
        if (row.crypto_key != none) request = request.with("Crypto-Key", row.crypto_key);
        const auto reply = world.ask(request);
        if (row.message.empty()) {
            CHECK(reply.status == 201);
        } else {
            CHECK(reply == error(400, "110", "Bad Request", row.message));
        }
    }
}

TEST_CASE("headers are stored without quotes and padding") {
    using ingest::normalized;
    CHECK(normalized(R"(keyid="a";salt="XZwpw6o37R-6qoZjw6KwAw==")") ==
          "keyid=a;salt=XZwpw6o37R-6qoZjw6KwAw");
    CHECK(normalized("dh=BB==,p256ecdsa=CC=;x=y") == "dh=BB,p256ecdsa=CC;x=y");
    CHECK(normalized("a=b=c==") == "a=b=c");
    CHECK(normalized("DH=BB;P256ecdsa=\"Cc\",KeyId=A=B") == "dh=BB;p256ecdsa=Cc,keyid=A=B");
    CHECK(normalized("") == "");
    CHECK(normalized("===") == "");
}

TEST_CASE("a parameter is found in the first section that has it") {
    using ingest::find_parameter;
    CHECK(find_parameter("dh=1;x=2,dh=3", "dh").value == "1");
    CHECK(find_parameter("x=2,dh=3", "dh").value == "3");
    CHECK(find_parameter("a = \" b \" ", "a").value == "b");
    CHECK(find_parameter("a=b=c", "a").value == "b=c");
    CHECK(find_parameter("DH=Aa", "dh").value == "Aa");
    CHECK_FALSE(find_parameter("dh=1", "x").value);
    CHECK(find_parameter("dh=1", "x").parsable);
    CHECK_FALSE(find_parameter("dh=1;", "dh").parsable);
    CHECK_FALSE(find_parameter("dh=1,", "dh").parsable);
    CHECK_FALSE(find_parameter("", "dh").parsable);
    CHECK_FALSE(find_parameter("dh=1;oops", "dh").value);
}

TEST_CASE("a coding in any case is delivered as clients compare it") {
    IngestWorld world;
    const auto target = world.subscribed();
    CHECK(world
              .ask(IngestWorld::post(target.path)
                       .with_body("data")
                       .with("Content-Encoding", "AesGCM")
                       .with("Encryption", "Salt=AAAA")
                       .with("Crypto-Key", "Dh=BBBB"))
              .status == 201);
    const auto record = world.notifications().back();
    CHECK(header_of(record, core::header::kEncoding) == "aesgcm");
    CHECK(header_of(record, core::header::kEncryption) == "salt=AAAA");
    CHECK(header_of(record, core::header::kCryptoKey) == "dh=BBBB");
}
