// One client gets thousands of messages a second, at three edges on Kafka: `beckon cluster`, the console and the console's
// metrics show which partition is hot, and what they advise finds the client and helps.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, agent, post } from './client.mjs';

const EDGES = ['edge-1', 'edge-2', 'edge-3'];
const SENDERS = 48;
const PATIENCE = 120000; // loads are reported every 10 s; a busy machine sends less

const cluster = new Cluster('kafka', { plain: true, console: [] });
const sockets = new http.Agent({ keepAlive: true, maxSockets: SENDERS });
const quiet = [];
let busy;
let partition;
let floods = false;
let senders = [];

/** One message; resolves when it is answered. */
const push = (endpoint) => new Promise((resolve) => {
    const request = http.request(endpoint, { method: 'POST', agent: sockets, headers: { TTL: '60' } }, (reply) => reply.resume().on('end', resolve));
    request.on('error', resolve);
    request.end();
});
function flood() {
    floods = true;
    senders = Array.from({ length: SENDERS }, async () => {
        while (floods) await push(busy.endpoint);
    });
}
async function calm() {
    floods = false;
    await Promise.all(senders);
}

const shown = async () => {
    const output = await cluster.tool(['cluster', ...cluster.kafkaOptions(), '--partitions', '4', '--json']);
    return JSON.parse(output.split('\n').find((line) => line.startsWith('{') && line.includes('"partitions"'))).roles[0];
};
const table = () => cluster.tool(['cluster', ...cluster.kafkaOptions(), '--partitions', '4']);
const hotOnes = (role) => role.partitions.filter((one) => one.hot).map((one) => one.partition);
const page = async (name) => (await fetch(`http://127.0.0.1:${cluster.ports.console}/api/pages/${name}`)).json();
const finding = async () => (await page('status')).findings.find((one) => one.section === 'a-hot-partition');

before(async () => {
    await cluster.prepare();
    await cluster.start('endpoint');
    for (const name of EDGES) await cluster.startEdge(name);
    await cluster.start('console');
    for (let i = 0; i < 9; ++i) {
        const client = new UserAgent(cluster.edges.get(EDGES[i % 3]).websocket);
        await client.connect();
        await client.register();
        quiet.push(client);
    }
    busy = quiet.pop();
});
after(async () => {
    await calm();
    for (const client of [busy, ...quiet]) client?.end();
    agent.destroy();
    sockets.destroy();
    await cluster.end();
});

test('without a busy client no partition is hot, and the load of each is known', async () => {
    for (const client of quiet) assert.equal((await post(client.endpoint, 'now and then')).status, 201);
    const role = await until('the load of each partition', async () => {
        const role = await shown();
        return role.partitions.every((one) => one.load !== null) && role;
    }, PATIENCE);
    assert.deepEqual(hotOnes(role), []);
    assert.doesNotMatch(await table(), /hot/);
    assert.equal(await finding(), undefined);
});

test('the partition of a client that gets thousands of messages is shown as hot, with what to do', async () => {
    flood();
    const role = await until('a hot partition', async () => {
        const role = await shown();
        return hotOnes(role).length > 0 && role;
    }, PATIENCE);
    assert.equal(hotOnes(role).length, 1);
    [partition] = hotOnes(role);
    const load = role.partitions[partition].load;
    console.log(`# partition ${partition}: ${load} records per second; all: ${role.partitions.map((one) => one.load).join(' ')}`);

    const text = await table();
    assert.match(text, new RegExp(`^${partition} .* \\d+ \\(hot\\) `, 'm'));
    const found = await until('the same in the console', finding, PATIENCE);
    assert.match(found.what, new RegExp(`^Partition ${partition} of edge at `));
    const { roles } = await page('cluster');
    assert.deepEqual(hotOnes(roles.find((one) => one.name === 'edge')), [partition]);
});

test('what is advised names the client', async () => {
    const [, advised] = /`beckon (replay show .*?)`/.exec(await table());
    const output = await cluster.tool([...advised.split(' '), ...cluster.kafkaOptions(), '--partitions', '4']);
    const records = output.split('\n').filter((line) => line.startsWith('{') && line.includes('"key"')).map((line) => JSON.parse(line));
    assert.equal(records.length, 20);
    const its = records.filter(({ key }) => key.split('/')[0] === busy.uaid.replaceAll('-', ''));
    assert.ok(its.length >= 15, `of the client: ${its.length}; others: ${records.map(({ key }) => key)}`);
});

test('the metrics of the console show its pace', async () => {
    const end = async (p) => cluster.metric('kafka_topic_partition_current_offset', `notifications",partition="${p}"`, cluster.ports.opsConsole);
    const before = await Promise.all([0, 1, 2, 3].map(end));
    await until('an end that has moved', async () => (await end(partition)) > before[partition] + 1000, PATIENCE);
    const after = await Promise.all([0, 1, 2, 3].map(end));
    const paces = after.map((offset, p) => offset - before[p]);
    assert.equal(paces.indexOf(Math.max(...paces)), partition, paces.join(' '));
});

test('clients of other partitions get their messages meanwhile', async () => {
    for (const client of quiet) {
        const { status, id } = await post(client.endpoint, 'beside a busy one');
        assert.equal(status, 201);
        await until('its arrival', () => client.versions.has(id), PATIENCE);
    }
});

test('once its senders are limited, no partition is hot', async () => {
    await calm();
    await until('no hot partition', async () => hotOnes(await shown()).length === 0 && (await finding()) === undefined, PATIENCE);
    assert.doesNotMatch(await table(), /hot/);
});
