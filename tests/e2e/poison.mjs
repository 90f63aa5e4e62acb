// An event that ends each process which fans it out, or attempts its delivery, is set aside as a dead letter, and the role goes
// on: a library that is preloaded (poison.c) stands for the fault of the program, and kills the process at that moment.
//
//   node --test poison.mjs   (LOG=embedded|kafka)
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Cluster, until } from './beckon.mjs';
import { Receivers, RetryApi } from './retry-api.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const POISON = 666066606660666;
const log = process.env.LOG ?? 'embedded';
const role = log === 'kafka' ? 'retry' : 'standalone';
const cluster = new Cluster(log, { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], tiers: '0s,2s,1min' });
const library = join(cluster.directory, 'poison.so');
const receivers = new Receivers();
let api;

before(async () => {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', library, join(HERE, 'poison.c'), '-ldl']);
    await cluster.prepare();
    await cluster.start();
    api = new RetryApi(cluster);
});
after(async () => {
    api?.close();
    receivers.close();
    await cluster.end();
});

/** The role runs from now on with threads that the poison kills; null: with none. */
async function restart(threads) {
    cluster.environment = threads ? { LD_PRELOAD: library, POISON_THREAD: threads, POISON_NUMBER: String(POISON) } : {};
    await cluster.children.get(role).stop();
    cluster.children.delete(role);
    await cluster.start('retry');
}

/** Starts the role again whenever it has ended, until `check` holds; how often it was killed. */
async function startedUntil(what, check) {
    for (let kills = 0; kills < 8; ++kills) {
        const child = cluster.children.get(role);
        let ended = false;
        child.exited.then(() => (ended = true));
        await until(what, async () => ended || (await check()), 60000);
        if (!ended) return kills;
        assert.equal((await child.exited).signal, 'SIGKILL', child.output);
        cluster.children.delete(role);
        await cluster.start('retry').catch(() => {}); // it may end before it is ready
    }
    throw new Error(`${what}: eight processes were killed before that\n${cluster.outputs()}`);
}

const lines = (event) => cluster.children.get(role).output.split('\n').filter((line) => line.includes(`"${event}"`)).map((line) => JSON.parse(line));

async function threeOwners() {
    const owners = [];
    for (const name of ['poisoner', 'first', 'second']) {
        const receiver = await receivers.quick();
        const as = api.token(name);
        await until('the role serves', () => api.serves(as), 60000);
        owners.push({ as, ...receiver });
    }
    return owners;
}

test('an event whose matching ends the process is a dead letter after two', async () => {
    await restart('retry-[0-9]*');
    const owners = await threeOwners();
    const [poisoner, ...others] = owners;
    for (const { as, url } of owners) await api.webhook(as, url, ['tick']);
    const wanted = new Map(owners.map((owner) => [owner, []]));
    const postEverywhere = async () => {
        for (const owner of owners) {
            for (let i = 0; i < 10; ++i) {
                const { id, status } = await api.tryToPost(owner.as, 'tick', { i });
                if (status === 202) wanted.get(owner).push(id);
            }
        }
    };
    const allCame = (some) => some.every((owner) => wanted.get(owner).every((id) => owner.came.has(id)));
    await postEverywhere();
    await until('events before the poison', () => allCame(owners));

    const { id: poison } = await api.tryToPost(poisoner.as, 'tick', { n: POISON });
    await postEverywhere(); // some of it comes before the process has ended
    const letters = () => lines('broken_event').filter(({ why }) => /two processes ended/.test(why));
    const kills = await startedUntil('the poison is set aside', () => letters().length === 1);
    assert.equal(kills, 2);
    const [letter] = letters();
    assert.equal(letter.effect, 'it is kept in retry.dead');
    await until('the role serves', () => api.serves(poisoner.as), 60000);
    const running = cluster.children.get(role);
    await postEverywhere();
    await until('what was accepted of all owners', () => allCame(owners), 60000);
    assert.equal(poisoner.came.has(poison), false);
    assert.equal(cluster.children.get(role), running);
    assert.equal(running.process.signalCode, null, 'the process goes on');

    // A later start does not take it again.
    await running.kill();
    cluster.children.delete(role);
    await cluster.start('retry');
    await until('the role serves', () => api.serves(poisoner.as), 60000);
    await postEverywhere();
    await until('events after another start', () => allCame(owners), 60000);
    assert.equal(cluster.children.get(role).process.signalCode, null, 'it may be set aside again, and is not tried');
    for (const { as } of others) {
        assert.deepEqual((await api.ask('GET', '/dead', { as })).json.letters, []);
    }
});

test('a delivery whose attempts end the process is a dead letter after two', async () => {
    const owners = await threeOwners();
    const [poisoner, ...others] = owners;
    for (const { as, url } of owners) await api.webhook(as, url, ['attempt'], { attachments: { n: 'data.n' } });
    // A header is made when an attempt begins, and not when its event is matched.
    await api.webhook(poisoner.as, poisoner.url, ['poison'], { headers: { 'X-Poison': String(POISON) } });
    await restart('retry-[0-9]*');
    await until('the role serves', () => api.serves(poisoner.as), 60000);
    const wanted = new Map(owners.map((owner) => [owner, []]));
    const postEverywhere = async () => {
        for (const owner of owners) {
            for (let i = 0; i < 10; ++i) {
                const { id, status } = await api.tryToPost(owner.as, 'attempt', { n: i });
                if (status === 202) wanted.get(owner).push(id);
            }
        }
    };
    const allCame = () => owners.every((owner) => wanted.get(owner).every((id) => owner.came.has(id)));
    await postEverywhere();
    await until('events before the poison', allCame);

    const { id: poison } = await api.tryToPost(poisoner.as, 'poison', {});
    await postEverywhere(); // some of it comes before the process has ended
    const kills = await startedUntil('the poison is set aside', () => lines('delivery_set_aside').length > 0);
    assert.equal(kills, 2);
    const [line] = lines('delivery_set_aside');
    assert.match(line.why, /two processes ended/);
    await until('the role serves', () => api.serves(poisoner.as), 60000);
    await postEverywhere();
    await until('what was accepted of all owners', allCame, 60000);
    const dead = await until('the dead letter', async () => (await api.ask('GET', '/dead?reason=crashed', { as: poisoner.as })).json.letters);
    assert.deepEqual(dead.map(({ delivery }) => delivery), [line.delivery]);
    for (const { as } of others) assert.deepEqual((await api.ask('GET', '/dead', { as })).json.letters, []);
    assert.equal(poisoner.came.has(poison), false);

    // With the fault mended its owner redrives it.
    await restart(null);
    await until('the dead letter is known again', async () => (await api.ask('GET', '/dead?reason=crashed', { as: poisoner.as })).json.letters.length === 1, 60000);
    const redriven = await api.ask('POST', '/dead/redrive', { json: { dry_run: false, reason: 'crashed' }, as: poisoner.as });
    assert.equal(redriven.status, 200, redriven.text);
    await until('the event', () => poisoner.came.has(poison));
});
