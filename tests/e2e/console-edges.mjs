// The console of a cluster with two edges and two processes of the role retry, on a real Kafka: the canary subscribes and
// pushes at every edge, as edges go and come; and attempts at webhooks are shown by whichever process makes them.
//
//   node --test console-edges.mjs
import assert from 'node:assert/strict';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Cluster, freePort, until } from './beckon.mjs';
import { UserAgent } from './client.mjs';

const PATIENCE = 180000; // leases that end, on a busy machine
const HOSTS = { 'edge-a': '127.0.0.2', 'edge-b': '127.0.0.3' }; // one port for all edges, as in a cluster of many hosts

const cluster = new Cluster('kafka', { plain: true, console: [] });
const urls = {};
const RETRY = ['a', 'b']; // each has some of the partitions
const retries = new Map(); // name → ports of the API and of the ops port
let receiver;

before(async () => {
    await cluster.prepare();
    const port = await freePort();
    for (const [name, host] of Object.entries(HOSTS)) {
        urls[name] = `ws://${host}:${port}/`;
        cluster.edges.set(name, { port, ops: await freePort(), link: await freePort(), websocket: urls[name] });
    }
    for (const name of RETRY) retries.set(name, { port: await freePort(), ops: await freePort() });
    const origins = [...retries.values()].map(({ port: api }) => `http://127.0.0.1:${api}`);
    cluster.consoleOptions.push('--console-canary', `ws://*:${port}/`, '--console-retry-urls', origins.join());
    await cluster.start('endpoint');
    for (const name of Object.keys(HOSTS)) await startEdge(name);
    for (const [name, ports] of retries) cluster.startRetry(name, ports, ['--retry-allowed-addresses', '127.0.0.1']);
    for (const [name, { ops }] of retries) await cluster.ready(name, ops);
    receiver = http.createServer((request, response) => request.resume().on('end', () => response.writeHead(204).end()));
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    await cluster.start('console');
});
after(async () => {
    receiver?.close();
    await cluster.end();
});

const startEdge = (name) => cluster.startEdge(name, ['--edge-host', HOSTS[name], '--edge-link-host', HOSTS[name], '--ops-host', '0.0.0.0']);

/** A page of the console; null until it is known. */
async function page(name) {
    const reply = await fetch(`http://127.0.0.1:${cluster.ports.console}/api/pages/${name}`);
    return reply.status === 200 ? reply.json() : null;
}

/** The canary's page, once it shows exactly these edges and each lets pushes through. */
const pushing = (what, ...names) => until(what, async () => {
    const { edges } = await page('canary');
    const wanted = names.map((name) => urls[name]).sort();
    return edges.map((one) => one.edge).join() === wanted.join() && edges.every((one) => one.state === 'well') && edges;
}, PATIENCE);

test('the canary subscribes at every edge of the cluster and pushes through it', async () => {
    for (const edge of await pushing('a push through both edges', 'edge-a', 'edge-b')) {
        assert.ok(edge.p50_ms > 0 && edge.p99_ms >= edge.p50_ms, JSON.stringify(edge));
        assert.equal(edge.pushes.at(-1).why, '');
    }
    const clients = await Promise.all(Object.keys(HOSTS).map((name) => cluster.edgeMetric([name], 'beckon_edge_clients')));
    assert.ok(clients.every((count) => count >= 1), `each edge has the canary's client: ${clients}`);
});

test('a client\'s page says at which edge it is connected, whatever ops ports the edges have', async () => {
    const connection = async (client) => {
        const reply = await fetch(`http://127.0.0.1:${cluster.ports.console}/api/find?q=${client.uaid}`);
        return reply.status === 200 && (await reply.json()).connection;
    };
    for (const url of Object.values(urls)) {
        const client = new UserAgent(url);
        await client.connect();
        await client.register();
        const found = await until('its page', () => connection(client).then((one) => one?.connected && one));
        assert.equal(found.problem, '');
        assert.ok(found.edge && found.since <= Date.now(), JSON.stringify(found));
        client.end();
        await until('that it is gone', async () => (await connection(client)).connected === false);
    }
});

test('an edge that dies fails and is no longer tried; when it is back, it is', async () => {
    await cluster.children.get('edge-b').kill();
    cluster.children.delete('edge-b');
    await pushing('the edge that is left', 'edge-a');
    await startEdge('edge-b');
    await pushing('a push through both edges again', 'edge-a', 'edge-b');
});

/** How the tools reach the API. */
const access = () => ['--url', `http://127.0.0.1:${retries.get('a').port}`, '--key-ring', join(cluster.directory, 'keys.json')];
const send = () => cluster.tool(['events', 'send', 'order.created', '{}', ...access()]);
/** Attempts that each process with the role retry has made. */
const attempts = () => Promise.all([...retries.values()].map(({ ops }) => cluster.metric('beckon_retry_attempts_total', '', ops)));
/** Whether the console shows for each webhook an attempt after `time` that was accepted; of `count` or more. */
const allAccepted = async (count, time) => {
    const { webhooks } = await page('webhooks');
    return webhooks.length >= count && webhooks.every(({ attempts: last }) => last?.status === 204 && Date.parse(last.at) > time);
};

test('the console shows attempts of webhooks at both processes, and then those of the one that is left', async () => {
    const url = `http://127.0.0.1:${receiver.address().port}/`;
    let count = 0;
    await until('webhooks at both processes', async () => { // which one serves a webhook is a matter of its id
        await cluster.tool(['webhooks', 'create', url, '--type', 'order.*', ...access()]);
        ++count;
        await send();
        return (await attempts()).every((made) => made > 0);
    }, PATIENCE);
    const all = (time) => async () => {
        await send();
        return allAccepted(count, time);
    };
    await until('an attempt at each', all(0), PATIENCE);
    await cluster.children.get('b').stop();
    cluster.children.delete('b');
    await until('an attempt at each by the process that is left', all(Date.now()), PATIENCE);
});
