// What owners make and delete again leaves no memory behind: webhooks with filters and attachments are made, changed, sent
// an event each, and deleted, again and again. The memory of a standalone grows in its first hours by two things that are
// bounded and have nothing to do with webhooks: write buffers (half of `cache_bytes`, 4 MiB here), and the newest records of
// the embedded log, 32 MiB, which the events of the first part fill.
//
//   node --test retry-memory.mjs
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { RetryApi } from './retry-api.mjs';

const FILL = 900; // events of 40 KB: more than the newest records that stay in memory
const AT_ONCE = 50;
const ROUNDS = 12;
const WARM = 4; // rounds after which nothing grows any more
const EACH = 200; // webhooks of a round
const GROWTH_MAX_KB = 12 << 10; // of all later rounds: 1,600 webhooks, of which each has some 20 KB while it is there

const cluster = new Cluster('embedded', {
    plain: true, tiers: '0s,1s', retry: ['--retry-allowed-addresses', '127.0.0.1', '--test-webhook-memory-per-owner-max', '2GiB'], // and as much a minute
    endpoint: ['--embedded-sync', 'never', '--cache-bytes', '8MiB'],
});
let api;
let owner;
let received = 0;
const receiver = http.createServer((request, response) => request.resume().on('end', () => {
    ++received;
    response.writeHead(204).end();
}));

before(async () => {
    await cluster.prepare();
    await cluster.start();
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    api = new RetryApi(cluster);
    owner = api.token('shop');
});
after(async () => {
    api?.close();
    receiver.close();
    await cluster.end();
});

const residentKilobytes = () => Number(readFileSync(`/proc/${cluster.pid()}/status`, 'utf8').match(/RssAnon:\s+(\d+)/)[1]);
const ask = async (status, method, path, json) => {
    const answer = await api.ask(method, path, { as: owner, json });
    assert.equal(answer.status, status, answer.text);
    return answer.json;
};
const inTurns = async (count, work) => {
    for (let i = 0; i < count; i += AT_ONCE) await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - i) }, (_, n) => work(i + n)));
};

/** As much of a webhook as a filter, attachments and texts can make it. */
const webhook = (n) => ({
    url: `http://127.0.0.1:${receiver.address().port}/${n}`,
    types: [`order.${n}`],
    description: 'd'.repeat(500),
    filter: { bool: { should: Array.from({ length: 50 }, (_, i) => ({ match: { 'data.text': `word${n} and ${i}` } })).concat({ exists: { field: 'data.n' } }) } },
    attachments: { total: 'data.items[*].price' },
    headers: { 'X-Own': 'v'.repeat(200) },
});

async function round() {
    const ids = [];
    await inTurns(EACH, async (n) => ids.push((await ask(201, 'POST', '/webhooks', webhook(n))).id));
    await inTurns(EACH, (n) => ask(200, 'PATCH', `/webhooks/${ids[n]}`, { description: `changed ${n}`, headers: { 'X-Own': 'w'.repeat(300) } }));
    const wanted = received + EACH;
    await inTurns(EACH, (n) => api.post(owner, `order.${n}`, { n, items: [{ price: 11 }] }));
    await until('every delivery', () => received >= wanted);
    await inTurns(EACH, (n) => ask(204, 'DELETE', `/webhooks/${ids[n]}`));
}

test('webhooks that are made and deleted again leave no memory behind', { timeout: 300000 }, async (t) => {
    await inTurns(FILL, (n) => api.postInTurn(owner, 'filling', { n, text: 'x'.repeat(40000) }));
    const seen = [];
    for (let i = 0; i < ROUNDS; ++i) {
        await round();
        seen.push(residentKilobytes());
    }
    t.diagnostic(`KB after each round: ${seen}`);
    assert.equal((await ask(200, 'GET', '/webhooks')).webhooks.length, 0);
    const grown = Math.min(...seen.slice(-2)) - seen[WARM - 1];
    assert.ok(grown < GROWTH_MAX_KB, `${grown} KB more than after round ${WARM}: ${seen}`);
});
