// Real sender libraries, unchanged, each from its registry: what they send is decrypted by the
// client, and every error status makes them do what their users expect.
//
//   node senders.mjs
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { existsSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import ece from 'http_ece';
import webpush from 'web-push';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, agent } from './client.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const CACHE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'beckon', 'senders');
const VAPID = { subject: 'mailto:tests@example.com', ...webpush.generateVAPIDKeys() };

/** A client that can decrypt what it gets. */
class Receiver {
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

/** What a library offers; `retryAfter429`: does it show the delay of a 429 to its user? */
const certificate = () => join(cluster.directory, 'standalone', 'tls', 'certificate.pem');
const LIBRARIES = {
    'npm web-push': { aesgcm: true, present: () => true, send: sendWithNode },
    pywebpush: {
        aesgcm: true,
        present: () => existsSync(join(CACHE, 'python', 'bin', 'python')),
        send: (call) => run(join(CACHE, 'python', 'bin', 'python'), [join(HERE, 'senders', 'python', 'send.py')], { REQUESTS_CA_BUNDLE: certificate() }, call),
    },
    'webpush-go': {
        aesgcm: false,
        present: () => existsSync(join(CACHE, 'go-sender')),
        send: (call) => run(join(CACHE, 'go-sender'), [], { SSL_CERT_FILE: certificate() }, call),
    },
    'Rust web-push': {
        aesgcm: true,
        hides429: true, // WebPushError::Other has no delay
        present: () => existsSync(join(CACHE, 'rust', 'release', 'sender')),
        send: (call) => run(join(CACHE, 'rust', 'release', 'sender'), [], { SSL_CERT_FILE: certificate() }, call),
    },
    'Java web-push': {
        aesgcm: true,
        present: () => existsSync(join(CACHE, 'java', 'classes', 'Send.class')),
        send: (call) =>
            run('java', ['-XX:TieredStopAtLevel=1', `-Djavax.net.ssl.trustStore=${trustStore()}`, '-Djavax.net.ssl.trustStorePassword=changeit',
                '-cp', `${join(CACHE, 'java', 'classes')}:${join(CACHE, 'java', 'lib', '*')}`, 'Send'], {}, call),
    },
};

let cluster;
let receiver;
let endpoint;
const trustStore = () => join(cluster.directory, 'trust.p12');

before(async () => {
    cluster = new Cluster('embedded');
    await cluster.prepare();
    await cluster.start();
    await new Promise((resolve, reject) => {
        const child = spawn('keytool', ['-importcert', '-noprompt', '-alias', 'beckon', '-file', certificate(), '-keystore', trustStore(),
            '-storetype', 'PKCS12', '-storepass', 'changeit'], { stdio: 'ignore' });
        child.on('error', reject);
        child.on('close', (code) => (code === 0 ? resolve() : reject(new Error(`keytool ended with ${code}`))));
    });
    receiver = new Receiver(cluster.websocket);
    await receiver.agent.connect();
    endpoint = await receiver.agent.register();
});

after(async () => {
    receiver.agent.wanted = false;
    receiver.agent.socket.terminate();
    agent.destroy();
    await cluster.stop();
    await cluster.destroy();
});

for (const [name, library] of Object.entries(LIBRARIES)) {
    const call = (to, fields = {}) => ({
        subscription: receiver.subscription(to),
        vapid: VAPID,
        payload: `hello from ${name}`,
        ttl: 60,
        topic: null,
        urgency: null,
        encoding: 'aes128gcm',
        ...fields,
    });
    const options = { skip: library.present() ? false : 'its tool chain is missing or too old here (scripts/senders-setup.sh)' };

    /** Sends and waits for the plain text. */
    const travels = async (fields, expected) => {
        const before = receiver.got.length;
        const report = await library.send(call(endpoint, fields));
        assert.equal(report.status, 201, report.error);
        await until('the message', () => receiver.got.length > before);
        assert.equal(receiver.got.at(-1) ?? '', expected);
    };

    test(`${name}: a payload is decrypted by the client`, options, () => travels({}, `hello from ${name}`));
    test(`${name}: no payload`, options, () => travels({ payload: null }, ''));
    test(`${name}: with Topic and Urgency`, options, () => travels({ topic: 'news', urgency: 'high' }, `hello from ${name}`));
    if (library.aesgcm) {
        test(`${name}: aesgcm`, options, () => travels({ encoding: 'aesgcm' }, `hello from ${name}`));
    }

    test(`${name}: a subscription bound to the sender's key`, options, async () => {
        const channel = crypto.randomUUID();
        const reply = new Promise((resolve) => receiver.agent.waiting.set(`register ${channel}`, resolve));
        receiver.agent.say({ messageType: 'register', channelID: channel, key: VAPID.publicKey });
        const { pushEndpoint } = await reply;
        const before = receiver.got.length;
        const report = await library.send(call(pushEndpoint));
        assert.equal(report.status, 201, report.error);
        await until('the message', () => receiver.got.length > before);
        const other = webpush.generateVAPIDKeys();
        const refused = await library.send(call(pushEndpoint, { vapid: { ...VAPID, ...other } }));
        assert.equal(refused.status, 401);
    });

    test(`${name}: an unknown endpoint (404) and a subscription that is gone (410) count as expired`, options, async () => {
        const unknown = await library.send(call(`${cluster.endpoint}/wpush/${'A'.repeat(66)}`));
        assert.equal(unknown.status, 404);
        assert(unknown.expired);
        const channel = crypto.randomUUID();
        const url = await receiver.agent.register(channel);
        receiver.agent.say({ messageType: 'unregister', channelID: channel });
        await until('410', async () => {
            const gone = await library.send(call(url, { ttl: 0 }));
            return gone.status === 410 && gone.expired;
        });
    });
}

