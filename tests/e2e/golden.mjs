// Data of a release: each later build must start on them, deliver what waits and answer as before. Each directory of tests/golden with an
// expected.json is such a set:
//
//   data.tar.gz     the data directory of a standalone, after a clean stop; with its key ring
//   backup.tar.gz   what `beckon backup` made of it
//   topics/*.jsonl  the records of each log topic, as `beckon replay show --values` prints them; tests/records/golden_test.cpp reads them too
//   answers/*.json  what tools printed with --json, and the export of all clients
//   expected.json   the build, and what is in the data
//
//   node golden.mjs make DIRECTORY     makes a set with this build (`./dev golden NAME`)
//   node --test golden.mjs             tries each set with this build, and one that this build makes
//
// The test sets the clock of the process to a minute after the data was made: its messages would have expired.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import webpush from 'web-push';
import { BECKON, Cluster, ROOT, until } from './beckon.mjs';
import { UserAgent, call, post } from './client.mjs';
import { RetryApi } from './retry-api.mjs';

const GOLDEN = join(ROOT, 'tests', 'golden');
const TTL = { TTL: String(7 * 86400) };
const MINUTE_MS = 60000;
/** A failed delivery waits so long for its second attempt, and then is a dead letter. The rest of a set is made meanwhile, on a busy machine too. */
const TIERS = '0s,20s';
const TOPICS = ['notifications', 'subscriptions', 'ownership', 'broadcasts', 'reliability', 'reliability.totals', 'control', 'events', 'webhooks',
    'retry.0', 'retry.1', 'retry.dead', 'retry.done'];

/** Webhooks lead to names under `.example`: the proxy of the role retry takes them here. */
class Receiver {
    status = 204;
    requests = [];
    async start() {
        this.server = http.createServer((request, response) => {
            let body = '';
            request.on('data', (data) => (body += data));
            request.on('end', () => {
                this.requests.push({ url: request.url, headers: request.headers, body, event: JSON.parse(body) });
                response.writeHead(this.status).end();
            });
        });
        await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
        this.proxy = `http://127.0.0.1:${this.server.address().port}`;
    }
    of(id) {
        return this.requests.filter(({ event }) => event.id === id);
    }
    stop() {
        this.server.closeAllConnections();
        this.server.close();
    }
}

/** A cluster for the data of a set, with a receiver; not started. */
async function world({ keys, tiers = '0s,5s' }) {
    const receiver = new Receiver();
    await receiver.start();
    const cluster = new Cluster('embedded', {
        plain: true,
        tiers,
        endpoint: ['--endpoint-tracking-keys', keys.publicKey, '--endpoint-fcm-app-ids', 'my-app'],
        retry: ['--retry-proxy', receiver.proxy],
    });
    await cluster.prepare();
    const vapid = (id) => ({
        ...TTL,
        // web-push goes by new Date() where no time is given.
        Authorization: webpush.getVapidHeaders(cluster.endpoint, 'mailto:tests@example.com', keys.publicKey, keys.privateKey, 'aes128gcm',
            Math.floor(Date.now() / 1000) + 3600).Authorization,
        ...(id && { 'X-MessageId': id }),
    });
    return { cluster, receiver, vapid, data: join(cluster.directory, 'standalone'), url: (path) => cluster.endpoint + path };
}

/** Options with which a tool asks the running process. */
const where = ({ cluster, data }) => ['--data', data, '--ops-port', String(cluster.ports.ops)];
const pathOf = (url) => new URL(url).pathname;

/** What a tool prints, which must end well. */
function tool(args, environment = {}) {
    const { status, stdout, stderr } = spawnSync(BECKON, args, { encoding: 'utf8', timeout: MINUTE_MS, env: { ...process.env, ...environment } });
    assert.equal(status, 0, `beckon ${args.join(' ')}\n${stdout}${stderr}`);
    return stdout;
}

/** The tools whose output with --json is kept, by name. */
const answersOf = (here, expected) => ({
    message: ['message', expected.message, '--json', ...where(here)],
    'subscriptions-show': ['subscriptions', 'show', here.url(expected.paths.open), '--json', ...where(here)],
    'replay-state': ['replay', 'state', '--uaid', expected.uaid, '--json', ...where(here)],
    'dead-list': ['dead', 'list', '--all-owners', '--json', '--data', here.data, '--retry-port', String(here.cluster.ports.retry)],
    cluster: ['cluster', '--json', ...where(here)],
    export: ['subscriptions', 'export', '--messages', ...where(here)],
});

// --- making

async function make(directory) {
    rmSync(directory, { recursive: true, force: true });
    for (const name of ['topics', 'answers']) mkdirSync(join(directory, name), { recursive: true });
    const keys = webpush.generateVAPIDKeys();
    const here = await world({ keys, tiers: TIERS });
    const { cluster, receiver, vapid } = here;
    const client = new UserAgent(cluster.websocket);
    let api;
    try {
        await cluster.start();
        api = new RetryApi(cluster);
        const expected = { build: tool(['--version']).trim(), made: Date.now(), keys, tiers: TIERS, paths: {}, reliability: 'golden-1' };

        client.url = cluster.websocket;
        await client.connect();
        expected.uaid = client.uaid;
        const gone = randomUUID();
        expected.paths.gone = pathOf(await client.register(gone));
        assert.equal(await client.unregister(gone), 200);
        expected.paths.bound = pathOf(await client.register(randomUUID(), keys.publicKey));
        expected.paths.open = pathOf(await client.register(randomUUID()));

        expected.acknowledged = 'acknowledged, with a receipt';
        const acknowledged = await post(here.url(expected.paths.bound), expected.acknowledged, { ...vapid(expected.reliability), Prefer: 'respond-async' });
        assert.equal(acknowledged.status, 202, acknowledged.body);
        expected.receipt = pathOf(acknowledged.headers.link.match(/^<(.*)>;/)[1]);
        await until('the ack', async () => (await call('GET', here.url(expected.receipt), { Prefer: 'wait=1' })).status === 200);
        await client.close();

        const send = async (path, body, headers = TTL) => {
            const reply = await post(here.url(path), body, headers);
            assert.equal(reply.status, 201, reply.body);
            return reply;
        };
        expected.waits = ['the second of a Topic', 'of a bound channel', 'the last'];
        await send(expected.paths.open, 'the first of a Topic', { ...TTL, Topic: 'golden', Urgency: 'high' });
        await send(expected.paths.open, expected.waits[0], { ...TTL, Topic: 'golden' });
        const deleted = await send(expected.paths.open, 'deleted by its sender');
        assert.equal((await call('DELETE', deleted.headers.location)).status, 204);
        await send(expected.paths.bound, expected.waits[1], vapid('golden-2'));
        expected.message = (await send(expected.paths.open, expected.waits[2])).id;

        tool(['broadcasts', 'set', 'golden/news', '7', ...where(here)]);
        const device = await call('POST', here.url('/v1/fcm/my-app/registration'), { 'Content-Type': 'application/json' }, '{"token":"golden-device"}');
        assert.equal(device.status, 200, device.body);
        expected.device = JSON.parse(device.body);

        const as = api.token('shop');
        const made = await api.ask('POST', '/webhooks', { as, json: {
            url: 'http://hooks.example/golden', types: ['order.*'], filter: { range: { 'data.n': { gte: 1 } } }, headers: { 'X-Golden': 'yes' }, timeout_s: 15,
        } });
        assert.equal(made.status, 201, made.text);
        expected.webhook = { id: made.json.id, secret: made.json.secret };
        expected.disabled = await api.webhook(as, 'http://hooks.example/disabled', ['order.*']);
        assert.equal((await api.ask('POST', `/webhooks/${expected.disabled}/disable`, { as })).json.enabled, false);
        const event = (n) => api.post(as, 'order.made', { n, text: 'ä\u2028' });
        const delivered = await event(1);
        await until('the delivery', () => receiver.of(delivered).length === 1);
        receiver.status = 500;
        expected.dead = await event(2);
        await until('the dead letter', async () => (await api.ask('GET', '/dead', { as })).json.letters.length === 1, MINUTE_MS);
        expected.event = await event(3);
        await until('its first attempt', () => receiver.of(expected.event).length === 1);

        for (const [name, args] of Object.entries(answersOf(here, expected))) writeFileSync(join(directory, 'answers', `${name}.json`), tool(args));
        const backup = join(cluster.directory, 'backup');
        tool(['backup', backup, ...where(here)]);
        for (const topic of TOPICS) writeFileSync(join(directory, 'topics', `${topic}.jsonl`), tool(['replay', 'show', '--topic', topic, '--values', ...where(here)]));
        await cluster.stop();
        assert.equal(receiver.of(expected.event).length, 1, 'it waits for its second attempt');
        for (const [name, from] of [['data', here.data], ['backup', backup]]) {
            execFileSync('tar', ['--sparse', '--exclude=LOG', '--exclude=LOG.old*', '--exclude=LOCK', '-czf', join(directory, `${name}.tar.gz`), '-C', from, '.']);
        }
        writeFileSync(join(directory, 'expected.json'), `${JSON.stringify(expected, null, 1)}\n`);
    } finally {
        api?.close();
        client.end();
        receiver.stop();
        await cluster.destroy();
    }
}

// --- trying

let clockLibrary;
/** Variables of a process whose wall clock is so far off. */
function clockOff(ms) {
    if (!clockLibrary) {
        clockLibrary = join(mkdtempSync(join(tmpdir(), 'beckon-clock-')), 'wrong-clock.so');
        execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', clockLibrary, join(ROOT, 'tests', 'e2e', 'wrong-clock.c'), '-ldl']);
    }
    return { LD_PRELOAD: clockLibrary, CLOCK_OFFSET_S: String(Math.round(ms / 1000)) };
}

/** Members and elements that were there, and are not, or have another type. */
function missing(before, now, at = '$') {
    if (before === null || typeof before !== 'object') return now === null || typeof before === typeof now ? [] : [`${at} was ${typeof before}, and is ${typeof now}`];
    if (now === null || typeof now !== 'object') return [`${at} is gone`];
    if (Array.isArray(before)) return before.length && now.length ? missing(before[0], typeof before[0] === 'object' ? Object.assign({}, ...now) : now[0], `${at}[]`) : [];
    return Object.keys(before).flatMap((name) => (name in now ? missing(before[name], now[name], `${at}.${name}`) : [`${at}.${name} is gone`]));
}

/** Starts this build on data of the set, and holds it to what the set expects. */
async function tryOut(set, archive) {
    const expected = JSON.parse(readFileSync(join(set, 'expected.json'), 'utf8'));
    const here = await world(expected);
    const { cluster, receiver, vapid, data } = here;
    const client = new UserAgent(cluster.websocket);
    let api;
    try {
        mkdirSync(data, { mode: 0o700 });
        execFileSync('tar', ['-xzf', join(set, archive), '-C', data]);
        // This process must have the same clock: it signs, and checks signatures.
        const offset = expected.made + MINUTE_MS - Date.now();
        const realNow = Date.now;
        Date.now = () => realNow() + offset;
        try {
            Object.assign(cluster.environment, clockOff(offset));
            await cluster.start();
            api = new RetryApi(cluster);
            api.events = 100; // ids that the set does not have
            await check();
        } finally {
            Date.now = realNow;
        }
        await cluster.stop();
        const again = tool(['subscriptions', 'import', join(set, 'answers', 'export.json'), '--dry-run', '--data', data], cluster.environment);
        assert.match(again, /^unchanged: [1-9]/m);
        assert.doesNotMatch(again, /refused|differ/);
    } catch (error) {
        error.message += `\n${cluster.outputs()}`;
        throw error;
    } finally {
        api?.close();
        client.end();
        receiver.stop();
        await cluster.destroy();
    }

    async function check() {
        const output = () => cluster.children.get('standalone').output;
        assert.doesNotMatch(output(), /another format|"why":"damaged/);
        const now = Object.entries(answersOf(here, expected)).map(([name, args]) => [name, tool(args)]);
        for (const [name, text] of now) {
            const lines = (all) => all.trim().split('\n').map((line) => JSON.parse(line));
            const before = lines(readFileSync(join(set, 'answers', `${name}.json`), 'utf8'));
            assert.deepEqual(missing(before, lines(text)), [], `beckon ${name}`);
        }

        const later = await call('GET', here.url(expected.receipt), { Prefer: 'wait=1' });
        assert.equal(later.status, 200, later.body);
        assert.equal(JSON.parse(later.body).receipts[0].outcome, 'acknowledged');
        const life = await until('the history', () => cluster.reliabilityPage(`history/${expected.reliability}`));
        assert.equal(life.current, 'delivered');

        client.uaid = expected.uaid;
        client.url = cluster.websocket;
        await client.connect();
        await until('what waited', () => client.bodies.length >= expected.waits.length);
        const send = (path, body, headers = TTL) => post(here.url(path), body, headers);
        assert.equal((await send(expected.paths.open, 'new')).status, 201);
        assert.equal((await send(expected.paths.bound, 'new, bound', vapid())).status, 201);
        await until('new messages', () => client.bodies.length >= expected.waits.length + 2);
        assert.deepEqual([...client.bodies].sort(), [...expected.waits, 'new', 'new, bound'].sort());
        assert.deepEqual(client.faults, [], 'the client is known');
        assert.equal((await send(expected.paths.bound, 'x')).status, 401);
        assert.equal((await send(expected.paths.gone, 'x')).status, 410);

        assert.equal(tool(['broadcasts', 'list', ...where(here)]), 'golden/news\t7\n');
        const device = await call('GET', here.url(`/v1/fcm/my-app/registration/${expected.device.uaid}`), { Authorization: `Bearer ${expected.device.secret}` });
        assert.equal(device.status, 200, device.body);

        await until('the event that waited', () => receiver.of(expected.event).length === 1, MINUTE_MS);
        const dead = ['dead', 'redrive', '--owner', 'shop', '--yes', '--data', data, '--retry-port', String(cluster.ports.retry)];
        tool(dead);
        await until('the dead letter', () => receiver.of(expected.dead).length === 1, MINUTE_MS);
        const as = api.token('shop');
        await api.post(as, 'order.made', { n: 0 }); // which the filter leaves out
        const fresh = await api.post(as, 'order.made', { n: 4 });
        await until('a new event', () => receiver.of(fresh).length === 1);
        assert.equal(receiver.requests.length, 3);
        for (const { url, headers, body } of receiver.requests) {
            assert.equal(url, 'http://hooks.example/golden');
            assert.equal(headers['x-golden'], 'yes');
            new Webhook(expected.webhook.secret).verify(body, headers);
        }
        for (const name of ['beckon_edge_unknown_records_total', 'beckon_ingest_view_unknown_total']) assert.equal(await cluster.metric(name), 0, name);
        if (archive === 'data.tar.gz') tool(['replay', 'verify', ...where(here)]);
    }
}

if (process.argv[2] === 'make') {
    await make(resolve(process.argv[3]));
    process.exit();
}

const names = existsSync(GOLDEN) ? readdirSync(GOLDEN).filter((name) => existsSync(join(GOLDEN, name, 'expected.json'))) : [];
for (const name of names) {
    for (const archive of ['data.tar.gz', 'backup.tar.gz']) {
        test(`${name}: this build goes on from ${archive}`, { timeout: 180000 }, () => tryOut(join(GOLDEN, name), archive));
    }
}

test('this build goes on from what it has made itself', { timeout: 240000 }, async (t) => {
    const own = mkdtempSync(join(tmpdir(), 'beckon-golden-'));
    t.after(() => rmSync(own, { recursive: true, force: true }));
    await make(join(own, 'set'));
    assert.deepEqual(readdirSync(join(own, 'set')).sort(), ['answers', 'backup.tar.gz', 'data.tar.gz', 'expected.json', 'topics']);
    await tryOut(join(own, 'set'), 'data.tar.gz');
});
