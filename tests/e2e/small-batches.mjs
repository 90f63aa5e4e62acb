// A topic whose max.message.bytes is below the batches of a busy endpoint: a push is answered 413 for its own size alone, and never for
// its neighbours' in a batch, whether the limit is there at the start, is lowered while roles run, or the broker has been away.
//
//   node --test small-batches.mjs
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const AT_ONCE = 16; // connections of client.mjs
const POSTS = 3000;

const cluster = new Cluster('kafka', { plain: true });
let client;
const output = () => cluster.children.get('endpoint').output;

before(async () => {
    await cluster.prepare();
    await cluster.alterTopic('notifications', 'max.message.bytes', 65536);
    await cluster.start();
    client = new UserAgent(cluster.websocket);
    await client.connect();
    await client.register();
});
after(async () => {
    client?.end();
    await cluster.destroy();
});

/** POSTs until the edge keeps up: while it is half a second behind, as on a busy machine, the endpoint takes no push for it. */
async function postInTime(body) {
    for (;;) {
        const reply = await post(client.endpoint, body);
        if (reply.status !== 503 || !reply.body.includes('Delivery is behind')) return reply;
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

/** How many POSTs of these bodies were answered with each status. */
async function load(bytes, count = POSTS) {
    const body = Buffer.alloc(bytes, 'b');
    const statuses = {};
    let left = count;
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        while (left-- > 0) {
            const { status } = await postInTime(body);
            statuses[status] = (statuses[status] ?? 0) + 1;
        }
    }));
    return statuses;
}

test('a limit that is there at the start: every push is accepted', { timeout: 300000 }, async () => {
    assert.deepEqual(await load(300), { 201: POSTS });
    assert.deepEqual(await load(4000), { 201: POSTS });
    assert.doesNotMatch(output(), /batch_too_large|record_too_large/);
});

test('a broker that was away while more than a batch came: every push is accepted', { timeout: 300000 }, async () => {
    await cluster.pauseKafka();
    const loaded = load(5000, 400);
    await until('pushes that wait', async () => (await cluster.metric('beckon_ingest_publish_waiting_messages')) === AT_ONCE);
    cluster.resumeKafka();
    assert.deepEqual(await loaded, { 201: 400 });
});

test('a limit that is lowered: 503 for a moment, 413 for no small push, and then every push is accepted', { timeout: 300000 }, async () => {
    await cluster.alterTopic('notifications', 'max.message.bytes', 5000);
    await until('all are accepted', async () => {
        const { 201: accepted, 503: again = 0, ...others } = await load(300, 1000);
        assert.deepEqual(others, {});
        return again === 0 && /"event":"batch_too_large"/.test(output()) && accepted === 1000;
    }, 120000);
});

test('a push that is itself too large gets 413, a line says so, and its neighbours are accepted', { timeout: 300000 }, async () => {
    await cluster.alterTopic('notifications', 'max.message.bytes', 3000);
    await until('413', async () => {
        const [large, { 413: wrong }] = await Promise.all([postInTime(Buffer.alloc(4000, 'b')), load(300, 500)]);
        assert.equal(wrong, undefined);
        return large.status === 413;
    }, 120000);
    await until('all others are accepted', async () => (await load(300, 500))[201] === 500, 60000);
    assert.match(output(), /"event":"record_too_large","topic":"beckon.notifications"/);
});
