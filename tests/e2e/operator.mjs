// The operator's view: documented metrics, and the life of a message in the log.
//
//   node operator.mjs
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Cluster, ROOT, until } from './beckon.mjs';
import { post, startWithClient } from './client.mjs';

const cluster = new Cluster('embedded', { endpoint: ['--log-level', 'debug'] });
let agent;
before(async () => {
    ({ client: agent } = await startWithClient(cluster));
});
after(async () => {
    agent?.end();
    await cluster.destroy();
});
const output = () => cluster.children.get('standalone').output;
const lines = () => output().split('\n').filter((line) => line.startsWith('{')).map((line) => JSON.parse(line));

test('a start takes a few lines of log', async () => {
    const logged = () => lines().filter((line) => line.level !== 'debug');
    const served = () => logged().find((line) => line.folder === 'edge' && line.event === 'serving' && line.partitions === '0-3');
    await until('the line of what is served', served);
    assert(logged().length <= 15, JSON.stringify(logged()));
});

test('one grep shows the life of a message', async () => {
    const { status, headers } = await post(agent.endpoint, 'hello');
    assert.equal(status, 201);
    const keys = ['--key-ring', join(cluster.directory, 'standalone', 'keys.json')];
    const [, message, client] = (await cluster.tool(['message', '--names', headers.location, ...keys])).match(/^message=(\w+) client=(\w+)$/m);
    assert((await cluster.tool(['message', '--names', agent.endpoint, ...keys])).startsWith(`client=${client} channel=`));
    const life = () => lines().filter((line) => line.message === message);
    await until('its end', () => life().some((line) => line.event === 'message_finished'));
    assert.deepEqual(life().map((line) => line.event).sort(), ['message_accepted', 'message_acked', 'message_finished', 'message_sent']);
    assert(life().every((line) => line.client === client));
    assert.equal(life().find((line) => line.event === 'message_finished').reason, 'acked');
    assert.match(life()[0].time, /^\d{4}-\d\d-\d\dT/);
    assert(!output().includes(new URL(agent.endpoint).pathname), 'no endpoint URL in the log');
});

test('every metric is documented, and those of a delivery count', async () => {
    const text = await (await fetch(`http://127.0.0.1:${cluster.ports.ops}/metrics`)).text();
    const documented = readFileSync(join(ROOT, 'docs', 'metrics.md'), 'utf8');
    const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map((found) => found[1]);
    assert(names.length > 30);
    for (const name of names) assert(documented.includes(`\`${name}\``) || documented.includes(`\`${name}{`), `${name} is not in docs/metrics.md`);
    assert(await cluster.metric('beckon_edge_deliver_seconds_count') >= 1);
    assert(await cluster.metric('beckon_edge_ack_seconds_count') >= 1);
    // Shards log these now and then.
    await until('nothing to restore', async () => (await cluster.metric('beckon_edge_restored_ratio', 'shard="edge-0"')) === 1);
    await until('a finished message', async () => (await cluster.metric('beckon_edge_finished_total', 'reason="acked"')) >= 1);
    assert(await cluster.metric('process_resident_memory_bytes') > 1e6);
    assert(await cluster.metric('process_threads') > 3);
    assert(await cluster.metric('process_open_fds') > 10);
    assert(Math.abs(await cluster.metric('process_start_time_seconds') - Date.now() / 1000) < 120);
    assert(await cluster.metric('beckon_data_free_bytes') > 0);
    assert(await cluster.metric('beckon_data_bytes', 'part="log"') > 0);
    const days = (await cluster.metric('beckon_certificate_expiry_time_seconds', 'certificate="endpoint"') - Date.now() / 1000) / 86400;
    assert(days > 800 && days < 826, `${days}`);
});
