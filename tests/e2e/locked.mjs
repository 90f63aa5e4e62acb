// Kafka as teams have it: SASL over TLS, and ACLs (a real broker with StandardAuthorizer). The first log line of a
// refusal names topic, group and operation; a right that is granted later works without a restart; and each role works
// with exactly the rights that docs/operations/rights.md#rights-on-a-locked-kafka names for it.
//
//   node --test locked.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, test } from 'node:test';
import { BECKON, until } from './beckon.mjs';
import { LockedCluster } from './locked-broker.mjs';
import { LockedRoles, ROLES } from './locked-roles.mjs';
import { Proxy } from './proxy.mjs';

const users = { nobody: 'nothing', learner: 'later', ...Object.fromEntries(ROLES.map((role) => [role, `password-of-${role}`])) };
const cluster = new LockedCluster({ plain: true, retry: [], reliability: true, console: [], users });
const roles = new LockedRoles(cluster);
const begin = (...how) => roles.begin(...how);
let known; // a message that waits, and its subscription

/** A command that ends by itself: its exit code, and all that it has said. */
async function tool(args) {
    const child = spawn(BECKON, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
    const code = await new Promise((resolve) => child.once('close', resolve));
    return { code, output };
}

before(() => cluster.prepare(), { timeout: 240000 });
after(async () => {
    roles.kill();
    await cluster.destroy();
});

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
    const { code, output } = await tool(['topics', 'create', ...cluster.lockedOptions('learner'), '--kafka-prefix', 'beckon.other.']);
    assert.equal(code, 1, output);
    assert.match(output, /cannot create beckon\.other\.\S+ at localhost:\d+: .*(authoriz)/i, output);
    const one = await begin('endpoint', 'learner', {}, ['--kafka-prefix', 'beckon.other.']);
    assert.equal(await one.ended, 1, one.output);
    assert.match(one.lines().at(-1), /the log topics with prefix 'beckon\.other\.' do not exist/, one.output);
});

test('each role works with the rights that the documents name for it: a push, an event and a report', { timeout: 400000 }, async () => {
    await roles.grant();
    await roles.start();
    known = await roles.use();
    await roles.stop();
});

test('tools wait for a connection that takes seconds, as TLS and a login do at a busy broker', { timeout: 180000 }, async () => {
    const slow = new Proxy(() => cluster.lockedPort, { delayMs: 2000 });
    const servers = `localhost:${await slow.open()}`;
    try {
        for (const command of [['topics', 'describe'], ['cluster'], ['lag'], ['replay', 'state', '--endpoint', known.endpoint],
            ['doctor', '--role', 'console']]) {
            const { code, output } = await tool([...command, ...cluster.lockedOptions('console', { servers })]);
            assert.doesNotMatch(output, /brokers? (connections? )?(is|are) down|^BAD +(log|rights)/m, `${command.join(' ')}: ${output}`);
            // Every role was stopped: no partition has a living home, and nobody reads what came last.
            const codes = { doctor: [0, 1], cluster: [3], lag: [0, 3] }[command[0]] ?? [0];
            assert.ok(codes.includes(code), `${command.join(' ')}: ${output}`);
        }
    } finally {
        slow.close();
    }
});
