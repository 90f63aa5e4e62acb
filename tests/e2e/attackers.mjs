// Attackers of an endpoint, each described by its acts on one connection. As a module: the table of them. As a process
// of its own (`forkAttack`): all attack at once, and each connects again when it was closed.
import { fork } from 'node:child_process';
import net from 'node:net';
import tls from 'node:tls';
import { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';

const AGAIN_MS = 100; // it is the server that is measured, not who burns more of the machine

/** A connection that stands; `over` resolves when it has ended, whoever ended it. */
export function connect(port) {
    return new Promise((resolve, reject) => {
        const socket = net.connect(port, '127.0.0.1');
        socket.over = new Promise((done) => socket.once('close', done));
        socket.on('error', () => {});
        socket.once('connect', () => resolve(socket));
        socket.once('error', reject);
    });
}

/** Writes `piece` as fast as the server takes it, until the connection ends. */
function pump(socket, piece) {
    while (!socket.destroyed && socket.writable && socket.write(piece));
    if (!socket.destroyed) socket.once('drain', () => pump(socket, piece));
}

function drip(socket, head) {
    socket.write(head);
    const timer = setInterval(() => socket.writable && socket.write('x'), 1000);
    socket.once('close', () => clearInterval(timer));
    socket.resume();
}

const post = (path, more) => `POST ${path} HTTP/1.1\r\nHost: x\r\nTTL: 0\r\n${more}`;
const chunked = (path) => post(path, 'Transfer-Encoding: chunked\r\n\r\n');

/**
 * name → {reason, count, act}: what it is closed for (a label of beckon_ingest_closed_total), how many
 * come at once, and what one does; `act(socket, path)` gets the path of an endpoint.
 */
export const ATTACKS = {
    'a byte a second of a head': {
        reason: 'deadline',
        count: 250,
        act: (socket, path) => drip(socket, `POST ${path} HTTP/1.1\r\nHost: x\r\nX-Slow: `),
    },
    'a byte a second of a body': {
        reason: 'deadline',
        count: 250,
        act: (socket, path) => drip(socket, post(path, 'Content-Length: 4000\r\n\r\n')),
    },
    'silence': { reason: 'deadline', count: 50, act: (socket) => socket.resume() },
    '100,000 header fields': {
        reason: 'header_too_large',
        count: 5,
        act: (socket, path) => socket.resume().write(post(path, 'A: b\r\n'.repeat(100_000))),
    },
    '20 MB of one header': {
        reason: 'header_too_large',
        count: 5,
        act: (socket, path) => socket.resume().write(post(path, `B: ${'z'.repeat(20 << 20)}\r\n\r\n`)),
    },
    'endless chunks': {
        reason: 'body_too_large',
        count: 5,
        act: (socket, path) => {
            socket.resume().write(chunked(path));
            pump(socket, `1000\r\n${'y'.repeat(4096)}\r\n`);
        },
    },
    'an endless chunk extension': {
        reason: 'header_too_large',
        count: 5,
        act: (socket, path) => {
            socket.resume().write(`${chunked(path)}1;`);
            pump(socket, 'e'.repeat(4096));
        },
    },
    'endless trailers': {
        reason: 'header_too_large',
        count: 5,
        act: (socket, path) => {
            socket.resume().write(`${chunked(path)}0\r\n`);
            pump(socket, 'A: b\r\n'.repeat(500));
        },
    },
    'half a request, then half a close': {
        reason: 'by_peer',
        count: 100,
        act: (socket, path) => socket.resume().end(post(path, '')),
    },
    'pipelined requests whose replies nobody reads': {
        reason: 'deadline',
        count: 20,
        act: (socket) => pump(socket.pause(), 'GET /status HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200)),
    },
    'pipelined messages whose replies nobody reads': {
        reason: 'deadline',
        count: 20,
        act: (socket, path) => pump(socket.pause(), post(path, 'Content-Length: 0\r\n\r\n').repeat(200)),
    },
    'no HTTP': { reason: 'bad_request', count: 50, act: (socket) => socket.resume().write('\x16\x03\x01\x02\r\n\r\n') },
};

/** Attackers of a port that speaks TLS. */
export const TLS_ATTACKS = {
    'silence': { reason: 'deadline', count: 50, act: (socket) => socket.resume() },
    'the beginning of a ClientHello': {
        reason: 'deadline',
        count: 50,
        act: (socket) => socket.resume().write(Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3])),
    },
    'a ClientHello, and no answer to the ServerHello': {
        reason: 'deadline',
        count: 50,
        act: (socket) => {
            let sent = false;
            const once = new Duplex({
                read() {},
                write(data, _encoding, done) {
                    if (!sent) socket.write(data);
                    sent = true;
                    done();
                },
            });
            socket.on('data', (data) => once.push(data));
            tls.connect({ socket: once, rejectUnauthorized: false }).on('error', () => {});
        },
    },
    'no TLS': { reason: 'tls', count: 50, act: (socket) => socket.resume().write('GET / HTTP/1.1\r\nHost: x\r\n\r\n') },
};

/** Starts all attacks against a port; resolves when all stand. `end()` stops them. */
export async function forkAttack(port, path) {
    const child = fork(fileURLToPath(import.meta.url), [String(port), path]);
    const exited = new Promise((resolve) => child.once('exit', resolve));
    await new Promise((resolve, reject) => {
        child.once('message', resolve);
        child.once('exit', (code) => reject(new Error(`the attackers ended with ${code}`)));
    });
    return {
        end: () => {
            child.kill('SIGKILL');
            return exited;
        },
    };
}

async function attackForever({ act }, port, path) {
    for (;;) {
        const socket = await connect(port).catch(() => null);
        if (socket) act(socket, path);
        await socket?.over;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    process.once('disconnect', () => process.exit(0)); // the test has gone
    const [port, path] = process.argv.slice(2);
    for (const attack of Object.values(ATTACKS)) {
        for (let i = 0; i < attack.count; ++i) attackForever(attack, Number(port), path);
    }
    setTimeout(() => process.send('all stand'), 1000);
}
