// Only `beckon topics create` makes topics. A broker with Kafka's own default (auto.create.topics.enable) makes each topic that a client
// asks for, with one partition and no setting of ours: a mistyped prefix would leave such topics in somebody else's cluster, and
// `topics create` would then refuse them.
//
//   node --test no-topics.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const UAID = '00000000000000000000000000000001';
const cluster = new Cluster('kafka', { plain: true, retry: [], reliability: true });
const AT_ONCE = 5; // commands
let mistyped; // a prefix
let other;
/** Of these prefixes: other tests have theirs. */
const topics = async () => (await cluster.kafkaTool('TopicCommand', ['--list'])).split('\n').filter((name) => [cluster.prefix, mistyped].some((prefix) => name.startsWith(prefix))).sort();
let keys;

before(async () => {
    await cluster.prepare();
    mistyped = `mistyped-${cluster.prefix}`;
    other = `other-${cluster.prefix}`;
    keys = join(cluster.directory, 'keys.json');
    writeFileSync(join(cluster.directory, 'clients.jsonl'), `${JSON.stringify({ uaid: UAID, channels: [] })}\n`);
});
after(async () => {
    await cluster.tool(['topics', 'destroy', ...otherLog()]).catch(() => {});
    await cluster.destroy();
});

const otherLog = () => ['--kafka-servers', cluster.servers, '--kafka-prefix', other, '--key-ring', keys, '--replication-factor', '1'];

/** A command with a mistyped prefix; its exit code and what it says. */
async function run(args) {
    const child = spawn(BECKON, [...args, '--kafka-servers', cluster.servers, '--kafka-prefix', mistyped, '--key-ring', keys], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
    const over = setTimeout(() => child.kill('SIGTERM'), 15000);
    const code = await new Promise((resolve) => child.once('close', (status, signal) => resolve(status ?? signal)));
    clearTimeout(over);
    return { code, output };
}

const data = (name) => join(cluster.directory, `mistyped-${name}`);
const role = (name, ...more) => [name, '--data', data(name), '--ops-port', '0', '--test-startup-timeout', '5s', '--replication-factor', '1', ...more];
const tool = (...args) => [...args, '--data', data('tool')];

const COMMANDS = [
    () => role('endpoint', '--endpoint-port', '0', '--endpoint-url', 'http://127.0.0.1'),
    () => role('edge', '--edge-port', '0', '--edge-link-port', '0', '--endpoint-url', 'http://127.0.0.1'),
    () => role('retry', '--retry-port', '0'),
    () => role('reliability'),
    () => role('console', '--console-port', '0'),
    () => ['topics', 'describe'],
    () => ['topics', 'adopt'],
    () => ['topics', 'create', '--dry-run', '--replication-factor', '1', '--new-log'],
    () => tool('cluster'),
    () => tool('keys', 'publish'),
    () => tool('subscriptions', 'show', UAID),
    () => tool('subscriptions', 'import', join(cluster.directory, 'clients.jsonl')),
    () => tool('broadcasts', 'list'),
    () => tool('broadcasts', 'set', 'some/thing', '1'),
    () => tool('message', '0123456789abcdef0123456789abcdef'),
    () => tool('replay', 'show'),
    () => tool('replay', 'show', '--topic', 'events'),
    () => tool('replay', 'state', '--uaid', UAID),
    () => tool('lag', '--by-partition'),
    ...['endpoint', 'edge', 'retry', 'reliability', 'console'].map((name) => () => ['doctor', '--role', name, '--data', data('doctor'), '--endpoint-url', 'http://127.0.0.1']),
];

test('no role and no tool with a mistyped prefix makes a topic', { timeout: 400000 }, async () => {
    const there = await topics();
    for (let first = 0; first < COMMANDS.length; first += AT_ONCE) {
        const group = COMMANDS.slice(first, first + AT_ONCE).map((command) => command());
        await Promise.all(group.map(async (args) => {
            const { code, output } = await run(args);
            assert.ok(Number.isInteger(code) && code < 128, `${args.join(' ')} ends by itself: ${code}\n${output}`);
            assert.notEqual(code, 2, `${args.join(' ')} asks the broker:\n${output}`);
        }));
        assert.deepEqual(await topics(), there, `after one of\n${group.map((args) => args.join(' ')).join('\n')}`);
    }
});

test('all roles at work make no topic, not even where one was deleted', { timeout: 240000 }, async () => {
    const there = await topics();
    await cluster.start();
    const client = new UserAgent(cluster.websocket);
    await client.connect();
    await client.register();
    await until('a push', async () => (await post(client.endpoint, 'hello')).status === 201, 30000);
    assert.deepEqual(await topics(), there);
    const gone = `${cluster.prefix}retry.8`;
    await cluster.kafkaTool('TopicCommand', ['--delete', '--topic', gone]);
    await until('a push', async () => (await post(client.endpoint, 'hello')).status === 201, 30000);
    await new Promise((resolve) => setTimeout(resolve, 5000)); // its readers ask for it meanwhile
    assert.deepEqual(await topics(), there.filter((name) => name !== gone));
    client.end();
});

test('topics create says what to do with a topic that another program has made by asking for it', { timeout: 120000 }, async () => {
    const options = [...otherLog(), '--new-log'];
    await cluster.kafkaTool('TopicCommand', ['--create', '--topic', `${other}control`]);
    await assert.rejects(cluster.tool(['topics', 'create', ...options]), /cleanup\.policy is delete, expected compact.*kafka-topics --delete --topic other-\S+control/s);
    await cluster.kafkaTool('TopicCommand', ['--delete', '--topic', `${other}control`]);
    await until('that it is made', () => cluster.tool(['topics', 'create', ...options]).then(() => true), 30000);
});
