// A data directory on a full disk, at a start and while serving: the process stays, says what is missing, and
// goes on by itself when there is space. The disk is a tmpfs in a mount namespace of its own.
//
//   node full-disk.mjs
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { BECKON, freePort, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const root = process.getuid() === 0;
const OWN = root ? ['--mount'] : ['--map-root-user', '--mount'];
const THEIRS = root ? ['--mount'] : ['--user', '--preserve-credentials', '--mount'];
const allowed = spawnSync('unshare', [...OWN, 'true']).status === 0;
const skip = !allowed && 'this host allows no namespaces (unshare)';

/** A standalone whose data directory is on a disk of its own. */
class OnSmallDisk {
    constructor(size) {
        this.size = size;
        this.directory = mkdtempSync(join(tmpdir(), 'beckon-full-'));
        this.output = '';
    }

    async start() {
        const [ops, endpoint, edge] = [await freePort(), await freePort(), await freePort()];
        this.ops = ops;
        this.websocket = `ws://127.0.0.1:${edge}/`;
        const ports = { ops, endpoint, edge, retry: 0, console: 0 };
        const options = Object.entries(ports).flatMap(([role, port]) => [`--${role}-port`, String(port)]);
        this.server = spawn('unshare', [
            ...OWN, 'sh', '-c', `mount -t tmpfs -o size=${this.size} full "$0" && exec "$@"`, this.directory,
            BECKON, 'standalone', '--data', join(this.directory, 'data'), '--log-format', 'json', ...options,
        ], { stdio: ['ignore', 'ignore', 'pipe'] });
        this.server.stderr.on('data', (data) => (this.output += data));
        this.ended = new Promise((resolve) => this.server.once('exit', (code, signal) => resolve({ code, signal })));
    }

    /** Runs a command where that disk is mounted. */
    inside(...command) {
        return spawnSync('nsenter', ['--target', String(this.server.pid), ...THEIRS, ...command], { encoding: 'utf8' });
    }

    async answer(path) {
        const reply = await fetch(`http://127.0.0.1:${this.ops}${path}`);
        return { status: reply.status, text: await reply.text() };
    }

    /** Polls, and shows the output of the process if that takes too long. */
    wait(what, check) {
        return until(what, check, 60000).catch((error) => {
            throw new Error(`${error.message}\n${this.output}`);
        });
    }

    async end() {
        this.server.kill('SIGKILL');
        await this.ended;
        rmSync(this.directory, { recursive: true, force: true });
    }
}

describe('a full disk', { concurrency: true, skip }, () => {
    test('a start on a full disk waits for space', async () => {
        const disk = new OnSmallDisk('16m');
        await disk.start();
        try {
            await disk.wait('the reason at /ready', async () => {
                const { status, text } = await disk.answer('/ready');
                return status === 503 && /has \d+ MiB free, and a start needs 64 MiB/.test(text);
            });
            assert.equal((await disk.answer('/live')).status, 200);
            assert.equal(disk.output.match(/"event":"no_space"/g).length, 1);

            const more = disk.inside('mount', '-o', 'remount,size=512m', disk.directory);
            assert.equal(more.status, 0, more.stderr);
            await disk.wait('ready with space', async () => (await disk.answer('/ready')).status === 200);
            assert.match(disk.output, /"event":"space_again"/);
            disk.server.kill('SIGTERM');
            assert.deepEqual(await disk.ended, { code: 0, signal: null });
        } finally {
            await disk.end();
        }
    });

    test('a disk that fills up while serving refuses messages, keeps clients, and loses nothing', async () => {
        const disk = new OnSmallDisk('192m');
        await disk.start();
        try {
            await disk.wait('ready', async () => (await disk.answer('/ready')).status === 200);
            const client = new UserAgent(disk.websocket);
            await client.connect();
            const endpoint = await client.register();
            const accepted = [];
            const send = async () => {
                const { status, id } = await post(endpoint, `message ${accepted.length} ${'x'.repeat(2000)}`);
                if (status === 201) accepted.push(id);
                return status;
            };
            for (let i = 0; i < 20; ++i) assert.equal(await send(), 201);

            disk.inside('sh', '-c', 'cat /dev/zero > "$0/fill"', disk.directory); // until there is no space
            await disk.wait('503 from the endpoint', async () => (await send()) === 503);
            await disk.wait('the reason at /ready', async () => {
                const { status, text } = await disk.answer('/ready');
                return status === 503 && /disk|space/i.test(text);
            });
            for (let i = 0; i < 20; ++i) assert.notEqual(await send(), 0); // always an answer
            assert.equal((await disk.answer('/live')).status, 200);
            const pong = new Promise((resolve) => client.socket.once('pong', resolve));
            client.socket.ping();
            await pong;

            assert.equal(disk.inside('rm', join(disk.directory, 'fill')).status, 0);
            await disk.wait('201 again', async () => (await send()) === 201);
            await disk.wait('ready again', async () => (await disk.answer('/ready')).status === 200);
            for (let i = 0; i < 20; ++i) assert.equal(await send(), 201);
            await disk.wait('all that got 201', () => accepted.every((id) => client.versions.has(id)));
            assert.deepEqual(client.closes, []); // on one connection
            assert.deepEqual(client.faults, []);
            client.end();
            disk.server.kill('SIGTERM');
            assert.deepEqual(await disk.ended, { code: 0, signal: null });
        } finally {
            await disk.end();
        }
    });
});
