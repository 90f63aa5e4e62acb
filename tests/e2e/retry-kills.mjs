// The role retry is killed again and again while receivers of one owner hang, are slow, refuse, answer without end and are not there,
// and its filters are costly. The checker: every event that was answered 202 reaches the healthy receiver of another owner, and none of
// them is a dead letter: the kills condemn no event of the healthy owner. (An event of the hostile owner, whose filters take long, may be
// matched at two kills and is set aside then; its line is printed.)
//
//   KILLS=6 SEED=1 node --test retry-kills.mjs   (LOG=embedded|kafka)
//
// The seed decides the moments of the kills, but not what the role is doing at that moment.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { randomFrom } from './chaos-plan.mjs';
import { Receivers, RetryApi, costlyData, costlyFilter } from './retry-api.mjs';

const log = process.env.LOG ?? 'embedded';
const KILLS = Number(process.env.KILLS ?? 6);
const SEED = Number(process.env.SEED ?? Date.now() % 1000000);
const role = log === 'kafka' ? 'retry' : 'standalone';
const cluster = new Cluster(log, { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], tiers: '0s,2s,1min' });
const receivers = new Receivers();
let api;

before(async () => {
    await cluster.prepare();
    await cluster.start();
    api = new RetryApi(cluster);
});
after(async () => {
    api?.close();
    receivers.close();
    await cluster.end();
});

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

test(`${KILLS} kills beside hostile receivers lose no delivery of a healthy one`, { timeout: 200000 + KILLS * 20000 }, async () => {
    const healthy = api.token('healthy');
    const serves = () => until('the role serves', () => api.serves(healthy), 60000);
    await serves();
    const receiver = await receivers.quick();
    await api.webhook(healthy, receiver.url, ['tick']);
    const hostile = api.token('hostile');
    const urls = [
        await receivers.hangs(), await receivers.slow(3000), await receivers.refuses(), await receivers.endless(), await receivers.absent(),
    ];
    for (const url of urls) {
        for (let i = 0; i < 10; ++i) await api.webhook(hostile, url, ['flood']);
        await api.webhook(hostile, url, ['flood'], { filter: costlyFilter });
    }

    const accepted = new Set();
    let posting = true;
    const postOn = async (as, type, data, ms) => {
        while (posting) {
            const { id, status } = await api.tryToPost(as, type, data);
            if (status === 202 && type === 'tick') accepted.add(id);
            await pause(ms);
        }
    };
    const senders = [postOn(healthy, 'tick', {}, 5), postOn(healthy, 'tick', {}, 7), postOn(hostile, 'flood', costlyData, 20)];
    const random = randomFrom(SEED);
    const setAside = [];
    const kill = async () => {
        const child = cluster.children.get(role);
        await child.kill();
        setAside.push(...child.output.split('\n').filter((line) => line.includes('two processes ended')));
        cluster.children.delete(role);
    };
    for (let i = 0; i < KILLS; ++i) {
        // Some come soon after a start, where many events are matched.
        await pause(random() < 0.5 ? random() * 300 : 500 + random() * 2500);
        await kill();
        await cluster.start('retry');
    }
    await pause(1000);
    posting = false;
    await Promise.all(senders);
    await serves();
    const missing = () => [...accepted].filter((id) => !receiver.came.has(id));
    await until('every accepted event', () => missing().length === 0, 90000).catch((error) => {
        throw new Error(`seed ${SEED}: ${error.message}: ${missing().length} of ${accepted.size} missing, e.g. ${missing()[0]}\n${cluster.outputs()}`);
    });
    assert(accepted.size > 20 * KILLS, `only ${accepted.size} events were accepted`);
    assert.deepEqual((await api.ask('GET', '/dead', { as: healthy })).json.letters, [], `seed ${SEED}`);
    await kill();
    await cluster.start('retry');
    const twice = [...receiver.times.values()].filter((times) => times > 1).length;
    console.log(`${KILLS} kills (seed ${SEED}): ${accepted.size} accepted and delivered, ${twice} came more than once, ${setAside.length} set aside`);
    for (const line of setAside) console.log(line);
});
