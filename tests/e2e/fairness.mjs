// Costs of owners of webhooks for each other: receivers of some owners hang, are slow, refuse, answer without end or
// are dead, beside an owner whose receivers answer at once; and their costs for the API.
//
//   node --test fairness.mjs   (LOG=embedded|kafka)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, until } from './beckon.mjs';
import { Receivers, RetryApi, costlyData, costlyFilter } from './retry-api.mjs';

const log = process.env.LOG ?? 'embedded';
const cluster = new Cluster(log, {
    plain: true,
    retry: ['--retry-allowed-addresses', '127.0.0.1'],
    tiers: '0s,5s,1min',
});
const receivers = new Receivers();
/** The time-out of an attempt. */
const ATTEMPT_MS = 15_000;
let api;

/** From the 202 of each event to its first attempt, in ms, sorted. */
async function waits(as, type, came, count) {
    const accepted = new Map();
    for (let i = 0; i < count; ++i) {
        accepted.set(await api.post(as, type), performance.now());
        await new Promise((resolve) => setTimeout(resolve, 25));
    }
    await until('all events', () => [...accepted.keys()].every((id) => came.has(id)), 60000);
    return [...accepted].map(([id, at]) => Math.max(0, came.get(id) - at)).sort((a, b) => a - b);
}
const percentile = (sorted, part) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];

before(async () => {
    api = await RetryApi.start(cluster);
});
after(async () => {
    api?.close();
    receivers.close();
    await cluster.end();
});

test('receivers that hang cost their owner its share, and nobody else anything', async () => {
    const healthy = api.token('healthy');
    const receiver = await receivers.quick();
    await api.webhook(healthy, receiver.url, ['tick']);
    // One owner with 300 webhooks that hang, and one of its own that answers.
    const hostile = api.token('hostile');
    const own = await receivers.quick();
    await api.webhook(hostile, own.url, ['own']);
    await waits(hostile, 'own', own.came, 5); // it is known to answer
    const hangs = await receivers.hangs();
    for (let i = 0; i < 300; i += 20) {
        await Promise.all(Array.from({ length: 20 }, () => api.webhook(hostile, hangs, ['flood'])));
    }
    // Others are slow, large, dead, and flood.
    const urls = [await receivers.slow(3000), await receivers.endless(), await receivers.absent()];
    const others = [];
    for (let i = 0; i < 6; ++i) {
        const as = api.token(`other-${i}`);
        for (let n = 0; n < 5; ++n) await api.webhook(as, urls[i % urls.length], ['flood']);
        others.push(as);
    }
    let flooding = true;
    const flood = (async () => {
        while (flooding) {
            await api.post(hostile, 'flood', { large: 'x'.repeat(20_000) });
            for (const as of others) await api.post(as, 'flood', { large: 'x'.repeat(2_000) });
            await new Promise((resolve) => setTimeout(resolve, 500));
        }
    })();
    await until('attempts that hang', () => receivers.hanging.size >= 50, 30000);
    const beside = await waits(healthy, 'tick', receiver.came, 200);
    const ownBeside = await waits(hostile, 'own', own.came, 100);
    const usage = (await api.ask('GET', '/webhooks', { as: hostile })).json.usage;
    flooding = false;
    await flood;

    const text = `beside p99 ${percentile(beside, 0.99).toFixed(1)} ms, same owner p99 ${percentile(ownBeside, 0.99).toFixed(1)} ms; hanging ${receivers.hanging.size}`;
    console.log(text);
    // How soon is for `./dev bench --only retry`; here nothing waits for the end of an attempt that hangs.
    assert(beside.at(-1) < ATTEMPT_MS / 2, text);
    assert(ownBeside.at(-1) < ATTEMPT_MS / 2, text);
    assert(usage.under_way >= 50 && usage.under_way <= 300, `the owner's share: ${JSON.stringify(usage)}`);
    assert(usage.attempts > 0 && usage.sent_bytes > 0 && usage.attempt_ms > 0, JSON.stringify(usage));
    const listed = spawnSync(BECKON, ['webhooks', 'list', '--url', api.url, '--token', hostile], { encoding: 'utf8' });
    assert.match(listed.stdout, /used of this process: \d+ attempts/, listed.stderr);
});

/** How long each of `count` calls of the API takes, in ms, sorted. */
async function answers(as, count) {
    const took = [];
    for (let i = 0; i < count; ++i) {
        const began = performance.now();
        const { status, text } = await api.ask('GET', i % 2 ? '/webhooks' : '/dead', { as });
        assert.equal(status, 200, text);
        took.push(performance.now() - began);
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return took.sort((a, b) => a - b);
}

test('the API answers, and the probes say that all loops turn, while deliveries hang and filters are costly', async () => {
    const asker = api.token('asker');
    const hostile = api.token('hanging');
    const url = await receivers.hangs();
    for (let i = 0; i < 300; i += 20) {
        await Promise.all(Array.from({ length: 20 }, (_, n) => api.webhook(hostile, url, ['flood'], n === 0 ? { filter: costlyFilter } : {})));
    }
    let flooding = true;
    const flood = (async () => {
        while (flooding) await api.postInTurn(hostile, 'flood', costlyData); // as the role lets it
    })();
    const ops = log === 'kafka' ? cluster.ports.opsRetry : cluster.ports.ops;
    await until('attempts that hang', () => receivers.hanging.size >= 50);
    await until('filters that are too costly', async () => (await api.ask('GET', '/dead?reason=filter_too_costly', { as: hostile })).json.letters.length > 0);
    const took = await answers(asker, 100);
    const webhook = await api.webhook(asker, url, ['nothing']);
    assert.equal((await api.ask('DELETE', `/webhooks/${webhook}`, { as: asker })).status, 204);
    for (const probe of ['live', 'ready']) {
        const report = await fetch(`http://127.0.0.1:${ops}/${probe}`);
        const text = await report.text();
        assert.equal(report.status, 200, text);
        assert.doesNotMatch(text, /stalled|hangs/);
    }
    flooding = false;
    await flood;
    const text = `GET p50 ${percentile(took, 0.5).toFixed(1)} p95 ${percentile(took, 0.95).toFixed(1)} max ${took.at(-1).toFixed(1)} ms; hanging ${receivers.hanging.size}`;
    console.log(text);
    assert(took.at(-1) < ATTEMPT_MS / 2, text);
});
