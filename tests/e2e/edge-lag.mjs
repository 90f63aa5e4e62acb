// endpoint.edge_lag_max on Kafka: while an edge is behind, the endpoint accepts less, so that the edge is not further and further
// behind; once it has caught up, POSTs are as quick as before. (That POSTs get 503 where waiting does not help is in
// tests/ingest/view/edge_lag_test.cpp. The one client is flooded and closed meanwhile, so this does not ask whether every
// message arrives: cluster-faults.mjs does.)
//
//   node edge-lag.mjs
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

// For all processes: an edge says how far it is behind only where it has the setting, too.
process.env.BECKON_ENDPOINT_EDGE_LAG_MAX = '400ms';
/** The edge is stopped for so long, again and again, and turns for a moment in between: it has a hundredth of its time. */
const STOPPED_MS = 198;
const TURNS_MS = 2;
const SENDERS = 32;

const cluster = new Cluster('kafka', { plain: true });
const accepted = new Set();
const replies = []; // {at, took, status, retryAfter}
let client;
let sending = true;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

before(async () => {
    await cluster.prepare();
    await cluster.start();
    client = new UserAgent(cluster.websocket);
    await client.connect();
    await client.register();
});
after(async () => {
    sending = false;
    client?.end();
    await cluster.end();
});

async function sendAlways() {
    while (sending) {
        const began = Date.now();
        const { status, id, headers } = await post(client.endpoint, `message ${replies.length}`);
        if (status === 201) accepted.add(id);
        replies.push({ at: began, took: Date.now() - began, status, retryAfter: headers?.['retry-after'] });
        if (status !== 201) await pause(20);
    }
}

const since = (at) => replies.filter((reply) => reply.at >= at);
/** How long a POST took that came since then, in ms. */
function median(at) {
    const took = since(at).map((reply) => reply.took).sort((a, b) => a - b);
    return took.length > 0 ? took[Math.floor(took.length / 2)] : 0;
}
const refused = (at) => since(at).filter(({ status }) => status === 503);

/** Runs until `check` is true, with the edge stopped most of the time. */
async function withSlowEdge(check) {
    const edge = cluster.children.get('edge').process;
    const limit = Date.now() + 60000;
    try {
        while (!check() && Date.now() < limit) {
            edge.kill('SIGSTOP');
            await pause(STOPPED_MS);
            edge.kill('SIGCONT');
            await pause(TURNS_MS);
        }
    } finally {
        edge.kill('SIGCONT');
    }
}

test('an endpoint accepts less while an edge is behind, and as before when it has caught up', async () => {
    const senders = Promise.all(Array.from({ length: SENDERS }, sendAlways));
    try {
        await until('messages are accepted', () => accepted.size >= 2000);
        assert.deepEqual(refused(0), []);
        const before = median(0);

        const slow = Date.now();
        const waits = () => replies.length > 0 && median(Date.now() - 3000) >= Math.max(5 * before, 30);
        await withSlowEdge(waits);
        const { output } = cluster.children.get('endpoint');
        assert.match(output, /edges_are_behind/);
        assert(waits(), `POSTs took ${before} ms, and then ${median(slow)} ms`);

        await until('an edge that keeps up again', () => cluster.children.get('endpoint').output.includes('edges_keep_up_again'), 60000);
        const over = Date.now();
        await until('messages are accepted again', () => since(over).length >= 2000, 60000);
        assert.deepEqual(refused(over), []);
        assert(median(over) < Math.max(3 * before, 30), `POSTs took ${before} ms, and ${median(over)} ms afterwards`);
    } finally {
        sending = false;
        await senders;
    }
    assert.deepEqual(client.faults, []);
});
