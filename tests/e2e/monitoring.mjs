// Each role shows a load balancer and a person its build, and whether the log answers.
//
//   LOG=embedded|kafka node --test monitoring.mjs
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, until } from './beckon.mjs';

const log = process.env.LOG ?? 'embedded';
const cluster = new Cluster(log, { plain: true, retry: [], reliability: true, console: [] });
const get = async (port, path) => fetch(`http://127.0.0.1:${port}${path}`);

before(async () => {
    await cluster.prepare();
    await cluster.start();
});
after(() => cluster.destroy());

test('endpoint and edge say on their public ports which build they are', async () => {
    const build = execFileSync(BECKON, ['--version'], { encoding: 'utf8' }).trim().replace(/^beckon /, '');
    assert.match(build, /^\d+\.\d+\.\d+ \([0-9a-z]+\)$/);
    for (const port of [cluster.ports.endpoint, cluster.ports.edge]) {
        for (const path of ['/status', '/health', '/__heartbeat__', '/__version__']) {
            assert.equal((await (await get(port, path)).json()).version, build, `${port} ${path}`);
        }
        const { commit } = await (await get(port, '/__version__')).json();
        assert.equal(`(${commit})`, build.split(' ')[1], `${port}`);
    }
});

/** Each role with its ops port. */
const roles = () => ({
    endpoint: cluster.ports.ops,
    edge: cluster.ports.opsEdge,
    retry: cluster.ports.opsRetry,
    reliability: cluster.ports.opsReliability,
    console: cluster.ports.opsConsole,
});

test('each role is unready within five seconds after the last broker has died, says why, and comes back by itself', { skip: log !== 'kafka' && 'there is no broker' }, async () => {
    for (const [role, port] of Object.entries(roles())) assert.equal((await get(port, '/ready')).status, 200, role);
    await cluster.killKafka();
    await Promise.all(
        Object.entries(roles()).map(async ([role, port]) => {
            await until(`that ${role} is not ready`, async () => (await get(port, '/ready')).status === 503, 5000);
            const { faults } = await (await get(port, '/ready')).json();
            assert(Object.values(faults).every((why) => why.length > 10), `${role}: ${JSON.stringify(faults)}`);
            assert.equal((await get(port, '/live')).status, 200, `${role}: a restart would not help`);
        }),
    );
    await cluster.startKafka();
    await cluster.kafkaAnswers();
    for (const [role, port] of Object.entries(roles())) {
        await until(`that ${role} is ready again`, async () => (await get(port, '/ready')).status === 200, 60000);
    }
});
