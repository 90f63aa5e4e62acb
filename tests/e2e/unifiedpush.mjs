// A UnifiedPush distributor that speaks autopush's protocol, scripted after KUnifiedPush (docs/facts/unifiedpush.md).
// It sends less than Firefox: no subprotocol, no `use_webpush`, acks without a code.
//
//   node unifiedpush.mjs
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';
import { Cluster, until } from './beckon.mjs';
import { call, post } from './client.mjs';

let cluster;
before(async () => {
    cluster = new Cluster('embedded', { plain: true, endpoint: ['--endpoint-matrix-gateway', 'true'] });
    await cluster.prepare();
    await cluster.start();
});
after(() => cluster.end());

/** One distributor: one UAID, and a channel for each app. */
class Distributor {
    /** @param {{acks?: boolean}} [options] `acks`: its versions of early 2025 acknowledged nothing */
    constructor({ acks = true } = {}) {
        this.acks = acks;
        this.uaid = '';
        this.received = []; // as its apps get it: channel and content
        this.replies = [];
    }

    /** Resolves with the answer to its hello. */
    async connect() {
        this.socket = new WebSocket(cluster.websocket);
        const hello = { messageType: 'hello', ...(this.uaid && { uaid: this.uaid }) };
        this.socket.on('open', () => this.send(hello));
        this.socket.on('message', (data) => this.receive(JSON.parse(data)));
        const answer = await this.reply('hello');
        assert.equal(answer.status, 200);
        this.uaid = answer.uaid;
        return answer;
    }

    send(message) {
        this.socket.send(JSON.stringify(message));
    }

    receive(message) {
        if (message.messageType !== 'notification') return this.replies.push(message);
        const { channelID, version, data = '' } = message;
        this.received.push({ channelID, version, content: Buffer.from(data, 'base64url').toString() });
        if (this.acks) this.send({ messageType: 'ack', updates: [{ channelID, version }] });
    }

    async reply(type) {
        const is = ({ messageType }) => messageType === type;
        await until(type, () => this.replies.some(is));
        return this.replies.splice(this.replies.findIndex(is), 1)[0];
    }

    /** An app registers; `key`: its server's VAPID public key, if it has one. */
    async register(key) {
        const channelID = randomUUID();
        this.send({ messageType: 'register', channelID, ...(key && { key }) });
        const answer = await this.reply('register');
        assert.equal(answer.channelID, channelID);
        return answer;
    }

    async unregister(channelID) {
        this.send({ messageType: 'unregister', channelID });
        return this.reply('unregister');
    }

    disconnect() {
        const closed = new Promise((resolve) => this.socket.once('close', resolve));
        this.socket.close();
        return closed;
    }
}

const contents = (distributor) => distributor.received.map(({ content }) => content);

test('an app gets its messages, each once, over connections', async () => {
    const distributor = new Distributor();
    const hello = await distributor.connect();
    const { pushEndpoint, status } = await distributor.register();
    assert.equal(status, 200);
    assert(pushEndpoint.length <= 1000);
    assert.equal((await post(pushEndpoint, 'while connected')).status, 201);
    await until('the message', () => contents(distributor).includes('while connected'));
    await distributor.disconnect();

    assert.equal((await post(pushEndpoint, 'while away')).status, 201);
    assert.equal((await distributor.connect()).uaid, hello.uaid);
    await until('the message that waited', () => contents(distributor).includes('while away'));
    await distributor.disconnect();
    await distributor.connect();
    await post(pushEndpoint, 'the last');
    await until('the last message', () => contents(distributor).includes('the last'));
    assert.deepEqual(contents(distributor), ['while connected', 'while away', 'the last']);
    await distributor.disconnect();
});

test('an app with a VAPID key is reached by nobody else', async () => {
    const distributor = new Distributor();
    await distributor.connect();
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const point = publicKey.export({ format: 'der', type: 'spki' }).subarray(-65).toString('base64url');
    const bound = await distributor.register(point);
    assert.equal(bound.status, 200);
    assert.equal((await post(bound.pushEndpoint, 'from anybody')).status, 401);
    const free = await distributor.register();
    assert.equal((await post(free.pushEndpoint, 'from anybody')).status, 201);
    await until('the message', () => distributor.received.length === 1);
    assert.equal(distributor.received[0].channelID, free.channelID);
    await distributor.disconnect();
});

test('a Matrix homeserver reaches an app, and hears when it is gone', async () => {
    const distributor = new Distributor();
    await distributor.connect();
    const { channelID, pushEndpoint } = await distributor.register();
    const gateway = `${cluster.endpoint}/_matrix/push/v1/notify`;
    assert.deepEqual(await (await fetch(gateway)).json(), { unifiedpush: { gateway: 'matrix' } });
    const notification = { event_id: '$event', room_id: '!room:example.org', counts: { unread: 1 }, devices: [{ app_id: 'org.app', pushkey: pushEndpoint }] };
    const notify = async () => (await fetch(gateway, { method: 'POST', body: JSON.stringify({ notification }) })).json();
    assert.deepEqual(await notify(), { rejected: [] });
    await until('the notification', () => distributor.received.length === 1);
    assert.deepEqual(JSON.parse(distributor.received[0].content), { notification });
    assert.equal((await distributor.unregister(channelID)).status, 200);
    assert.deepEqual(await notify(), { rejected: [pushEndpoint] });
    await distributor.disconnect();
});

test('an app that is gone is answered 410', async () => {
    const distributor = new Distributor();
    await distributor.connect();
    const { channelID, pushEndpoint } = await distributor.register();
    assert.equal((await distributor.unregister(channelID)).status, 200);
    assert.equal((await post(pushEndpoint, 'too late')).status, 410);
    await distributor.disconnect();
});

test('the expectations of a UnifiedPush sender, and Beckon\'s answers', async () => {
    const distributor = new Distributor();
    await distributor.connect();
    const { pushEndpoint } = await distributor.register();
    // Version 1 of its server specification asks for a page at the endpoint, which autopush has not either.
    assert.equal((await call('GET', pushEndpoint)).status, 405);
    // Content that is not encrypted is not passed on.
    assert.equal((await call('POST', pushEndpoint, { TTL: '60' }, 'plain text')).status, 400);
    await distributor.disconnect();
});

test('a distributor that acknowledges nothing gets a window, and all of it again when it comes back', async () => {
    const distributor = new Distributor({ acks: false });
    await distributor.connect();
    const { pushEndpoint } = await distributor.register();
    const all = Array.from({ length: 30 }, (_, i) => `message ${i} `.padEnd(3000, '.'));
    for (const text of all) assert.equal((await post(pushEndpoint, text)).status, 201);
    // The window: 64 KiB of frames, in which content is base64.
    await until('the window', () => distributor.received.length >= 10);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const window = distributor.received.length;
    assert(window * 4000 <= 65536 && (window + 1) * 4500 > 65536, `${window} messages`);
    await distributor.disconnect();
    distributor.acks = true;
    await distributor.connect();
    await until('all', () => new Set(contents(distributor)).size === all.length);
    assert.deepEqual(contents(distributor).slice(window), all);
    await distributor.disconnect();
});

test('a client that acknowledges in groups gets a burst of small messages at once', async () => {
    const distributor = new Distributor({ acks: false });
    await distributor.connect();
    const { pushEndpoint } = await distributor.register();
    const all = Array.from({ length: 35 }, (_, i) => `message ${i}`);
    for (const text of all) assert.equal((await post(pushEndpoint, text)).status, 201);
    await until('all of them, without an ack', () => distributor.received.length === all.length, 5000);
    assert.deepEqual(contents(distributor), all);
    await distributor.disconnect();
});
