// Log topics that somebody else makes, from what `beckon topics create --print` shows, and topics that are set otherwise than
// Beckon wants: docs/kafka.md#settings-that-a-service-fixes says what each difference costs, and this test holds the page to it.
//
//   node --test topics-of-others.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, ROOT, freePort, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const PAGE = join(ROOT, 'docs', 'kafka.md');
const cluster = new Cluster('kafka', { plain: true });
let layout;

before(async () => {
    cluster.ports = { endpoint: await freePort(), edge: await freePort(), ops: await freePort(), opsEdge: await freePort() };
    cluster.endpoint = `http://127.0.0.1:${cluster.ports.endpoint}`;
    cluster.websocket = `ws://127.0.0.1:${cluster.ports.edge}/`;
    await cluster.startBrokers();
    await cluster.tool(['keys', 'generate', '--key-ring', join(cluster.directory, 'keys.json')]);
    await until('the broker', () => cluster.kafkaTool('TopicCommand', ['--list']).then(() => true), 120000);
    layout = ['--partitions', '4', '--kafka-prefix', cluster.prefix, '--replication-factor', '1', '--tiers', '0s,5s'];
});
after(() => cluster.destroy());

/** The end of a command, as a person sees it. */
function run(...args) {
    const { status, stdout, stderr } = spawnSync(BECKON, args, { encoding: 'utf8', timeout: 60000 });
    return { status, text: `${stdout}${stderr}` };
}
const describe = () => run('topics', 'describe', ...cluster.kafkaOptions());
const alter = (topic, setting, value) => cluster.alterTopic(topic, setting, value);
/** What the endpoint does with the topics as they are: 'starts' or 'refuses', and its last lines. */
async function start() {
    const port = await freePort();
    cluster.spawn('endpoint', [...cluster.common('endpoint', port), '--test-startup-timeout', '20s', ...cluster.endpointOptions, ...cluster.kafkaOptions()]);
    const child = cluster.children.get('endpoint');
    const ready = until('ready', async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status === 200, 60000).then(() => 'starts', () => 'neither');
    const how = await Promise.race([ready, child.exited.then(() => 'refuses')]);
    await child.stop();
    cluster.children.delete('endpoint');
    return { how, output: child.output };
}

cluster.produce = (topic, lines) => {
    const jars = spawnSync(join(ROOT, 'scripts', 'kafka', 'fetch.sh'), { encoding: 'utf8' }).stdout.trim();
    const args = ['org.apache.kafka.tools.ConsoleProducer', '--bootstrap-server', cluster.servers, '--topic', `${cluster.prefix}${topic}`];
    const { status, stdout, stderr } = spawnSync('java', ['-cp', `${jars}/*`, ...args, '--reader-property', 'parse.key=true', '--reader-property', 'key.separator=:'], { encoding: 'utf8', input: lines });
    assert.equal(status, 0, `${stdout}${stderr}`);
};

test('topics made by the printed commands are what Beckon wants, and the log is then made', async () => {
    const printed = run('topics', 'create', '--print', 'kafka-topics', ...layout);
    assert.equal(printed.status, 0, printed.text);
    const commands = printed.text.replaceAll('\\\n', ' ').trim().split('\n');
    assert.equal(commands.length, 13);
    for (const line of commands) {
        const [name, server, variable, ...args] = line.trim().split(/\s+/);
        assert.deepEqual([name, server, variable], ['kafka-topics', '--bootstrap-server', '"$KAFKA"']);
        await cluster.kafkaTool('TopicCommand', args);
    }
    const created = run('topics', 'create', ...cluster.kafkaOptions(), '--partitions', '4', '--tiers', '0s,5s');
    assert.equal(created.status, 0, created.text);
    assert.match(created.text, /^13 log topics are as expected$/m);
    assert.doesNotMatch(created.text, /^create /m);
    const described = describe();
    assert.equal(described.status, 0, described.text);
    assert.doesNotMatch(described.text, /^(WRONG|differs)/m);
});

test('Strimzi and Terraform get the same topics', () => {
    const names = (form, pattern) => [...run('topics', 'create', '--print', form, ...layout).text.matchAll(pattern)].map(([, name]) => name).sort();
    const wanted = names('kafka-topics', /--topic (\S+)/g);
    assert.equal(wanted.length, 13);
    assert.deepEqual(names('strimzi', /^ {2}topicName: (\S+)$/gm), wanted);
    assert.deepEqual(names('terraform', /^ {2}name += "(\S+)"$/gm), wanted);
    const bad = run('topics', 'create', '--print', 'pulumi');
    assert.equal(bad.status, 2, bad.text);
});

/** The table of docs/kafka.md: setting, topic, value, and what a role does. */
function rows() {
    const text = readFileSync(PAGE, 'utf8');
    const section = text.slice(text.indexOf('## Settings that a service fixes'));
    return [...section.matchAll(/^\| `([\w.]+)` \| `([\w.]+)` \| `([^`]+)` \| (refuses|starts) \|/gm)].map(([, setting, topic, value, how]) => ({ setting, topic, value, how }));
}

test('each row of the table: what a role does with a topic that is set so', { timeout: 400000 }, async () => {
    const table = rows();
    assert.ok(table.length >= 8, 'docs/kafka.md has its table');
    for (const { setting, topic, value, how } of table) {
        const before = setting;
        await alter(topic, setting, value);
        const described = await until(`that the broker reports ${setting}`, () => {
            const now = describe();
            return now.text.includes(`${cluster.prefix}${topic}: ${setting} is `) && now;
        }, 30000);
        assert.equal(described.status, how === 'refuses' ? 1 : 0, `${before}: ${described.text}`);
        const found = await start();
        assert.equal(found.how, how, `${setting}=${value} on ${topic}\n${found.output}`);
        assert.ok(found.output.includes(setting), `the role names ${setting}:\n${found.output}`);
        const printed = run('topics', 'create', '--print', 'kafka-topics', ...layout).text;
        const own = new RegExp(`--topic ${cluster.prefix.replaceAll('.', '\\.')}${topic.replaceAll('.', '\\.')} [^]*?--config ${setting.replaceAll('.', '\\.')}=(\\S+)`).exec(printed)[1];
        await alter(topic, setting, own);
    }
    assert.equal(describe().status, 0);
});

test('a push goes through topics whose settings differ where no promise rests on them', { timeout: 240000 }, async () => {
    for (const { setting, topic, value } of rows().filter(({ how }) => how === 'starts')) await alter(topic, setting, value);
    await cluster.start();
    const client = new UserAgent(cluster.websocket);
    await client.connect();
    await client.register();
    const { status, id, body } = await post(client.endpoint, 'hello');
    assert.equal(status, 201, body);
    await until('the message', () => client.versions.has(id), 30000);
    client.end();
});

test('a topic that somebody makes anew is folded from its start, and a log made anew ends its roles', { timeout: 240000 }, async () => {
    const edge = () => cluster.children.get('edge');
    const restart = async () => {
        await edge().stop();
        await cluster.start('edge');
        await until('the edge', async () => (await fetch(`http://127.0.0.1:${cluster.ports.opsEdge}/ready`).catch(() => ({}))).status === 200, 60000);
    };
    await restart();
    await edge().stop();
    // The edge has read some records of each partition: a control record for each read barrier.
    const command = run('topics', 'create', '--print', 'kafka-topics', ...layout).text.replaceAll('\\\n', ' ').split('\n').find((line) => line.includes(`--topic ${cluster.prefix}notifications `));
    await cluster.kafkaTool('TopicCommand', ['--delete', '--topic', `${cluster.prefix}notifications`]);
    await until('that the topic is away', () => cluster.kafkaTool('TopicCommand', ['--list']).then((names) => !names.split('\n').includes(`${cluster.prefix}notifications`)), 30000);
    await cluster.kafkaTool('TopicCommand', command.trim().split(/\s+/).slice(3));
    // It grows past what the edge has read: 50 messages for each partition and more.
    const lines = Array.from({ length: 2000 }, (_, i) => `k${i}:v`).join('\n');
    cluster.produce('notifications', lines);
    await restart();
    await until('that it says so', () => /"event":"topic_made_anew","topic":"notifications"/.test(edge().output), 30000);

    const endpoint = cluster.children.get('endpoint');
    const names = async () => (await cluster.kafkaTool('TopicCommand', ['--list'])).split('\n').filter((name) => name.startsWith(cluster.prefix));
    await cluster.kafkaTool('TopicCommand', ['--delete', '--topic', (await names()).map((name) => name.replaceAll('.', '\\.')).join('|')]);
    await until('that the topics are away', async () => (await names()).length === 0, 30000);
    const made = run('topics', 'create', ...cluster.kafkaOptions(), '--partitions', '4', '--tiers', '0s,5s', '--test-startup-timeout', '60s');
    assert.equal(made.status, 0, made.text);
    for (const child of [edge(), endpoint]) {
        assert.equal((await child.exited).code, 1, child.output);
        assert.match(child.output, /"event":"log_is_another"/);
    }
    await cluster.start('edge');
    await until('the edge again', async () => (await fetch(`http://127.0.0.1:${cluster.ports.opsEdge}/ready`).catch(() => ({}))).status === 200, 60000);
});
