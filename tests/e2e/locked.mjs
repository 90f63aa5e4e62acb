// Kafka as teams have it: SASL over TLS, and ACLs (a real broker with StandardAuthorizer). The first log line of a
// refusal names topic, group and operation; a right that is granted later works without a restart; and each role works
// with exactly the rights that docs/operations.md#rights-on-a-locked-kafka names for it.
//
//   node --test locked.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, freePort, until } from './beckon.mjs';
import { UserAgent, call, post } from './client.mjs';
import { LockedCluster } from './locked-broker.mjs';

const ROLES = ['endpoint', 'edge', 'retry', 'reliability', 'console'];
const OPERATIONS = join(import.meta.dirname, '..', '..', 'docs', 'operations.md');
const users = { nobody: 'nothing', learner: 'later', ...Object.fromEntries(ROLES.map((role) => [role, `password-of-${role}`])) };
const cluster = new LockedCluster({ plain: true, retry: [], reliability: true, console: [], users });
const started = [];

before(() => cluster.prepare(), { timeout: 240000 });
after(async () => {
    for (const one of started) one.kill('SIGKILL');
    await cluster.destroy();
});

/** A process of a role as `user`; `said` is all its lines. */
async function begin(role, user, options = {}, more = []) {
    const ports = { ops: await freePort(), main: await freePort(), link: await freePort() };
    const own = {
        endpoint: ['--endpoint-port', ports.main], edge: ['--edge-port', ports.main, '--edge-link-port', ports.link],
        retry: ['--retry-port', ports.main, '--retry-allowed-addresses', '127.0.0.1'], reliability: [], console: ['--console-port', ports.main],
    }[role].map(String);
    const child = spawn(BECKON, [
        role, '--data', join(cluster.directory, `${role}-of-${user}`), '--ops-port', String(ports.ops), '--log-format', 'json', '--startup-timeout', '20s',
        ...own, ...(role === 'reliability' || role === 'console' ? [] : ['--endpoint-url', `http://127.0.0.1:${role === 'endpoint' ? ports.main : cluster.ports.endpoint}`]),
        ...cluster.lockedOptions(user, options), ...more,
    ], { stdio: ['ignore', 'pipe', 'pipe'] });
    started.push(child);
    const one = { child, ports, output: '', ended: new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal))) };
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (one.output += data));
    one.lines = () => one.output.split('\n').filter(Boolean);
    one.ready = async () => (await fetch(`http://127.0.0.1:${ports.ops}/ready`)).status === 200;
    one.stop = () => (child.kill('SIGTERM'), one.ended);
    return one;
}

const operations = (...names) => names.flatMap((name) => ['--operation', name]);
const prefixed = ['--resource-pattern-type', 'prefixed', '--topic', 'beckon.'];

for (const role of ['endpoint', 'edge', 'retry']) {
    test(`${role}: a wrong password is the first line and the last`, async () => {
        const one = await begin(role, 'nobody', { password: 'wrong' });
        assert.equal(await one.ended, 1, one.output);
        const lines = one.lines();
        assert.match(lines[0], /"event":"login_refused".*the broker refuses the login.*Invalid username or password/, one.output);
        assert.match(lines.at(-1), /^beckon: the broker refuses the login \(sasl\.username, sasl\.password, sasl\.mechanism\).*Invalid username or password/, one.output);
    });

    test(`${role}: without rights it says which, and ends`, async () => {
        const one = await begin(role, 'nobody');
        assert.equal(await one.ended, 1, one.output);
        assert.match(one.lines()[0], /"event":"not_authorized".*refuses (Write|Describe) on (every topic|the topic) beckon\.|^beckon: the broker refuses Describe on the topic beckon\.control/, one.output);
        assert.match(one.lines().at(-1), /^beckon: the broker refuses Describe on the topic beckon\.control: /, one.output);
        // On a busy machine a connection may be lost meanwhile, which is said; a right that is missing is never said that way.
        assert.doesNotMatch(one.output, /Leader not available|"no_broker"(?!.*(Disconnected|Connect|timed out|Receive failed|Send failed))/);
        assert.ok(one.lines().length < 12, `few lines: ${one.lines().length}`);
    });
}

test('SCRAM: either it works, or the line says that this librdkafka cannot', async () => {
    const one = await begin('endpoint', 'nobody', { mechanism: 'SCRAM-SHA-512' });
    assert.equal(await one.ended, 1, one.output);
    assert.match(one.lines().at(-1), /refuses Describe on the topic|Kafka 4 refuses SCRAM of librdkafka 2\.[0-6]\.\d+ in any case, which 2\.6\.1 mends: use PLAIN over TLS/, one.output);
});

test('missing rights are named one after the other, and a right that is granted later works without a restart', { timeout: 240000 }, async () => {
    await cluster.acl('--add', 'learner', ...operations('Describe'), ...prefixed);
    let one = await begin('edge', 'learner');
    assert.equal(await one.ended, 1, one.output);
    assert.match(one.lines().at(-1), /refuses Read on the topic beckon\.control/, one.output);

    await cluster.acl('--add', 'learner', ...operations('Read'), ...prefixed);
    one = await begin('edge', 'learner');
    assert.equal(await one.ended, 1, one.output);
    assert.match(one.lines().at(-1), /refuses DescribeConfigs on the topic beckon\./, one.output);

    await cluster.acl('--add', 'learner', ...operations('DescribeConfigs'), ...prefixed);
    one = await begin('edge', 'learner');
    const logs = (what) => until(String(what), () => what.test(one.output), 30000).catch((error) => { throw new Error(`${error.message}\n${one.output.slice(0, 6000)}`); });
    await logs(/"not_authorized".*refuses Write on every topic beckon\.\*/);
    await logs(/"not_authorized".*refuses Read on the group beckon\.edge\.members/);
    const before = one.lines().length;
    await new Promise((resolve) => setTimeout(resolve, 5000));
    assert.ok(one.lines().length - before < 12, `few lines: ${one.lines().slice(before).join('\n')}`);
    await cluster.acl('--add', 'learner', ...operations('Read'), '--resource-pattern-type', 'prefixed', '--group', 'beckon.');
    await cluster.acl('--add', 'learner', ...operations('Write'), ...prefixed);
    await until('the edge is ready, without a restart', () => one.ready(), 60000).catch((error) => { throw new Error(`${error.message}\n${one.output.slice(-6000)}`); });
    await one.stop();
});

test('a topic that is missing and may not be made', { timeout: 120000 }, async () => {
    const [tool] = [spawn(BECKON, ['topics', 'create', ...cluster.lockedOptions('learner'), '--kafka-prefix', 'beckon.other.'], { stdio: ['ignore', 'pipe', 'pipe'] })];
    let output = '';
    for (const stream of [tool.stdout, tool.stderr]) stream.on('data', (data) => (output += data));
    const code = await new Promise((resolve) => tool.once('exit', resolve));
    assert.equal(code, 1, output);
    assert.match(output, /cannot create beckon\.other\.\S+ at localhost:\d+: .*(authoriz)/i, output);
    const one = await begin('endpoint', 'learner', {}, ['--kafka-prefix', 'beckon.other.']);
    assert.equal(await one.ended, 1, one.output);
    assert.match(one.lines().at(-1), /the log topics with prefix 'beckon\.other\.' do not exist/, one.output);
});

/** The commands of docs/operations.md for each role, as arguments of kafka-acls. */
function commandsOf(role) {
    const text = readFileSync(OPERATIONS, 'utf8');
    const section = text.slice(text.indexOf('### Rights on a locked Kafka'));
    const lines = section.replaceAll('\\\n', ' ').split('\n').filter((line) => line.includes('kafka-acls') && line.includes(`User:${role} `));
    return lines.map((line) => line.trim().split(/\s+/).slice(line.trim().split(/\s+/).indexOf('--add')));
}

test('each role works with the rights that the documents name for it: a push, an event and a report', { timeout: 400000 }, async () => {
    for (const role of ROLES) {
        const commands = commandsOf(role);
        assert.ok(commands.length > 0, `docs/operations.md has no kafka-acls for ${role}`);
        for (const args of commands) await cluster.kafkaTool('AclCommand', args.map((arg) => arg.replace(/^'|'$/g, '')));
    }
    const all = {};
    all.endpoint = await begin('endpoint', 'endpoint');
    cluster.ports.endpoint = all.endpoint.ports.main;
    for (const role of ROLES.slice(1)) all[role] = await begin(role, role);
    const quote = (error) => { throw new Error(`${error.message}\n${Object.entries(all).map(([role, one]) => `${role}:\n${one.output.slice(-2500)}`).join('\n')}`); };
    for (const role of ROLES) await until(`${role} is ready`, () => all[role].ready(), 90000).catch(quote);

    const client = new UserAgent(`ws://127.0.0.1:${all.edge.ports.main}/`);
    await client.connect();
    await client.register();
    const { status, id, body } = await post(client.endpoint, 'through the lock');
    assert.equal(status, 201, body);
    await until('the delivery', () => client.versions.has(id), 30000).catch(quote);
    client.mute = true;
    const sent = await post(client.endpoint, 'deleted', { Topic: 'x' });
    assert.equal((await call('DELETE', sent.headers.location)).status, 204);
    await client.unregister([...client.waiting.keys()][0].split(' ')[1]);
    await until('that the URL is gone', async () => (await post(client.endpoint, 'x')).status === 410, 30000).catch(quote);
    client.end();

    const made = spawn(BECKON, ['webhooks', 'token', 'shop', '--publish-to-all', '--key-ring', join(cluster.directory, 'keys.json')]);
    let token = '';
    for await (const data of made.stdout) token += data;
    const headers = { Authorization: `Bearer ${token.trim()}`, 'Content-Type': 'application/json' };
    const api = `http://127.0.0.1:${all.retry.ports.main}`;
    const webhook = await call('POST', `${api}/webhooks`, headers, JSON.stringify({ url: 'http://127.0.0.1:1/' }));
    assert.equal(webhook.status, 201, webhook.body);
    const event = await call('POST', `${api}/events`, { ...headers, 'Content-Type': 'application/cloudevents+json' },
        JSON.stringify({ specversion: '1.0', id: '1', source: '/x', type: 'a.b' }));
    assert.ok(event.status < 300, event.body);
    await until('an attempt', async () => JSON.parse((await call('GET', `${api}/attempts`, headers)).body).webhooks?.[0]?.attempts > 0, 60000).catch(quote);
    await until('the lag of all groups', async () => JSON.parse((await call('GET', `http://127.0.0.1:${all.console.ports.main}/api/pages/lag`)).body).rows.length > 3, 60000).catch(quote);
    const refused = Object.entries(all).map(([role, one]) => [role, [...new Set([...one.output.matchAll(/refuses \w+ on [^:]*/g)].flat())]]);
    assert.deepEqual(refused.filter(([, what]) => what.length > 0), []);
    for (const [role, one] of Object.entries(all)) {
        assert.equal(await one.ready(), true, role);
        await one.stop();
    }
});
