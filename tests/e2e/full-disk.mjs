// A start whose data directory is on a full disk: it waits, says what is missing, and goes on when
// there is room. The disk is a tmpfs in a mount namespace of its own.
//
//   node full-disk.mjs
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { BECKON, freePort, until } from './beckon.mjs';

const root = process.getuid() === 0;
const OWN = root ? ['--mount'] : ['--map-root-user', '--mount'];
const THEIRS = root ? ['--mount'] : ['--user', '--preserve-credentials', '--mount'];
const allowed = spawnSync('unshare', [...OWN, 'true']).status === 0;

test('a start on a full disk waits for room', { skip: !allowed && 'this host allows no namespaces (unshare)' }, async () => {
    const directory = mkdtempSync(join(tmpdir(), 'beckon-full-'));
    const ops = await freePort();
    const ports = ['--ops-port', String(ops), '--endpoint-port', '0', '--edge-port', '0', '--retry-port', '0'];
    const server = spawn('unshare', [
        ...OWN, 'sh', '-c', 'mount -t tmpfs -o size=16m full "$0" && exec "$@"', directory,
        BECKON, 'standalone', '--data', join(directory, 'data'), '--log-format', 'json', ...ports,
    ], { stdio: ['ignore', 'ignore', 'pipe'] });
    let output = '';
    server.stderr.on('data', (data) => (output += data));
    const ended = new Promise((resolve) => server.once('exit', (code, signal) => resolve({ code, signal })));
    const answer = async (path) => {
        const reply = await fetch(`http://127.0.0.1:${ops}${path}`);
        return { status: reply.status, text: await reply.text() };
    };
    try {
        await until('the reason at /ready', async () => {
            const { status, text } = await answer('/ready');
            return status === 503 && /has \d+ MiB free, and a start needs 64 MiB/.test(text);
        }, 60000).catch((error) => {
            throw new Error(`${error.message}\n${output}`);
        });
        assert.equal((await answer('/live')).status, 200);
        assert.equal(output.match(/"event":"no_room"/g).length, 1);

        const more = spawnSync('nsenter', ['--target', String(server.pid), ...THEIRS, 'mount', '-o', 'remount,size=512m', directory]);
        assert.equal(more.status, 0, String(more.stderr));
        await until('ready with room', async () => (await answer('/ready')).status === 200, 60000).catch((error) => {
            throw new Error(`${error.message}\n${output}`);
        });
        assert.match(output, /"event":"room_again"/);
        server.kill('SIGTERM');
        assert.deepEqual(await ended, { code: 0, signal: null });
    } finally {
        server.kill('SIGKILL');
        await ended;
        rmSync(directory, { recursive: true, force: true });
    }
});
