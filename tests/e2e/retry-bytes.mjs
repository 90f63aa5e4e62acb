// The log has an event once, however many webhooks want it: an owner with 1,000 webhooks at a port where nobody listens posts ten
// events of 256 KB. Each delivery and each further try writes a few hundred bytes, another owner's events are delivered meanwhile,
// and once the receiver is there each webhook gets each event as it was posted.
//
//   node --test retry-bytes.mjs
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { Cluster, freePort, until } from './beckon.mjs';
import { RetryApi } from './retry-api.mjs';

const WEBHOOKS = 1000;
const EVENTS = 10;
const TEXT = 256 * 1024 - 400;
const DELIVERIES = WEBHOOKS * EVENTS;
const BYTES_OF_EACH = 400; // of a delivery, of a further try

const cluster = new Cluster('embedded', { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], tiers: '0s,5s,20s,21s,22s,23s,24s' });
let api;
let many;
let quiet;
let port;
const texts = Array.from({ length: EVENTS }, (_, n) => String(n).repeat(TEXT));
const got = new Map(); // the digests of the texts that each webhook got
const ticks = new Map(); // when each event of the other owner was delivered
const digest = (text) => createHash('sha256').update(text).digest('base64');

const other = http.createServer((request, response) => {
    let body = '';
    request.on('data', (data) => (body += data)).on('end', () => {
        ticks.set(JSON.parse(body).id, performance.now());
        response.writeHead(204).end();
    });
});
const receiver = http.createServer((request, response) => {
    const parts = [];
    request.on('data', (data) => parts.push(data)).on('end', () => {
        const digests = got.get(request.url) ?? got.set(request.url, new Set()).get(request.url);
        digests.add(digest(JSON.parse(Buffer.concat(parts)).data.text));
        response.writeHead(204).end();
    });
});

before(async () => {
    api = await RetryApi.start(cluster);
    many = api.token('many');
    quiet = api.token('quiet');
    port = await freePort();
    await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
    await api.webhook(quiet, `http://127.0.0.1:${other.address().port}/`, ['tick']);
    // One after the other: those that are being made count twice against the bound of 1,000.
    for (let i = 0; i < WEBHOOKS; ++i) await api.webhook(many, `http://127.0.0.1:${port}/${i}`, ['large']);
}, { timeout: 120000 });
after(async () => {
    api?.close();
    other.close();
    receiver.closeAllConnections();
    receiver.close();
    await cluster.end();
});

/** What the process has passed to write(), to files and sockets. */
const written = () => Number(readFileSync(`/proc/${cluster.pid()}/io`, 'utf8').match(/wchar: (\d+)/)[1]);
const records = async () => {
    const [promoted, dead] = await Promise.all(['promoted', 'dead'].map((outcome) => cluster.metric('beckon_retry_deliveries_total', `outcome="${outcome}"`)));
    return promoted + dead;
};

test('the log gets what was posted, and a few hundred bytes for each delivery and try', { timeout: 240000 }, async (t) => {
    const [bytes, tried] = [written(), await records()];
    const waits = [];
    for (const text of texts) await api.postInTurn(many, 'large', { text });
    const began = performance.now();
    while (performance.now() - began < 20000) {
        const posted = performance.now();
        const id = await api.post(quiet, 'tick');
        await until('the other owner\'s delivery', () => ticks.has(id));
        waits.push(ticks.get(id) - posted);
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await until('a try of each delivery', async () => await records() - tried >= DELIVERIES, 60000);
    const tries = await records() - tried;
    const grown = written() - bytes;
    waits.sort((a, b) => a - b);
    t.diagnostic(`${grown} bytes written, ${EVENTS * TEXT} posted, ${tries} further records of ${DELIVERIES} deliveries; another owner's delivery took ${waits[waits.length >> 1].toFixed(1)} ms (p50), ${waits[Math.floor(waits.length * 0.99)].toFixed(1)} ms (p99)`);
    const bound = 2 * EVENTS * TEXT + BYTES_OF_EACH * (DELIVERIES + tries);
    assert.ok(grown <= bound, `${grown} bytes, more than ${bound}`);
});

test('a receiver that is there again gets each event as it was posted', { timeout: 300000 }, async () => {
    await new Promise((resolve) => receiver.listen(port, '127.0.0.1', resolve));
    const wanted = new Set(texts.map(digest));
    const whole = () => [...got.values()].filter((digests) => digests.size === EVENTS).length;
    await until('every delivery', () => whole() === WEBHOOKS, 240000);
    for (const digests of got.values()) assert.deepEqual(digests, wanted);
});
