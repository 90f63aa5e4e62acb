// The console of a cluster with two edges, on a real Kafka: the canary subscribes and pushes at every edge, as edges go and
// come.
//
//   node --test console-edges.mjs
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, freePort, until } from './beckon.mjs';

const PATIENCE = 180000; // leases that end, on a busy machine
const HOSTS = { 'edge-a': '127.0.0.2', 'edge-b': '127.0.0.3' }; // one port for all edges, as in a cluster of many hosts

const cluster = new Cluster('kafka', { plain: true, console: [] });
const urls = {};

before(async () => {
    await cluster.prepare();
    const port = await freePort();
    for (const [name, host] of Object.entries(HOSTS)) {
        urls[name] = `ws://${host}:${port}/`;
        cluster.edges.set(name, { port, ops: await freePort(), link: await freePort(), websocket: urls[name] });
    }
    cluster.consoleOptions.push('--console-canary', `ws://*:${port}/`);
    await cluster.start('endpoint');
    for (const name of Object.keys(HOSTS)) await startEdge(name);
    await cluster.start('console');
});
after(async () => {
    await cluster.end();
});

const startEdge = (name) => cluster.startEdge(name, ['--edge-host', HOSTS[name], '--edge-link-host', HOSTS[name]]);

/** A page of the console; null until it is known. */
async function page(name) {
    const reply = await fetch(`http://127.0.0.1:${cluster.ports.console}/api/pages/${name}`);
    return reply.status === 200 ? reply.json() : null;
}

/** What the canary finds where exactly these edges are, and each lets pushes through. */
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

test('an edge that dies fails and is no longer tried; when it is back, it is', async () => {
    await cluster.children.get('edge-b').kill();
    cluster.children.delete('edge-b');
    await pushing('the edge that is left', 'edge-a');
    await startEdge('edge-b');
    await pushing('a push through both edges again', 'edge-a', 'edge-b');
});
