// Faults of real processes, and who is paged for them: a real Prometheus with the shipped rules, and the muting of alertmanager.yml. Each
// fault pages once, by its cause, and says how long that took; and what must page nobody does not.
//
//   node --test alerts.mjs
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import http from 'node:http';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, ROOT, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';
import { Prometheus } from './prometheus-server.mjs';
import { RetryApi } from './retry-api.mjs';

const PATIENCE = 180000;
const GROUP_WAIT_MS = 1000 * Number(readFileSync(join(ROOT, 'packaging', 'prometheus', 'alertmanager.yml'), 'utf8').match(/group_wait: (\d+)s/)[1]);
const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

const cluster = new Cluster('kafka', { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], tiers: '0s,5s,60s', reliability: true, console: [] });
const prometheus = new Prometheus();
const clients = [];
const servers = [];
let working = true;
let sender;

before(async () => {
    await cluster.prepare();
    cluster.consoleOptions.push('--console-canary', cluster.websocket, '--console-retry-urls', `http://127.0.0.1:${cluster.ports.retry}`);
    await cluster.start();
    await prometheus.start(cluster);
    const client = await connected();
    await client.register();
    sender = (async () => {
        while (working) {
            await post(client.endpoint, 'hello');
            await pause(0.1);
        }
    })();
    await until('a console that knows all', async () => /^Push works/.test((await verdict()).sentence), PATIENCE);
    await until('nothing to fire', async () => (await pages()).length === 0, PATIENCE);
});
after(async () => {
    working = false;
    await sender;
    for (const client of clients) client.end();
    for (const server of servers) server.close();
    prometheus.end();
    await cluster.destroy();
});

async function connected() {
    const client = new UserAgent(cluster.websocket);
    clients.push(client);
    await client.connect();
    return client;
}

const verdict = async () => (await fetch(`http://127.0.0.1:${cluster.ports.console}/api/pages/status`)).json();

// --- Alertmanager's inhibition, as its documentation has it

const INHIBIT = JSON.parse(execFileSync('python3', ['-c', 'import json, sys, yaml; print(json.dumps(yaml.safe_load(sys.stdin)["inhibit_rules"]))'],
    { input: readFileSync(join(ROOT, 'packaging', 'prometheus', 'alertmanager.yml')), encoding: 'utf8' }));
const matches = (labels, matchers) => matchers.every((matcher) => {
    const [, name, operator, value] = matcher.match(/^(\w+)\s*(=~?)\s*"?([^"]*)"?$/);
    return operator === '=' ? (labels[name] ?? '') === value : new RegExp(`^(?:${value})$`).test(labels[name] ?? '');
});
const isMuted = (alert, all) => INHIBIT.some(({ source_matchers: source, target_matchers: target, equal = [] }) => matches(alert.labels, target)
    && all.some((other) => other !== alert && matches(other.labels, source) && equal.every((label) => (other.labels[label] ?? '') === (alert.labels[label] ?? ''))));

/** Who is paged now: the alerts that fire, are pages, and are not muted. */
async function pages() {
    const firing = await prometheus.firing();
    return firing.filter(({ labels }) => labels.severity === 'page').filter((alert) => !isMuted(alert, firing));
}
const namesOf = (alerts) => [...new Set(alerts.map(({ labels }) => labels.alertname))].sort();

/** Watches for so long; the names of all pages meanwhile. */
async function pagesOf(seconds) {
    const seen = new Set();
    for (const end = Date.now() + seconds * 1000; Date.now() < end; await pause(1)) {
        for (const name of namesOf(await pages())) seen.add(name);
    }
    return [...seen].sort();
}

/** Waits for the page; no other is sent first: Alertmanager sends what has fired for group_wait and is not muted then. */
async function pagedBy(t, name, limitMs) {
    const began = Date.now();
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

test('nobody is paged for a group of others, one owner’s receiver, a planned restart, and clients who come back at once', async () => {
    // A group that has read half of a topic and has no member.
    const group = ['--group', 'orders', '--topic', `${cluster.prefix}subscriptions`];
    await cluster.kafkaTool('consumer.group.ConsumerGroupCommand', ['--reset-offsets', '--to-earliest', '--execute', ...group]);
    const receiver = http.createServer((request, response) => request.resume().on('end', () => response.writeHead(500).end()));
    servers.push(receiver);
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    const api = new RetryApi(cluster);
    const as = api.token('shop');
    await until('a webhook', async () => (await api.ask('POST', '/webhooks', { as, json: { url: `http://127.0.0.1:${receiver.address().port}/` } })).status === 201, PATIENCE);
    for (let i = 0; i < 20; ++i) await api.tryToPost(as, 'order.made');
    api.close();
    await Promise.all(Array.from({ length: 299 }, connected));
    for (const client of clients) client.socket.terminate();
    await until('all clients', () => clients.every(({ helloed }) => helloed), 60000);
    const child = cluster.children.get('endpoint');
    await child.stop();
    await cluster.start('endpoint');
    const page = async () => (await fetch(`http://127.0.0.1:${cluster.ports.console}/api/pages/lag`)).json();
    await until('the group of others on the page of lag', async () => (await page()).rows.find((row) => row.group === 'orders' && !row.own && row.status === 'STOPPED'), PATIENCE);
    assert.deepEqual(await pagesOf(130), []);
    const { level, findings } = await verdict();
    assert.notEqual(level, 'bad', JSON.stringify(findings));
    assert.doesNotMatch(JSON.stringify(findings), /orders/);
    const lag = (...args) => execFileSync(BECKON, ['lag', ...args, ...cluster.kafkaOptions()], { encoding: 'utf8' });
    assert.doesNotMatch(lag(), /orders/, 'exit code 0 as well');
    assert.match(lag('--all'), /orders/);
});

test('a setting of a log topic that loses messages pages within a minute', async (t) => {
    await cluster.alterTopic('notifications', 'retention.ms', '600000');
    await pagedBy(t, 'BeckonTopicsWrong', 60000);
    await until('the console to say it', async () => (await verdict()).findings.some(({ what, level }) => level === 'bad' && /notifications: retention.ms is 600000/.test(what)), 30000);
    await cluster.alterTopic('notifications', 'retention.ms', String(31 * 86400 * 1000));
    await until('its end', async () => (await pages()).length === 0, 60000);
});

test('the last process of a role pages once', async (t) => {
    await cluster.children.get('reliability').kill();
    await pagedBy(t, 'BeckonRoleDown', 60000);
    assert.deepEqual(await pagesOf(60), ['BeckonRoleDown'], 'BeckonDown is muted');
    await cluster.start('reliability');
    await until('its end', async () => (await pages()).length === 0, 60000);
});

test('a broker that dies is one page, which names the log, also after it is back', async (t) => {
    const accused = new Set();
    let watching = true;
    const watch = (async () => {
        while (watching) {
            const { findings } = await verdict().catch(() => ({ findings: [] }));
            for (const { what } of findings) if (/is alive|has been gone/.test(what)) accused.add(what);
            await pause(0.5);
        }
    })();
    await cluster.killKafka();
    const alert = await pagedBy(t, 'BeckonLogAway', 90000);
    assert.match(alert.annotations.summary, /^The log does not answer 5 processes/);
    assert.deepEqual(await pagesOf(130), ['BeckonLogAway']);
    const { findings } = await verdict();
    assert.match(findings[0].what, /^The brokers do not answer the console/);
    assert.doesNotMatch(findings.map(({ what }) => what).join(), /ipv4#|rdkafka/, 'the client’s words are in what to do');
    await cluster.startKafka();
    await cluster.kafkaAnswers();
    assert.deepEqual(await pagesOf(60), ['BeckonLogAway']);
    watching = false;
    await watch;
    assert.deepEqual([...accused], [], 'the console called nobody dead');
    await until('its end', async () => (await pages()).length === 0, 300000);
});

test('a log topic that is deleted pages once, and ends the readiness of who needs it', async (t) => {
    const ready = async (port) => (await fetch(`http://127.0.0.1:${port}/ready`)).json();
    await cluster.kafkaTool('TopicCommand', ['--delete', '--topic', `${cluster.prefix}notifications`]);
    const began = Date.now();
    await pagedBy(t, 'BeckonTopicsWrong', 60000);
    await until('the endpoint is not ready', async () => /is gone: \S*notifications/.test((await ready(cluster.ports.ops)).faults?.topics), 60000);
    t.diagnostic(`the endpoint is not ready after ${((Date.now() - began) / 1000).toFixed(0)} s`);
    assert.equal((await ready(cluster.ports.opsReliability)).faults?.topics, undefined, 'it needs none of it');
    assert.deepEqual(await pagesOf(130), ['BeckonTopicsWrong']);
});
