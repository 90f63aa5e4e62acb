// Under attack: idle keep-alive connections, drippers, endless heads, bodies and pipelines, half-closed
// sockets and TLS handshakes that stop half way. Each attacker is closed with a named reason in the
// metrics; while all of them come at once and come again, honest senders keep their rate and memory
// stays flat.
//
//   node attack.mjs
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { after, before, describe, test } from 'node:test';
import { ATTACKS, TLS_ATTACKS, connect, forkAttack } from './attackers.mjs';
import { Cluster, until } from './beckon.mjs';
import { startWithClient } from './client.mjs';

const RATE = 400; // honest requests per second, far below what the server can do
const SECONDS = 4;
const IDLE_WANTED = 10_000;
const OTHER_DESCRIPTORS = 1500; // of either process: attackers, honest senders, stores
const LOG_BUFFERS_KB = 64 << 10; // that the embedded log may fill with what the attackers write
const GROWTH_MAX_KB = LOG_BUFFERS_KB + (32 << 10);
const IDLE_BYTES_MAX = 4096; // of one idle connection

/** Descriptors that a process may have here: a connection takes one at either end. */
const descriptors = Number(readFileSync('/proc/self/limits', 'utf8').match(/Max open files +\d+ +(\d+)/)[1]);
const IDLE = Math.min(IDLE_WANTED, descriptors - OTHER_DESCRIPTORS);

/** All reasons with their counts. */
async function closed(cluster) {
    const text = await (await fetch(`http://127.0.0.1:${cluster.ports.ops}/metrics`)).text();
    const lines = text.matchAll(/^beckon_ingest_closed_total\{reason="(\w+)"\} (\d+)/gm);
    return Object.fromEntries([...lines].map(([, reason, count]) => [reason, Number(count)]));
}

/** Each attacker alone: how it ends, and how the server calls that. */
function eachIsClosed(attacks, cluster, path) {
    for (const [name, { reason, count, act }] of Object.entries(attacks)) {
        test(`${name}: closed, and the reason is ${reason}`, async () => {
            const before = await closed(cluster);
            const sockets = await Promise.all(Array.from({ length: count }, () => connect(cluster.ports.endpoint)));
            for (const socket of sockets) act(socket, path());
            const reasons = await until(`${count} times ${reason}`, async () => {
                const now = await closed(cluster);
                const since = Object.entries(now).map(([key, value]) => [key, value - before[key]]).filter(([, value]) => value > 0);
                return since.reduce((sum, [, value]) => sum + value, 0) >= count && Object.fromEntries(since);
            });
            for (const socket of sockets) socket.destroy();
            // On a busy machine the deadline may come first, even for those that are in a hurry.
            const { deadline = 0, [reason]: named = 0 } = reasons;
            assert.equal(reason === 'deadline' ? deadline : named + deadline, count, JSON.stringify(reasons));
            assert(named > 0, JSON.stringify(reasons));
        });
    }
}

describe('an endpoint', () => {
    const cluster = new Cluster('embedded', {
        plain: true, // the attackers' own cost stays small
        endpoint: ['--test-request-deadline', '2s', '--embedded-sync', 'never'],
    });
    const honest = new http.Agent({ keepAlive: true, maxSockets: 16 });
    let client;
    let endpoint;
    const path = () => new URL(endpoint).pathname;

    before(async () => {
        ({ client, endpoint } = await startWithClient(cluster));
    });
    after(async () => {
        client?.end();
        honest.destroy();
        await cluster.end();
    });

    function send() {
        return new Promise((resolve) => {
            const request = http.request(
                endpoint,
                { method: 'POST', agent: honest, headers: { TTL: '0', 'Content-Encoding': 'aes128gcm', 'Content-Length': 5 } },
                (response) => {
                    response.resume();
                    response.on('end', () => resolve(response.statusCode));
                },
            );
            request.on('error', () => resolve(0));
            request.end('hello');
        });
    }

    /** How many 201s honest senders get at a fixed rate. */
    async function honestThroughput() {
        const begin = performance.now();
        let accepted = 0;
        let late = 0;
        for (let i = 0; i < RATE * SECONDS; ++i) {
            const wait = begin + (i * 1000) / RATE - performance.now();
            if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
            send().then((status) => {
                if (status !== 201) return;
                ++accepted;
                late = performance.now() - begin;
            });
        }
        await until('the last answers', () => accepted === RATE * SECONDS, 3000).catch(() => {});
        return (accepted * 1000) / Math.max(late, SECONDS * 1000); // per second
    }

    const residentKilobytes = () => Number(readFileSync(`/proc/${cluster.pid()}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);

    eachIsClosed(ATTACKS, cluster, path);

    test('all attackers at once: honest senders keep their rate, memory stays flat', async (t) => {
        if (IDLE < IDLE_WANTED) t.diagnostic(`only ${IDLE} idle connections: a process may have ${descriptors} descriptors here (ulimit -Hn)`);
        await honestThroughput(); // warm
        const peaceful = await honestThroughput();
        assert(peaceful > 0.9 * RATE, `${peaceful} of ${RATE}/s without any attack: this machine is too slow to tell`);

        const empty = residentKilobytes();
        const idle = [];
        while (idle.length < IDLE) {
            const some = await Promise.all(Array.from({ length: Math.min(200, IDLE - idle.length) }, () => connect(cluster.ports.endpoint)));
            for (const socket of some) {
                socket.once('data', () => (socket.answered = true));
                socket.write('GET /__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n');
            }
            idle.push(...some);
        }
        await until('every idle connection answered', () => idle.every((socket) => socket.answered));
        const before = residentKilobytes();
        const each = ((before - empty) * 1024) / IDLE;

        const attack = await forkAttack(cluster.ports.endpoint, path());
        const attacked = await honestThroughput().finally(() => attack.end());
        const grown = residentKilobytes() - before;
        t.diagnostic(`${attacked.toFixed()} of ${peaceful.toFixed()}/s; ${grown} KB more; ${each.toFixed()} bytes for each of ${IDLE} idle connections`);
        assert(attacked >= 0.8 * peaceful, `${attacked} of ${peaceful} honest requests per second were served`);
        assert(grown < GROWTH_MAX_KB, `resident memory grew by ${grown} KB during the attack`);
        assert(each < IDLE_BYTES_MAX, `an idle connection takes ${each} bytes`);
        assert(idle.every((socket) => !socket.destroyed), 'an idle keep-alive connection was closed before its time');
        for (const socket of idle) socket.destroy();
    });

    test('pipelined requests are answered in order', async () => {
        const socket = await connect(cluster.ports.endpoint);
        const ttls = Array.from({ length: 50 }, (_, i) => i + 1);
        let all = '';
        socket.on('data', (data) => (all += data));
        socket.write(ttls.map((ttl) => `POST ${path()} HTTP/1.1\r\nHost: x\r\nTTL: ${ttl}\r\nContent-Length: 0\r\n\r\n`).join(''));
        await until('50 answers', () => (all.match(/HTTP\/1\.1 201/g) ?? []).length === 50);
        assert.deepEqual([...all.matchAll(/^TTL: (\d+)/gim)].map((match) => Number(match[1])), ttls);
        socket.destroy();
    });
});

describe('an endpoint with TLS', () => {
    const cluster = new Cluster('embedded', { endpoint: ['--test-request-deadline', '1s'] });
    before(async () => {
        await cluster.prepare();
        await cluster.start();
    });
    after(async () => {
        await cluster.end();
    });
    eachIsClosed(TLS_ATTACKS, cluster, () => '/');
});
