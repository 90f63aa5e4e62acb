// A second Kafka cluster that has a copy of the topics (a real MirrorMaker 2), by the steps of docs/kafka.md#a-second-cluster as
// they stand, with addresses of this test: the first cluster is lost, all roles start at the second, and what is lost and what comes
// twice is counted. Offsets of the copy differ, as those of every cluster that has run for a while.
//
//   node --test second-cluster.mjs
import assert from 'node:assert/strict';
import { execFile, execFileSync, spawn } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, ROOT, until } from './beckon.mjs';
import { UserAgent, call, post } from './client.mjs';
import { blocksOf } from './doc-blocks.mjs';

const options = { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], reliability: true, tiers: '0s,1s' };
const first = new Cluster('kafka', options);
const second = new Cluster('kafka', options);
const jars = (...what) => execFileSync(join(ROOT, 'scripts', 'kafka', 'fetch.sh'), what, { encoding: 'utf8' }).trim();

const steps = blocksOf(join(ROOT, 'docs', 'kafka.md')).filter(({ heading }) => heading === 'A second cluster').map(({ text }) => text);
const [makeTopics, mirrorFile, startMirror, adopt] = steps;
const here = (text) => text.replaceAll('kafka.first:9092', first.servers).replaceAll('kafka.second:9092', second.servers);

let mirror;
let mirrorSaid = '';
let receiver;
let failing = true;
const received = []; // {id, type} of each delivery, in order
let client;
let headers;
let token;

/** Runs a command while this process goes on: kept connections that a server closes meanwhile are noticed. */
const run = (command, args, more = {}) => new Promise((resolve) => {
    execFile(command, args, { encoding: 'utf8', maxBuffer: 64e6, ...more }, (error, stdout, stderr) => resolve({ status: error ? error.code ?? error.signal : 0, stdout, stderr }));
});
/** Runs a step of the page as a reader's shell would, with the settings of this installation in the environment. */
function shell(text) {
    const bin = join(second.directory, 'bin');
    return run('bash', ['-e', '-o', 'pipefail', '-c', here(text)], {
        cwd: second.directory, timeout: 180000,
        env: {
            ...process.env, PATH: `${bin}:${process.env.PATH}`, BECKON_PARTITIONS: '4', BECKON_TIERS: '0s,1s', BECKON_REPLICATION_FACTOR: '1',
            BECKON_KEY_RING: join(second.directory, 'keys.json'),
        },
    });
}
async function must(text) {
    const { status, stdout, stderr } = await shell(text);
    assert.equal(status, 0, `${text}\n${stdout}${stderr}`);
    return stdout + stderr;
}

before(async () => {
    assert.equal(steps.length, 4, 'the steps of docs/kafka.md');
    receiver = http.createServer((request, response) => {
        let body = '';
        request.on('data', (data) => (body += data)).on('end', () => {
            const { type, id } = JSON.parse(body);
            const refused = failing && type === 'shop.fails';
            if (!refused) received.push({ delivery: request.headers['webhook-id'], type, id });
            response.writeHead(refused ? 503 : 204).end();
        });
    });
    await new Promise((resolve) => receiver.listen(0, '127.0.0.1', resolve));
    await first.prepare();
    await first.start();
    await second.startBrokers();
    await until('the second cluster', () => second.kafkaTool('TopicCommand', ['--list']).then(() => true), 120000);

    // Clients and senders find both clusters under the same names.
    Object.assign(second, { ports: first.ports, endpoint: first.endpoint, websocket: first.websocket });
    copyFileSync(join(first.directory, 'keys.json'), join(second.directory, 'keys.json'));
    const bin = join(second.directory, 'bin');
    mkdirSync(bin);
    symlinkSync(BECKON, join(bin, 'beckon'));
    const script = (name, classpath, main) => writeFileSync(join(bin, name), `#!/bin/sh\nexec java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "-Dlog4j2.configurationFile=${join(ROOT, 'scripts', 'kafka', 'log4j2.xml')}" -cp '${classpath}/*' ${main} "$@"\n`, { mode: 0o755 });
    script('kafka-topics', jars(), 'org.apache.kafka.tools.TopicCommand');
    script('connect-mirror-maker', jars('mirror'), 'org.apache.kafka.connect.mirror.MirrorMaker');
}, { timeout: 300000 });
after(async () => {
    client?.end();
    receiver?.close();
    mirror?.kill('SIGKILL');
    await first.destroy();
    await second.destroy();
});

/** The newest record of each key of a topic, without what differs from cluster to cluster. */
async function newestOf(cluster, topic) {
    const { status, stdout, stderr } = await run(BECKON, ['replay', 'show', '--topic', topic, '--values', ...cluster.kafkaOptions()], { timeout: 60000 });
    assert.equal(status === 3 ? 0 : status, 0, stderr); // 3: nothing is there
    const newest = new Map();
    for (const line of stdout.split('\n').filter(Boolean)) {
        const { offset, time, ...record } = JSON.parse(line);
        newest.set(`${record.partition} ${record.key}`, JSON.stringify(record));
    }
    return JSON.stringify([...newest.entries()].sort());
}
const TOPICS = ['notifications', 'subscriptions', 'events', 'webhooks', 'retry.0', 'retry.1', 'retry.dead', 'reliability', 'control'];
async function copied() {
    for (const topic of TOPICS) if (await newestOf(second, topic) !== await newestOf(first, topic)) return false;
    return true;
}
const committed = async (cluster) => {
    const shown = await cluster.kafkaTool('consumer.group.ConsumerGroupCommand', ['--describe', '--group', 'beckon.retry', '--offsets']);
    return [...shown.matchAll(/beckon\.retry +(beckon\.\S+) +(\d+) +(\d+) +(\d+)/g)].map(([, topic, partition, offset, end]) => ({ topic, partition: Number(partition), offset: Number(offset), end: Number(end) }));
};
const send = async (id, type = 'shop.made', more = {}) => {
    const answer = await call('POST', `http://127.0.0.1:${first.ports.retry}/events`, { ...headers, 'Content-Type': 'application/cloudevents+json' },
        JSON.stringify({ specversion: '1.0', id, source: '/shop', type, ...more }));
    assert.ok(answer.status === 202 || answer.status === 200, `${answer.status} ${answer.body}`);
};
const deliveries = (id) => received.filter((one) => one.id === id).length;

const acked = [];
const waiting = [];

test('the first cluster has a history, of which the beginning is gone', { timeout: 240000 }, async () => {
    token = (await first.tool(['webhooks', 'token', 'shop', '--publish-to-all', '--key-ring', join(first.directory, 'keys.json')])).trim();
    headers = { Authorization: `Bearer ${token}` };
    const made = await call('POST', `http://127.0.0.1:${first.ports.retry}/webhooks`, { ...headers, 'Content-Type': 'application/json' }, JSON.stringify({ url: `http://127.0.0.1:${receiver.address().port}/` }));
    assert.equal(made.status, 201, made.body);
    client = new UserAgent(first.websocket);
    await client.connect();
    await client.register();
    for (let i = 0; i < 40; ++i) {
        const { status, id } = await post(client.endpoint, `acked ${i}`);
        assert.equal(status, 201);
        acked.push(id);
        await send(`old-${i}`);
    }
    await until('the messages', () => acked.every((id) => client.versions.has(id)));
    await until('the deliveries', () => received.length === 40, 60000);
    // Retention removes the beginning: from here on each offset of the first cluster is higher than that of its copy.
    const done = (one) => one.offset === one.end;
    const finished = await until('that the group has committed the end', async () => {
        const all = await committed(first);
        const events = all.filter(({ topic }) => topic === 'beckon.events');
        return events.length === 4 && all.every(done) && events.reduce((sum, { offset }) => sum + offset, 0) >= 40 && all;
    }, 90000);
    const file = join(first.directory, 'delete.json');
    writeFileSync(file, JSON.stringify({ version: 1, partitions: finished.filter(({ topic }) => /events|retry/.test(topic)).map(({ topic, partition, offset }) => ({ topic, partition, offset })) }));
    await first.kafkaTool('DeleteRecordsCommand', ['--offset-json-file', file]);
});

test('MirrorMaker copies it', { timeout: 400000 }, async () => {
    await must(makeTopics);
    const one = ['replication.factor', 'offset-syncs.topic.replication.factor', 'checkpoints.topic.replication.factor', 'heartbeats.topic.replication.factor', 'offset.storage.replication.factor', 'status.storage.replication.factor', 'config.storage.replication.factor'];
    const single = one.map((name) => `${name} = 1\n`).join(''); // the clusters of this test have one broker each
    writeFileSync(join(second.directory, 'mirror.properties'), here(mirrorFile) + single);
    mirror = spawn('bash', ['-c', `exec ${startMirror.trim()}`], { cwd: second.directory, env: { ...process.env, PATH: `${join(second.directory, 'bin')}:${process.env.PATH}` } });
    for (const stream of [mirror.stdout, mirror.stderr]) stream.on('data', (data) => (mirrorSaid = (mirrorSaid + data).slice(-20000)));
    const quote = (error) => assert.fail(`${error.message}\n${mirrorSaid}`);

    for (let i = 0; i < 10; ++i) await send(`late-${i}`);
    await send('fails', 'shop.fails', { data: 'x'.repeat(5000) }); // so large that its dead letter names it by its offset
    const letters = async () => JSON.parse((await call('GET', `http://127.0.0.1:${first.ports.retry}/dead`, headers)).body).letters;
    await until('a dead letter', async () => (await letters()).length === 1, 60000);
    client.mute = true;
    for (let i = 0; i < 10; ++i) waiting.push((await post(client.endpoint, `waiting ${i}`)).id);
    await until('the deliveries', () => received.length === 50, 60000);
    await until('a complete copy', copied, 240000).catch(quote);
    // The group of the first cluster is at its end, and has been for as long as MirrorMaker takes to note it.
    await until('translated offsets', async () => {
        const there = await committed(second);
        return there.length > 0 && there.filter(({ topic }) => topic === 'beckon.events').reduce((sum, { offset }) => sum + offset, 0) > 0;
    }, 120000).catch(quote);
});

test('the first cluster is lost; the copy is refused until it is adopted', { timeout: 240000 }, async (t) => {
    const stopped = new Promise((resolve) => mirror.once('exit', resolve));
    mirror.kill('SIGTERM');
    await stopped;
    for (let i = 0; i < 5; ++i) assert.equal((await post(client.endpoint, `lost ${i}`)).status, 201);
    await send('lost');
    await until('its delivery', () => deliveries('lost') === 1);
    client.end();
    for (const child of first.children.values()) child.process.pid && (await (child.name.startsWith('kafka') ? first.killKafka(child.name) : child.kill()));
    for (const role of ['endpoint', 'edge', 'retry', 'reliability']) cpSync(join(first.directory, role), join(second.directory, role), { recursive: true });

    for (const role of ['endpoint', 'edge', 'retry', 'reliability']) {
        const own = role === 'reliability' ? ['--data', join(second.directory, role)] : second.common(role, second.ports.opsEdge);
        second.spawn(role, [...own, '--test-startup-timeout', '20s', ...second.kafkaOptions()]);
        const child = second.children.get(role);
        assert.notEqual((await child.exited).code, 0, child.output);
        second.children.delete(role);
        assert.match(child.output, /these log topics are a copy: .*beckon topics adopt/, role);
    }
    const again = await shell('beckon topics create --kafka-servers kafka.second:9092');
    assert.notEqual(again.status, 0);
    assert.match(again.stderr, /these log topics are a copy/);
    assert.match((await shell('beckon doctor --kafka-servers kafka.second:9092')).stdout, /BAD +log +these log topics are a copy/);

    const shown = await must(adopt);
    t.diagnostic(shown);
    assert.match(shown, /^events: \d+ records are taken again at most$/m, 'each partition has an offset of the group');
    assert.match(shown, /^deliveries and dead letters that name 1 event by its offset are written anew$/m);
    assert.match(await must(adopt), /there is nothing to adopt/);
});

test('all roles start there, with the data of the first cluster', { timeout: 240000 }, async (t) => {
    await second.start();
    for (const role of ['endpoint', 'edge']) assert.match(second.children.get(role).output, /another log/, role);
    const before = received.length;
    const known = new Map(received.map(({ delivery, id }) => [id, delivery]));
    failing = false;
    client.mute = false;
    await client.connect();
    assert.deepEqual(client.faults, [], 'it keeps its UAID');
    await until('what waited', () => waiting.every((id) => client.versions.has(id)), 60000);
    assert.equal(acked.filter((id) => client.versions.get(id) > 1).length, 0, 'what was acknowledged, and copied, does not come again');
    assert.equal(client.bodies.filter((body) => body.startsWith('lost')).filter((body, i, all) => all.indexOf(body) !== i).length, 0);

    const { status, id } = await post(client.endpoint, 'new');
    assert.equal(status, 201);
    await until('a new message', () => client.versions.has(id), 60000);
    await send('new');
    await until('a new event', () => deliveries('new') === 1, 60000);
    const redriven = ['dead', 'redrive', '--type', 'shop.fails', '--yes', '--url', `http://127.0.0.1:${second.ports.retry}`, '--token', token];
    assert.match(await second.tool(redriven), /redrive: 1/);
    await until('the delivery of the dead letter', () => deliveries('fails') === 1, 60000);
    const repeated = received.slice(before).filter((one) => known.has(one.id));
    t.diagnostic(`${repeated.length} of ${before} deliveries came again; 5 messages were lost`);
    for (const one of repeated) assert.equal(one.delivery, known.get(one.id), 'under its old id');
    assert.equal(deliveries('lost'), 1, 'it was not copied');
});
