// Under attack: idle keep-alive connections, drippers, endless heads and bodies, half-closed sockets and
// TLS handshakes that stop half way. Honest senders keep their rate, memory stays flat, and the attackers
// are closed with a named reason in the metrics.
//
//   node attack.mjs
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { UserAgent } from './client.mjs';

const RATE = 200; // honest requests per second, far below what the server can do
const SECONDS = 3;
const IDLE = 8000; // with both ends in two processes of at most 20,000 descriptors each

let cluster;
let client;
let endpoint;
let honest;

/** One server for all: plain HTTP, so that the attackers' own cost stays small; TLS has a test of its own. */
class PlainCluster extends Cluster {
    async start() {
        this.endpoint = `http://127.0.0.1:${this.ports.endpoint}`;
        this.spawn('standalone', [
            ...this.common('standalone', this.ports.ops), '--edge-port', String(this.ports.edge), '--partitions', '2',
            '--endpoint-request-deadline', '2s', '--endpoint-keep-alive', '60s', '--embedded-sync', 'never',
        ]);
        await this.ready('standalone', this.ports.ops);
    }
    pid() {
        return this.children.get('standalone').process.pid;
    }
}

async function metric(name, labels = '') {
    const text = await (await fetch(`http://127.0.0.1:${cluster.ports.ops}/metrics`)).text();
    const line = text.split('\n').find((l) => l.startsWith(name) && l.includes(labels) && !l.startsWith('#'));
    return line ? Number(line.split(' ').pop()) : 0;
}

function residentKilobytes() {
    return Number(readFileSync(`/proc/${cluster.pid()}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);
}

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
    const results = [];
    const begin = performance.now();
    for (let i = 0; i < RATE * SECONDS; ++i) {
        const wait = begin + (i * 1000) / RATE - performance.now();
        if (wait > 1) await new Promise((resolve) => setTimeout(resolve, wait));
        results.push(send());
    }
    const statuses = await Promise.race([
        Promise.all(results),
        new Promise((resolve) => setTimeout(resolve, SECONDS * 1000 + 3000, [])),
    ]);
    return statuses.filter((status) => status === 201).length;
}

function connect(port = cluster.ports.endpoint) {
    return new Promise((resolve, reject) => {
        const socket = net.connect(port, '127.0.0.1');
        socket.closed_ = new Promise((done) => socket.once('close', done));
        socket.received = '';
        socket.on('data', (data) => (socket.received = (socket.received + data).slice(-2000)));
        socket.on('error', () => {});
        socket.once('connect', () => resolve(socket));
        socket.once('error', reject);
    });
}

async function connectMany(count, act) {
    const sockets = [];
    for (let i = 0; i < count; i += 200) {
        const batch = await Promise.all(Array.from({ length: Math.min(200, count - i) }, () => connect()));
        for (const socket of batch) act?.(socket);
        sockets.push(...batch);
    }
    return sockets;
}

before(async () => {
    cluster = new PlainCluster('embedded');
    await cluster.prepare();
    await cluster.start();
    client = new UserAgent(cluster.websocket);
    await client.connect();
    endpoint = await client.register();
    honest = new http.Agent({ keepAlive: true, maxSockets: 16 });
    assert((await honestThroughput()) > 0); // warm
});

after(async () => {
    client.wanted = false;
    client.socket.terminate();
    honest.destroy();
    await cluster.stop();
    await cluster.destroy();
});

test('honest senders keep their rate and memory stays flat under every attack at once', async () => {
    const peaceful = await honestThroughput();
    const path = new URL(endpoint).pathname;
    const idle = await connectMany(IDLE, (socket) => socket.write('GET /__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n'));
    await until('idle connections answered', () => idle.every((socket) => socket.received));
    const before = residentKilobytes();

    const dripping = [];
    const drip = (head) => (socket) => {
        socket.write(head);
        dripping.push(setInterval(() => socket.write('x'), 1000));
    };
    const drippers = [
        ...(await connectMany(250, drip(`POST ${path} HTTP/1.1\r\nHost: x\r\nX-Slow: `))),
        ...(await connectMany(250, drip(`POST ${path} HTTP/1.1\r\nHost: x\r\nTTL: 0\r\nContent-Length: 4000\r\n\r\n`))),
    ];
    const endless = await connectMany(10, (socket) => {
        socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nTTL: 0\r\nTransfer-Encoding: chunked\r\n\r\n`);
        const chunk = `1000\r\n${'y'.repeat(4096)}\r\n`;
        const pump = () => {
            while (!socket.destroyed && socket.write(chunk));
            if (!socket.destroyed) socket.once('drain', pump);
        };
        pump();
    });
    const heads = await connectMany(10, (socket) => {
        socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\n`);
        socket.write('A: b\r\n'.repeat(100000));
        socket.write(`B: ${'z'.repeat(20 << 20)}\r\n\r\n`);
    });
    const halfClosed = await connectMany(200, (socket) => socket.end(`POST ${path} HTTP/1.1\r\nHost: x\r\n`));

    const attacked = await honestThroughput();
    assert(attacked >= 0.8 * peaceful, `${attacked} of ${peaceful} honest requests were served`);

    await Promise.all([...endless, ...heads, ...halfClosed].map((socket) => socket.closed_));
    await Promise.all(drippers.map((socket) => socket.closed_));
    dripping.forEach(clearInterval);
    // On a busy machine the deadline may come before the limit, so the sum is what must be right.
    const reasons = {};
    for (const reason of ['deadline', 'header_too_large', 'body_too_large']) {
        reasons[reason] = await metric('beckon_ingest_closed_total', `reason="${reason}"`);
        assert(reasons[reason] > 0, `nobody was closed for ${reason}: ${JSON.stringify(reasons)}`);
    }
    const named = Object.values(reasons).reduce((sum, count) => sum + count);
    assert(named >= drippers.length + heads.length + endless.length, JSON.stringify(reasons));
    const grown = residentKilobytes() - before;
    assert(grown < 32 << 10, `resident memory grew by ${grown} KB during the attack`);
    assert(idle.every((socket) => !socket.destroyed), 'an idle keep-alive connection was closed before its time');
    for (const socket of idle) socket.destroy();
});

test('pipelined requests are answered in order', async () => {
    const socket = await connect();
    const path = new URL(endpoint).pathname;
    const ttls = Array.from({ length: 50 }, (_, i) => i + 1);
    socket.received = '';
    let all = '';
    socket.on('data', (data) => (all += data));
    socket.write(ttls.map((ttl) => `POST ${path} HTTP/1.1\r\nHost: x\r\nTTL: ${ttl}\r\nContent-Length: 0\r\n\r\n`).join(''));
    await until('50 answers', () => (all.match(/HTTP\/1\.1 201/g) ?? []).length === 50);
    assert.deepEqual([...all.matchAll(/^TTL: (\d+)/gim)].map((match) => Number(match[1])), ttls);
    socket.destroy();
});

test('TLS handshakes that stop half way are closed', async () => {
    const tls = new Cluster('embedded');
    await tls.prepare();
    tls.spawn('standalone', [
        ...tls.common('standalone', tls.ports.ops), '--edge-port', String(tls.ports.edge), '--endpoint-self-signed', 'true',
        '--endpoint-request-deadline', '1s',
    ]);
    try {
        await tls.ready('standalone', tls.ports.ops);
        const silent = await Promise.all(Array.from({ length: 100 }, () => connect(tls.ports.endpoint)));
        // The first bytes of a ClientHello that never ends.
        for (const socket of silent.slice(50)) socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]));
        await Promise.all(silent.map((socket) => socket.closed_));
        const text = await (await fetch(`http://127.0.0.1:${tls.ports.ops}/metrics`)).text();
        const closed = (reason) => Number(text.match(new RegExp(`beckon_ingest_closed_total\\{reason="${reason}"\\} (\\d+)`))?.[1] ?? 0);
        assert(closed('tls') + closed('deadline') >= 100, text.split('\n').filter((l) => l.includes('closed_total')).join('\n'));
        await tls.stop();
    } catch (error) {
        throw new Error(`${error.message}\n${tls.outputs()}`);
    } finally {
        await tls.destroy();
    }
});
