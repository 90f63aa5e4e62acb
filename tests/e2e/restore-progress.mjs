// How far a restore is, as an operator sees it: an edge has lost its store, and while it folds the log again `/ready` says how many per cent are
// restored and how long the rest takes, until it is ready.
//
//   LOG=embedded|kafka node --test restore-progress.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { BECKON, Cluster, until } from './beckon.mjs';

const log = process.env.LOG ?? 'embedded';
const BENCH = join(dirname(BECKON), 'beckon-bench');
const MESSAGES = Number(process.env.MESSAGES ?? 200000);
/** The process runs for one tenth of the time, as on a slow machine, so that the restore takes longer than a few questions. */
const RUNS_MS = 5;
const STANDS_MS = 45;
const LIMIT_MS = 240000;
const role = log === 'kafka' ? 'edge' : 'standalone';
const cluster = new Cluster(log, { plain: true });

before(async () => {
    await cluster.prepare();
    await cluster.start();
});
after(() => cluster.end());

/** The reasons of `/ready` until the process is ready, while it runs slowly. */
async function reasonsOfStart() {
    const ops = role === 'edge' ? cluster.ports.opsEdge : cluster.ports.ops;
    const seen = [];
    let ready = false;
    const { pid } = cluster.children.get(role).process;
    const end = Date.now() + LIMIT_MS;
    const ask = async () => {
        while (!ready) {
            if (Date.now() > end) assert.fail(seen.join('\n'));
            const answer = await fetch(`http://127.0.0.1:${ops}/ready`).catch(() => null);
            ready = answer?.status === 200;
            const text = await answer?.text();
            if (text && seen.at(-1) !== text) seen.push(text);
            await sleep(20);
        }
    };
    const slowly = async () => {
        while (!ready) {
            process.kill(pid, 'SIGSTOP');
            await sleep(STANDS_MS);
            process.kill(pid, 'SIGCONT');
            await sleep(RUNS_MS);
        }
    };
    await Promise.all([ask().finally(() => (ready = true)), slowly()]);
    return seen;
}

test('/ready says how many per cent of a lost store are restored, and how long the rest takes', { timeout: 600000 }, async (t) => {
    const filled = spawnSync(BENCH, [cluster.websocket, '--profiles', 'fill', '--connections', '1000', '--fill-messages', String(MESSAGES)], { encoding: 'utf8', timeout: 240000 });
    assert.equal(filled.status, 0, filled.stdout + filled.stderr);
    assert.equal((await cluster.children.get(role).stop()).code, 0);
    cluster.children.delete(role);
    rmSync(join(cluster.directory, role, 'edge'), { recursive: true });
    const started = cluster.start(role === 'edge' ? 'edge' : undefined);
    await until('the process', () => cluster.children.get(role));
    const seen = await reasonsOfStart();
    await started;
    const told = seen.flatMap((text) => text.match(/partitions [^"]*not served yet: [^"]*/g) ?? []);
    t.diagnostic(`${told.length} times, e.g. ${told[Math.floor(told.length / 2)]}`);
    const percents = new Map(); // by the partitions that are named
    for (const text of told) {
        const [, partitions, percent] = text.match(/^(.*) not served yet(?:: (\d+) % restored)?/);
        if (percent > 0) percents.set(partitions, [...(percents.get(partitions) ?? []), Number(percent)]);
    }
    assert.ok([...percents.values()].some((of) => of.length >= 2), seen.join('\n'));
    for (const of of percents.values()) assert.deepEqual(of, [...of].sort((a, b) => a - b));
    assert.match(told.at(-1), /% restored, \d+ (s|min) left/);
});
