// Three edges and two endpoints on three brokers, and a network, brokers and clocks that fail, with the bounds on the
// cost of each fault.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, agent, post } from './client.mjs';
import { Proxy } from './proxy.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const CLIENTS = 12;
const PARTITIONS = 4;
const EDGES = ['edge-1', 'edge-2', 'edge-3'];
const RECOVERY_MS = 120000; // brokers on a machine that is busy take their time
const cluster = new Cluster('kafka', { plain: true, brokers: 3, gates: EDGES });
const library = join(cluster.directory, 'wrong-clock.so');
const links = new Map(); // edge → {proxy, port} before its link port
const clients = [];
const accepted = new Map(); // message id → client
const origins = [];
let edges = [];

const urlOf = (name) => cluster.edges.get(name).websocket;
const others = (name) => edges.filter((each) => each !== name);
const sum = (metric, labels, names = edges) => cluster.edgeMetric(names, metric, labels);
const served = (names = edges) => sum('beckon_edge_partitions', '"serving"', names);
const isReady = async (name) => (await fetch(`http://127.0.0.1:${cluster.edges.get(name).ops}/ready`)).status === 200;

async function startEdge(name, under = []) {
    if (!links.has(name)) {
        const proxy = new Proxy(() => cluster.edges.get(name).link);
        links.set(name, { proxy, port: await proxy.open() });
    }
    await cluster.startEdge(name, ['--edge-link-address', `127.0.0.1:${links.get(name).port}`], under);
    edges.push(name);
}

async function stopEdge(name) {
    const { code } = await cluster.children.get(name).stop();
    assert.equal(code, 0, `${name} at SIGTERM`);
    cluster.children.delete(name);
    edges = others(name);
}

async function send(client, headers = {}, index = accepted.size) {
    const reply = await post(origins[index % origins.length] + new URL(client.endpoint).pathname, `message ${index}`, headers);
    if (reply.status === 201) accepted.set(reply.id, client);
    else assert([0, 503].includes(reply.status), `unexpected status ${reply.status}: ${reply.body}`);
    return reply;
}

/** Sends until the log takes it. */
const sendSurely = (client, headers = {}) =>
    until('an accepted message', async () => {
        const reply = await send(client, headers);
        return reply.status === 201 && reply;
    }, RECOVERY_MS);

async function allArrived(of = clients) {
    const missing = () => [...accepted].filter(([id, client]) => of.includes(client) && !client.versions.has(id));
    await until('every accepted message', () => missing().length === 0, RECOVERY_MS).catch((error) => {
        throw new Error(`${error.message}: ${missing().length} of ${accepted.size} missing`);
    });
    for (const client of of) assert.deepEqual(client.faults, []);
}

async function wellAgain() {
    await until('every partition served', async () => (await served()) === PARTITIONS, RECOVERY_MS);
    await until('links', async () => (await sum('beckon_edge_links', '')) === edges.length * (edges.length - 1), RECOVERY_MS);
    for (const [i, client] of clients.entries()) await client.moveTo(urlOf(edges[i % edges.length]));
    for (const client of clients) await sendSurely(client);
    await allArrived();
}

/** Runs a step; a failure shows the output of the processes. */
const step = (name, body) =>
    test(name, async () => {
        try {
            await wellAgain();
            await body();
            await wellAgain();
        } catch (error) {
            console.error(cluster.outputs());
            throw error;
        }
    });

const closesOf = (some) => some.map((client) => client.closes.length);

before(async () => {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', library, join(HERE, 'wrong-clock.c'), '-ldl']);
    await cluster.prepare();
    for (const name of ['endpoint-1', 'endpoint-2']) origins.push(await cluster.startAnotherEndpoint(name));
    for (const name of EDGES) await startEdge(name);
    await until('every partition served', async () => (await served()) === PARTITIONS, RECOVERY_MS);
    for (let i = 0; i < CLIENTS; ++i) {
        const client = new UserAgent(urlOf(EDGES[i % EDGES.length]));
        await client.connect();
        await client.register();
        clients.push(client);
    }
});

after(async () => {
    for (const client of clients) client.end();
    for (const { proxy } of links.values()) proxy.close();
    agent.destroy();
    await cluster.end();
});

for (const how of ['cut', 'silence']) {
    step(`an edge that is cut off from the brokers (${how}) is replaced; nobody elsewhere loses the connection`, async () => {
        const victim = edges[0];
        const elsewhere = clients.filter((client) => client.url !== urlOf(victim));
        const before = closesOf(elsewhere);
        for (const proxy of cluster.gatesOf(victim)) proxy[how]();
        try {
            await until('the others serve everything', async () => (await served(others(victim))) === PARTITIONS, RECOVERY_MS);
            for (const client of elsewhere) await sendSurely(client);
            await allArrived(elsewhere);
            await until('the edge is not ready', async () => !(await isReady(victim)), RECOVERY_MS);
            assert.deepEqual(closesOf(elsewhere), before);
        } finally {
            for (const proxy of cluster.gatesOf(victim)) proxy.heal();
        }
        await until('the edge is ready again', () => isReady(victim), RECOVERY_MS);
    });
}

step('edges that do not reach each other: clients find their way, and nothing is lost', async () => {
    const victim = edges[0];
    links.get(victim).proxy.silence();
    try {
        for (const client of clients) await sendSurely(client);
        for (const client of clients) client.url = urlOf(others(victim)[0]); // where a balancer sends those who are closed
        await until('every client is attached', () => clients.every((client) => client.helloed), RECOVERY_MS);
    } finally {
        links.get(victim).proxy.heal();
    }
    await allArrived();
});

step('one broker of three dies: messages go on, and nobody loses the connection', async () => {
    const before = closesOf(clients);
    await cluster.killKafka('kafka-2');
    for (const client of clients) await sendSurely(client);
    await allArrived();
    assert.deepEqual(closesOf(clients), before);
    await cluster.startKafka('kafka-2');
});

step('the group coordinator moves to another broker: messages go on, and nobody loses the connection', async () => {
    const topic = '__consumer_offsets';
    const leaders = async () => {
        const description = await cluster.kafkaTool('TopicCommand', ['--describe', '--topic', topic]);
        return [...description.matchAll(/Partition: (\d+)\s+Leader: (\d+)\s+Replicas: ([\d,]+)/g)].map(([, partition, leader, replicas]) => ({
            partition: Number(partition), leader: Number(leader), replicas: replicas.split(',').map(Number),
        }));
    };
    const reassign = async (replicasOf) => {
        const partitions = (await leaders()).map((of) => ({ topic, partition: of.partition, replicas: replicasOf(of) }));
        const plan = join(cluster.directory, 'reassign.json');
        writeFileSync(plan, JSON.stringify({ version: 1, partitions }));
        // A broker that has just started is unknown to the others for a moment.
        const execute = () => cluster.kafkaTool('reassign.ReassignPartitionsCommand', ['--reassignment-json-file', plan, '--execute']);
        await until('the reassignment has begun', execute, RECOVERY_MS);
    };
    const all = [...cluster.brokers.values()].map(({ node }) => node);
    const before = closesOf(clients);
    const was = await leaders();
    assert(was.length > 0);
    await reassign(({ leader, replicas }) => replicas.filter((node) => node !== leader));
    await until('another broker coordinates', async () => (await leaders()).every(({ leader }, i) => leader !== was[i].leader), RECOVERY_MS);
    for (const client of clients) await sendSurely(client);
    await allArrived();
    assert.deepEqual(closesOf(clients), before);
    await reassign(({ replicas }) => [...replicas, ...all.filter((node) => !replicas.includes(node))]);
    const lagging = () => cluster.kafkaTool('TopicCommand', ['--describe', '--topic', topic, '--under-replicated-partitions']);
    await until('every replica in sync', async () => !(await lagging()).includes('Partition:'), RECOVERY_MS);
});

step('all brokers die and come back: senders receive a 503 with Retry-After, clients stay, no restart is needed', async () => {
    const before = closesOf(clients);
    for (const name of cluster.brokers.keys()) await cluster.killKafka(name);
    const { status } = await send(clients[0]);
    assert.equal(status, 503);
    for (const name of cluster.brokers.keys()) await cluster.startKafka(name);
    for (const client of clients) await sendSurely(client);
    await allArrived();
    assert.deepEqual(closesOf(clients), before);
});

for (const offset of [300, -300]) {
    step(`an edge whose clock is off by ${offset} s neither drops what is alive nor delivers what is over`, async () => {
        for (const name of [...edges]) await stopEdge(name);
        await startEdge('edge-1', ['env', `LD_PRELOAD=${library}`, `CLOCK_OFFSET_S=${offset}`]);
        try {
            for (const client of clients) {
                client.end();
                client.url = urlOf('edge-1');
            }
            const [alive, over] = [new Map(), new Map()];
            for (const client of clients) {
                alive.set(client, (await sendSurely(client, { TTL: '120' })).id);
                over.set(client, (await sendSurely(client, { TTL: '2' })).id);
                accepted.delete(over.get(client));
            }
            const late = Date.now() + 15000; // the log's time is known to some seconds
            await until('the end of the short TTL', () => Date.now() > late);
            for (const client of clients) await client.connect();
            await allArrived();
            for (const client of clients) {
                assert(client.versions.has(alive.get(client)));
                assert(!client.versions.has(over.get(client)), 'a message came 13 s after its expiry');
            }
        } finally {
            await stopEdge('edge-1');
            for (const name of EDGES) await startEdge(name);
        }
    });
}
