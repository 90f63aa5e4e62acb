// What happens when edges die, one, two, again and again, and what does not happen when they only seem dead. Three edges on
// Kafka with a proxy before each link port; every change of a partition's home is read from `ownership`, and the checker
// of the chaos test counts the moves for each death.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { Checker } from './chaos-checker.mjs';
import { Faults, installationOn, PARTITIONS } from './chaos-faults.mjs';
import { UserAgent, agent } from './client.mjs';

const EDGES = ['edge-1', 'edge-2', 'edge-3'];
const SESSION_MS = 6000;
const SOON_MS = 4000; // far less than the time-out, however busy the machine is
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const checker = new Checker();
const cluster = new Cluster('kafka', { plain: true, gates: EDGES });
const installation = installationOn(cluster, { edges: EDGES, endpoints: ['endpoint-1'] });
let moves = 0;
const movesOf = new Map(); // partition → how often it has moved
const grouped = new Set(); // nodes that their group has taken
const note = (kind, fields) => {
    if (kind === 'joined' && !fields.joining) grouped.add(fields.node);
    const known = checker.homes.get(fields.partition)?.home;
    if (kind === 'placed' && known !== undefined && known !== fields.home) {
        ++moves;
        movesOf.set(fields.partition, (movesOf.get(fields.partition) ?? 0) + 1);
    }
    checker[kind]?.({ at: performance.now(), kind, ...fields });
};
const faults = new Faults(cluster, installation, note);
const began = performance.now();
const say = (text) => console.log(`# ${Math.round(performance.now() - began)} ms: ${text}`);

const nodeOf = (edge) => checker.newest(cluster.nodeNameOf(edge));
const partitionsOf = (edge) => checker.partitionsOf(nodeOf(edge));
const homesOf = (edge) => partitionsOf(edge).length;
const running = new Set(EDGES);
const metric = (name, labels = '') => cluster.edgeMetric([...running], name, labels);
const served = () => metric('beckon_edge_partitions', '"serving"');
const rested = () =>
    until('an installation at rest', async () => {
        const links = await metric('beckon_edge_links');
        const standbys = await metric('beckon_edge_partitions', '"standby"');
        const isEven = [...running].every((edge) => homesOf(edge) >= Math.floor(PARTITIONS / running.size));
        if (![...running].every((edge) => grouped.has(nodeOf(edge)))) return false;
        return (await served()) === PARTITIONS && links === running.size * (running.size - 1) && isEven && standbys >= Math.min(running.size - 1, 1) * PARTITIONS;
    }, 120000);
async function kill(...edges) {
    for (const edge of edges) running.delete(edge);
    await Promise.all(edges.map(async (edge) => {
        await faults.ending(edge).kill();
        await installation.proxies('links', edge)[0].reject();
        cluster.children.delete(edge);
    }));
    return performance.now();
}
async function start(edge) {
    await installation.proxies('links', edge)[0].heal();
    await installation.startRole(edge);
    running.add(edge);
}
const servedAgain = async (since, what, limitMs = SOON_MS) => {
    await until(`all partitions served after ${what}`, async () => (await served()) === PARTITIONS, limitMs);
    say(`${what}: served again after ${Math.round(performance.now() - since)} ms`);
};

before(async () => {
    await cluster.prepare();
    faults.watchPlacement();
    await pause(1000); // the reader is at the end of `ownership`
    await installation.start();
    await rested();
});
after(async () => {
    agent.destroy();
    await cluster.destroy();
    installation.close();
});

for (const [what, victims] of [['one edge', ['edge-2']], ['the first edge', ['edge-1']], ['two edges at once', ['edge-2', 'edge-3']]]) {
    test(`the death of ${what} moves each of its partitions once, long before the time-out`, async () => {
        const lost = victims.flatMap(partitionsOf);
        assert.ok(lost.length > 0);
        movesOf.clear();
        await servedAgain(await kill(...victims), what);
        await pause(SESSION_MS + 3000); // until the group has missed them too
        for (const partition of lost) assert.equal(movesOf.get(partition), 1);
        // An edge that has taken over too many gives others away.
        for (const [partition, count] of movesOf) assert.equal(count, 1, `partition ${partition}`);
        assert.deepEqual(checker.faults, []);
        for (const edge of victims) await start(edge);
        await rested();
    });
}

test('an edge that refuses the calls of all others lives, objects and keeps its partitions', async () => {
    const before = moves;
    // A busy machine may have let an edge stand still before, which is another test's matter.
    const wrong = await metric('beckon_edge_wrong_suspicions_total');
    const [proxy] = installation.proxies('links', 'edge-2');
    await proxy.reject();
    await until('a suspicion', async () => (await metric('beckon_edge_suspicions_total')) > 0);
    await pause(2000);
    await proxy.heal();
    await rested();
    assert.equal(moves, before);
    assert.equal(await metric('beckon_edge_wrong_suspicions_total'), wrong);
});

test('an edge that stands still for three seconds keeps its partitions, and its clients their messages', async () => {
    const before = moves;
    const client = new UserAgent(cluster.edges.get('edge-3').websocket);
    await client.connect();
    const { process } = cluster.children.get('edge-2');
    process.kill('SIGSTOP');
    await pause(3000);
    process.kill('SIGCONT');
    await rested();
    assert.equal(moves, before);
    client.end();
});

test('an edge in a crash loop moves its partitions a few times only', async () => {
    const before = moves;
    for (let life = 0; life < 10; ++life) {
        await kill('edge-3');
        await pause(300);
        await start('edge-3');
        await pause(700);
    }
    say(`ten deaths of an edge within seconds: ${moves - before} moves`);
    assert.ok(moves - before <= 4 * PARTITIONS);
    assert.equal(await served(), PARTITIONS);
    await until('its partitions back', () => homesOf('edge-3') > 0, 120000);
    assert.deepEqual(checker.faults, []);
});

test('an edge that is started again alone serves at once', async () => {
    await kill('edge-1', 'edge-2', 'edge-3');
    await pause(200);
    const since = performance.now();
    await start('edge-2');
    const own = homesOf('edge-2');
    say(`restart with nobody else: ready after ${Math.round(performance.now() - since)} ms, home of ${own}`);
    assert.ok(own > 0);
    await until('all partitions', async () => (await served()) === PARTITIONS, 60000);
});
