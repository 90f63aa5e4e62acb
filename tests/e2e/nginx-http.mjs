// A real nginx with packaging/compose/nginx.conf, whose endpoints and edges are servers of this test: it leaves a dead endpoint
// at once, never gives a POST that an endpoint may have taken to the other one, and lets clients in as soon as edges are back.
//
//   node --test nginx-http.mjs   (skipped where nginx is not installed)
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import WebSocket, { WebSocketServer } from 'ws';
import { ROOT, freePort, until } from './beckon.mjs';

const CONFIG = join(ROOT, 'packaging', 'compose', 'nginx.conf');
const skip = spawnSync('nginx', ['-v']).error && 'nginx is not installed';
const directory = mkdtempSync(join(tmpdir(), 'beckon-nginx-'));
const ports = {};
let nginx;

/** An endpoint that counts its POSTs, and ends the connection of each in place of a reply if it `breaks`. */
class Endpoint {
    constructor(port) {
        this.port = port;
        this.posts = 0;
        this.breaks = false;
        this.server = http.createServer((request, response) => {
            this.posts += 1;
            if (this.breaks) return request.socket.destroy();
            request.resume().on('end', () => response.writeHead(201).end());
        });
    }
    start() {
        return new Promise((resolve) => this.server.listen(this.port, '127.0.0.1', resolve));
    }
    stop() {
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }
}
const endpoints = [];

before(async () => {
    if (skip) return;
    for (const name of ['endpoint-1', 'endpoint-2', 'edge-1', 'edge-2', 'edge-3', '8080', '8082', '8083']) ports[name] = await freePort();
    let config = readFileSync(CONFIG, 'utf8').replaceAll('/tmp/', `${directory}/`).replace('/dev/stderr', join(directory, 'errors'));
    for (const name of ['endpoint-1', 'endpoint-2', 'edge-1', 'edge-2', 'edge-3']) {
        config = config.replace(new RegExp(`${name}:\\d+`), `127.0.0.1:${ports[name]}`);
    }
    for (const port of ['8080', '8082']) config = config.replace(`listen ${port};`, `listen 127.0.0.1:${ports[port]};`);
    config = config.replace('127.0.0.1:8083', `127.0.0.1:${ports['8083']}`).replace('worker_processes auto', 'worker_processes 1');
    writeFileSync(join(directory, 'nginx.conf'), config);
    for (const name of ['endpoint-1', 'endpoint-2']) endpoints.push(new Endpoint(ports[name]));
});
/** An endpoint that failed in one test is no matter of the next. */
beforeEach(async () => {
    if (skip) return;
    for (const endpoint of endpoints) await endpoint.start();
    nginx = spawn('nginx', ['-c', join(directory, 'nginx.conf'), '-p', directory, '-g', 'daemon off;'], { stdio: 'ignore' });
    await until('nginx', async () => (await fetch(`http://127.0.0.1:${ports['8083']}/health`)).status === 200);
});
afterEach(async () => {
    nginx?.kill();
    if (nginx?.exitCode === null) await once(nginx, 'exit');
    for (const endpoint of endpoints) if (endpoint.server.listening) await endpoint.stop();
});
after(() => {
    rmSync(directory, { recursive: true, force: true });
});

const post = () => new Promise((resolve, reject) => {
    const request = http.request({ host: '127.0.0.1', port: ports['8082'], path: '/wpush/x', method: 'POST', headers: { TTL: '1' } }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode));
    });
    request.on('error', reject).end('message');
});

test('both endpoints get requests', { skip }, async () => {
    for (let i = 0; i < 20; i += 1) assert.equal(await post(), 201);
    assert(endpoints.every(({ posts }) => posts > 0), endpoints.map(({ posts }) => posts).join());
});

test('a POST that an endpoint may have taken goes to no other one', { skip }, async () => {
    const before = endpoints.map(({ posts }) => posts);
    endpoints[0].breaks = true;
    const asked = [];
    for (let i = 0; i < 20; i += 1) asked.push(await post());
    endpoints[0].breaks = false;
    const more = endpoints.map(({ posts }, i) => posts - before[i]);
    assert.equal(more[0] + more[1], 20, 'each POST was sent once');
    assert.equal(more[0], asked.filter((status) => status === 502).length, 'and answered as failed where its endpoint broke it off');
    assert(more[0] <= 2, `after its first failure the endpoint got ${more[0]} requests`);
});

test('requests leave an endpoint that is dead at once, and none fails', { skip }, async () => {
    await endpoints[1].stop();
    endpoints[0].posts = 0;
    for (let i = 0; i < 50; i += 1) assert.equal(await post(), 201);
    assert.equal(endpoints[0].posts, 50);
});

/** Connects as a client does; false where nginx or the edge refuses. */
const connect = () => new Promise((resolve) => {
    const socket = new WebSocket(`ws://127.0.0.1:${ports['8080']}/`);
    socket.once('open', () => resolve(socket));
    socket.once('error', () => resolve(false));
    socket.once('unexpected-response', () => resolve(false));
});

test('300 clients come back at once after all edges have restarted', { skip }, async (t) => {
    const CLIENTS = 300;
    const startEdges = () => Promise.all(['edge-1', 'edge-2', 'edge-3'].map((name) => new Promise((resolve) => {
        const server = new WebSocketServer({ host: '127.0.0.1', port: ports[name] }, () => resolve(server));
    })));
    const stopEdges = (edges) => Promise.all(edges.map((server) => new Promise((resolve) => {
        for (const socket of server.clients) socket.terminate();
        server.close(resolve);
    })));
    let edges = await startEdges();
    const clients = await Promise.all(Array.from({ length: CLIENTS }, connect));
    assert(clients.every(Boolean), 'all clients connect');

    // While all edges are away, clients find nobody.
    await stopEdges(edges);
    for (let i = 0; i < 10; i += 1) assert.equal(await connect(), false, 'no edge is there');
    edges = await startEdges();
    t.after(() => stopEdges(edges));
    const back = await Promise.all(Array.from({ length: CLIENTS }, connect));
    assert.equal(back.filter((socket) => !socket).length, 0, 'no client is refused');
    assert(edges.every((server) => server.clients.size > 0), 'each edge has clients');
});
