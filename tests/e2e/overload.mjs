// Acceptance follows delivery, on Kafka: while an edge is half a second behind, POSTs get 503 with Retry-After; what was accepted arrives,
// and once the edge has caught up, POSTs are accepted as before. (That the partitions of other edges go on is in
// tests/ingest/view/edge_lag_test.cpp.)
//
//   node overload.mjs
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

/** The edge is stopped for so long, again and again, and turns for a moment in between: it has a hundredth of its time. */
const STOPPED_MS = 198;
const TURNS_MS = 2;
const SENDERS = 32;

const cluster = new Cluster('kafka', { plain: true });
const accepted = new Set(); // bodies
const replies = []; // {at, status, retryAfter}
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

let number = 0;
async function sendAlways() {
    while (sending) {
        const at = Date.now();
        const body = `message ${++number}`;
        const { status, headers } = await post(client.endpoint, body);
        if (status === 201) accepted.add(body);
        replies.push({ at, status, retryAfter: headers?.['retry-after'] });
        if (status !== 201) await pause(50);
    }
}

const since = (at) => replies.filter((reply) => reply.at >= at);
const refused = () => replies.filter(({ status }) => status === 503);

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

test('while an edge is far behind POSTs get 503, nothing accepted is lost, and then they are accepted again', async () => {
    const senders = Promise.all(Array.from({ length: SENDERS }, sendAlways));
    try {
        await until('messages are accepted', () => accepted.size >= 500);
        assert.deepEqual(refused(), []);
        await withSlowEdge(() => refused().length >= 20);
        assert(refused().length >= 20, 'no POST was refused');
        assert(refused().every(({ retryAfter }) => Number(retryAfter) > 0));
        assert.match(cluster.children.get('endpoint').output, /edges_are_behind/);

        const over = Date.now();
        await until('messages are accepted again', () => since(over).filter(({ status }) => status === 201).length >= 500, 60000);
    } finally {
        sending = false;
        await senders;
    }
    const missing = () => {
        const got = new Set(client.bodies);
        return [...accepted].filter((body) => !got.has(body));
    };
    await until('all that was accepted arrives', () => missing().length === 0, 60000);
    assert.deepEqual(client.faults, []);
});
