// Push message receipts (RFC 8030 §5.1, §6.3) from the outside: a sender that asked receives the outcome of each message, by
// long polling and by webhook, also when processes are killed.
//
//   node --test receipts.mjs   (LOG=embedded|kafka)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import webpush from 'web-push';
import { BECKON, Cluster, until } from './beckon.mjs';
import { UserAgent, call, post } from './client.mjs';

const log = process.env.LOG ?? 'embedded';
const RELATION = 'urn:ietf:params:push:receipt';
const STABLE_WITHIN_MS = 120000; // on a busy machine, a take-over included
const KILLS = 3;
const SENT_AROUND_A_KILL = 40;

const keys = webpush.generateVAPIDKeys();
const cluster = new Cluster(log, { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'] });
const clients = [];

const vapid = () => webpush.getVapidHeaders(new URL(cluster.endpoint).origin, 'mailto:tests@example.com', keys.publicKey, keys.privateKey, 'aes128gcm');

async function newClient() {
    const client = new UserAgent(cluster.websocket);
    await client.connect();
    client.channel = randomUUID();
    await client.register(client.channel);
    clients.push(client);
    return client;
}

/** POSTs a message with a wish for a receipt; the URL of its receipt subscription. */
async function sendWithReceipt(endpoint, headers = {}) {
    const reply = await post(endpoint, 'body', { Prefer: 'respond-async', ...headers });
    assert.equal(reply.status, 202, reply.body);
    const link = reply.headers.link.match(/^<(.*)>; rel="(.*)"$/);
    assert.equal(link[2], RELATION);
    assert.equal(reply.headers['preference-applied'], 'respond-async');
    return { message: reply.headers.location, receipt: link[1] };
}

const poll = (url, seconds = 5) => call('GET', url, { Prefer: `wait=${seconds}` });

/** The outcomes of a receipt subscription, polled until `enough` says so: by message, the first outcome. */
async function receivedOutcomes(receipt, enough) {
    const outcomes = new Map();
    let next = receipt;
    await until('the outcomes', async () => {
        const reply = await poll(next);
        if (reply.status === 204) return enough(outcomes);
        if (reply.status !== 200) return false;
        const page = JSON.parse(reply.body);
        for (const one of page.receipts) if (!outcomes.has(one.message)) outcomes.set(one.message, one);
        next = page.next;
        return enough(outcomes);
    }, STABLE_WITHIN_MS);
    return outcomes;
}
const outcomeOf = async ({ message, receipt }) => (await receivedOutcomes(receipt, (outcomes) => outcomes.has(message))).get(message);

function api(method, path, token, json) {
    return call(method, `http://127.0.0.1:${cluster.ports.retry}${path}`,
        { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, json && JSON.stringify(json));
}

function tokenOf(owner) {
    const data = log === 'kafka' ? ['--key-ring', join(cluster.directory, 'keys.json')] : ['--data', join(cluster.directory, 'standalone')];
    const made = spawnSync(BECKON, ['webhooks', 'token', owner, ...data], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    return made.stdout.trim();
}

/** A webhook of `owner` for all of Beckon's events about messages and subscriptions; its events, by id. */
async function receiver(owner) {
    const events = new Map();
    const server = http.createServer((request, response) => {
        let body = '';
        request.on('data', (data) => (body += data));
        request.on('end', () => {
            const event = JSON.parse(body);
            events.set(event.id, event);
            response.writeHead(204).end();
        });
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const token = tokenOf(owner);
    const made = await until('a webhook', async () => {
        const reply = await api('POST', '/webhooks', token, { url: `http://127.0.0.1:${server.address().port}/`, types: ['beckon.message.*', 'beckon.subscription.*'] });
        return reply.status === 201 && reply;
    }, 60000);
    assert.equal(made.status, 201);
    return { events, stop: () => (server.closeAllConnections(), server.close()) };
}
const ownOwner = () => `vapid-${createHash('sha256').update(Buffer.from(keys.publicKey, 'base64url')).digest('hex').slice(0, 32)}`;

before(async () => {
    await cluster.prepare();
    await cluster.start();
});
after(async () => {
    for (const client of clients) client.end();
    await cluster.end();
});

test('a POST that asks for no receipt is answered as ever, and a wrong request for one is refused', async () => {
    const { endpoint } = await newClient();
    assert.equal((await post(endpoint, 'body')).status, 201);
    assert.equal((await post(endpoint, 'body', { Prefer: 'wait=10' })).status, 201);
    for (const wrong of ['https://elsewhere.example/r/x', '/m/x', `${cluster.endpoint}/r/${'A'.repeat(66)}`, '']) {
        const reply = await post(endpoint, 'body', { Prefer: 'respond-async', 'Push-Receipt': wrong });
        assert.equal(reply.status, 400, `${wrong}: ${reply.body}`);
        assert.match(reply.body, /Push-Receipt/);
    }
    assert.equal((await call('GET', `${cluster.endpoint}/r/${'A'.repeat(66)}`)).status, 404);
    const { receipt } = await sendWithReceipt((await newClient()).endpoint, { TTL: '3600' });
    assert.equal((await call('GET', `${receipt}?before=3`)).status, 400);
    assert.equal((await call('POST', receipt)).status, 405);
});

test('an acknowledged message is reported by long polling and to the webhook of its sender', async () => {
    const mine = await receiver(ownOwner());
    const other = await receiver('vapid-00000000000000000000000000000000');
    const client = await newClient();
    const sent = await sendWithReceipt(client.endpoint, vapid());
    const outcome = await outcomeOf(sent);
    assert.equal(outcome.outcome, 'acknowledged');
    assert.equal(outcome.status, 204);
    assert.equal(outcome.reason, 'acked');

    const event = await until('the event', () => [...mine.events.values()].find(({ subject }) => sent.message.endsWith(`/m/${subject}`)), 60000);
    assert.equal(event.type, 'beckon.message.acknowledged');
    assert.equal(event.data.outcome, 'acknowledged');
    assert.equal(event.beckonowner, ownOwner());
    assert.equal(other.events.size, 0);
    mine.stop();
    other.stop();
});

test('a poll that waits is answered by the ack, and one without an outcome says so in time', async () => {
    const client = await newClient();
    client.mute = true;
    const sent = await sendWithReceipt(client.endpoint);
    assert.equal((await poll(sent.receipt, 0)).status, 204);
    const waiting = poll(sent.receipt, 9);
    await until('the message', () => client.versions.size === 1);
    const [version] = client.versions.keys();
    client.answer({ channelID: client.channel, version });
    let reply = await waiting;
    if (reply.status === 204) reply = await poll(sent.receipt, 9); // a busy machine
    assert.equal(reply.status, 200);
    const { receipts, next, complete } = JSON.parse(reply.body);
    assert.equal(receipts.length, 1);
    assert.equal(receipts[0].message, sent.message);
    assert.equal(complete, true);
    assert.equal((await poll(next, 0)).status, 204);
});

test('a message that expires, or loses its subscription, is reported too', async () => {
    const away = await newClient();
    away.end();
    const short = await sendWithReceipt(away.endpoint, { TTL: '1' });
    const never = await sendWithReceipt(away.endpoint, { TTL: '0' });
    const leaving = await newClient();
    leaving.mute = true;
    const waits = await sendWithReceipt(leaving.endpoint);
    await until('the message', () => leaving.versions.size === 1);
    assert.equal(await leaving.unregister(leaving.channel), 200);

    assert.equal((await outcomeOf(short)).outcome, 'expired');
    assert.equal((await outcomeOf(never)).outcome, 'expired');
    const gone = await outcomeOf(waits);
    assert.deepEqual([gone.outcome, gone.status, gone.reason], ['gone', 410, 'unregistered']);
});

test('a message with TTL 0 that arrives is acknowledged', async () => {
    const client = await newClient();
    const sent = await sendWithReceipt(client.endpoint, { TTL: '0' });
    assert.equal((await outcomeOf(sent)).outcome, 'acknowledged');
});

test('a message that a newer one of its Topic replaces is gone', async () => {
    const away = await newClient();
    away.end();
    const older = await sendWithReceipt(away.endpoint, { Topic: 'score' });
    const newer = await sendWithReceipt(away.endpoint, { Topic: 'score', 'Push-Receipt': older.receipt });
    const gone = await outcomeOf(older);
    assert.deepEqual([gone.outcome, gone.reason], ['gone', 'replaced']);
    await away.connect();
    assert.equal((await outcomeOf(newer)).outcome, 'acknowledged');
});

test('many messages share a receipt subscription', async () => {
    const [one, two] = [await newClient(), await newClient()];
    const first = await sendWithReceipt(one.endpoint);
    const sent = [first];
    for (let i = 0; i < 250; ++i) {
        const { endpoint } = i % 2 ? one : two;
        sent.push(await sendWithReceipt(endpoint, { 'Push-Receipt': i % 3 ? first.receipt : new URL(first.receipt).pathname }));
    }
    assert.equal(new Set(sent.map(({ receipt }) => receipt)).size, 1);
    const outcomes = await receivedOutcomes(first.receipt, (all) => all.size === sent.length);
    assert.ok(sent.every(({ message }) => outcomes.get(message).outcome === 'acknowledged'));
});

test('the end of a subscription reaches the webhooks of the key that it was bound to', async () => {
    const mine = await receiver(ownOwner());
    const client = await newClient();
    const channel = randomUUID();
    const endpoint = await client.register(channel, keys.publicKey);
    assert.equal(await client.unregister(channel), 200);
    const event = await until('the event', () => [...mine.events.values()].find(({ type }) => type === 'beckon.subscription.gone'), 60000);
    assert.deepEqual(event.data, { endpoint, reason: 'unregistered' });
    assert.equal((await post(endpoint, 'body', vapid())).status, 410);
    mine.stop();
});

// Allowed after a kill: an outcome that is received twice; receivedOutcomes() keeps the first.
test('a kill loses no outcome', async () => {
    const client = await newClient();
    const away = await newClient();
    away.end();
    const first = await sendWithReceipt(client.endpoint);
    const sent = new Map([[first.message, 'acknowledged']]);
    const send = async (endpoint, headers, outcome) => {
        const reply = await post(endpoint, 'body', { Prefer: 'respond-async', 'Push-Receipt': first.receipt, ...headers });
        if (reply.status === 202) sent.set(reply.headers.location, outcome);
    };
    const victims = log === 'kafka' ? ['edge', 'endpoint', 'edge'] : Array(KILLS).fill('standalone');
    for (const victim of victims) {
        const before = sent.size;
        const sending = [];
        for (let i = 0; i < SENT_AROUND_A_KILL; ++i) {
            sending.push(send(client.endpoint, {}, 'acknowledged'), send(away.endpoint, { TTL: '2' }, 'expired'));
        }
        await until('some answers', () => sent.size > before + 10);
        await cluster.children.get(victim).kill();
        await Promise.all(sending);
        await cluster.start(victim === 'standalone' ? undefined : victim);
    }
    const outcomes = await receivedOutcomes(first.receipt, (all) => all.size >= sent.size && [...sent.keys()].every((message) => all.has(message)));
    const wrong = [...sent].filter(([message, outcome]) => outcomes.get(message).outcome !== outcome);
    assert.deepEqual(wrong, []);
    assert.ok(sent.size > SENT_AROUND_A_KILL);
});
