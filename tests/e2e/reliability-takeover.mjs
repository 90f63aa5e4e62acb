// Two processes with the role reliability share the partitions. One is killed with SIGKILL while
// tracked messages come: the other takes its partitions, and every message is counted once, as its
// client saw it. Then both are killed, which delivery does not notice, and lose their stores: the topic
// gives the same counts again.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import webpush from 'web-push';
import { Cluster, freePort, until } from './beckon.mjs';
import { UserAgent, agent, post } from './client.mjs';

const PARTITIONS = 4; // as the tests' topics have
const SHARED_MS = 20000;
const STARTS_MAX = 6;
const TAKES_MS = 90000; // a lease of the dead one ends, and the other folds what it has missed
const NAMES = ['reliability', 'reliability-2'];

const keys = webpush.generateVAPIDKeys();
const cluster = new Cluster('kafka', { endpoint: ['--endpoint-tracking-keys', keys.publicKey] });
const client = new UserAgent(undefined);
const ops = new Map();
const sent = []; // reliability ids of messages that were answered 201

before(async () => {
    await cluster.prepare();
    await cluster.start();
    for (const name of NAMES) ops.set(name, await freePort());
    for (const name of NAMES) await cluster.startReliability(name, ops.get(name));
    client.url = cluster.websocket;
    await client.connect();
    await client.register();
});

after(async () => {
    client.end();
    agent.destroy();
    await cluster.end();
});

async function send(count) {
    for (let i = 0; i < count; ++i) {
        const id = `message-${sent.length}`;
        const { Authorization } = webpush.getVapidHeaders(
            new URL(cluster.endpoint).origin, 'mailto:tests@example.com', keys.publicKey, keys.privateKey, 'aes128gcm',
        );
        const reply = await post(client.endpoint, id, { Authorization, 'X-MessageId': id });
        assert.equal(reply.status, 201, reply.body);
        sent.push(id);
    }
}

async function page(name, path) {
    const reply = await fetch(`http://127.0.0.1:${ops.get(name)}/reliability/${path}`);
    if (reply.status !== 200) throw new Error(`${name}: /reliability/${path} answered ${reply.status}`);
    return reply.json();
}

const served = (name) => cluster.metric('beckon_reliability_partitions', '', ops.get(name));

async function serve(wanted, limitMs = TAKES_MS) {
    let numbers = [];
    await until(`partitions served: ${wanted}`, async () => {
        numbers = await Promise.all([...wanted.keys()].map(served));
        return numbers.every((number, i) => [...wanted.values()][i](number)) && numbers.reduce((a, b) => a + b, 0) === PARTITIONS;
    }, limitMs).catch((error) => {
        throw new Error(`${error.message}; they serve ${numbers}`);
    });
}

/**
 * Placement follows the names of the nodes, which are new at each start: one time in eight a node gets all four
 * partitions. Then the second process is started anew.
 */
async function share() {
    for (let starts = 1; ; ++starts) {
        try {
            return await serve(new Map(NAMES.map((name) => [name, some])), SHARED_MS);
        } catch (error) {
            if (starts === STARTS_MAX) throw error;
        }
        await cluster.children.get(NAMES[1]).stop();
        cluster.children.delete(NAMES[1]);
        await cluster.startReliability(NAMES[1], ops.get(NAMES[1]));
    }
}

/** Every message was acknowledged, and all processes count so. */
async function countedRight(names) {
    let seen;
    await until('the counts', async () => {
        seen = await Promise.all(names.map((name) => page(name, 'counts')));
        return seen.every(({ counts }) => Object.entries(counts).every(
            ([milestone, count]) => count === (milestone === 'delivered' ? sent.length : 0),
        ));
    }, TAKES_MS).catch((error) => {
        throw new Error(`${error.message}: ${sent.length} were delivered, counted are ${JSON.stringify(seen)}`);
    });
    for (const { refused } of seen) assert.deepEqual(refused, []);
}

const some = (number) => number > 0;
const all = (number) => number === PARTITIONS;

test('two processes share the partitions, and both know the counts', async () => {
    await share();
    await send(100);
    await countedRight(NAMES);
});

test('one is killed while messages come: the other counts them all', async () => {
    const [survivor, victim] = NAMES;
    await cluster.children.get(victim).kill();
    cluster.children.delete(victim);
    await send(100); // nobody folds the victim's partitions yet: senders do not notice
    await serve(new Map([[survivor, all]]));
    await send(100);
    await countedRight([survivor]);
    for (const id of sent) assert.equal((await page(survivor, `history/${id}`)).current, 'delivered', id);
});

test('it comes back, and nothing is counted twice', async () => {
    await cluster.startReliability(NAMES[1], ops.get(NAMES[1]));
    await share();
    await send(100);
    await countedRight(NAMES);
});

test('while nobody counts, everything is delivered', async () => {
    for (const name of NAMES) {
        await cluster.children.get(name).kill();
        cluster.children.delete(name);
    }
    await send(100);
    await until('the client has every message', () => client.versions.size === sent.length);
});

test('the topic alone gives the same counts', async () => {
    for (const name of NAMES) rmSync(join(cluster.directory, name, 'reliability'), { recursive: true });
    await cluster.startReliability(NAMES[1], ops.get(NAMES[1]));
    await serve(new Map([[NAMES[1], all]]));
    await countedRight([NAMES[1]]);
    assert.deepEqual(client.faults, []);
});
