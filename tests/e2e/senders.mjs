// Real sender libraries, unchanged, each from its registry. The client decrypts their messages, and they react to every
// error status as their users expect: a subscription counts as expired only when it has expired, and a delay to wait
// can be read.
//
//   node senders.mjs
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import webpush from 'web-push';
import { Cluster, until } from './beckon.mjs';
import { agent, post } from './client.mjs';
import { LIBRARIES, Receiver, trustIn } from './sender-libraries.mjs';

const VAPID = { subject: 'mailto:tests@example.com', ...webpush.generateVAPIDKeys() };
const BODY_MAX = 4096; // the least that RFC 8030 allows
const LONG = 'x'.repeat(5000); // encrypts to more

/** A Cluster with one client that listens, and senders that trust it. */
class Installation {
    constructor(log, endpointOptions) {
        this.cluster = new Cluster(log, { endpoint: endpointOptions });
    }
    async start() {
        await this.cluster.start();
        this.trust = await trustIn(this.cluster);
        this.receiver = new Receiver(this.cluster.websocket);
        await this.receiver.agent.connect();
        this.endpoint = await this.receiver.agent.register();
    }
    async end() {
        this.receiver?.agent.end();
        await this.cluster.end();
    }
    /** The report of the library `name` about one message. */
    send(name, fields = {}, to = this.endpoint) {
        return LIBRARIES[name].send({
            subscription: this.receiver.subscription(to),
            vapid: VAPID,
            payload: `${name} says hello`,
            ttl: 60,
            topic: null,
            urgency: null,
            encoding: 'aes128gcm',
            ...fields,
        }, this.trust);
    }
    /** Sends and waits for the plain text. */
    async travels(name, fields = {}, to = this.endpoint) {
        const text = fields.payload === null ? '' : `${name} says ${crypto.randomUUID()}`;
        const before = this.receiver.got.length;
        const report = await this.send(name, { ...fields, payload: text || null }, to);
        assert.equal(report.status, 201, report.error);
        await until('the message', () => this.receiver.got.slice(before).some((got) => (got ?? '') === text));
    }
}

/** A test per library. */
function withEach(what, body, wanted = () => true) {
    for (const [name, library] of Object.entries(LIBRARIES)) {
        if (!wanted(library)) continue;
        const skip = library.present ? false : 'it is not installed here (scripts/e2e-setup.sh says why)';
        test(`${name}: ${what}`, { skip }, () => body(name, library));
    }
}

describe('a usual installation', () => {
    const installation = new Installation('embedded', ['--endpoint-max-data-bytes', String(BODY_MAX)]);
    const { cluster } = installation;
    before(async () => {
        await cluster.prepare();
        await installation.start();
    });
    after(() => installation.end());

    withEach('a payload is decrypted by the client', (name) => installation.travels(name));
    withEach('no payload', (name) => installation.travels(name, { payload: null }));
    withEach('with Topic and Urgency', (name) => installation.travels(name, { topic: 'news', urgency: 'high' }));
    withEach('aesgcm', (name) => installation.travels(name, { encoding: 'aesgcm' }), (library) => library.aesgcm);

    withEach("a subscription bound to the sender's key", async (name) => {
        const bound = await installation.receiver.agent.register(crypto.randomUUID(), VAPID.publicKey);
        await installation.travels(name, {}, bound);
        const refused = await installation.send(name, { vapid: { ...VAPID, ...webpush.generateVAPIDKeys() } }, bound);
        assert.equal(refused.status, 401);
        assert(!refused.expired);
    });

    withEach('an unknown endpoint (404) and a subscription that is gone (410) count as expired', async (name) => {
        const unknown = await installation.send(name, {}, `${cluster.endpoint}/wpush/${'A'.repeat(66)}`);
        assert.equal(unknown.status, 404);
        assert(unknown.expired);
        const channel = crypto.randomUUID();
        const url = await installation.receiver.agent.register(channel);
        installation.receiver.agent.send({ messageType: 'unregister', channelID: channel });
        await until('410', async () => {
            const gone = await installation.send(name, { ttl: 0 }, url);
            return gone.status === 410 && gone.expired;
        });
    });

    const refused = () => cluster.metric('beckon_ingest_refused_total', 'problem="body_too_large"');
    const is413 = (report) => {
        assert.equal(report.status, 413, report.error);
        assert(!report.expired, 'a subscription would be deleted for one long message');
    };
    withEach('a payload that is too long (413) does not count as expired', async (name, library) => {
        const before = await refused();
        const report = await installation.send(name, { payload: LONG });
        if (library.refusesLong) {
            assert.match(report.error, library.refusesLong);
            assert(!report.expired);
            assert.equal(await refused(), before, 'it was expected not to ask the server');
        } else {
            is413(report);
        }
        if (library.evenLonger) is413(await installation.send(name, { payload: LONG, ...library.evenLonger }));
        await installation.travels(name);
    });
});

describe('a limit of requests per address', () => {
    const installation = new Installation('embedded', ['--endpoint-requests-per-address-per-second', '1']);
    let crowd;
    before(async () => {
        await installation.cluster.prepare();
        await installation.start();
        crowd = setInterval(() => post(installation.endpoint, '', { TTL: '0' }), 50);
    });
    after(async () => {
        clearInterval(crowd);
        await installation.end();
    });

    withEach('too many requests (429): not expired, and the delay can be read', async (name, library) => {
        const report = await until('429', async () => {
            const one = await installation.send(name);
            return one.status === 429 && one;
        });
        assert(!report.expired);
        assert.equal(report.retryAfter, library.hides429 ? null : '1');
    });
});

describe('while the brokers are away', () => {
    const installation = new Installation('kafka', ['--test-publish-timeout', '1s']);
    before(async () => {
        await installation.cluster.prepare();
        await installation.start();
        assert.equal((await post(installation.endpoint, '', { TTL: '0' })).status, 201);
        await installation.cluster.killKafka();
    });
    after(() => installation.end());

    withEach('503: not expired, and the delay can be read', async (name) => {
        const report = await installation.send(name);
        assert.equal(report.status, 503, report.error);
        assert(!report.expired);
        assert.equal(report.retryAfter, '10');
    });

    test('they come back: the same subscription works, nothing was restarted', async () => {
        await installation.cluster.startKafka();
        await until('201', async () => (await post(installation.endpoint, '', { TTL: '0' })).status === 201, 60000);
        await installation.travels('npm web-push');
    });
});

describe('an installation that moved here with its crypto_keys', () => {
    const installation = new Installation('embedded');
    const { cluster } = installation;
    const oldKey = crypto.randomBytes(32);
    /** A Fernet token, as the old installation made it. */
    const fernet = (plaintext) => {
        const head = Buffer.alloc(9);
        head[0] = 0x80;
        head.writeBigUInt64BE(1700000000n, 1);
        const iv = crypto.randomBytes(16);
        const cipher = crypto.createCipheriv('aes-128-cbc', oldKey.subarray(16), iv);
        const signed = Buffer.concat([head, iv, cipher.update(plaintext), cipher.final()]);
        const mac = crypto.createHmac('sha256', oldKey.subarray(0, 16)).update(signed).digest();
        return Buffer.concat([signed, mac]).toString('base64url');
    };
    const ids = (...texts) => texts.map((text) => Buffer.from(text.replaceAll('-', ''), 'hex'));
    let plaintext;

    before(async () => {
        await cluster.prepare();
        const file = join(cluster.directory, 'keys.json');
        await cluster.tool(['keys', 'generate', '--key-ring', file]);
        const ring = JSON.parse(readFileSync(file));
        // Padded, as Fernet keys are; it is the older of two.
        ring.crypto_keys = [crypto.randomBytes(32), oldKey].map((key) => `${key.toString('base64url')}=`);
        writeFileSync(file, JSON.stringify(ring), { mode: 0o600 });
        cluster.endpointOptions.push('--key-ring', file, '--new-log');
        await installation.start();
        const channel = crypto.randomUUID();
        await installation.receiver.agent.register(channel);
        plaintext = Buffer.concat(ids(installation.receiver.agent.uaid, channel));
    });
    after(() => installation.end());

    withEach('a message to an old /wpush/v1/ endpoint arrives', async (name) => {
        const token = fernet(plaintext);
        assert.match(token, /^gAAAA/);
        await installation.travels(name, {}, `${cluster.endpoint}/wpush/v1/${token}`);
    });

    withEach('a message to an old /wpush/v2/ endpoint, bound to its key, arrives', async (name) => {
        const key = crypto.createHash('sha256').update(Buffer.from(VAPID.publicKey, 'base64url')).digest();
        const url = `${cluster.endpoint}/wpush/v2/${fernet(Buffer.concat([plaintext, key]))}`;
        await installation.travels(name, {}, url);
        const other = await installation.send(name, { vapid: { ...VAPID, ...webpush.generateVAPIDKeys() } }, url);
        assert.equal(other.status, 401);
    });
});

after(() => agent.destroy());
