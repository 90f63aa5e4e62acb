// Several edges and two endpoints on one Kafka: any client may be at any edge.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, agent, post } from './client.mjs';
import { Proxy } from './proxy.mjs';

const CLIENTS = 16;
const cluster = new Cluster('kafka');
const clients = [];
const endpoints = []; // origins
const accepted = new Map(); // message id → client
let edges = []; // names of those that run

const urlOf = (name) => cluster.edges.get(name).websocket;
const others = (name) => edges.filter((each) => each !== name);
/** The client's endpoint URL at one of the endpoints. */
const at = (origin, endpoint) => origin + new URL(endpoint).pathname;

async function send(client, index = accepted.size) {
    const reply = await post(at(endpoints[index % endpoints.length], client.endpoint), `message ${index}`);
    if (reply.status === 201) accepted.set(reply.id, client);
    else assert([0, 503].includes(reply.status), `unexpected status ${reply.status}: ${reply.body}`);
    return reply.status;
}

/** Senders run while `work` does: up to two hundred messages a second, so that what the machine has left is for the edges. */
async function underTraffic(work) {
    let running = true;
    const senders = Array.from({ length: 4 }, async (_, i) => {
        for (let n = i; running; n += 4) {
            await send(clients[n % clients.length], n);
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
    });
    try {
        await work();
    } finally {
        running = false;
        await Promise.all(senders);
    }
}

const more = (count) => {
    const goal = accepted.size + count;
    return until(`${count} more accepted messages`, () => accepted.size >= goal, 60000);
};

async function allArrived() {
    const missing = () => [...accepted].filter(([id, client]) => !client.versions.has(id));
    await until('every accepted message', () => missing().length === 0, 60000).catch((error) => {
        const [id, client] = missing()[0] ?? [];
        throw new Error(`${error.message}: ${missing().length} of ${accepted.size} missing, e.g. ${id} of ${client?.uaid} at ${client?.url}`);
    });
    for (const client of clients) assert.deepEqual(client.faults, []);
}

/** No home has a pending tombstone: every ack is in the log. */
const acksAreDurable = () =>
    until('durable acks', async () => (await cluster.edgeMetric(edges, 'beckon_edge_pending_tombstones')) === 0, 60000);

const linked = (count) =>
    until('links', async () => (await cluster.edgeMetric(edges, 'beckon_edge_links')) === count * (count - 1), 30000);

const partitionsServed = () =>
    until('all partitions served', async () => (await cluster.edgeMetric(edges, 'beckon_edge_partitions', '"serving"')) === 4, 60000);

/** Stand before the link ports, so that links can be cut. */
const proxies = new Map(); // edge → {proxy, address}

async function startEdge(name) {
    if (!proxies.has(name)) {
        const proxy = new Proxy(() => cluster.edges.get(name).link);
        proxies.set(name, { proxy, address: `127.0.0.1:${await proxy.open()}` });
    }
    // Beside other tests an edge may get no processor for seconds: twice the default, before it hands nothing over.
    await cluster.startEdge(name, ['--edge-link-address', proxies.get(name).address, '--edge-session-timeout', '12s']);
    edges.push(name);
}

/** Runs a step; a failure shows the output of the processes. */
const step = (name, body) =>
    test(name, async () => {
        try {
            await body();
        } catch (error) {
            console.error(cluster.outputs());
            throw error;
        }
    });

before(async () => {
    await cluster.prepare();
    await cluster.start('endpoint');
    endpoints.push(new URL(cluster.endpoint).origin, await cluster.startAnotherEndpoint('endpoint-2'));
    await startEdge('edge-1');
    await startEdge('edge-2');
    await linked(2);
    await until('both edges serve', async () => {
        for (const name of edges) {
            if ((await cluster.edgeMetric([name], 'beckon_edge_partitions', '"serving"')) === 0) return false;
        }
        return true;
    }, 30000).catch(() => {}); // four partitions may all belong to one of them
    await partitionsServed();
});

after(async () => {
    for (const client of clients) client.end();
    for (const { proxy } of proxies.values()) proxy.close();
    agent.destroy();
    await cluster.end();
});

step('a client registers at an edge that is not its home, and is reached through every endpoint at once', async () => {
    for (let i = 0; i < CLIENTS; ++i) {
        const first = edges[i % 2];
        const client = new UserAgent(urlOf(first));
        await client.connect(); // its UAID is one of a partition near this edge
        await client.register();
        await client.moveTo(urlOf(others(first)[0]));
        await client.register(); // over the link
        clients.push(client);
        for (const origin of endpoints) {
            const reply = await post(at(origin, client.endpoint), 'first');
            assert.equal(reply.status, 201, `${origin}: ${reply.body}`);
            accepted.set(reply.id, client);
        }
    }
    await allArrived();
    assert((await cluster.edgeMetric(edges, 'beckon_edge_link_messages_total')) > 0, 'nothing went over a link');
    for (const client of clients) assert.deepEqual(client.closes, []);
});

step('a message that was acknowledged over a link does not come again at another edge', async () => {
    await acksAreDurable();
    for (const client of clients) {
        client.versions.clear();
        await client.moveTo(urlOf(others([...cluster.edges].find(([, edge]) => edge.websocket === client.url)[0])[0]));
        assert.equal(await send(client), 201);
    }
    const sentNow = [...accepted].slice(-clients.length);
    await until('the new messages', () => sentNow.every(([id, client]) => client.versions.has(id)));
    for (const client of clients) assert.equal(client.versions.size, 1);
    for (const id of [...accepted.keys()].slice(0, -clients.length)) accepted.delete(id);
});

step('a third edge takes its share, and no client loses its connection', async () => {
    await underTraffic(async () => {
        await more(50);
        await startEdge('edge-3');
        await linked(3);
        await more(200);
    });
    await partitionsServed();
    await allArrived();
    for (const client of clients) assert.deepEqual(client.closes, []);
});

step('a client that registers while its home moves has its answer', async () => {
    const registering = clients.map((client) => client.register());
    await cluster.children.get('edge-3').kill();
    cluster.children.delete('edge-3');
    edges = others('edge-3');
    await Promise.race([
        Promise.all(registering),
        new Promise((_, reject) => setTimeout(() => reject(new Error('a register had no answer within 30 s')), 30000).unref()),
    ]);
    for (const client of clients) assert.deepEqual(client.closes, []);
    await startEdge('edge-3');
    await linked(3);
});

step('an edge that is killed takes nothing with it', async () => {
    for (const [i, client] of clients.entries()) await client.moveTo(urlOf(edges[i % 3]));
    const closesBefore = new Map(clients.map((client) => [client, client.closes.length]));
    await underTraffic(async () => {
        await more(100);
        await cluster.children.get('edge-1').kill();
        cluster.children.delete('edge-1');
        const orphans = clients.filter((client) => client.url === urlOf('edge-1'));
        edges = others('edge-1');
        for (const [i, client] of orphans.entries()) client.url = urlOf(edges[i % 2]); // as a balancer does
        await until('all clients are back', () => clients.every((client) => client.helloed), 30000);
        await more(200);
        for (const client of clients) {
            if (!orphans.includes(client)) assert.equal(client.closes.length, closesBefore.get(client), client.closes.join());
        }
    });
    await partitionsServed();
    await allArrived();
});

step('links that are cut for a while cost nobody the connection', async () => {
    for (const [i, client] of clients.entries()) await client.moveTo(urlOf(edges[i % edges.length]));
    const closesBefore = clients.map((client) => client.closes.length);
    await underTraffic(async () => {
        await more(50);
        for (const { proxy } of proxies.values()) proxy.cut();
        await until('all links down', async () => (await cluster.edgeMetric(edges, 'beckon_edge_links')) === 0, 30000);
        const registering = clients.map((client) => client.register()); // some at a home that cannot be reached
        await more(50);
        for (const { proxy } of proxies.values()) proxy.heal();
        await linked(edges.length);
        await Promise.all(registering);
        await more(50);
    });
    await allArrived();
    assert.deepEqual(clients.map((client) => client.closes.length), closesBefore);
});

step('an edge that hangs is replaced, and does no harm when it goes on', async () => {
    const [victim, ...rest] = edges;
    for (const [i, client] of clients.entries()) await client.moveTo(urlOf(rest[i % rest.length]));
    const closesBefore = clients.map((client) => client.closes.length);
    const { process: stopped } = cluster.children.get(victim);
    await underTraffic(async () => {
        await more(50);
        stopped.kill('SIGSTOP');
        try {
            await more(300);
            await allArrived(); // also those of the partitions that were the victim's
        } finally {
            stopped.kill('SIGCONT');
        }
        await more(100);
    });
    await allArrived();
    await linked(edges.length);
    assert.deepEqual(clients.map((client) => client.closes.length), closesBefore);
});

step('an edge that is stopped hands over first: clients of other edges keep their connections', async () => {
    await startEdge('edge-1');
    await linked(3);
    for (const [i, client] of clients.entries()) await client.moveTo(urlOf(edges[i % 3]));
    await partitionsServed();
    // Four partitions on three edges: one of these may have none to hand over.
    const served = (name) => cluster.edgeMetric([name], 'beckon_edge_partitions', '"serving"');
    const counts = await Promise.all(edges.map(async (name) => ({ name, count: await served(name) })));
    const victim = counts.reduce((most, each) => (each.count > most.count ? each : most)).name;
    const staying = clients.filter((client) => client.url !== urlOf(victim));
    const closesBefore = new Map(staying.map((client) => [client, client.closes.length]));
    const stopping = cluster.children.get(victim);
    await underTraffic(async () => {
        await more(100);
        const ending = stopping.stop();
        edges = others(victim);
        for (const client of clients) if (!staying.includes(client)) client.url = urlOf(edges[0]);
        const { code } = await ending;
        cluster.children.delete(victim);
        assert.equal(code, 0, stopping.output);
        await more(200);
    });
    await partitionsServed();
    await allArrived();
    for (const client of staying) assert.equal(client.closes.length, closesBefore.get(client), client.closes.join());
    assert(stopping.output.includes('"handed_over"'), stopping.output.slice(-3000));
});

step('after all that, nothing acknowledged comes back and nobody is forgotten', async () => {
    await acksAreDurable();
    accepted.clear();
    for (const [i, client] of clients.entries()) {
        client.versions.clear();
        await client.moveTo(urlOf(edges[(i + 1) % edges.length]));
        for (let n = 0; n < 2; ++n) assert.equal(await send(client), 201);
    }
    await allArrived();
    for (const client of clients) assert.equal(client.versions.size, 2);
});
