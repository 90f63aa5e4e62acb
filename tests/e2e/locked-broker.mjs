// A Kafka broker as teams have it: SASL (PLAIN and SCRAM) over TLS with a CA of the test, or a client's certificate, and ACLs. It has one more
// listener on which a test may do everything: `servers`, as the Kafka of other tests.
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster, freePort, until } from './beckon.mjs';

/** A CA, and a certificate of it for localhost and 127.0.0.1, as PEM files in `directory`. */
export function makeCertificates(directory) {
    const at = (name) => join(directory, name);
    const openssl = (...args) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const key = ['-newkey', 'rsa:2048', '-nodes'];
    openssl('req', '-x509', ...key, '-days', '3', '-subj', '/CN=test CA', '-keyout', at('ca.key'), '-out', at('ca.pem'));
    openssl('req', ...key, '-subj', '/CN=localhost', '-keyout', at('broker.key'), '-out', at('broker.csr'));
    writeFileSync(at('san.ext'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n');
    openssl('x509', '-req', '-in', at('broker.csr'), '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '3',
        '-extfile', at('san.ext'), '-out', at('broker.pem'));
    execFileSync('sh', ['-c', 'cat "$0/broker.key" "$0/broker.pem" > "$0/keystore.pem"', directory]);
    return { ca: at('ca.pem'), keystore: at('keystore.pem'), of: (user) => makeClientCertificate(openssl, at, key, user) };
}

/** A certificate of the CA that names a user. */
function makeClientCertificate(openssl, at, key, user) {
    const [certificate, secret] = [at(`user-${user}.pem`), at(`user-${user}.key`)];
    if (existsSync(certificate)) return { certificate, key: secret };
    openssl('req', ...key, '-subj', `/CN=${user}`, '-keyout', secret, '-out', at('user.csr'));
    openssl('x509', '-req', '-in', at('user.csr'), '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '3', '-out', certificate);
    return { certificate, key: secret };
}

export class LockedCluster extends Cluster {
    /**
     * @param {{users: Record<string, string>, release?: '3.9', properties?: string}} options names and passwords, of PLAIN and of SCRAM-SHA-512
     *     alike; another release of the broker; further properties of the broker, which win over those of here
     */
    constructor({ users, release, properties = '', ...options }) {
        super('kafka', options);
        this.properties = properties;
        this.users = users;
        this.release = release;
    }

    async startKafka(name = 'kafka') {
        this.lockedPort ??= await freePort();
        this.mutualPort ??= await freePort();
        if (!this.certificates) {
            this.certificates = makeCertificates(this.directory);
            this.lockedFile = join(this.directory, 'locked.properties');
            const plain = Object.entries(this.users).map(([user, password]) => `user_${user}="${password}"`).join(' ');
            writeFileSync(this.lockedFile, `
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
listener.name.locked.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required ${plain};
listener.name.locked.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.locked.ssl.keystore.type=PEM
listener.name.locked.ssl.keystore.location=${this.certificates.keystore}
listener.name.mutual.ssl.keystore.type=PEM
listener.name.mutual.ssl.keystore.location=${this.certificates.keystore}
listener.name.mutual.ssl.truststore.type=PEM
listener.name.mutual.ssl.truststore.location=${this.certificates.ca}
listener.name.mutual.ssl.client.auth=required
listener.name.mutual.ssl.principal.mapping.rules=RULE:^CN=(.*)$/$1/
${this.properties}`);
        }
        process.env.BECKON_KAFKA_LOCKED = `${this.lockedPort} ${this.mutualPort} ${this.lockedFile}`;
        if (this.release) process.env.BECKON_KAFKA_RELEASE = this.release;
        await super.startKafka(name);
        delete process.env.BECKON_KAFKA_LOCKED;
        delete process.env.BECKON_KAFKA_RELEASE;
        this.servers = `127.0.0.1:${this.brokers.get(name).port}`;
        this.locked = `localhost:${this.lockedPort}`;
        await until('the broker', () => this.kafkaTool('TopicCommand', ['--list']).then(() => true), 120000);
        await this.setPasswords(this.users);
    }

    /** Changes the password of SCRAM-SHA-512 at the brokers. */
    setPassword(user, password) {
        return this.setPasswords({ [user]: password });
    }

    setPasswords(passwords) {
        return this.kafkaTools(Object.entries(passwords).map(([user, password]) => ['ConfigCommand', [
            '--alter', '--entity-type', 'users', '--entity-name', user, '--add-config', `SCRAM-SHA-512=[iterations=4096,password=${password}]`]]));
    }

    /** The options with which a role logs in as `user`; `mechanism` may be `certificate` too, `servers` a proxy before the broker. */
    lockedOptions(user, { password = this.users[user], mechanism = 'PLAIN', servers } = {}) {
        const mutual = mechanism === 'certificate';
        const own = mutual && this.certificates.of(user);
        const librdkafka = {
            'ssl.ca.location': this.certificates.ca,
            ...(mutual
                ? { 'security.protocol': 'ssl', 'ssl.certificate.location': own.certificate, 'ssl.key.location': own.key }
                : { 'security.protocol': 'sasl_ssl', 'sasl.mechanism': mechanism, 'sasl.username': user, 'sasl.password': password }),
        };
        return [
            ...this.kafkaOptions(servers ?? (mutual ? `localhost:${this.mutualPort}` : this.locked)),
            ...Object.entries(librdkafka).flatMap(([name, value]) => ['--kafka-librdkafka', `${name}=${value}`]),
        ];
    }

    /** Kafka's own command for rights: `change` is --add or --remove; `what` as it takes it, such as `--operation Read --topic x`. */
    acl(change, user, ...what) {
        const force = change === '--remove' ? ['--force'] : [];
        return this.kafkaTool('AclCommand', [change, ...force, '--allow-principal', `User:${user}`, ...what]);
    }
}
