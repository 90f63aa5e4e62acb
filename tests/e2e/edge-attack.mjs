// The edge under attack: 10,000 handshakes at a time and some frames that are begun and not ended, floods of legal
// messages, claims of a gigabyte, bytes that are no text. Each of them ends with its reason in the metrics; while all of
// them come and come again, honest clients keep their connections and get their messages at the rate at which they are
// sent, and memory stays flat.
//
//   node --test edge-attack.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const UPGRADE = 'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
const AGAIN_MS = 50; // an attacker that was sent away comes again
const HONEST = 10;
const RATE = 50; // messages a second to all honest clients: far below what the server can do
const SECONDS = 4;
const HALF_OPEN = 10000;
const HELLO_TIMEOUT = '30s'; // a loaded machine takes long to connect them: some end while others begin
const GROWTH_MAX_KB = 192 << 10; // write buffers of the log and of the store fill meanwhile
const FURTHER_MAX_KB = 64 << 10; // while they come again: write buffers go on filling
const LIMIT = 120000;

/** A frame as a client sends it, masked with zeros; `claimed`: a length that is not kept to. */
function frame(opcode, payload, claimed = payload.length) {
    const head = Buffer.alloc(14);
    head[0] = 0x80 | opcode;
    head[1] = 0xff;
    head.writeBigUInt64BE(BigInt(claimed), 2);
    return Buffer.concat([head, Buffer.from(payload)]);
}
const HELLO = frame(1, '{"messageType":"hello","use_webpush":true}');
const LEGAL = frame(1, '{"messageType":"broadcast_subscribe","broadcasts":{}}');

/** The bytes that an attacker sends once it is connected, or once it is upgraded, and the name of its end. */
const ATTACKS = {
    'a handshake that is begun': { count: HALF_OPEN + 2000, plain: UPGRADE.slice(0, 40), refused: 'handshake_timeout' },
    'a frame that is begun': { count: 50, frames: [HELLO, frame(1, 'ten bytes.', 1000)], closed: 'unfinished' },
    'a flood of legal messages': { count: 5, frames: [HELLO, ...Array(3000).fill(LEGAL)], closed: 'flood' },
    'a claim of a gigabyte': { count: 20, frames: [HELLO, frame(1, 'ten bytes.', 2 ** 30)], closed: 'too_big' },
    'a binary message': { count: 20, frames: [HELLO, frame(2, 'x')], closed: 'unsupported' },
    'bytes that are no text': { count: 20, frames: [frame(1, Buffer.from([0xff, 0xfe]))], closed: 'protocol' },
};

/** One attacker, again and again. */
function attack(port, { plain, frames }) {
    const socket = connectTcp(port, '127.0.0.1', () => socket.write(plain ?? UPGRADE));
    if (frames) socket.once('data', () => socket.write(Buffer.concat(frames)));
    socket.on('error', () => {});
    socket.on('end', () => socket.destroy());
    socket.on('close', () => setTimeout(attack, AGAIN_MS, port, { plain, frames }));
    socket.resume();
}

if (process.argv[2] === '--attack') {
    const [port, name] = process.argv.slice(3);
    for (let i = 0; i < ATTACKS[name].count; ++i) attack(Number(port), ATTACKS[name]);
} else {
    const cluster = new Cluster('embedded', {
        plain: true,
        endpoint: ['--test-hello-timeout', HELLO_TIMEOUT, '--embedded-sync', 'never'],
    });
    const honest = [];
    before(async () => {
        await cluster.prepare();
        await cluster.start();
        for (let i = 0; i < HONEST; ++i) {
            const client = new UserAgent(cluster.websocket);
            honest.push(client);
            await client.connect();
            await client.register();
        }
    });
    after(async () => {
        for (const client of honest) client.end();
        await cluster.end();
    });

    let sent = 0;
    /** Messages a second that honest clients get of those that are sent at RATE. */
    async function throughput() {
        const begin = performance.now();
        const wanted = RATE * SECONDS;
        const posts = [];
        const had = honest.reduce((sum, client) => sum + client.versions.size, 0);
        for (let i = 0; i < wanted; ++i) {
            const wait = begin + (i * 1000) / RATE - performance.now();
            if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
            posts.push(post(honest[i % HONEST].endpoint, `message ${++sent}`));
        }
        for (const { status } of await Promise.all(posts)) assert.equal(status, 201);
        await until('every message', () => honest.reduce((sum, client) => sum + client.versions.size, 0) === had + wanted, LIMIT);
        return (wanted * 1000) / Math.max(performance.now() - begin, SECONDS * 1000);
    }
    const residentKilobytes = () => Number(readFileSync(`/proc/${cluster.pid()}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);

    /** A process for each attack: one has file descriptors for 10,000 connections, not for all. */
    const attackers = () => Object.keys(ATTACKS).map((name) => spawn(process.execPath, [fileURLToPath(import.meta.url), '--attack', String(cluster.ports.edge), name], { stdio: 'inherit' }));

    test('honest clients keep their connections and their rate, and memory stays flat', async (t) => {
        const peaceful = await throughput();
        const before = residentKilobytes();
        const attacking = attackers();
        try {
            await until(`${HALF_OPEN} half-open handshakes`, async () => (await cluster.metric('beckon_edge_open_connections')) > HALF_OPEN, LIMIT);
            const attacked = await throughput();
            for (const [name, { refused, closed }] of Object.entries(ATTACKS)) {
                const metric = refused ? 'beckon_edge_refused_total' : 'beckon_edge_closed_total';
                await until(`${name}: ${refused ?? closed}`, async () => (await cluster.metric(metric, `reason="${refused ?? closed}"`)) > 0, LIMIT);
            }
            const grown = residentKilobytes() - before;
            await until('a second wave', async () => (await cluster.metric('beckon_edge_refused_total', 'reason="handshake_timeout"')) > HALF_OPEN, LIMIT);
            const again = await throughput();
            const further = residentKilobytes() - before - grown;
            t.diagnostic(`${attacked.toFixed(1)} and ${again.toFixed(1)} of ${peaceful.toFixed(1)}/s; ${grown} KB more, then ${further} KB`);
            assert(Math.min(attacked, again) >= 0.8 * peaceful, `${attacked} and ${again} of ${peaceful} messages a second arrived`);
            assert(grown < GROWTH_MAX_KB, `resident memory grew by ${grown} KB during the attack`);
            assert(further < FURTHER_MAX_KB, `resident memory grew by ${further} KB more during the second wave`);
            assert.deepEqual(honest.flatMap((client) => [...client.closes, ...client.faults]), []);
        } finally {
            for (const attacker of attacking) attacker.kill();
        }
    });
}
