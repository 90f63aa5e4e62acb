// What the window of unacknowledged messages costs an edge: the memory of a standalone whose clients get messages without
// a body and never acknowledge, and of one whose clients are idle. The messages are accepted once, before, while nobody is
// connected; the difference of the two figures is what the messages under way cost.
//
//   node window-memory.mjs --state DIR [--clients 17000] [--messages 512] [--minutes 7]
//
// One call sends for so many minutes at most, and the next one goes on: DIR holds the data between them.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BECKON, freePort, until } from './beckon.mjs';
import WebSocket from 'ws';

const { values } = parseArgs({
    options: {
        state: { type: 'string' }, clients: { type: 'string', default: '17000' }, messages: { type: 'string', default: '512' },
        minutes: { type: 'string', default: '7' }, hold: { type: 'string' },
    },
});
const CLIENTS = Number(values.clients);
const MESSAGES = Number(values.messages);
const EACH = 8500; // clients of one process
const AT_ONCE = 100; // connections that one process opens at a time
const SENDERS = 16;
const PIPELINE = 64; // POSTs under way on each
const file = join(values.state, 'state.json');

/** Opens clients from..to: new ones register a channel, old ones come back. Prints its clients as JSON, then the number of frames each second. */
async function hold({ url, clients }) {
    let frames = 0;
    const open = (client) => new Promise((resolve, reject) => {
        const socket = new WebSocket(url, 'push-notification', { perMessageDeflate: false, localAddress: '127.0.0.1' });
        const say = (message) => socket.send(JSON.stringify(message));
        socket.once('error', reject);
        socket.once('open', () => say({ messageType: 'hello', use_webpush: true, ...(client.uaid && { uaid: client.uaid }) }));
        socket.on('message', (text) => {
            if (text.indexOf('"notification"') >= 0) return void ++frames;
            const message = JSON.parse(text);
            if (message.messageType === 'hello') {
                if (client.uaid && client.uaid !== message.uaid) reject(new Error('a client got another UAID'));
                const known = client.uaid;
                client.uaid = message.uaid;
                if (known) return resolve();
                say({ messageType: 'register', channelID: crypto.randomUUID() });
            } else if (message.messageType === 'register') {
                client.path = new URL(message.pushEndpoint).pathname;
                resolve();
            }
        });
    });
    for (let i = 0; i < clients.length; i += AT_ONCE) await Promise.all(clients.slice(i, i + AT_ONCE).map(open));
    console.log(JSON.stringify(clients));
    setInterval(() => console.log(frames), 1000);
    process.stdin.once('end', () => process.exit(0));
}

async function start(more = []) {
    const ports = { edge: await freePort(), endpoint: await freePort(), ops: await freePort(), retry: await freePort(), console: await freePort() };
    const process = spawn(BECKON, [
        'standalone', '--data', join(values.state, 'data'), '--embedded-sync', 'never', '--log-format', 'json', '--edge-ping-interval', '10min',
        '--test-hello-timeout', '2min', '--endpoint-url', `http://127.0.0.1:${ports.endpoint}`,
        ...Object.entries(ports).flatMap(([name, port]) => [`--${name}-port`, String(port)]), ...more,
    ], { stdio: ['ignore', 'ignore', 'inherit'] });
    const server = { ports, process, exited: new Promise((resolve) => process.once('exit', resolve)) };
    await until('readiness', async () => (await fetch(`http://127.0.0.1:${ports.ops}/ready`)).ok, 300000);
    return server;
}
async function stop(server) {
    server.process.kill('SIGTERM');
    await server.exited;
}

/** Processes of clients; `frames()` is how many notifications all of them have had. */
async function holders(server, clients) {
    const children = [];
    const counts = [];
    const all = [];
    for (let from = 0; from < clients.length; from += EACH) {
        const child = spawn(process.execPath, [fileURLToPath(import.meta.url), '--state', values.state, '--hold', '-'], { stdio: ['pipe', 'pipe', 'inherit'] });
        children.push(child);
        child.stdin.write(`${JSON.stringify({ url: `ws://127.0.0.1:${server.ports.edge}/`, clients: clients.slice(from, from + EACH) })}\n`);
        const index = counts.push(0) - 1;
        let text = '';
        await new Promise((resolve, reject) => {
            child.once('exit', () => reject(new Error('a process of clients has ended')));
            child.stdout.on('data', (data) => {
                const lines = (text += data).split('\n');
                text = lines.pop();
                for (const line of lines) {
                    if (line.startsWith('[')) {
                        all.push(...JSON.parse(line));
                        resolve();
                    } else counts[index] = Number(line);
                }
            });
        });
    }
    return { clients: all, frames: () => counts.reduce((sum, count) => sum + count, 0), end: () => children.forEach((child) => child.kill()) };
}

/** Sends from message `sent` on, one to each client in turn, until all are sent or `end`; returns how many are. */
async function send(port, clients, sent, end) {
    const all = CLIENTS * MESSAGES;
    let accepted = sent;
    const request = (n) => `POST ${clients[n % CLIENTS].path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nTTL: 2000000\r\nContent-Length: 0\r\n\r\n`;
    await Promise.all(Array.from({ length: SENDERS }, () => new Promise((resolve, reject) => {
        const socket = connect(port, '127.0.0.1');
        let under = 0;
        const fill = () => {
            let text = '';
            for (; under < PIPELINE && sent < all && Date.now() < end; ++under) text += request(sent++);
            if (text) socket.write(text);
            else if (under === 0) socket.end(resolve);
        };
        let rest = '';
        socket.setEncoding('latin1').on('connect', fill).on('error', reject).on('data', (data) => {
            const parts = (rest + data).split('HTTP/1.1 ');
            rest = parts.pop();
            if (rest.includes('\r\n\r\n')) {
                parts.push(rest);
                rest = '';
            } else rest = `HTTP/1.1 ${rest}`;
            for (const part of parts) {
                if (!part) continue;
                if (!part.startsWith('201')) return reject(new Error(part));
                --under;
                ++accepted;
            }
            if (under < PIPELINE / 2) fill();
        });
    })));
    return accepted;
}

const memoryOf = (pid) => Math.round(Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024);

async function measure(what, options, clients, wanted) {
    const server = await start(options);
    const idle = memoryOf(server.process.pid);
    const held = await holders(server, clients);
    let most = 0;
    await until('all that the window lets through', () => {
        most = Math.max(most, memoryOf(server.process.pid));
        return held.frames() >= wanted;
    }, 900000);
    await new Promise((resolve) => setTimeout(resolve, 5000));
    const memory = memoryOf(server.process.pid);
    console.log(`${what}: ${memory} MB with ${held.frames()} frames unacknowledged by ${CLIENTS} clients (most ${Math.max(most, memory)} MB; ${idle} MB after the start)`);
    held.end();
    await stop(server);
    return memory;
}

if (values.hold) {
    let text = '';
    process.stdin.on('data', (data) => {
        text += data;
        if (text.endsWith('\n')) {
            const given = JSON.parse(text);
            text = '';
            hold(given);
        }
    });
} else {
    mkdirSync(values.state, { recursive: true });
    const state = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { clients: [], sent: 0 };
    const end = Date.now() + Number(values.minutes) * 60000;
    if (state.clients.length < CLIENTS || state.sent < CLIENTS * MESSAGES) {
        const server = await start();
        if (state.clients.length < CLIENTS) {
            const held = await holders(server, Array.from({ length: CLIENTS }, () => ({})));
            state.idle = memoryOf(server.process.pid);
            console.log(`${CLIENTS} idle clients: ${state.idle} MB`);
            state.clients = held.clients;
            held.end();
        }
        state.sent = await send(server.ports.endpoint, state.clients, state.sent, end);
        await stop(server);
        writeFileSync(file, JSON.stringify(state));
        console.log(`${state.sent} of ${CLIENTS * MESSAGES} messages are accepted`);
    }
    if (state.sent >= CLIENTS * MESSAGES) {
        const all = await measure('the window', [], state.clients, CLIENTS * MESSAGES);
        console.log(`${Math.round(((all - state.idle) * 1024) / CLIENTS)} KB more for each client`);
    }
}
