// The other ways into a locked Kafka: SCRAM (on brokers of Kafka 3.9, the last that take it from librdkafka before 2.6.1) and a
// client's certificate. All roles with the documented rights, and the tools that only read, with theirs.
//
//   node --test locked-ways.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { BECKON } from './beckon.mjs';
import { LockedCluster } from './locked-broker.mjs';
import { LockedRoles, ROLES, commandsFor } from './locked-roles.mjs';

const WAYS = {
    'SCRAM-SHA-512 on Kafka 3.9': { mechanism: 'SCRAM-SHA-512', release: '3.9' },
    'a client’s certificate': { mechanism: 'certificate' },
};

for (const [how, { mechanism, release }] of Object.entries(WAYS)) {
    describe(how, { concurrency: false }, () => {
        const users = { reader: 'may-read', ...Object.fromEntries(ROLES.map((role) => [role, `password-of-${role}`])) };
        const cluster = new LockedCluster({ plain: true, retry: [], reliability: true, console: [], users, release });
        const roles = new LockedRoles(cluster, { mechanism });
        let known;

        before(() => cluster.prepare(), { timeout: 240000 });
        after(async () => {
            roles.kill();
            await cluster.destroy();
        });

        /** A tool as the user `reader`. */
        const tool = (...args) => {
            const { status, stdout, stderr } = spawnSync(BECKON, [...args, ...cluster.lockedOptions('reader', { mechanism })], { encoding: 'utf8', timeout: 60000 });
            return { status, text: stdout + stderr };
        };

        test('all roles, with the rights that the page names', { timeout: 400000 }, async () => {
            await roles.grant();
            await roles.start();
            known = await roles.use();
        });

        test('the tools that only read, with the console’s rights except Write', { timeout: 240000 }, async () => {
            const without = tool('message', known.message);
            assert.notEqual(without.status, 0);
            assert.match(without.text, /refuses Describe on the topic beckon\.control/);
            for (const args of commandsFor('console').filter((words) => !words.includes('Write'))) {
                await cluster.kafkaTool('AclCommand', args.map((word) => word.replace('User:console', 'User:reader')));
            }
            const ops = ['--ops-port', String(roles.all.edge.ports.ops)];
            const commands = {
                message: ['message', known.message, ...ops],
                'subscriptions show': ['subscriptions', 'show', known.endpoint, ...ops],
                'replay show': ['replay', 'show', '--endpoint', known.endpoint],
                'replay state': ['replay', 'state', '--endpoint', known.endpoint],
                lag: ['lag'],
                cluster: ['cluster'],
                'topics describe': ['topics', 'describe'],
            };
            for (const [name, args] of Object.entries(commands)) {
                const { status, text } = tool(...args);
                assert.equal(status, 0, `${name}: ${text}`);
                assert.doesNotMatch(text, /refuses \w+ on|not_authorized/, name);
            }
            assert.match(tool('message', known.message, ...ops).text, /waits/);
            assert.match(tool('lag').text, /beckon\.endpoint/);
        });

        test('the doctor names each right that is missing, and nothing else', { timeout: 240000 }, async () => {
            const ring = ['doctor', '--role', 'endpoint', '--endpoint-url', 'http://127.0.0.1'];
            const rights = (text) => [...text.matchAll(/^(\w+) +rights +(.*)$/gm)].map(([, verdict, what]) => `${verdict} ${what.replace(/ -> .*/, '')}`);
            const as = (user, ...args) => spawnSync(BECKON, [...args, ...cluster.lockedOptions(user, { mechanism })], { encoding: 'utf8', timeout: 120000 });
            const well = as('endpoint', ...ring);
            assert.match(well.stdout, /^ok +rights +\d+ topics and groups/m, well.stdout + well.stderr);
            if (mechanism === 'certificate') {
                assert.match(well.stdout, /^warning kafka certificate +ends in 2 days -> renew it, then restart/m);
                const page = await (await fetch(`http://127.0.0.1:${roles.all.endpoint.ports.ops}/metrics`)).text();
                const [, ends] = page.match(/^beckon_certificate_expiry_time_seconds\{certificate="kafka"\} (\S+)$/m);
                assert.equal(Math.floor((Number(ends) - Date.now() / 1000) / 86400), 2);
            }
            for (const role of ROLES) {
                const { stdout, stderr } = as(role, 'doctor', '--role', role, '--endpoint-url', 'http://127.0.0.1');
                assert.match(stdout, /^ok +rights /m, `${role}: ${stdout}${stderr}`);
            }
            const prefix = cluster.prefix;
            await cluster.acl('--remove', 'endpoint', '--operation', 'Write', '--topic', `${prefix}events`);
            await cluster.acl('--remove', 'endpoint', '--operation', 'Read', '--topic', `${prefix}webhooks`);
            await cluster.acl('--remove', 'endpoint', '--operation', 'Read', '--resource-pattern-type', 'prefixed', '--group', `${prefix}endpoint`);
            const poor = as('endpoint', ...ring);
            assert.deepEqual(rights(poor.stdout).sort(), [
                `BAD the broker refuses Read on the group ${prefix}endpoint.doctor`, `BAD the broker refuses Read on the topic ${prefix}webhooks`,
                `BAD the broker refuses Write on the topic ${prefix}events`,
            ], poor.stdout + poor.stderr);
            assert.equal(poor.status, 1);
        });

        test('a role ends in order', { timeout: 120000 }, () => roles.stop());
    });
}
