// A standalone loses its power while it starts, serves or recovers: whatever the disk kept of unsynced writes, it
// starts again, and every message that was answered 201 arrives.
//
//   node power-cut.mjs [--rounds N] [--seed FIRST] [--mode MODE]
//   node power-cut.mjs --first-start STRIDE [--seed N]
//
// The rounds have the seeds FIRST, FIRST + 1 …; the seed gives a round its plan and the disk its choices, though not the order
// in which threads write. Modes: `cut`; `eio` and `enospc`, in which some calls fail first; `lies`, in which the disk reports
// syncs that it never did: a round of it must find a loss. Without --mode the seed chooses one of the first three.
//
// --first-start cuts the power at step 1 of the very first start, at step 1 + STRIDE and so on until it serves; and likewise lets
// every step fail from there on, as on a disk that is full. Each time the same command is then repeated, and serves.
//
// POWER_CUT names the library made of power_cut.cpp, whose head says what a disk may keep.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { BECKON, Cluster, until } from './beckon.mjs';
import { randomFrom } from './chaos-plan.mjs';
import { UserAgent, post } from './client.mjs';

const MODES = ['cut', 'eio', 'enospc', 'lies'];
const { values: given } = parseArgs({
    options: {
        rounds: { type: 'string', default: '3' },
        seed: { type: 'string', default: String(Date.now() % 1000000) },
        mode: { type: 'string' },
        'first-start': { type: 'string' },
    },
});
function refuse(why) {
    console.error(`power-cut: ${why}`);
    process.exit(2);
}
for (const name of ['rounds', 'seed', 'first-start']) {
    if (given[name] !== undefined && !/^\d{1,9}$/.test(given[name])) refuse(`--${name} ${given[name]}: not a whole number`);
}
if (given.mode && !MODES.includes(given.mode)) refuse(`--mode ${given.mode}: none of ${MODES.join(', ')}`);
const library = resolve(process.env.POWER_CUT ?? join(dirname(BECKON), 'tests', 'e2e', 'libpower_cut.so'));
if (!existsSync(library)) refuse(`${library} is not there: ninja power_cut, or POWER_CUT names it`);

const CUT = 117; // exit status of a process whose power was cut
const CLIENTS = 3;
const SENDERS_OF_EACH = 2;
const LIFE_MS = 20000; // a life that makes fewer steps ends by SIGKILL
const MESSAGES_MOST = 1500; // of a life, so that no client's limit is reached
const RECOVERY_MS = 60000;
const FIRST_START_MS = 10000;
const FAULTS_BEFORE_CUT = 300; // steps

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** The plan of a round: its lives before the last one, each with the environment of its process. */
function planOf(seed) {
    const random = randomFrom(seed);
    const mode = given.mode ?? ['cut', 'eio', 'cut', 'enospc'][seed % 4];
    const lies = mode === 'lies'; // then nobody is there to receive a message before it is lost
    // With 0.2 of a chance the first start of all is cut: then there may be no client yet.
    const isYoung = !lies && random.chance(0.2);
    const lives = Array.from({ length: lies ? 1 : random.from(1, 3) }, (_, n) => {
        const at = random.of([random.from(1, 400), random.from(400, 1500), random.from(1500, 2500)]);
        const environment = { POWER_CUT_SEED: String(seed * 10 + n), POWER_CUT_AT: String(lies ? random.from(700, 1200) : at) };
        if (lies) environment.POWER_CUT_LIES = '1';
        if (mode === 'eio' || mode === 'enospc') {
            environment.POWER_CUT_ERROR = mode.toUpperCase();
            environment.POWER_CUT_FAILS = String(random.of([1, 1, 5, 40]));
            environment.POWER_CUT_FAIL_AT = String(Math.max(1, at - random.from(0, FAULTS_BEFORE_CUT)));
        }
        return { environment, away: Array.from({ length: CLIENTS }, () => lies || random.chance(0.5)) };
    });
    return { mode, isYoung, lives };
}

/** The environment of every process; after a power cut the kernel has another boot id. */
function boot(cluster) {
    const file = join(cluster.directory, 'boot_id');
    writeFileSync(file, `${randomUUID()}\n`);
    return { LD_PRELOAD: library, POWER_CUT_BOOT: file };
}

/** A client, the messages for it, and their outcomes. */
class Receiver {
    constructor(name, url) {
        this.name = name;
        this.url = url;
        this.accepted = [];
        this.agent = new UserAgent(url);
    }

    /** A client that has no subscription yet begins anew: nothing was promised to it. */
    async subscribe() {
        if (this.agent.endpoint) return;
        this.agent.end();
        this.agent = new UserAgent(this.url);
        await this.agent.connect();
        await this.agent.register();
    }

    /** Sends until `isOver`; counts the 201s. */
    async send(isOver, prefix, wrong) {
        for (let n = 0; !isOver() && n < MESSAGES_MOST / CLIENTS / SENDERS_OF_EACH; ++n) {
            const body = `${this.name} ${prefix} ${n} ${'x'.repeat((n * 97) % 3000)}`;
            const { status, body: text } = await post(this.agent.endpoint, body);
            if (status === 201) this.accepted.push(body);
            else if (status === 0 || status === 503) await pause(20);
            else wrong.push(`${body.slice(0, 30)} was answered ${status} ${text}`);
        }
    }

    missing() {
        const arrived = new Set(this.agent.bodies);
        return this.accepted.filter((body) => !arrived.has(body));
    }
}

/** One process under the library until its power is cut; says how it ended. */
async function live(cluster, receivers, { environment, away }, name) {
    cluster.environment = { ...cluster.boot, POWER_CUT_DIR: join(cluster.directory, 'standalone'), ...environment };
    let ended = null;
    const ready = cluster.start().then(() => true, () => false);
    const child = cluster.children.get('standalone');
    child.exited.then((how) => (ended = how));
    const wrong = [];
    const served = async () => {
        if (!(await ready)) return;
        await Promise.all(receivers.map((each) => each.subscribe()));
        await Promise.all(receivers.flatMap((each, n) => {
            if (!away[n] && !each.agent.wanted) each.agent.connect().catch(() => {});
            if (away[n]) each.agent.end();
            return Array.from({ length: SENDERS_OF_EACH }, (_, sender) => each.send(() => ended, `${name} ${sender}`, wrong));
        }));
    };
    await Promise.race([child.exited, pause(LIFE_MS), served().then(() => pause(500), (error) => ended || wrong.push(error.stack))]);
    const how = ended ?? { ...(await child.kill()), code: 'killed' };
    ended = how;
    await ready;
    cluster.children.delete('standalone');
    if (how.code === CUT) cluster.boot = boot(cluster);
    for (const { agent } of receivers) agent.end();
    const isError = 'POWER_CUT_ERROR' in environment;
    const isExpected = how.code === CUT || how.code === 'killed' || (isError && how.code === 1);
    if (!isExpected) wrong.push(`it ended with ${how.code ?? how.signal}`);
    assert.deepEqual(wrong, [], child.output);
    return how.code === CUT ? child.output.match(/power cut at step .*/)?.[0] : `ended: ${how.code}`;
}

/** On a disk without faults everything is there, and it serves. */
async function verify(cluster, receivers) {
    cluster.environment = cluster.boot;
    await cluster.start();
    for (const receiver of receivers) {
        const former = receiver.agent.endpoint;
        if (former) await receiver.agent.connect();
        else await receiver.subscribe();
        const last = `${receiver.name} last`;
        const { status } = await post(receiver.agent.endpoint, last);
        assert.equal(status, 201, `${receiver.name}: the last message`);
        receiver.accepted.push(last);
    }
    await until('all that got 201', () => receivers.every((each) => each.missing().length === 0), RECOVERY_MS).catch((error) => {
        const lost = receivers.flatMap((each) => each.missing()).map((body) => body.slice(0, 30));
        throw new Error(`${error.message}: missing are ${lost.length}: ${lost.slice(0, 10).join('; ')}`);
    });
    for (const { agent } of receivers) assert.deepEqual(agent.faults, []);
    await cluster.stop();
}

async function round(seed) {
    const { mode, isYoung, lives } = planOf(seed);
    const cluster = new Cluster('embedded', { plain: true });
    let receivers = [];
    try {
        await cluster.prepare();
        cluster.boot = cluster.environment = boot(cluster);
        receivers = Array.from({ length: CLIENTS }, (_, n) => new Receiver(`client ${n}`, cluster.websocket));
        if (!isYoung) {
            await cluster.start();
            for (const receiver of receivers) await receiver.subscribe();
            await cluster.stop();
        }
        const reports = [];
        for (const [n, life] of lives.entries()) reports.push(await live(cluster, receivers, life, `life ${n}`));
        const lost = await verify(cluster, receivers).then(() => null, (error) => error);
        const sent = receivers.reduce((sum, { accepted }) => sum + accepted.length, 0);
        if (mode === 'lies') {
            assert(lost, `the disk lied, and no loss was found\n${reports.join('\n')}`);
            reports.push(`found: ${lost.message.split('\n')[0]}`);
        } else if (lost) {
            lost.stack += `\n${reports.join('\n')}\n${cluster.outputs()}`;
            throw lost;
        }
        console.log(`seed ${seed}, ${mode}${isYoung ? ' from the first start on' : ''}: ${sent} messages\n  ${reports.join('\n  ')}`);
    } catch (error) {
        console.error(error.stack);
        console.error(`FAILED: node power-cut.mjs --rounds 1 --seed ${seed} --mode ${mode}`);
        console.error(JSON.stringify(lives));
        return false;
    } finally {
        for (const { agent } of receivers) agent.end();
        await cluster.destroy();
    }
    return true;
}

/** A first start that ends, or fails for good, at that step; then a second one. False: it served before it came so far. */
async function firstStart(step, fault) {
    const cluster = new Cluster('embedded'); // with a certificate that it makes
    let how = { code: 'killed' };
    try {
        await cluster.prepare();
        const environment = fault === 'cut' ? { POWER_CUT_AT: String(step) }
            : { POWER_CUT_FAIL_AT: String(step), POWER_CUT_FAILS: '1000000000', POWER_CUT_ERROR: 'ENOSPC' };
        cluster.environment = { ...boot(cluster), POWER_CUT_DIR: join(cluster.directory, 'standalone'), POWER_CUT_SEED: String(Number(given.seed) + step), ...environment };
        cluster.start().catch(() => {}); // no longer waited for when it has ended
        const child = cluster.children.get('standalone');
        let ended = false;
        child.exited.then(() => (ended = true));
        const served = await until('that it serves or ends', () => (child.output.includes('"listening"') ? 'served' : ended && 'ended'), FIRST_START_MS)
            .catch(() => 'waits');
        how = await child.kill();
        if (served === 'served') return false;
        assert(how.code === (fault === 'cut' ? CUT : 1), `step ${step}, ${fault}: ${served}, ${JSON.stringify(how)}\n${child.output}`);
        cluster.environment = boot(cluster);
        await cluster.start();
        await cluster.stop();
        return true;
    } catch (error) {
        console.error(`${error.stack}\n${cluster.outputs()}\nFAILED: step ${step} of the first start, ${fault}, seed ${given.seed}`);
        process.exitCode = 1;
        return true;
    } finally {
        await cluster.destroy();
    }
}

if (given['first-start']) {
    for (const fault of ['cut', 'full disk']) {
        let step = 1;
        while (await firstStart(step, fault)) step += Number(given['first-start']);
        console.log(`${fault}: the first start serves after fewer than ${step} steps`);
        assert(step > 100, 'most of these steps make the log');
    }
    process.exit();
}

let failed = 0;
for (let n = 0; n < Number(given.rounds); ++n) {
    if (!(await round(Number(given.seed) + n))) ++failed;
}
console.log(failed ? `FAILED: ${failed} of ${given.rounds} rounds` : `OK: ${given.rounds} rounds`);
process.exit(failed ? 1 : 0);
