// A stop (SIGTERM) of every role while the broker hangs, a moment after it began to, when everybody has noticed,
// and when the group has long missed its coordinator: each ends by itself, in time, and says no error of its own.
//
//   node stop-hanging-broker.mjs
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Cluster } from './beckon.mjs';
import { agent, post, startWithClient } from './client.mjs';

process.env.BECKON_STOP_TIMEOUT = '20s'; // for all roles; the default is 10 s
const ROLES = ['endpoint', 'edge', 'retry', 'reliability', 'console'];
const STOP_TIMEOUT_MS = 20000; // five processes end at the same time on two cores
const BUSY_MACHINE_MS = 10000;
const MOMENTS_MS = [0, 1500, 8000]; // since the broker hangs; sessions of the group last 6 s
const MESSAGES = 20; // whose tombstones are on their way

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** How a process ends that was asked to; fails if it takes too long. */
async function ends(name, child) {
    const began = performance.now();
    child.process.kill('SIGTERM');
    const late = pause(STOP_TIMEOUT_MS + BUSY_MACHINE_MS).then(() => null);
    const outcome = await Promise.race([child.exited, late]);
    assert(outcome, `${name} still runs:\n${child.output}`);
    return { name, ...outcome, ms: performance.now() - began };
}

describe('a broker that hangs', () => {
    const cluster = new Cluster('kafka', { plain: true, retry: [], reliability: true, console: [] });
    let client;
    let endpoint;

    before(async () => {
        ({ client, endpoint } = await startWithClient(cluster));
    });
    after(async () => {
        client?.end();
        agent.destroy();
        await cluster.destroy();
    });

    for (const [round, moment] of MOMENTS_MS.entries()) {
        test(`holds up no role that is asked to stop after ${moment} ms`, async (t) => {
            if (round > 0) {
                await cluster.start();
                await client.connect();
            }
            const posts = Array.from({ length: MESSAGES }, () => post(endpoint, 'body', { TTL: '3600' }));
            await Promise.all(posts);
            await cluster.pauseKafka();
            const waiting = post(endpoint, 'body', { TTL: '3600' });
            await pause(moment);
            const outcomes = await Promise.all(ROLES.map((role) => ends(role, cluster.children.get(role))));
            for (const { name, code, signal, ms } of outcomes) {
                t.diagnostic(`${name} ended with ${code ?? signal} after ${ms.toFixed()} ms`);
                assert.equal(code, 0, `${name}: ${signal}\n${cluster.children.get(name).output}`);
                cluster.children.delete(name);
            }
            assert.equal((await waiting).status, 503); // never a 201
            cluster.resumeKafka();
            await cluster.kafkaAnswers();
        });
    }
});
