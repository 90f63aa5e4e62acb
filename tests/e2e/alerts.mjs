// Faults of real processes, and who is paged for them: a real Prometheus with the shipped rules, and a real Alertmanager with the shipped
// alertmanager.yml. A fault pages once, by its cause, and says how long that took; and what must page nobody does not. Of a rule that
// waits longer than a minute, the test waits until its condition holds, and adds what it waits.
//
//   node --test alerts.mjs
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { connect as connectTcp } from 'node:net';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import webpush from 'web-push';
import { BECKON, Cluster, ROOT, until } from './beckon.mjs';
import { UserAgent, call, post } from './client.mjs';
import { Alertmanager, Prometheus } from './prometheus-server.mjs';
import { Proxy } from './proxy.mjs';
import { RetryApi } from './retry-api.mjs';

const PATIENCE = 180000;
const GROUP_WAIT_MS = 1000 * Number(readFileSync(join(ROOT, 'packaging', 'prometheus', 'alertmanager.yml'), 'utf8').match(/group_wait: (\d+)s/)[1]);
const DESCRIPTORS = 256;
const IDLE = 250;
const HANG_S = 7.5; // of an edge
const LOST = 40; // of each of four partitions some, almost surely
const SLOW_BYTES = 1000; // a second of each connection
const OVERDUE_S = 300; // by the rule
const SLOW_ANSWER_S = 15; // within the 30 s after which the console calls a group stalled
const BODY_BYTES = 3001; // of a request that is too much; nothing else is as long
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

const cluster = new Cluster('kafka', {
    plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], tiers: '0s,5s,60s', reliability: true, console: [], gates: ['edge-2', 'endpoint-2'],
});
const prometheus = new Prometheus();
const alertmanager = new Alertmanager();
const way = new Proxy(() => cluster.ports.edge); // of the canary
const clients = [];
const servers = [];
let working = true;
let sender;
let first;
let overdue; // deliveries to receivers that are slow: since when, and the alert about them
let endpoint; // that gets ten messages a second

before(async () => {
    await cluster.prepare();
    cluster.nameNode('edge', 'edge-1');
    cluster.consoleOptions.push('--console-canary', `ws://127.0.0.1:${await way.open()}/`, '--console-retry-urls', `http://127.0.0.1:${cluster.ports.retry}`);
    await cluster.start();
    await alertmanager.start(cluster);
    await prometheus.start(cluster, alertmanager, { beckon_retry_disabled_webhooks: 0 });
    first = await connected();
    endpoint = await first.register();
    sender = (async () => {
        while (working) {
            await post(endpoint, 'hello');
            await pause(0.1);
        }
    })();
    await until('a console that knows all', async () => /^Push works/.test((await verdict()).sentence), PATIENCE);
    await nothingFires();
});
after(async () => {
    working = false;
    await sender;
    for (const client of clients) client.end();
    for (const server of servers) server.close();
    way.close();
    prometheus.end();
    alertmanager.close();
    await cluster.destroy();
});

async function connected(url = cluster.websocket) {
    const client = new UserAgent(url);
    clients.push(client);
    await client.connect();
    return client;
}
function end(client) {
    clients.splice(clients.indexOf(client), 1);
    client.end();
}

const verdict = async () => (await fetch(`http://127.0.0.1:${cluster.ports.console}/api/pages/status`)).json();

/** Who is paged now: the alerts that fire, are pages, and are not muted. */
const pages = async () => (await alertmanager.active()).filter(({ labels }) => labels.severity === 'page');
const namesOf = (alerts) => [...new Set(alerts.map(({ labels }) => labels.alertname))].sort();
const nothingFires = (limitMs = 400000) => until('nothing to fire', async () => (await pages()).length === 0, limitMs).catch(async (error) => {
    throw new Error(`${error.message}: ${JSON.stringify((await pages()).map(({ labels }) => labels))}`);
});
/** Watches for so long; the names of all pages meanwhile. */
async function pagesOf(seconds) {
    const seen = new Set();
    for (const end = Date.now() + seconds * 1000; Date.now() < end; await pause(1)) {
        for (const name of namesOf(await pages())) seen.add(name);
    }
    return [...seen].sort();
}

/** Waits for the page; no other is sent first: Alertmanager sends what has fired for group_wait and is not muted then. */
async function pagedBy(t, name, limitMs, began = Date.now()) {
    const since = new Map();
    const others = new Set();
    const alert = await until(name, async () => {
        const now = await pages();
        const names = namesOf(now);
        for (const other of since.keys()) if (!names.includes(other)) since.delete(other);
        for (const other of names) {
            if (!since.has(other)) since.set(other, Date.now());
            if (other !== name && Date.now() - since.get(other) > GROUP_WAIT_MS) others.add(other);
        }
        return now.find(({ labels }) => labels.alertname === name);
    }, limitMs);
    t.diagnostic(`${name} after ${((Date.now() - began) / 1000).toFixed(0)} s: ${alert.annotations.summary}`);
    assert.deepEqual([...others], []);
    return alert;
}

/** Waits until the condition of the alert holds; its rule. */
const conditionOf = (name, limitMs) => until(name, async () => {
    const now = await prometheus.rule(name);
    return now.state !== 'inactive' && now;
}, limitMs);
/** Says when the page comes, if the condition goes on to hold. */
function tell(t, { name, duration, alerts }, began) {
    const took = (Date.parse(alerts[0].activeAt) - began) / 1000;
    t.diagnostic(`${name} after ${(took + duration).toFixed(0)} s (holds after ${took.toFixed(0)} s, and waits ${duration} s): ${alerts[0].annotations.summary}`);
}
const holds = async (t, name, limitMs = 60000, began = Date.now()) => tell(t, await conditionOf(name, limitMs), began);

/** A receiver of webhooks with this status, which it gives after `work`. */
async function receiver(status, work = () => {}) {
    const server = http.createServer((request, response) => request.resume().on('end', async () => {
        await work();
        response.writeHead(status).end();
    }));
    servers.push(server);
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${server.address().port}/`;
}

async function stop(name, how = 'stop') {
    await cluster.children.get(name)[how]();
    cluster.children.delete(name);
}

test('nobody is paged for a group of others, one owner’s receiver, planned restarts, and clients who come back at once', async () => {
    // A group that has read half of a topic and has no member.
    const group = ['--group', 'orders', '--topic', `${cluster.prefix}subscriptions`];
    await cluster.kafkaTool('consumer.group.ConsumerGroupCommand', ['--reset-offsets', '--to-earliest', '--execute', ...group]);
    const api = new RetryApi(cluster);
    const as = api.token('shop');
    await until('a webhook', async () => (await api.ask('POST', '/webhooks', { as, json: { url: await receiver(500) } })).status === 201, PATIENCE);
    for (let i = 0; i < 8; ++i) await api.tryToPost(as, 'order.made'); // more than ten dead letters are a ticket
    api.close();
    await Promise.all(Array.from({ length: 299 }, () => connected()));
    for (const client of clients) client.socket.terminate();
    await until('all clients', () => clients.every(({ helloed }) => helloed), 60000);
    for (const role of ['edge', 'endpoint', 'retry', 'reliability', 'console']) {
        await stop(role);
        await cluster.start(role);
    }
    await until('all clients again', () => clients.every(({ helloed }) => helloed), 60000);
    const page = async () => (await fetch(`http://127.0.0.1:${cluster.ports.console}/api/pages/lag`)).json();
    await until('the group of others on the page of lag', async () => (await page()).rows.find((row) => row.group === 'orders' && !row.own && row.status === 'STOPPED'), PATIENCE);
    assert.deepEqual(await pagesOf(130), []);
    const { level, findings } = await verdict();
    assert.notEqual(level, 'bad', JSON.stringify(findings));
    assert.doesNotMatch(JSON.stringify(findings), /orders/);
    const lag = (...args) => execFileSync(BECKON, ['lag', ...args, ...cluster.kafkaOptions()], { encoding: 'utf8' });
    assert.doesNotMatch(lag(), /orders/, 'exit code 0 as well');
    assert.match(lag('--all'), /orders/);
    for (const client of clients.filter((one) => one !== first)) end(client);
});

test('a setting of a log topic that loses messages pages within a minute', async (t) => {
    await cluster.alterTopic('notifications', 'retention.ms', '600000');
    await pagedBy(t, 'BeckonTopicsWrong', 60000);
    await until('the console to say it', async () => (await verdict()).findings.some(({ what, level }) => level === 'bad' && /notifications: retention.ms is 600000/.test(what)), 30000);
    await cluster.alterTopic('notifications', 'retention.ms', String(31 * 86400 * 1000));
    await nothingFires();
});

test('the last process of a role pages once', async (t) => {
    const began = Date.now();
    await stop('reliability', 'kill');
    await Promise.all([pagedBy(t, 'BeckonRoleDown', 60000, began), holds(t, 'BeckonProcessesMissing', 60000, began)]);
    assert.deepEqual(await pagesOf(60), ['BeckonRoleDown'], 'BeckonDown is muted');
    await cluster.start('reliability');
    await nothingFires();
});

test('the only edge pages once: that nothing is delivered follows from it', async (t) => {
    const began = Date.now();
    await stop('edge', 'kill');
    await pagedBy(t, 'BeckonRoleDown', 60000, began);
    await holds(t, 'BeckonGroupStopped', 60000, began);
    await holds(t, 'BeckonCanaryFails', 60000, began);
    assert.deepEqual(await pagesOf(100), ['BeckonRoleDown']);
    await cluster.start('edge');
    await nothingFires();
});

test('clients do not reach an edge, or slowly: the canary says it', async (t) => {
    way.cut();
    await pagedBy(t, 'BeckonCanaryFails', 100000);
    await way.heal();
    await nothingFires();
    const began = Date.now();
    let slow = true;
    const network = (async () => { // holds each push for seconds
        while (slow) {
            way.silence();
            await pause(4);
            await way.heal();
            await pause(0.2);
        }
    })();
    await holds(t, 'BeckonCanarySlow', 240000, began);
    slow = false;
    await network;
});

test('an edge that hangs for some seconds delivers late', async (t) => {
    cluster.environment = { BECKON_EDGE_SESSION_TIMEOUT: '30s' }; // for so long it stays the home of its clients
    await stop('edge');
    const stopped = Date.now() / 1000;
    await cluster.start('edge');
    cluster.environment = {};
    const { process: edge } = cluster.children.get('edge');
    await until('the client', () => first.helloed, PATIENCE);
    const query = `process_start_time_seconds{role="edge"} > ${stopped - 1}`;
    await until('a scrape before the hang', async () => (await prometheus.ask('query', { query })).result.length > 0, 30000);
    const some = await Promise.all(Array.from({ length: 40 }, () => connected())); // a single one has few messages on their way at a time
    const endpoints = await Promise.all(some.map((client) => client.register()));
    const began = Date.now();
    edge.kill('SIGSTOP');
    // Before the endpoint learns of it, and refuses more.
    const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => post(endpoints[n % endpoints.length], 'late')));
    assert(answers.filter(({ status }) => status === 201).length > 100, answers.map(({ status }) => status).join());
    // After ten seconds without an own record the edge takes what it reads for new (LogClock::kUnasked), and does not count it as late.
    await pause(HANG_S - (Date.now() - began) / 1000);
    edge.kill('SIGCONT');
    await holds(t, 'BeckonDeliveryLate', 60000, began);
    for (const client of some) end(client);
    await nothingFires();
});

test('a host with a wrong clock, a certificate that ends soon, and an app that nobody has credentials for', async (t) => {
    const at = (name) => join(cluster.directory, name);
    const openssl = (...args) => execFileSync('openssl', args, { stdio: 'pipe' });
    openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', at('key.pem'), '-out', at('certificate.pem'), '-subj', '/CN=push.example.org', '-days', '10');
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', at('wrong-clock.so'), join(ROOT, 'tests', 'e2e', 'wrong-clock.c'), '-ldl']);
    const began = Date.now();
    await cluster.startAnotherEndpoint('endpoint-3', ['--endpoint-tls-certificate', at('certificate.pem'), '--endpoint-tls-key', at('key.pem')],
        ['env', `LD_PRELOAD=${at('wrong-clock.so')}`, 'CLOCK_OFFSET_S=-412']);
    const unwatch = prometheus.watch('endpoint', cluster.endpoints.get('endpoint-3').ops);
    await holds(t, 'BeckonCertificateExpires', 60000, began);
    await holds(t, 'BeckonClockWrong', 60000, began);
    await stop('endpoint-3');
    unwatch();

    const origin = await cluster.startAnotherEndpoint('endpoint-4', ['--endpoint-fcm-app-ids', 'my-app']);
    const registered = await call('POST', `${origin}/v1/fcm/my-app/registration`, { 'Content-Type': 'application/json' }, '{"token":"a-device-token"}');
    assert.equal(registered.status, 200, registered.body);
    const sent = Date.now();
    const { status } = await post(origin + new URL(JSON.parse(registered.body).endpoint).pathname, 'hello', { TTL: '15' });
    assert.equal(status, 201);
    await holds(t, 'BeckonBridgeNeedsPerson', 90000, sent);
    await stop('endpoint-4');
    await pause(20); // the message has expired
    await stop('retry');
    await cluster.start('retry');
    await until('its end', async () => (await prometheus.rule('BeckonBridgeNeedsPerson')).state === 'inactive', 120000);
    await nothingFires();
});

test('receivers of one owner become slow, while the tests that follow run', async () => {
    const api = new RetryApi(cluster);
    const as = api.token('patient');
    let slow = true;
    await api.webhook(as, await receiver(200, () => pause(slow ? SLOW_ANSWER_S : 0)), ['order.made'], { at_a_time: 1, timeout_s: 60 });
    overdue = { began: Date.now() };
    for (let i = 0; i < 2 * OVERDUE_S / SLOW_ANSWER_S; ++i) await api.post(as, 'order.made');
    api.close();
    overdue.rule = pause(OVERDUE_S).then(() => conditionOf('BeckonDeliveriesOverdue', 300000)).finally(() => (slow = false));
    overdue.rule.catch(() => {});
});

test('an endpoint whose disk is full is one page', async (t) => {
    const data = join(cluster.directory, 'endpoint-5');
    execFileSync('mkdir', ['-p', '-m', '700', data]);
    await cluster.startAnotherEndpoint('endpoint-5', [], ['unshare', '--mount', 'sh', '-c', `mount -t tmpfs -o size=2g,mode=0700 small ${data} && exec "$@"`, 'sh']);
    const unwatch = prometheus.watch('endpoint', cluster.endpoints.get('endpoint-5').ops);
    const inside = (...command) => execFileSync('nsenter', ['--target', String(cluster.children.get('endpoint-5').process.pid), '--mount', ...command], { encoding: 'utf8' });
    const used = Number(inside('df', '--output=used', '-B1', data).split('\n')[1]);
    const began = Date.now();
    inside('mount', '-o', `remount,size=${used + 4096}`, data);
    await pagedBy(t, 'BeckonDiskFull', 30000, began);
    await holds(t, 'BeckonDiskFilling', 30000, began);
    for (let i = 0; i < 70; ++i) { // what its view cannot take
        await first.register();
        await pause(1);
    }
    assert.deepEqual(namesOf(await prometheus.firing()).filter((name) => /View|Fold|NotReady|5xx/.test(name)), []);
    for (const name of ['BeckonViewStuck', 'BeckonFoldBehind', 'BeckonNotReady']) assert.equal((await prometheus.rule(name)).state, 'inactive', name);
    await stop('endpoint-5', 'kill');
    unwatch();
    await nothingFires();
});

test('an endpoint that is cut off from the log is found, and so are its refusals', async (t) => {
    const origin = await cluster.startAnotherEndpoint('endpoint-2');
    const unwatch = prometheus.watch('endpoint', cluster.endpoints.get('endpoint-2').ops);
    const url = origin + new URL(endpoint).pathname;
    for (let i = 0; i < 20; ++i) assert.equal((await post(url, 'hello')).status, 201);
    await pause(2);
    const began = Date.now();
    for (const proxy of cluster.gatesOf('endpoint-2')) proxy.cut();
    const refused = (async () => {
        while (!cluster.gatesOf('endpoint-2').every(({ isCut }) => !isCut)) await post(url, 'hello');
    })();
    await holds(t, 'BeckonSendersGet5xx', 60000, began);
    await holds(t, 'BeckonNotReady', 60000, began);
    for (const proxy of cluster.gatesOf('endpoint-2')) await proxy.heal();
    await refused;
    await stop('endpoint-2');
    unwatch();
    await nothingFires();
});

test('an endpoint with a slow way to the log falls behind', async (t) => {
    await cluster.startAnotherEndpoint('endpoint-2');
    const unwatch = prometheus.watch('endpoint', cluster.endpoints.get('endpoint-2').ops);
    const some = await Promise.all(Array.from({ length: 10 }, () => connected()));
    const began = Date.now();
    for (const proxy of cluster.gatesOf('endpoint-2')) proxy.throttle(SLOW_BYTES);
    let slow = true;
    const registrations = Promise.all(some.map(async (client) => {
        while (slow) {
            await client.register();
            await pause(0.1);
        }
    }));
    await holds(t, 'BeckonFoldBehind', 240000, began);
    slow = false;
    await registrations;
    for (const proxy of cluster.gatesOf('endpoint-2')) await proxy.heal();
    for (const client of some) end(client);
    await until('it has caught up', async () => (await prometheus.rule('BeckonFoldBehind')).state === 'inactive', 120000);
    await stop('endpoint-2');
    unwatch();
    await nothingFires();
});

test('memory that runs out for a request', async (t) => {
    const library = join(cluster.directory, 'no-memory.so');
    execFileSync('c++', ['-shared', '-fPIC', '-O1', '-o', library, join(ROOT, 'tests', 'e2e', 'no-memory.cpp'), '-ldl']);
    const origin = await cluster.startAnotherEndpoint('endpoint-7', [], ['env', `LD_PRELOAD=${library}`, `BODY_BYTES=${BODY_BYTES}`]);
    const unwatch = prometheus.watch('endpoint', cluster.endpoints.get('endpoint-7').ops);
    const url = origin + new URL(endpoint).pathname;
    assert.equal((await post(url, 'hello')).status, 201);
    const began = Date.now();
    assert.equal((await post(url, 'x'.repeat(BODY_BYTES))).status, 500);
    assert.equal((await post(url, 'hello')).status, 201);
    await holds(t, 'BeckonRequestsFail', 30000, began);
    await stop('endpoint-7');
    unwatch();
});

test('deliveries to the slow receivers are late', async (t) => {
    tell(t, await overdue.rule, overdue.began);
    await until('deliveries in time', async () => (await prometheus.rule('BeckonDeliveriesOverdue')).state === 'inactive', 120000);
});

test('an edge without descriptors, whose clients are cut, that is cut off, and dies beside another', async (t) => {
    const url = await cluster.startEdge('edge-2', [], ['prlimit', `--nofile=${DESCRIPTORS}`]);
    const unwatch = prometheus.watch('edge', cluster.edges.get('edge-2').ops);
    let began = Date.now();
    const idle = Array.from({ length: IDLE }, () => connectTcp(Number(new URL(url).port), '127.0.0.1').on('error', () => {}));
    await holds(t, 'BeckonDescriptorsShort', 60000, began);
    for (const socket of idle) socket.destroy();
    await until('descriptors again', async () => (await cluster.metric('process_open_fds', '', cluster.edges.get('edge-2').ops)) < DESCRIPTORS / 2, 60000);

    const some = await Promise.all(Array.from({ length: 5 }, () => connected(url)));
    began = Date.now();
    for (let i = 0; i < 30; ++i) {
        for (const client of some) client.socket.terminate();
        await until('all clients', () => some.every(({ helloed, socket }) => helloed && socket.readyState === 1), 60000);
    }
    await holds(t, 'BeckonClientsAreCut', 60000, began);

    began = Date.now();
    for (const proxy of cluster.gatesOf('edge-2')) proxy.cut();
    await holds(t, 'BeckonNotReady', 60000, began);
    assert.equal((await prometheus.rule('BeckonLogAway')).state, 'inactive', 'the others have the log');
    for (const proxy of cluster.gatesOf('edge-2')) await proxy.heal();
    for (const client of some) end(client);
    await nothingFires();

    began = Date.now();
    await stop('edge-2', 'kill');
    await pagedBy(t, 'BeckonDown', 100000, began);
    unwatch();
    await nothingFires();

    began = Date.now();
    const apart = ['edge-2', 'edge-3']; // neither reaches the other, whichever of the two calls
    await Promise.all(apart.map((name) => cluster.startEdge(name, ['--edge-link-address', '127.0.0.1:9'])));
    const unwatches = apart.map((name) => prometheus.watch('edge', cluster.edges.get(name).ops));
    const lost = Array.from({ length: LOST }, () => new UserAgent(cluster.edges.get('edge-2').websocket));
    for (const client of lost) {
        clients.push(client);
        client.uaid = randomUUID(); // of every partition, also of those that edge-3 serves
        client.connect().catch(() => {});
    }
    await holds(t, 'BeckonLinksDown', 60000, began);
    await holds(t, 'BeckonClientsHomeless', 60000, began);
    for (const client of lost) end(client);
    for (const name of apart) await stop(name);
    for (const unwatch of unwatches) unwatch();
    await nothingFires();
});

test('webhooks: dead letters, an event that cannot be read, and deliveries that fell off the log', async (t) => {
    const api = new RetryApi(cluster);
    const as = api.token('another');
    const url = await receiver(500);
    // Many webhooks: one whose receiver has failed ten times in a row is left alone, so a single one makes no eleven dead letters in an hour.
    for (let i = 0; i < 12; ++i) await api.webhook(as, url, ['order.*']);
    let began = Date.now();
    await api.post(as, 'order.made');
    await holds(t, 'BeckonDeadLettersRise', 180000, began);

    began = Date.now();
    cluster.kafkaProduce('events', 'ce_specversion:1.0,ce_type:beckon.event.v1\tno-key\t{"this is no event"\n');
    await holds(t, 'BeckonRecordsUnreadable', 60000, began);

    await api.post(as, 'order.made');
    await until('deliveries in the last tier', async () => (await cluster.metric('beckon_retry_tier_waiting_deliveries', 'tier="2"', cluster.ports.opsRetry)) >= 12, 60000);
    await stop('retry');
    const file = join(cluster.directory, 'delete.json');
    writeFileSync(file, JSON.stringify({ version: 1, partitions: [0, 1, 2, 3].map((partition) => ({ topic: `${cluster.prefix}retry.2`, partition, offset: -1 })) }));
    await cluster.kafkaTool('DeleteRecordsCommand', ['--offset-json-file', file]);
    began = Date.now();
    await cluster.start('retry');
    await holds(t, 'BeckonDeliveriesLost', 60000, began);

    began = Date.now();
    await api.webhook(as, await receiver(410), ['shop.closed']);
    await api.post(as, 'shop.closed');
    await holds(t, 'BeckonWebhooksDisabled', 60000, began);
    api.close();
    await stop('retry'); // whose loss is a page for an hour
    await cluster.start('retry');
});

test('milestones of tracked messages that their topic refuses', async (t) => {
    const keys = webpush.generateVAPIDKeys();
    const origin = await cluster.startAnotherEndpoint('endpoint-6', ['--endpoint-tracking-keys', keys.publicKey]);
    const unwatch = prometheus.watch('endpoint', cluster.endpoints.get('endpoint-6').ops);
    await cluster.alterTopic('reliability', 'max.message.bytes', '1');
    const began = Date.now();
    const { Authorization } = webpush.getVapidHeaders(new URL(cluster.endpoint).origin, 'mailto:tests@example.com', keys.publicKey, keys.privateKey, 'aes128gcm');
    const { status, body } = await post(origin + new URL(endpoint).pathname, 'tracked', { Authorization });
    assert.equal(status, 201, body);
    await holds(t, 'BeckonMilestonesDropped', 120000, began);
    await cluster.alterTopic('reliability', 'max.message.bytes', '1048588');
    await stop('endpoint-6');
    unwatch();
});

test('a Prometheus that knows no process', async (t) => {
    const began = Date.now();
    prometheus.configure({ none: true });
    await holds(t, 'BeckonUnknown', 30000, began);
    prometheus.configure();
});

test('a broker that dies is one page, which names the log, also after it is back', async (t) => {
    const nameOf = (what) => what.replace(/ has been gone.*/, '');
    const killed = new Set((await verdict()).findings.map(({ what }) => nameOf(what))); // by former tests
    const accused = new Set();
    let watching = true;
    const watch = (async () => {
        while (watching) {
            const { findings } = await verdict().catch(() => ({ findings: [] }));
            for (const { what } of findings) if (/is alive|has been gone/.test(what) && !killed.has(nameOf(what))) accused.add(what);
            await pause(0.5);
        }
    })();
    await prometheus.startAnew(); // refusals of former tests count for hours
    await alertmanager.startAnew(cluster);
    await until('a history', async () => (await prometheus.ask('query', { query: 'sum(increase(beckon_ingest_requests_total[1m])) > 200' })).result.length > 0, 60000);
    await nothingFires();
    const channel = randomUUID();
    const gone = await first.register(channel);
    assert.equal(await first.unregister(channel), 200);
    const began = Date.now();
    await cluster.killKafka();
    const alert = await pagedBy(t, 'BeckonLogAway', 90000, began);
    assert.match(alert.annotations.summary, /^The log does not answer 5 processes/);
    for (let i = 0; i < 5; ++i) assert.equal((await post(gone, 'x')).status, 503);
    await holds(t, 'BeckonProofsFail', 30000, began);
    assert.deepEqual(await pagesOf(130), ['BeckonLogAway']);
    const { findings } = await verdict();
    assert.match(findings[0].what, /^The brokers do not answer the console/);
    assert.doesNotMatch(findings.map(({ what }) => what).join(), /ipv4#|rdkafka/, 'the client’s words are in what to do');
    await cluster.startKafka();
    await cluster.kafkaAnswers();
    assert.deepEqual(await pagesOf(60), ['BeckonLogAway']);
    assert.deepEqual(alertmanager.notifications, [['BeckonLogAway']], 'one notification');
    watching = false;
    await watch;
    assert.deepEqual([...accused], [], 'the console called nobody dead');
    await nothingFires();
});

test('a process that is started again and again', async (t) => {
    const began = Date.now();
    for (let i = 0; i < 4; ++i) {
        await stop('reliability', 'kill');
        await cluster.start('reliability');
        await pause(2);
    }
    await holds(t, 'BeckonRestartsAgainAndAgain', 30000, began);
    await prometheus.startAnew(); // which would fire for 15 minutes
    await alertmanager.startAnew(cluster);
    await nothingFires();
});

test('one client gets very many messages', async (t) => {
    const began = Date.now();
    const flood = promisify(execFile)(`${BECKON}-bench`, [cluster.websocket, '--profiles', 'saturation', '--connections', '1', '--ahead', '1000', '--warm-up', '0', '--duration', '400']);
    await holds(t, 'BeckonPartitionHot', 400000, began);
    flood.child.kill();
    await flood.catch(() => {});
    await nothingFires();
});

test('a log topic that is deleted pages once, and ends the readiness of who needs it', async (t) => {
    const ready = async (port) => (await fetch(`http://127.0.0.1:${port}/ready`)).json();
    await cluster.kafkaTool('TopicCommand', ['--delete', '--topic', `${cluster.prefix}notifications`]);
    const began = Date.now();
    await pagedBy(t, 'BeckonTopicsWrong', 60000, began);
    await until('the endpoint is not ready', async () => /is gone: \S*notifications/.test((await ready(cluster.ports.ops)).faults?.topics), 60000);
    t.diagnostic(`the endpoint is not ready after ${((Date.now() - began) / 1000).toFixed(0)} s`);
    assert.equal((await ready(cluster.ports.opsReliability)).faults?.topics, undefined, 'it needs none of it');
    assert.deepEqual(await pagesOf(130), ['BeckonTopicsWrong']);
    await cluster.kafkaTool('TopicCommand', ['--delete', '--topic', `${cluster.prefix}subscriptions`]);
    await holds(t, 'BeckonViewStuck', 60000);
});
