// What an operator does to clients and senders: erase a person, export, see who is connected, block a sender and limit one. LOG=embedded
// (standalone) or LOG=kafka, where the tools find the home of a client by themselves, and two endpoints follow the same rules.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, until } from './beckon.mjs';
import { UserAgent, call } from './client.mjs';

const log = process.env.LOG ?? 'embedded';
const TOKEN = 'a-token-that-nobody-guesses-0123';
const cluster = new Cluster(log, { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], reliability: false, console: [] });
const SOON_MS = 1000; // "all endpoints follow within a second"
let agent;
let endpoint;
let origins; // of each endpoint

before(async () => {
    await cluster.prepare();
    const file = join(cluster.directory, 'token');
    writeFileSync(file, `${TOKEN}\n`);
    cluster.consoleOptions.push('--console-token-file', file);
    await cluster.start();
    origins = [cluster.endpoint];
    if (log === 'kafka') origins.push(await cluster.startAnotherEndpoint('endpoint-2'));
});
after(async () => {
    agent?.end();
    await cluster.destroy();
});

const where = () => (log === 'kafka' ? cluster.kafkaOptions() : ['--data', join(cluster.directory, 'standalone'), '--ops-port', String(cluster.ports.ops)]);

/** Runs a tool to its end. */
function beckon(...args) {
    return new Promise((resolve) => {
        const child = spawn(BECKON, [...args, ...where()]);
        const result = { out: '', err: '' };
        child.stdout.on('data', (data) => (result.out += data));
        child.stderr.on('data', (data) => (result.err += data));
        child.on('exit', (code) => resolve({ ...result, code }));
    });
}
async function done(...args) {
    const { out, err, code } = await beckon(...args);
    assert.equal(code, 0, err + out);
    return out;
}
async function connected() {
    agent?.end();
    agent = new UserAgent(cluster.websocket);
    await agent.connect();
    endpoint = await agent.register();
}
const status = async (url, headers = { TTL: '600' }) => (await call('POST', url, headers, '')).status;
/** A subscription's URL at each endpoint. */
const everywhere = (url) => origins.map((origin) => origin + new URL(url).pathname);
/** Waits until `check` holds at each endpoint; how long that takes, in milliseconds. */
async function atEach(url, what, check) {
    const begun = Date.now();
    await Promise.all(everywhere(url).map((one) => until(`${what} at ${new URL(one).host}`, () => check(one), 20000)));
    return Date.now() - begun;
}
const answered = (url, expected) => atEach(url, `a ${expected}`, async (one) => (await status(one)) === expected);
async function ask(path, body) {
    const reply = await fetch(`http://127.0.0.1:${cluster.ports.console}${path}`, { ...(body && { method: 'POST', body: JSON.stringify(body) }), headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' } });
    return { status: reply.status, json: await reply.json() };
}

test('a client is shown with its connection: at which edge, since when; and when it was last seen', async () => {
    await connected();
    const shown = await until('its home', async () => { // which reports itself within ten seconds
        const now = JSON.parse(await done('subscriptions', 'show', endpoint, '--json'));
        return now.connection?.connected && now;
    }, 30000);
    assert.ok(shown.connection.edge);
    assert.ok(Math.abs(Date.now() - shown.connection.attached_since) < 60000);
    assert.ok(Math.abs(Date.now() - shown.known.last_seen) < 120000);
    assert.match(await done('subscriptions', 'show', endpoint), /It is connected, at least since .*, at the edge /);
    const proof = (await done('keys', 'proof')).trim();
    const page = `http://127.0.0.1:${log === 'kafka' ? cluster.ports.opsEdge : cluster.ports.ops}/delivery/client?uaid=${agent.uaid}`;
    assert.equal((await fetch(page)).status, 401);
    const now = await (await fetch(page, { headers: { authorization: `Bearer ${proof}` } })).json();
    assert.ok(now.served && now.connected);
    await agent.close();
    await until('that it is not connected', async () => /It is not connected now/.test(await done('subscriptions', 'show', endpoint)), 30000);
    await until('the same in the console', async () => {
        const { json } = await ask(`/api/find?q=${encodeURIComponent(endpoint)}`);
        return json.connection?.problem === '' && json.connection.connected === false;
    }, 30000);
});

test('an export has each client with its channels and what waits for it', async () => {
    await connected();
    await agent.close();
    assert.equal(await status(endpoint, { TTL: '600', Topic: 'news' }), 201);
    const exported = await until('the message', async () => {
        const lines = (await done('subscriptions', 'export', '--messages')).trim().split('\n').map((line) => JSON.parse(line));
        const mine = lines.find((line) => line.uaid.replaceAll('-', '') === agent.uaid.replaceAll('-', ''));
        return mine?.messages.length === 1 && mine;
    }, 30000);
    assert.equal(exported.router_type, 'webpush');
    assert.equal(exported.channelIDs.length, 1);
    assert.equal(exported.messages[0].topic, 'news');
    const file = join(cluster.directory, 'clients.jsonl');
    writeFileSync(file, `${JSON.stringify(exported)}\n`);
    if (log === 'kafka') assert.match(await done('subscriptions', 'import', file, '--dry-run'), /unchanged: 1 clients/);
});

test('a person is erased: the log has nothing but tombstones, senders get 410, and the client starts anew', async () => {
    await connected();
    const uaid = agent.uaid;
    await agent.close();
    assert.equal(await status(endpoint), 201);
    assert.equal(await status(endpoint, { TTL: '600', Topic: 'news' }), 201);
    assert.match(await done('subscriptions', 'remove', endpoint), /It has 1 channel, 2 waiting messages\.\nNothing was changed: --yes /);
    assert.match(await done('subscriptions', 'remove', endpoint, '--yes'), /Removed: the client, 1 channel, 2 waiting messages\. The log has nothing of it but tombstones\./);
    assert.equal(await status(endpoint), 410);
    const records = (await done('replay', 'show', '--uaid', uaid, '--values')).trim().split('\n').map((line) => JSON.parse(line));
    const last = new Map(records.map((record) => [`${record.topic} ${record.key}`, record]));
    for (const [key, record] of last) assert.ok(record.value === null || record.value === undefined, `${key}: ${JSON.stringify(record)}`);
    const again = await beckon('subscriptions', 'remove', endpoint);
    assert.equal(again.code, 3, again.out + again.err);
    const next = new UserAgent(cluster.websocket);
    next.uaid = uaid;
    await next.connect();
    assert.notEqual(next.uaid, uaid);
    next.end();
});

test('the page of a client in the console has the same act, which a connected client feels at once', async () => {
    await connected();
    const former = agent.uaid;
    const plan = await ask('/api/acts/remove/check', { q: endpoint });
    assert.equal(plan.status, 200, JSON.stringify(plan.json));
    assert.match(plan.json.plan.does[0], /^The client ends with 1 channel and 0 waiting messages/);
    const acted = await ask('/api/acts/remove', { confirmation: plan.json.confirmation });
    assert.equal(acted.status, 200, JSON.stringify(acted.json));
    await until('a 410', async () => (await status(endpoint)) === 410, 20000);
    await until('another UAID', () => agent.helloed && agent.uaid !== former, 20000);
    assert.equal((await ask('/api/acts/remove', { confirmation: 'made up' })).status, 409);
});

test('a subscription, a VAPID key and an owner are blocked and let in again, within a second', async () => {
    await connected();
    assert.equal(await status(endpoint), 201);
    await done('senders', 'block', '--subscription', endpoint, '--why', 'a test');
    assert.ok((await answered(endpoint, 403)) <= SOON_MS);
    const { body } = await call('POST', endpoint, { TTL: '600' }, '');
    assert.match(JSON.parse(body).message, /operator of this service has blocked this subscription/);
    assert.match(await done('senders', 'list'), /^blocked {2}subscription [0-9a-f]{64} {2}since .* {2}a test\n$/);
    const page = await until('the page', async () => {
        const { json } = await ask('/api/pages/senders');
        return json.blocked?.length === 1 && json;
    }, 20000);
    assert.equal(page.blocked[0].why, 'a test');
    await done('senders', 'unblock', '--subscription', endpoint);
    assert.ok((await answered(endpoint, 201)) <= SOON_MS);

    const token = (await done('webhooks', 'token', 'shop')).trim();
    const event = () => fetch(`http://127.0.0.1:${cluster.ports.retry}/events`, { method: 'POST', headers: { authorization: `Bearer ${token}`, 'content-type': 'application/cloudevents+json' }, body: JSON.stringify({ specversion: '1.0', id: '1', source: '/t', type: 'a.b', data: 1 }) });
    assert.ok((await event()).status < 300);
    await done('senders', 'block', '--owner', 'shop');
    await until('a 403', async () => (await event()).status === 403, 20000);
    await done('senders', 'unblock', '--owner', 'shop');
    await until('that it is accepted', async () => (await event()).status < 300, 20000);
    assert.equal((await beckon('senders', 'list')).code, 3);
    assert.equal((await beckon('senders', 'block', '--vapid', 'no key')).code, 2);
});

test('each subscription has a limit that all endpoints follow within a second, and more get 429 with Retry-After', async () => {
    await connected();
    assert.equal(await status(endpoint), 201);
    await done('senders', 'limit', 'subscription', '1');
    const refused = [];
    const tooMany = async (one) => {
        const reply = await call('POST', one, { TTL: '600' }, '');
        return reply.status === 429 && refused.push(reply);
    };
    assert.ok((await atEach(endpoint, 'a 429', tooMany)) <= SOON_MS);
    assert.deepEqual(refused.map(({ headers }) => headers['retry-after']), origins.map(() => '1'));
    await done('senders', 'limit', 'subscription', '0');
    const unlimited = async (one) => (await status(one)) === 201 && (await status(one)) === 201 && (await status(one)) === 201;
    await atEach(endpoint, 'three messages in a row', unlimited);
});
