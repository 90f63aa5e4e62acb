// Common parts of the tests of real sender libraries: a client that decrypts, and a table of the libraries.
import { execFile, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import ece from 'http_ece';
import webpush from 'web-push';
import { CACHE_HOME } from './beckon.mjs';
import { UserAgent, agent } from './client.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const CACHE = join(CACHE_HOME, 'beckon', 'e2e');

/** A client that can decrypt what it gets. */
export class Receiver {
    constructor(websocket) {
        this.agent = new UserAgent(websocket);
        this.ecdh = crypto.createECDH('prime256v1');
        this.ecdh.generateKeys();
        this.auth = crypto.randomBytes(16);
        this.got = [];
        const receive = this.agent.receive.bind(this.agent);
        this.agent.receive = (message) => {
            if (message.messageType === 'notification') this.got.push(this.decrypt(message));
            receive(message);
        };
    }
    decrypt({ data, headers }) {
        if (!data) return null;
        const options = { version: headers.encoding, privateKey: this.ecdh, authSecret: this.auth };
        if (headers.encoding === 'aesgcm') {
            const item = (text, name) => text.split(/[;,]/).map((part) => part.trim().split(/=(.*)/)).find(([key]) => key === name)?.[1];
            options.salt = item(headers.encryption, 'salt');
            options.dh = item(headers.crypto_key, 'dh');
        }
        return ece.decrypt(Buffer.from(data, 'base64url'), options).toString();
    }
    subscription(endpoint) {
        return {
            endpoint,
            keys: { p256dh: this.ecdh.getPublicKey('base64url'), auth: this.auth.toString('base64url') },
        };
    }
}

/** Runs one sender program with a call; its report. */
function run(command, args, env, call) {
    return new Promise((resolve, reject) => {
        const child = spawn(command, args, { env: { ...process.env, ...env } });
        let out = '';
        let err = '';
        child.stdout.on('data', (data) => (out += data));
        child.stderr.on('data', (data) => (err += data));
        child.on('error', reject);
        child.on('close', (code) => {
            try {
                resolve(JSON.parse(out.trim().split('\n').pop()));
            } catch {
                reject(new Error(`${command} ended with ${code}: ${out}${err}`));
            }
        });
        child.stdin.end(JSON.stringify(call));
    });
}

/** A sender program that stays, and takes one call after the other, each a line. It ends with the test. */
class Running {
    constructor(command, args) {
        this.asked = [];
        this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
        this.child.once('exit', (code) => this.asked.forEach(({ reject }) => reject(new Error(`${command} ended with ${code}`))));
        createInterface({ input: this.child.stdout }).on('line', (line) => this.asked.shift().resolve(JSON.parse(line)));
        for (const handle of [this.child, this.child.stdin, this.child.stdout]) handle.unref();
    }
    send(call) {
        this.child.stdin.write(`${JSON.stringify(call)}\n`);
        return new Promise((resolve, reject) => this.asked.push({ resolve, reject }));
    }
}
const javas = new Map(); // trust store → Running

async function sendWithNode(call) {
    try {
        const reply = await webpush.sendNotification(call.subscription, call.payload, {
            vapidDetails: { subject: call.vapid.subject, publicKey: call.vapid.publicKey, privateKey: call.vapid.privateKey },
            agent,
            TTL: call.ttl,
            contentEncoding: call.encoding,
            ...(call.topic && { topic: call.topic }),
            ...(call.urgency && { urgency: call.urgency }),
        });
        return { status: reply.statusCode, expired: false, retryAfter: null, error: null };
    } catch (error) {
        return {
            status: error.statusCode ?? 0,
            expired: [404, 410].includes(error.statusCode),
            retryAfter: error.headers?.['retry-after'] ?? null,
            error: `${error.message} ${error.body}`,
        };
    }
}

/** How the programs learn to trust the certificate of one Cluster: `{pem, store}`. */
export async function trustIn(cluster) {
    const trust = { pem: cluster.certificate(), store: join(cluster.directory, 'trust.p12') };
    await promisify(execFile)('keytool', ['-importcert', '-noprompt', '-alias', 'beckon', '-file', trust.pem,
        '-keystore', trust.store, '-storetype', 'PKCS12', '-storepass', 'changeit']);
    return trust;
}

const program = (path) => ({ present: existsSync(path), path });
const python = program(join(CACHE, 'python', 'bin', 'python'));
const go = program(join(CACHE, 'go'));
const rust = program(join(CACHE, 'rust', 'debug', 'sender'));
const java = program(join(CACHE, 'java', 'classes', 'Send.class'));

/**
 * The abilities of each library, and how it reports a refusal, as read in its source and tested here:
 *
 * aesgcm        it offers the older encoding too
 * refusesLong   the error with which it refuses a long payload itself, without asking the server
 * evenLonger    fields of a call that its user can pass to get past that
 * hides429      the delay of a 429 is not shown (that of a 503 is, by all)
 * send          (call, trust) → report, both as senders/README.md and trustIn() say
 */
export const LIBRARIES = {
    // Splits a long payload into several records of 4,096 and sends them.
    'npm web-push': { present: true, aesgcm: true, send: sendWithNode },
    // Splits a long payload too.
    pywebpush: {
        present: python.present,
        aesgcm: true,
        send: (call, trust) =>
            run(python.path, [join(HERE, 'senders', 'python', 'send.py')], { REQUESTS_CA_BUNDLE: trust.pem }, call),
    },
    // Pads every body to its record size: 4,096 unless told otherwise.
    'webpush-go': {
        present: go.present,
        aesgcm: false,
        refusesLong: /payload has exceeded the maximum length/,
        evenLonger: { recordSize: 8192 },
        send: (call, trust) => run(go.path, [], { SSL_CERT_FILE: trust.pem }, call),
    },
    // Takes 3,052 bytes at most, so its requests never reach a limit of 4,096; the error is the one
    // that it makes of a 413. A 429 is WebPushError::Other, which has no delay.
    'Rust web-push': {
        present: rust.present,
        aesgcm: true,
        refusesLong: /PayloadTooLarge/,
        hides429: true,
        send: (call, trust) => run(rust.path, [], { SSL_CERT_FILE: trust.pem }, call),
    },
    // One record, however long, that still says 4,096.
    'Java web-push': {
        present: java.present,
        aesgcm: true,
        send(call, trust) {
            if (!javas.has(trust.store)) {
                javas.set(trust.store, new Running('java', ['-XX:TieredStopAtLevel=1', `-Djavax.net.ssl.trustStore=${trust.store}`,
                    '-Djavax.net.ssl.trustStorePassword=changeit', '-cp', `${dirname(java.path)}:${join(CACHE, 'java', 'lib', '*')}`, 'Send']));
            }
            return javas.get(trust.store).send(call);
        },
    },
};
