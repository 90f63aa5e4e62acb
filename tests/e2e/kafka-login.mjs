// A Kafka client that is configured half or wrongly, on a real broker with SASL over TLS, client certificates and plain listeners: the first
// line says what is wrong, and so does the last; a role that waits for its brokers ends with 1, an option that can never work with 2.
//
//   node --test kafka-login.mjs
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, freePort } from './beckon.mjs';
import { LockedCluster } from './locked-broker.mjs';

const cluster = new LockedCluster({ plain: true, users: { somebody: 'secret-word' } });
const web = createServer((request, reply) => reply.end('no broker'));
let at;

before(async () => {
    await cluster.prepare();
    await new Promise((resolve) => web.listen(0, '127.0.0.1', resolve));
    at = { locked: cluster.locked, mutual: `localhost:${cluster.mutualPort}`, plain: cluster.servers, web: `127.0.0.1:${web.address().port}`, nobody: `127.0.0.1:${await freePort()}` };
    cluster.own = cluster.certificates.of('somebody');
    cluster.own.sealed = join(cluster.directory, 'sealed.key');
    execFileSync('openssl', ['rsa', '-aes256', '-passout', 'pass:secret-word', '-in', cluster.own.key, '-out', cluster.own.sealed], { stdio: 'ignore' });
}, { timeout: 240000 });
after(async () => {
    web.close();
    await cluster.destroy();
});

/** A command with these options of librdkafka; its exit code, its output and its lines. */
async function run(command, servers, options) {
    const child = spawn(BECKON, [
        ...command, ...cluster.kafkaOptions(servers), ...Object.entries(options).flatMap(([name, value]) => ['--kafka-librdkafka', `${name}=${value}`]),
    ], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
    const code = await new Promise((resolve) => child.once('close', (status, signal) => resolve(status ?? signal)));
    return { code, output, lines: output.split('\n').filter(Boolean) };
}

const COMMANDS = {
    'a role': async () => ['endpoint', '--data', join(cluster.directory, `data-${await freePort()}`), '--ops-port', '0', '--endpoint-port', '0',
        '--endpoint-url', 'http://127.0.0.1', '--test-startup-timeout', '5s', '--log-format', 'json'],
    'a tool': async () => ['topics', 'describe', '--test-startup-timeout', '5s'],
};
const ca = () => ({ 'ssl.ca.location': cluster.certificates.ca });
const login = { 'sasl.mechanism': 'PLAIN', 'sasl.username': 'somebody', 'sasl.password': 'secret-word' };

/** What is wrong: where, the options, what the first line says, and the exit code. */
const FAULTS = {
    'no TLS at a port with TLS': ['locked', () => ({}), /TLS|SSL/, 1],
    'a login without TLS at a port with TLS': ['locked', () => ({ 'security.protocol': 'sasl_plaintext', ...login }), /TLS|SSL/, 1],
    'TLS at a port without': ['plain', () => ({ 'security.protocol': 'ssl', ...ca() }), /without TLS/, 1],
    'a login at a port without TLS': ['plain', () => ({ 'security.protocol': 'sasl_ssl', ...ca(), ...login }), /without TLS/, 1],
    'TLS without the CA': ['locked', () => ({ 'security.protocol': 'sasl_ssl', ...login }), /ssl\.ca\.location/, 1],
    'TLS without a login at a port with logins': ['locked', () => ({ 'security.protocol': 'ssl', ...ca() }), /SASL|security\.protocol/, 1],
    'no certificate where one is asked for': ['mutual', () => ({ 'security.protocol': 'ssl', ...ca() }), /certificate/, 1],
    'a wrong password': ['locked', () => ({ 'security.protocol': 'sasl_ssl', ...ca(), ...login, 'sasl.password': 'wrong' }), /sasl\.password/, 1],
    'a mechanism that the broker does not have': ['locked', () => ({ 'security.protocol': 'sasl_ssl', ...ca(), ...login, 'sasl.mechanism': 'SCRAM-SHA-256' }), /sasl\.mechanism/, 1],
    'a login at a port that asks for certificates': ['mutual', () => ({ 'security.protocol': 'sasl_ssl', ...ca(), ...login, 'ssl.certificate.location': cluster.own.certificate, 'ssl.key.location': cluster.own.key }), /SASL|sasl/, 1],
    'a port of something else': ['web', () => ({}), /127\.0\.0\.1:\d+/, 1],
    'a port where nobody listens': ['nobody', () => ({}), /Connection refused/, 1],
    'a mechanism without a user': ['locked', () => ({ 'security.protocol': 'sasl_ssl', ...ca(), 'sasl.mechanism': 'PLAIN' }), /sasl\.username/, 2],
    'a CA that is not there': ['locked', () => ({ 'security.protocol': 'sasl_ssl', ...login, 'ssl.ca.location': '/does/not/exist.pem' }), /ssl\.ca\.location/, 2],
    'a key with a password that is not given': ['mutual', () => ({ 'security.protocol': 'ssl', ...ca(), 'ssl.certificate.location': cluster.own.certificate, 'ssl.key.location': cluster.own.sealed }), /ssl\.key\.(location|password)/, 2],
    'a key with a wrong password': ['mutual', () => ({ 'security.protocol': 'ssl', ...ca(), 'ssl.certificate.location': cluster.own.certificate, 'ssl.key.location': cluster.own.sealed, 'ssl.key.password': 'wrong' }), /ssl\.key\.(location|password)/, 2],
    'a certificate without its key': ['mutual', () => ({ 'security.protocol': 'ssl', ...ca(), 'ssl.certificate.location': cluster.own.certificate }), /ssl\.key/, 2],
};

for (const [what, [where, options, expected, code]] of Object.entries(FAULTS)) {
    for (const [who, command] of Object.entries(COMMANDS)) {
        test(`${who}: ${what}`, { timeout: 60000 }, async () => {
            const ended = await run(await command(), at[where], options());
            if (process.env.SHOW) console.log(`--- ${who}: ${what}\n${ended.code}\n${ended.output}`);
            assert.match(ended.lines[0] ?? '', expected, ended.output);
            assert.match(ended.lines.at(-1), expected, ended.output);
            assert.equal(ended.code, code, ended.output);
            assert.ok(ended.lines.length <= 6, `few lines: ${ended.output}`);
            assert.doesNotMatch(ended.output, /secret-word/);
        });
    }
}
