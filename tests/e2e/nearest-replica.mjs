// Three brokers in three racks: an edge and an endpoint that name their rack (client.rack) fetch from the replica there, also where
// another broker leads (KIP-392), and a push goes through. When that broker is killed, librdkafka 2.0 goes back to the leaders only
// after five minutes: docs/kafka.md#three-zones says so, and this test prints the time.
//
//   node --test nearest-replica.mjs
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const RACK = 'rack-2';
const NODE = 2;
const cluster = new Cluster('kafka', { plain: true, brokers: 3, racks: true });
const kafkaOptions = cluster.kafkaOptions.bind(cluster);
let client;

before(async () => {
    await cluster.prepare();
    cluster.kafkaOptions = (servers) => [...kafkaOptions(servers), '--kafka-librdkafka', `client.rack=${RACK}`, '--kafka-librdkafka', 'debug=topic', '--log-level', 'debug'];
    await cluster.start();
    client = new UserAgent(cluster.websocket);
    await client.connect();
    await client.register();
}, { timeout: 240000 });
after(async () => {
    client?.end();
    await cluster.destroy();
});

/** The partitions of `notifications` and `subscriptions`, with their leader's node. */
async function leaders() {
    const text = await cluster.kafkaTool('TopicCommand', ['--describe']);
    return [...text.matchAll(/Topic: beckon\.(notifications|subscriptions)\s+Partition: (\d+)\s+Leader: (\d+)/g)].map(([, topic, partition, leader]) => ({ topic, partition, leader: Number(leader) }));
}

test('readers fetch from the replica of their rack, and a push goes through', { timeout: 240000 }, async () => {
    const elsewhere = (await leaders()).filter(({ leader }) => leader !== NODE);
    assert.ok(elsewhere.length > 0, 'some partitions are led in other racks');
    for (const role of ['edge', 'endpoint']) {
        const output = () => cluster.children.get(role).output;
        // librdkafka says from which broker it fetches a partition.
        const migrated = new RegExp(`migrating from broker \\d to ${NODE} \\(leader is (?!${NODE})\\d\\): preferred replica`);
        await until(`that the ${role} fetches from ${RACK}`, () => migrated.test(output()), 60000);
    }
    const { status, id } = await post(client.endpoint, 'hello');
    assert.equal(status, 201);
    await until('the message', () => client.versions.has(id), 30000);
});

test('when the broker of the rack is killed, readers come back to the leaders', { timeout: 600000 }, async (t) => {
    await cluster.killKafka(`kafka-${NODE}`);
    const began = Date.now();
    const sent = await until('a 201', async () => {
        const reply = await post(client.endpoint, 'without the rack');
        return reply.status === 201 && reply;
    }, 60000);
    await until('the message', () => client.versions.has(sent.id), 500000);
    t.diagnostic(`delivered ${Math.round((Date.now() - began) / 1000)} s after the kill`);
});
