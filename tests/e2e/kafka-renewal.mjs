// The password of a role at Kafka changes while messages are posted: at the broker, then in the file that `sasl.password.file` names. The broker
// ends each connection some seconds after its login, as one does that limits the life of a login, so that all of them log in anew. No POST is
// refused. On brokers of Kafka 3.9, the last that take SCRAM from librdkafka before 2.6.1.
//
//   node --test kafka-renewal.mjs
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { until } from './beckon.mjs';
import { UserAgent, call } from './client.mjs';
import { LockedCluster } from './locked-broker.mjs';
import { LockedRoles } from './locked-roles.mjs';

const LOGIN_LASTS_MS = 4000;
const FIRST = 'the-first-password';
const SECOND = 'the-second-password';
const cluster = new LockedCluster({
    plain: true, users: { renewed: FIRST }, release: '3.9',
    properties: `super.users=User:ANONYMOUS;User:renewed\nlistener.name.locked.scram-sha-512.connections.max.reauth.ms=${LOGIN_LASTS_MS}\n`,
});
const roles = new LockedRoles(cluster, { mechanism: 'SCRAM-SHA-512' });
const file = join(cluster.directory, 'kafka-password');

before(async () => {
    await cluster.prepare();
    writeFileSync(file, `${FIRST}\n`, { mode: 0o600 });
}, { timeout: 240000 });
after(async () => {
    roles.kill();
    await cluster.destroy();
});

const begin = async (role) => {
    const one = await roles.begin(role, 'renewed', roles.options, ['--kafka-librdkafka', `sasl.password.file=${file}`]);
    roles.all[role] = one;
    return one;
};

test('no POST is refused while the password changes, and each role goes on with the new one', { timeout: 400000 }, async () => {
    const endpoint = await begin('endpoint');
    cluster.ports.endpoint = endpoint.ports.main;
    const edge = await begin('edge');
    for (const [name, one] of Object.entries(roles.all)) await roles.until(`${name} is ready`, () => one.ready(), 120000);
    const client = new UserAgent(`ws://127.0.0.1:${edge.ports.main}/`);
    await client.connect();
    const url = await client.register();

    const refused = [];
    let posted = 0;
    let over = false;
    const load = (async () => {
        while (!over) {
            const { status, body } = await call('POST', url, { TTL: '600' }, '');
            posted += 1;
            if (status !== 201) refused.push(`${status} ${body}`);
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
    })();
    await until('a first load', () => posted > 50, 60000);

    await cluster.setPassword('renewed', SECOND);
    writeFileSync(file, `${SECOND}\n`);
    endpoint.child.kill('SIGHUP'); // the edge reads the file by itself
    for (const [name, one] of Object.entries(roles.all)) {
        await roles.until(`${name} has the new password`, () => one.output.includes('"event":"kafka_login_renewed"'), 30000);
    }
    await new Promise((resolve) => setTimeout(resolve, 3 * LOGIN_LASTS_MS)); // every connection has ended and logged in anew
    const before = posted;
    await until('a load after it', () => posted > before + 50, 60000);
    over = true;
    await load;
    assert.deepEqual(refused, []);
    await until('all messages', () => client.versions.size === posted, 60000);
    assert.doesNotMatch(endpoint.output + edge.output, new RegExp(`${FIRST}|${SECOND}`));
    client.end();

    writeFileSync(file, `${FIRST}\n`);
    const late = await begin('retry'); // a role that has no data directory yet
    assert.equal(await late.ended, 1, late.output);
    assert.match(late.output, /"event":"login_refused"/, 'the first password is over');
});
