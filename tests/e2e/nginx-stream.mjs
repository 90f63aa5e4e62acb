// A real nginx passes TCP on to edge and endpoint and says in a PROXY header (version 1) who the client is: its part
// of nginx.conf is the one of docs/operations/proxies.md. On a host of its own, since it has the ports of that document.
//
//   node nginx-stream.mjs
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import https from 'node:https';
import { join } from 'node:path';
import tls from 'node:tls';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';
import { Cluster, ROOT, until } from './beckon.mjs';
import { blocksOf } from './doc-blocks.mjs';
import { enterOwnHost } from './own-host/enter.mjs';

enterOwnHost();
const OPERATIONS = join(ROOT, 'docs', 'operations', 'proxies.md');
const ENDPOINT_BEHIND_NGINX = 8443;
const proxied = (role) => [`--${role}-trusted-proxies`, '127.0.0.1', `--${role}-proxy-protocol`, 'true'];

const cluster = new Cluster('embedded', {
    endpoint: [
        ...proxied('edge'), '--test-edge-self-signed', 'true', '--edge-connections-per-address-max', '1',
        ...proxied('endpoint'), '--endpoint-connections-per-address-max', '1',
    ],
});
let nginx;

before(async () => {
    await cluster.prepare();
    Object.assign(cluster.ports, { edge: 8080, endpoint: 8082 });
    await cluster.start();
    const { text } = blocksOf(OPERATIONS).find((block) => block.text.includes('proxy_protocol on;'));
    const [, server] = /^stream \{\n(.*)\}\n$/s.exec(text);
    const another = server.replace('443', ENDPOINT_BEHIND_NGINX).replace('8080', '8082');
    appendFileSync('/etc/nginx/nginx.conf', `stream {\n${server}${another}}\n`);
    const checked = spawnSync('nginx', ['-t'], { encoding: 'utf8' });
    assert.equal(checked.status, 0, checked.stderr);
    nginx = spawn('nginx', ['-g', 'daemon off;'], { stdio: 'inherit' });
    await until('nginx', () => fetch('http://127.0.0.1:80/').then(() => true));
});
after(async () => {
    nginx?.kill();
    await cluster.destroy();
});

const open = [];
after(() => open.forEach((socket) => socket.terminate()));
/** A client with this address: its first frame, or the status or error with which it is refused. */
function hello(url, localAddress) {
    const socket = new WebSocket(url, 'push-notification', { localAddress, rejectUnauthorized: false });
    open.push(socket);
    socket.once('open', () => socket.send('{"messageType":"hello","use_webpush":true}'));
    return new Promise((resolve) => {
        socket.once('message', (data) => resolve(JSON.parse(data)));
        socket.once('unexpected-response', (_, response) => resolve(response.statusCode));
        socket.once('error', (error) => resolve(error));
    });
}

/** The status of a POST with this address, or the error. */
function post(port, localAddress) {
    const options = { method: 'POST', localAddress, agent: false, rejectUnauthorized: false, headers: { TTL: '0' } };
    return new Promise((resolve) => {
        https.request(`https://127.0.0.1:${port}/wpush/nobody`, options, (response) => resolve(response.resume().statusCode))
            .once('error', resolve).end('x');
    });
}

const BEHIND = 'wss://push.example.org/';
const DIRECT = 'wss://127.0.0.1:8080/';
/** Connections that a server has refused for want of a header. */
const refused = (metric, reason) => cluster.metric(metric, `reason="${reason}"`);
const refusedByEdge = () => refused('beckon_edge_refused_total', 'proxy_header_missing');
const refusedByEndpoint = () => refused('beckon_ingest_closed_total', 'proxy_header');

test('each client behind nginx counts with its own address', async () => {
    assert.equal((await hello(BEHIND, '127.0.0.2')).status, 200);
    assert.equal(await hello(BEHIND, '127.0.0.2'), 503, 'a second one of that address');
    assert.equal((await hello(BEHIND, '127.0.0.3')).status, 200);
    assert.equal(await refusedByEdge(), 0);
});

test("a connection from nginx's address without a header is refused, and other addresses need none", async () => {
    assert(await hello(DIRECT, '127.0.0.1') instanceof Error);
    await until('the refusal in the metrics', async () => (await refusedByEdge()) === 1);
    assert.match(cluster.outputs(), /proxy_header_refused/);
    assert.equal((await hello(DIRECT, '127.0.0.4')).status, 200);
});

test('TLS ends at the edge: it chooses http/1.1, and a session that a client kept is resumed', async () => {
    const open = async (session) => {
        const socket = tls.connect({
            port: 443, host: '127.0.0.1', localAddress: '127.0.0.5', rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'], session,
        });
        const ticket = once(socket, 'session').then(([kept]) => kept);
        await once(socket, 'secureConnect');
        const seen = { protocol: socket.alpnProtocol, resumed: socket.isSessionReused(), ticket: await ticket };
        socket.destroy();
        return seen;
    };
    const first = await open();
    assert.deepEqual([first.protocol, first.resumed], ['http/1.1', false]);
    assert.equal((await open(first.ticket)).resumed, true);
});

test('the endpoint too receives the address of the client from nginx', async () => {
    const first = tls.connect({ port: ENDPOINT_BEHIND_NGINX, host: '127.0.0.1', localAddress: '127.0.0.2', rejectUnauthorized: false });
    await once(first, 'secureConnect');
    assert(await post(ENDPOINT_BEHIND_NGINX, '127.0.0.2') instanceof Error, 'a second one of that address');
    assert.equal(await post(ENDPOINT_BEHIND_NGINX, '127.0.0.3'), 404);
    first.destroy();
    assert.equal(await refusedByEndpoint(), 0);
    assert(await post(8082, '127.0.0.1') instanceof Error);
    await until('the refusal in the metrics', async () => (await refusedByEndpoint()) === 1);
    assert.equal(await post(8082, '127.0.0.4'), 404);
});
