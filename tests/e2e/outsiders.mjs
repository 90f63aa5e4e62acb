// Programs of others at the ports of a running standalone, as they come: HAProxy's health checks, Java's HttpClient and
// curl, which ask for HTTP/2, Node's strict parser of answers, a client with gorilla/websocket; and strangers who hold
// what they can get: file descriptors, and memory for what they do not read.
//
//   node --test outsiders.mjs   (the programs: scripts/debian-packages.txt, scripts/e2e-setup.sh)
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { connect as connectTcp } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { connect } from './attackers.mjs';
import { BECKON, CACHE_HOME, Cluster, freePort, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const GORILLA = join(CACHE_HOME, 'beckon', 'e2e', 'gorilla');
const GREEDY = 250;
const HELD_MAX_KB = 110 << 10; // of the process: 32 MiB for each of its threads, and what fills meanwhile
const IDLE = 300;
const PATIENCE_MS = 10000; // for one answer, on a busy machine

const directory = mkdtempSync(join(tmpdir(), 'beckon-outsiders-'));
const cluster = new Cluster('embedded', { plain: true, console: [], endpoint: ['--embedded-sync', 'never'] });
/** A page of each port, for everybody. */
const PAGES = { ops: '/ready', console: '/', endpoint: '/status', edge: '/status', retry: '/openapi.yaml' };
const url = (name) => `http://127.0.0.1:${cluster.ports[name]}${PAGES[name]}`;

before(async () => {
    await cluster.prepare();
    await cluster.start();
});
after(async () => {
    await cluster.end();
    rmSync(directory, { recursive: true, force: true });
});

/** A command over HAProxy's socket. */
const ask = (socket, command) => new Promise((resolve, reject) => {
    let text = '';
    connectTcp(socket).on('error', reject).on('data', (data) => (text += data)).on('end', () => resolve(text)).end(`${command}\n`);
});

test("HAProxy's own health check finds every port up", async (t) => {
    const socket = join(directory, 'haproxy.sock');
    const backends = Object.entries(PAGES).map(([name, path]) =>
        ['GET', 'HEAD'].map((method) => `backend ${name}-${method}\n  option httpchk ${method} ${path}\n  server one 127.0.0.1:${cluster.ports[name]} check inter 200ms\n`).join(''));
    const file = join(directory, 'haproxy.cfg');
    writeFileSync(file, `global\n  stats socket ${socket} mode 600 level admin\ndefaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\n  timeout check 5s\n${backends.join('')}`);
    const haproxy = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
    t.after(() => haproxy.kill());
    await until('a result of every check', async () => {
        const rows = (await ask(socket, 'show stat')).split('\n').map((line) => line.split(',')).filter((row) => row[1] === 'one');
        const bad = rows.filter((row) => !row[36].startsWith('L7OK'));
        if (bad.some((row) => /^L[47](STS|RSP|TOUT|CON)/.test(row[36]))) assert.fail(bad.map((row) => `${row[0]} ${row[36]} ${row[38]}`).join('\n'));
        return rows.length === 2 * backends.length && bad.length === 0;
    });
});

test('clients that ask for HTTP/2 get their answers in HTTP/1.1', () => {
    const java = spawnSync('java', [join(HERE, 'senders', 'Ask.java'), ...Object.keys(PAGES).map(url)], { encoding: 'utf8', timeout: 60000 });
    assert.equal(java.status, 0, java.stderr);
    for (const [i, line] of java.stdout.trim().split('\n').entries()) assert.match(line, /^200 [1-9]\d* 200 0$/, `${Object.keys(PAGES)[i]}: ${line}`);
    for (const name of Object.keys(PAGES)) {
        const curl = spawnSync('curl', ['-s', '--http2', '--max-time', '5', '-o', '/dev/null', '-w', '%{http_code} %{http_version}', url(name)], { encoding: 'utf8' });
        assert.equal(curl.stdout, '200 1.1', name);
    }
});

test("Node's parser finds no fault in answers to GET, HEAD and OPTIONS", async (t) => {
    for (const name of Object.keys(PAGES)) {
        const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
        t.after(() => agent.destroy());
        const answer = (method, path = PAGES[name]) => new Promise((resolve, reject) => {
            const request = http.request({ host: '127.0.0.1', port: cluster.ports[name], path, method, agent }, (response) => {
                let body = '';
                response.on('data', (data) => (body += data)).on('end', () => resolve({ status: response.statusCode, reason: response.statusMessage, headers: response.headers, body }));
            });
            request.on('error', (error) => reject(new Error(`${name}: ${method}: ${error.message}`))).end();
        });
        for (let i = 0; i < 2; ++i) {
            const get = await answer('GET');
            const head = await answer('HEAD');
            assert.equal(head.status, 200, name);
            assert.equal(head.headers['content-length'], get.headers['content-length'], name);
            assert.equal(head.body, '', name);
        }
        const options = await answer('OPTIONS');
        assert.notEqual(options.reason, 'Unknown', name);
        for (const method of (options.headers.allow ?? 'GET').split(', ')) assert.match(method, /^[A-Z]+$/);
        if (/GET/.test(options.headers.allow)) assert.match(options.headers.allow, /HEAD/, name);
    }
});

test('a client with gorilla/websocket acknowledges in fragments, and gets nothing twice', async () => {
    const client = spawn(GORILLA, [cluster.websocket, '29'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const exited = new Promise((resolve) => client.once('exit', resolve));
    const lines = createInterface({ input: client.stdout })[Symbol.asyncIterator]();
    const endpoint = (await lines.next()).value;
    for (let i = 0; i < 29; ++i) assert.equal((await post(endpoint, `message ${i}`)).status, 201);
    assert.equal((await lines.next()).value, '0', 'no message comes again');
    assert.equal(await exited, 0);
});

const UPGRADE = 'GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n';
function frame(payload) {
    const head = Buffer.alloc(8);
    head[0] = 0x81;
    head[1] = 0xfe;
    head.writeUInt16BE(payload.length, 2);
    return Buffer.concat([head, Buffer.from(payload)]);
}

test('strangers who read nothing have a bound of memory for all of them', async (t) => {
    const kilobytes = () => Number(readFileSync(`/proc/${cluster.pid()}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);
    const honest = new UserAgent(cluster.websocket);
    await honest.connect();
    await honest.register();
    const ids = Object.fromEntries(Array.from({ length: 64 }, (_, i) => [`${String(i).padStart(3, '0')}${'x'.repeat(120)}`, 'y']));
    const ask = frame(JSON.stringify({ messageType: 'broadcast_subscribe', broadcasts: ids }));
    const hello = frame('{"messageType":"hello","use_webpush":true}');
    const before = kilobytes();
    const sockets = [];
    t.after(() => sockets.forEach((socket) => socket.destroy()));
    for (let i = 0; i < GREEDY; ++i) {
        const socket = connectTcp(cluster.ports.edge, '127.0.0.1');
        socket.on('error', () => {});
        socket.once('data', () => {
            socket.pause();
            socket.write(Buffer.concat([hello, ...Array(90).fill(ask)]));
        });
        socket.write(UPGRADE);
        sockets.push(socket);
    }
    let most = 0;
    await until('some are ended', async () => {
        most = Math.max(most, kilobytes());
        return (await cluster.metric('beckon_edge_closed_total', 'reason="slow"')) > 50;
    }, 60000);
    t.diagnostic(`${most - before} KB more`);
    assert.ok(most - before < HELD_MAX_KB, `${most - before} KB more`);
    assert.equal((await post(honest.endpoint, 'still here')).status, 201);
    await until('the honest client has its message', () => honest.versions.size === 1);
    honest.end();
});

test("strangers' idle connections take the descriptors of no other port", async (t) => {
    const ports = {};
    for (const name of Object.keys(PAGES)) ports[name] = await freePort();
    const child = spawn('bash', ['-c', 'ulimit -n 256 && exec "$0" "$@"', BECKON, 'standalone', '--data', join(directory, 'few'),
        '--embedded-sync', 'never', '--endpoint-url', `http://127.0.0.1:${ports.endpoint}`, ...Object.entries(ports).flatMap(([name, port]) => [`--${name}-port`, String(port)])]);
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const idle = [];
    t.after(async () => {
        idle.forEach((socket) => socket.destroy());
        child.kill('SIGTERM');
        await exited;
    });
    child.stdout.resume();
    child.stderr.resume();
    // A body that nobody reads would hold its connection until Node collects it, and then Node opens a dozen others at once.
    const status = async (name) => {
        const answer = await fetch(`http://127.0.0.1:${ports[name]}${PAGES[name]}`, { headers: { connection: 'close' }, signal: AbortSignal.timeout(PATIENCE_MS) });
        await answer.arrayBuffer();
        return answer.status;
    };
    await until('ready', async () => (await status('ops')) === 200);
    for (const name of ['edge', 'endpoint', 'retry']) {
        for (let i = 0; i < IDLE; ++i) {
            const socket = connectTcp(ports[name], '127.0.0.1');
            socket.on('error', () => {});
            if (name === 'edge') socket.write(UPGRADE);
            idle.push(socket);
        }
    }
    await until('the process has no more descriptors for them', async () => (await (await fetch(`http://127.0.0.1:${ports.ops}/metrics`)).text()).match(/beckon_\w*accept_paus\w* ([1-9]\d*)/));
    for (let i = 0; i < 20; ++i) {
        for (const name of ['ops', 'endpoint', 'retry', 'console']) assert.equal(await status(name), 200, name);
    }
});
