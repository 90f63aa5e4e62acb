// A process that hangs is ended and started again by its supervisor, and its clients come back: under the unit's watchdog (supervisor.py
// plays systemd), and by the health check of the image (this file plays the engine). A process that is busy or well is left alone.
//
//   node --test hang.mjs
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BECKON, ROOT, freePort, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const BOUND_MS = 30000; // docs/operations/running.md#a-process-that-hangs
const unit = readFileSync(join(ROOT, 'packaging', 'beckon@.service'), 'utf8');
const WATCHDOG_S = Number(unit.match(/^WatchdogSec=(\d+)$/m)[1]);
const image = readFileSync(join(ROOT, 'packaging', 'image', 'Dockerfile'), 'utf8');
const INTERVAL_S = Number(image.match(/^HEALTHCHECK --interval=(\d+)s/m)[1]);

const directory = mkdtempSync(join(tmpdir(), 'beckon-hang-'));
const children = [];
after(async () => {
    for (const child of children) child.kill('SIGTERM');
    await Promise.all(children.map((child) => child.exitCode ?? child.signalCode ?? new Promise((resolve) => child.once('exit', resolve))));
    rmSync(directory, { recursive: true, force: true });
});

/** A standalone with a client, started by `under`. */
async function standalone(name, under = []) {
    const [edge, ops, endpoint] = [await freePort(), await freePort(), await freePort()];
    const data = join(directory, name);
    const [command, ...args] = [
        ...under, BECKON, 'standalone', '--data', data, '--edge-port', String(edge), '--ops-port', String(ops), '--endpoint-port', String(endpoint),
        '--retry-port', '0', '--console-port', '0', '--log-level', 'error',
    ];
    const start = () => {
        const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
        child.output = '';
        child.stdout.on('data', (text) => (child.output += text));
        children.push(child);
        return child;
    };
    const child = start();
    const ready = () => until(`${name} ready`, async () => (await fetch(`http://127.0.0.1:${ops}/ready`)).status === 200, 60000);
    await ready();
    const client = new UserAgent(`ws://127.0.0.1:${edge}/`);
    await client.connect();
    await client.register();
    return { child, client, data, ops, ready, start, pid: () => Number(readFileSync(join(data, 'lock'), 'utf8')) };
}

/** Stops the process; the time until its client has lost the connection. */
async function hangs({ client, pid }) {
    const closed = new Promise((resolve) => client.socket.once('close', resolve));
    const began = Date.now();
    process.kill(pid(), 'SIGSTOP');
    await closed;
    return Date.now() - began;
}

async function worksAgain({ client }) {
    await until('the client is back', () => client.helloed, 60000);
    assert.equal((await post(client.endpoint, 'after')).status, 201);
    await until('a message', () => client.bodies.includes('after'));
    assert.deepEqual(client.faults, []);
    client.end();
}

test('the watchdog of the unit ends a process that hangs, and no other', async (t) => {
    assert.match(unit, /^WatchdogSignal=SIGKILL$/m);
    const one = await standalone('unit', ['python3', join(HERE, 'supervisor.py'), String(WATCHDOG_S)]);
    const first = one.pid();
    await new Promise((resolve) => setTimeout(resolve, (WATCHDOG_S + 5) * 1000));
    assert.equal(one.pid(), first, one.child.output);
    const time = await hangs(one);
    t.diagnostic(`the client noticed it after ${(time / 1000).toFixed(1)} s`);
    assert(time < BOUND_MS, String(time));
    assert.match(one.child.output, new RegExp(`killed ${first}`));
    await worksAgain(one);
});

test('the health check of the image ends a process that hangs, and no other', async (t) => {
    const one = await standalone('image');
    const state = join(directory, 'beckon-health');
    const check = () => spawnSync('bash', [join(ROOT, 'packaging', 'image', 'health')], {
        env: { ...process.env, BECKON_DATA: one.data, BECKON_OPS_PORT: String(one.ops), TMPDIR: directory }, encoding: 'utf8', timeout: 5000,
    });
    assert.equal(check().status, 0);
    assert(existsSync(state));
    let checking = true;
    const checks = (async () => {
        while (checking) {
            check();
            await new Promise((resolve) => setTimeout(resolve, INTERVAL_S * 1000));
        }
    })();
    await new Promise((resolve) => setTimeout(resolve, 3 * INTERVAL_S * 1000));
    assert.equal(one.child.exitCode ?? one.child.signalCode, null, 'it is well');
    const time = await hangs(one);
    checking = false;
    await checks;
    t.diagnostic(`the client noticed it after ${(time / 1000).toFixed(1)} s`);
    assert(time < BOUND_MS, String(time));
    assert.equal(one.child.signalCode, 'SIGKILL');
    rmSync(state, { force: true });
    assert.notEqual(check().status, 0, 'nothing answers');
    one.start(); // as the engine does
    await one.ready();
    await worksAgain(one);
});
