// SIGTERM to every role, each at a random moment of its own, while the broker hangs: each ends by itself and in time,
// no sender gets a 201, and nothing that had one before is lost.
//
//   node stop-random.mjs [--rounds N] [--seed S] [--patience SECONDS]
//
// The moments follow from the seed, which is printed. BECKON names the binary. With a sanitizer its reports fail the
// test. `--patience`: the time that a process of such a build may take beyond its stop_timeout; BECKON_E2E_SLOWER: how
// many times as long all else may take.
import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { Cluster, until } from './beckon.mjs';
import { randomFrom } from './chaos-plan.mjs';
import { agent, post, startWithClient } from './client.mjs';

const { values: given } = parseArgs({
    options: {
        rounds: { type: 'string', default: '5' },
        seed: { type: 'string', default: String(Date.now() % 1000000) },
        patience: { type: 'string', default: '10' },
    },
});
for (const [name, value] of Object.entries(given)) {
    if (/^\d{1,9}$/.test(value)) continue;
    console.error(`stop-random: --${name} ${value}: not a whole number`);
    process.exit(2);
}
const rounds = Number(given.rounds);
const random = randomFrom(Number(given.seed));

process.env.BECKON_STOP_TIMEOUT = '20s'; // for all roles; the default is 10 s
const STOP_TIMEOUT_MS = 20000;
const PATIENCE_MS = Number(given.patience) * 1000;
const ROLES = ['endpoint', 'edge', 'retry', 'reliability', 'console'];
const SENDERS = 4;
const GROUP_GIVES_UP_MS = 9000; // sessions of the group last 6 s
const REPORT = /(Address|Thread|Leak|UndefinedBehavior)Sanitizer|runtime error:|assertion/i;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Half of them close to the moment when the broker begins to hang. */
const moment = () => random.from(0, random.chance(0.5) ? 300 : GROUP_GIVES_UP_MS);

/** Messages one after another until the endpoint is gone; the answer to each, and whether the broker hung then. */
class Sender {
    constructor(endpoint, state) {
        this.statuses = [];
        this.accepted = [];
        this.over = false;
        this.work = this.send(endpoint, state);
    }

    async send(endpoint, state) {
        for (let n = 0; !this.over; ++n) {
            const hungBefore = state.hangs;
            const { status, id } = await post(endpoint, `message ${n}`, { TTL: '3600' });
            this.statuses.push({ status, hungBefore });
            if (status === 201) this.accepted.push(id);
            if (status === 0) await pause(50);
        }
    }

    async stop() {
        this.over = true;
        await this.work;
    }
}

/** Asks a process to end after `after` ms, and waits until it has. */
async function ends(name, child, after) {
    await pause(after);
    const began = performance.now();
    child.process.kill('SIGTERM');
    const late = pause(STOP_TIMEOUT_MS + PATIENCE_MS).then(() => null);
    const outcome = await Promise.race([child.exited, late]);
    assert(outcome, `${name} still runs ${STOP_TIMEOUT_MS + PATIENCE_MS} ms after SIGTERM:\n${child.output}`);
    assert.equal(outcome.code, 0, `${name}: ${outcome.code ?? outcome.signal}\n${child.output}`);
    assert(!REPORT.test(child.output), `${name}:\n${child.output}`);
    return `${name} at ${after} in ${Math.round(performance.now() - began)}`;
}

const cluster = new Cluster('kafka', { plain: true, retry: [], reliability: true, console: [] });
let client;
try {
    let endpoint;
    ({ client, endpoint } = await startWithClient(cluster));
    const accepted = [];
    for (let round = 1; round <= rounds; ++round) {
        const state = { hangs: false };
        const senders = Array.from({ length: SENDERS }, () => new Sender(endpoint, state));
        await pause(random.from(0, 2000));
        await cluster.pauseKafka();
        state.hangs = true;
        const took = await Promise.all(ROLES.map((role) => ends(role, cluster.children.get(role), moment())));
        await Promise.all(senders.map((sender) => sender.stop()));
        for (const { statuses } of senders) {
            const wrong = statuses.filter(({ status, hungBefore }) => hungBefore && ![0, 503].includes(status));
            assert.deepEqual(wrong, [], 'an answer while the broker hung');
        }
        accepted.push(...senders.flatMap((sender) => sender.accepted));
        for (const role of ROLES) cluster.children.delete(role);
        cluster.resumeKafka();
        await cluster.kafkaAnswers();
        await cluster.start();
        await client.connect();
        await until('all that got 201', () => accepted.every((id) => client.versions.has(id)), 60000);
        assert.deepEqual(client.faults, []);
        console.log(`round ${round}: ${took.join(', ')} ms; ${accepted.length} messages`);
    }
    await cluster.stop();
    console.log(`OK: node stop-random.mjs --seed ${given.seed} --rounds ${rounds}`);
} catch (error) {
    console.error(error.stack);
    console.error(`FAILED: node stop-random.mjs --seed ${given.seed} --rounds ${rounds}`);
    process.exitCode = 1;
} finally {
    client?.end();
    agent.destroy();
    await cluster.destroy();
    setTimeout(() => process.exit(), 500).unref();
}
