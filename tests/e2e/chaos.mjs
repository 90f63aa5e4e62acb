// Clients and senders of all habits use Beckon while its processes are killed, stopped, cut off and robbed of their
// stores; a checker outside of them judges the history (chaos-checker.mjs).
//
// `--upkeep`: in place of the kills, what operators do to three brokers (chaos-upkeep.mjs), and what each step costs in time.
// `--builds all` or `--builds some`: in place of the kills, an upgrade in every order of the roles, or in two, and the way back (chaos-builds.mjs).
//
// The plan follows from the seed, the exact moments do not. `--minutes` ends the plan early. The history is in
// build/chaos/<log>-<seed>/history.jsonl, with the output of the processes beside it.
import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Cluster, until } from './beckon.mjs';
import { Checker } from './chaos-checker.mjs';
import { Builds, steps as buildSteps } from './chaos-builds.mjs';
import { crowd } from './chaos-clients.mjs';
import { Faults, installationOn } from './chaos-faults.mjs';
import { isKill, plan, randomFrom } from './chaos-plan.mjs';
import { ChaosSenders } from './chaos-senders.mjs';
import { OLD_KAFKA, UPKEEP, Upkeep } from './chaos-upkeep.mjs';
import { agent } from './client.mjs';

const USAGE = './dev chaos [--log kafka|embedded] [--kills N] [--seed S] [--minutes M] [--brokers 1|3] [--clients N] [--gap MS] [--upkeep | --builds all|some]';

function options() {
    try {
        return parseArgs({
            options: {
                log: { type: 'string', default: 'embedded' },
                kills: { type: 'string', default: '30' },
                seed: { type: 'string', default: String(Date.now() % 1000000) },
                minutes: { type: 'string' },
                brokers: { type: 'string', default: '1' },
                clients: { type: 'string', default: '30' },
                gap: { type: 'string', default: '20' },
                upkeep: { type: 'boolean', default: false },
                builds: { type: 'string' },
                help: { type: 'boolean', default: false },
            },
        }).values;
    } catch (error) {
        console.error(`chaos: ${error.message}\nusage: ${USAGE}`);
        process.exit(2);
    }
}

const given = options();
if (given.help) {
    console.log(`usage: ${USAGE}`);
    process.exit(0);
}
const number = (name, least, most) => {
    const value = Number(given[name]);
    if (Number.isInteger(value) && value >= least && value <= most) return value;
    console.error(`chaos: --${name} ${given[name]}: not a whole number from ${least} to ${most}`);
    process.exit(2);
};
const { log } = given;
if ((given.upkeep || given.builds) && log !== 'kafka') {
    console.error('chaos: --upkeep and --builds are for --log kafka');
    process.exit(2);
}
if (given.builds && !['all', 'some'].includes(given.builds)) {
    console.error(`chaos: --builds ${given.builds}: not one of all, some`);
    process.exit(2);
}
if (!['kafka', 'embedded'].includes(log)) {
    console.error(`chaos: --log ${log}: not one of kafka, embedded`);
    process.exit(2);
}
const seed = number('seed', 0, 2 ** 31);
const brokers = Array.from({ length: given.upkeep ? 3 : number('brokers', 1, 3) }, (_, i) => (i === 0 ? 'kafka' : `kafka-${i + 1}`));
const limitMs = given.minutes ? number('minutes', 1, 10000) * 60000 : Infinity;
const names = { edges: ['edge-1', 'edge-2', 'edge-3'], endpoints: ['endpoint-1', 'endpoint-2'], brokers };
const judged = (fault, list) => list.flatMap((what) => [{ after: 0, fault, what }, { after: 0, fault: 'stabilise' }]);
const steps = given.upkeep ? judged('upkeep', UPKEEP)
    : given.builds ? judged('builds', buildSteps(given.builds === 'some'))
    : plan({ seed, kills: number('kills', 1, 1000000), log, ...names });

const STABILISE_MS = 90000;
const CHECK_MS = 500;
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const directory = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'build', 'chaos', `${log}-${seed}`);
rmSync(directory, { recursive: true, force: true });
mkdirSync(directory, { recursive: true });
const history = createWriteStream(join(directory, 'history.jsonl'));

const began = performance.now();
const checker = new Checker();
function note(kind, { written, ...fields } = {}) {
    const event = { at: performance.now() - began, kind, ...fields };
    if (written !== undefined) event.written = written - began;
    if (history.writable) history.write(`${JSON.stringify(event)}\n`);
    checker[kind]?.(event);
    upkeep.heed(event);
}

const cluster = new Cluster(log, { plain: true, brokers: brokers.length, gates: names.edges, copyTo: directory, ...(given.upkeep && { release: OLD_KAFKA }) });
const upkeep = new Upkeep(cluster, note);
const installation = installationOn(cluster, names);
const faults = new Faults(cluster, installation, note);
const builds = given.builds ? new Builds(cluster, names, faults) : null;
let clients = [];
let senders;

/** Waits until all faults are healed and all clients attached: then due messages have arrived, and acks are final. */
async function stabilise(isLast) {
    await faults.allHealed();
    await senders.stop();
    for (const client of clients) {
        client.suspended = true;
        if (isLast) client.unmute();
    }
    const judged = clients.filter((client) => client.habit !== 'mute');
    await until('every client attached and registered', () => clients.every((client) => client.attached && client.wishes.size === 0), STABILISE_MS)
        .catch((error) => {
            const some = clients.filter((client) => !client.attached || client.wishes.size > 0).map(({ name }) => name);
            throw new Error(`${error.message}: ${some}`);
        });
    await faults.noPendingTombstones();

    // A drain sends the newest message last: once that is there, all that was pending is.
    const last = new Map(await Promise.all(judged.map(async (client) => [client, await senders.oneFor(client, STABILISE_MS)])));
    const mute = clients.filter((client) => client.habit === 'mute').map(({ name }) => name);
    const missing = () => checker.missing(performance.now() - began).filter(({ client }) => !mute.includes(client));
    await until('every message', () => missing().length === 0 && judged.every((client) => client.arrivals.has(last.get(client))), STABILISE_MS)
        .catch(() => {});
    note('stable', { except: mute });
    await confirm(judged, last);
    for (const client of clients) client.suspended = false;
}

/**
 * Acks of clients whose connection stood while the home took them and the log had their tombstones. A front repeats a
 * ping at a home that has changed meanwhile, but not the ack before it: so a message that came again is not confirmed.
 */
async function confirm(judged, last) {
    const before = new Map(judged.map((client) => [client, client.socket]));
    await until('every arrival acknowledged', () => judged.every((client) => client.acks.has(last.get(client))), STABILISE_MS);
    const answered = await Promise.all(judged.map((client) => client.ping()));
    const asked = performance.now();
    const acked = judged.flatMap((client, i) => {
        if (!answered[i] || client.socket !== before.get(client)) return [];
        return [...client.acks].filter(([n, ack]) => ack.at >= client.arrivals.get(n).at).map(([n]) => ({ client, n }));
    });
    await faults.noPendingTombstones();
    await Promise.all(judged.map((client) => client.ping()));
    if (!judged.every((client) => client.socket === before.get(client))) return;
    const sure = acked.filter(({ client, n }) => client.arrivals.get(n).at < asked);
    note('confirmed', { ns: sure.map(({ n }) => n) });
    for (const { client, n } of sure) client.acks.delete(n);
}

/** Every client once more at another edge: only new messages come, and every registration still works. */
async function lastWord() {
    for (const client of clients) {
        client.suspended = true;
        client.move();
    }
    await until('every client attached again', () => clients.every((client) => client.attached && !client.opening), STABILISE_MS);
    for (const client of clients) {
        for (const [channel, endpoint] of client.channels) await senders.post(client, channel, endpoint, 86400);
    }
    const missing = () => checker.missing(performance.now() - began);
    await until('the last messages', () => missing().length === 0, STABILISE_MS).catch(() => {});
    note('stable', {});
}

async function run() {
    await cluster.prepare();
    if (log === 'kafka') faults.watchPlacement();
    await builds?.start();
    await installation.start();
    clients = crowd(number('clients', 10, 1000), { urls: installation.urls(), seed, note });
    for (const client of clients) client.start();
    senders = new ChaosSenders({ clients, origins: () => installation.origins(), random: randomFrom(seed + 1), note, gapMs: number('gap', 0, 10000) });
    await until('every client registered', () => clients.every((client) => client.channels.size > 0), STABILISE_MS);
    const checks = setInterval(() => note('checked'), CHECK_MS);
    senders.start();
    let kills = 0;
    try {
        for (const step of steps) {
            const isLate = performance.now() - began > limitMs;
            if (isLate && step !== steps.at(-1)) continue;
            await pause(step.after);
            if (step.fault === 'stabilise') {
                await stabilise(step === steps.at(-1));
                await builds?.judge();
                if (step !== steps.at(-1)) senders.start();
            } else if (step.fault === 'upkeep') {
                await upkeep.run(step.what, () => performance.now() - began);
            } else if (step.fault === 'builds') {
                await builds.run(step.what);
            } else {
                await faults.begin(step);
                if (isKill(step)) ++kills;
            }
            if (checker.faults.length > 0) break;
        }
        if (checker.faults.length === 0) await lastWord();
    } finally {
        clearInterval(checks);
        await senders.stop();
    }
    return kills;
}

const instead = given.upkeep ? ' --upkeep' : given.builds ? ` --builds ${given.builds}` : '';
const command = instead ? `./dev chaos --log kafka${instead} --seed ${seed}` : `./dev chaos --log ${log} --seed ${seed} --kills ${given.kills}${brokers.length > 1 ? ` --brokers ${brokers.length}` : ''}`;
try {
    const kills = await run();
    for (const client of clients) client.end();
    await faults.endWatch();
    builds?.close();
    if (checker.faults.length === 0) await cluster.stop();
    const slowest = Math.round(Math.max(...checker.connecting));
    const repeated = [...checker.messages.values()].filter(({ arrivals }) => arrivals > 1).length;
    console.log(`${kills} kills in ${Math.round((performance.now() - began) / 1000)} s (${[...faults.counts].map(([fault, n]) => `${fault} ${n}`).join(', ')})`);
    console.log(`${senders.numbers} messages (${[...senders.statuses].map(([status, n]) => `${status}: ${n}`).join(', ')}), ${repeated} came more than once`);
    if (given.upkeep) console.log(upkeep.report());
    if (builds) console.log(builds.report());
    console.log(`${checker.connecting.length} connections, the slowest after ${slowest} ms`);
    if (log === 'kafka') console.log(`${checker.moved} moves of partitions for the death of their home, ${checker.again} moves of these for another cause after it`);
    if (checker.faults.length > 0) throw new Error(`${checker.faults.length} faults:\n  ${checker.faults.slice(0, 20).join('\n  ')}`);
    console.log(`OK: ${command}`);
} catch (error) {
    console.error(error.stack);
    console.error(`FAILED: ${command}\nHistory and output: ${directory}`);
    if (process.env.CI) console.error(cluster.outputs());
    process.exitCode = 1;
} finally {
    for (const client of clients) client.end();
    builds?.close();
    agent.destroy();
    await cluster.destroy();
    installation.close();
    history.end();
    setTimeout(() => process.exit(), 500).unref();
}
