// A real Prometheus asks a cluster that runs: it takes the configuration and the alert rules of packaging/prometheus,
// and each query of each dashboard of packaging/grafana must answer with a number.
//
//   node --test prometheus.mjs
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import webpush from 'web-push';
import { Cluster, until } from './beckon.mjs';
import { drawBoards } from './board-pictures.mjs';
import { UserAgent, call, post } from './client.mjs';
import { Prometheus } from './prometheus-server.mjs';

const PACKAGING = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'packaging');
const DASHBOARDS = join(PACKAGING, 'grafana', 'dashboards');
const PICTURES = process.env.PICTURES ?? join(PACKAGING, '..', 'build', 'pictures');
const PATIENCE = 120000; // two scrapes, and a console that has looked at every group

const keys = webpush.generateVAPIDKeys();
const cluster = new Cluster('kafka', {
    plain: true, // the canary trusts no self-made certificate
    endpoint: ['--endpoint-tracking-keys', keys.publicKey],
    retry: ['--retry-allowed-addresses', '127.0.0.1'],
    reliability: true,
    console: [],
});
const prometheus = new Prometheus();
let client;
let receiver;
let working = true;

before(async () => {
    await cluster.prepare();
    cluster.consoleOptions.push('--console-canary', cluster.websocket);
    await cluster.start();
    receiver = http.createServer((request, response) => request.resume().on('end', () => response.writeHead(204).end()));
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    await prometheus.start(cluster);
    client = new UserAgent(cluster.websocket);
    await client.connect();
    await client.register();
    await makeWebhook();
    keepWorking();
});
after(async () => {
    working = false;
    prometheus.end();
    client?.end();
    receiver?.close();
    await cluster.destroy();
});

async function makeWebhook() {
    const token = (await cluster.tool(['webhooks', 'token', 'shop', '--key-ring', join(cluster.directory, 'keys.json')])).trim();
    const ask = (path, type, json) => call('POST', `http://127.0.0.1:${cluster.ports.retry}${path}`,
        { Authorization: `Bearer ${token}`, 'Content-Type': type }, JSON.stringify(json));
    const url = `http://127.0.0.1:${receiver.address().port}/`;
    await until('a webhook', async () => (await ask('/webhooks', 'application/json', { url })).status === 201, PATIENCE);
    let events = 0;
    client.event = () => ask('/events', 'application/cloudevents+json',
        { specversion: '1.0', id: `e${++events}`, source: '/shop', type: 'order.made', data: {} });
}

/** Traffic of every kind that a query asks for: a rate needs a counter that is there before it grows. */
async function keepWorking() {
    const { Authorization } = webpush.getVapidHeaders(new URL(cluster.endpoint).origin, 'mailto:tests@example.com', keys.publicKey, keys.privateKey, 'aes128gcm');
    for (let i = 0; working; i++) {
        await post(client.endpoint, 'hello', { Authorization, 'X-MessageId': `m${i}` });
        await client.event();
        await post(`${new URL(cluster.endpoint).origin}/wpush/nobody`, 'refused');
        const passing = new UserAgent(cluster.websocket);
        await passing.connect().catch(() => {});
        passing.end();
        await new Promise((resolve) => setTimeout(resolve, 200));
    }
}

const ask = (...asked) => prometheus.ask(...asked);
const numbersOf = async (query) => (await ask('query', { query })).result.map(({ value }) => Number(value[1])).filter(Number.isFinite);
const names = () => ask('label/__name__/values');
/** Nobody exports them here: nothing fails, and no port has TLS. */
const ABSENT = new Set(['beckon_failed_requests_total', 'beckon_certificate_expiry_time_seconds']);
/** Without a certificate; a zero would look like one that has expired. */
const EMPTY = ['First certificate expires in'];
const metricsIn = (text) => new Set(text.match(/\b(?:beckon|process|kafka|kminion)_\w+/g));

/** Waits until nothing is missing; fails with the names of what never comes. */
async function eventually(what, missing) {
    let left = [];
    await until(what, async () => (left = await missing()).length === 0, PATIENCE)
        .catch((error) => assert.fail(`${error.message}:\n${left.join('\n')}`));
}

test('every process of the configuration is scraped', async () => {
    await eventually('all processes', async () => {
        const { activeTargets } = await ask('targets');
        assert.equal(activeTargets.length, 5);
        return activeTargets.filter(({ health }) => health !== 'up').map(({ scrapeUrl, lastError }) => `${scrapeUrl}: ${lastError}`);
    });
});

for (const file of readdirSync(DASHBOARDS)) {
    const board = JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8'));
    test(`every query of the dashboard "${board.title}" answers with a number`, async () => {
        const queries = board.panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr: expr.replaceAll(/\$\w+/g, '.*') })));
        assert(queries.length > 5);
        await eventually('numbers', async () => {
            const known = new Set(await names());
            const left = [];
            for (const { title, expr } of queries) {
                if (EMPTY.includes(title)) continue;
                const unknown = [...metricsIn(expr)].filter((name) => !known.has(name) && !ABSENT.has(name));
                if (unknown.length > 0) left.push(`${title}: nobody exports ${unknown.join(', ')}`);
                else if ((await numbersOf(expr)).length === 0) left.push(`${title}: no number for ${expr}`);
            }
            return left;
        });
    });
    for (const { name, query } of board.templating.list) {
        test(`the variable "${name}" of the dashboard "${board.title}" has values`, async () => {
            const [, metric, label] = query.query.match(/^label_values\((\w+), (\w+)\)$/);
            await eventually('values', async () => ((await ask(`label/${label}/values`, { 'match[]': metric })).length ? [] : [label]));
        });
    }
}

test('each board is drawn, with a line in every panel that has something to show', async (t) => {
    const boards = readdirSync(DASHBOARDS).map((file) => JSON.parse(readFileSync(join(DASHBOARDS, file), 'utf8')));
    for (const { path, uid, empty } of await drawBoards(prometheus.origin, boards, PICTURES)) {
        t.diagnostic(path);
        assert.deepEqual(empty, EMPTY.filter((title) => boards.find((board) => board.uid === uid).panels.some((panel) => panel.title === title)), `panels of ${uid} without a series`);
    }
});

test('the metrics of dashboards for kafka_exporter and KMinion are there, except the number of partitions', async () => {
    const asked = [
        'sum by (topic) (rate(kafka_topic_partition_current_offset[1m]))',
        'sum by (consumergroup, topic) (kafka_consumergroup_lag)',
        'sum by (consumergroup, topic) (rate(kafka_consumergroup_current_offset[1m]))',
        'sum by (group_id, topic_name) (kminion_kafka_consumer_group_topic_lag)',
        'max by (group_id, topic_name, partition_id) (kminion_kafka_consumer_group_topic_partition_lag)',
    ];
    await eventually('numbers', async () => {
        const left = [];
        for (const query of asked) if ((await numbersOf(query)).length === 0) left.push(`no number for ${query}`);
        return left;
    });
    assert(!(await names()).includes('kafka_topic_partitions'), 'docs/console.md says that it is not there');
});

test('every alert rule is evaluated, asks for metrics that exist, and does not fire', async () => {
    const rulesOf = async () => (await ask('rules')).groups.flatMap(({ rules }) => rules).filter(({ type }) => type === 'alerting');
    await eventually('healthy rules', async () => {
        const known = new Set(await names());
        return (await rulesOf()).flatMap(({ name, query, health, lastError }) => [
            ...(health === 'ok' ? [] : [`${name}: ${health} ${lastError ?? ''}`]),
            ...[...metricsIn(query)].filter((metric) => !known.has(metric) && !ABSENT.has(metric)).map((metric) => `${name}: nobody exports ${metric}`),
        ]);
    });
    const rules = await rulesOf();
    assert.equal(rules.length, readFileSync(join(PACKAGING, 'prometheus', 'beckon.rules.yml'), 'utf8').match(/- alert:/g).length);
    assert.deepEqual(rules.filter(({ state }) => state === 'firing').map(({ name }) => name), []);
});
