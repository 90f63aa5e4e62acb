// A webhook's name leads to an allowed address when it is made and when its first event is delivered, and to a private
// one later: the address of each connection is judged, so nothing ever connects there, and nothing is lost.
//
//   node --test dns-change.mjs   (needs a mount namespace, for a hosts file of its own)
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, freePort, until } from './beckon.mjs';

const NAME = 'receiver.example';
const ALLOWED = '127.0.0.1';
const INSIDE = '127.0.0.2';
// libcurl keeps an address for a minute: a refused delivery comes again after that.
const TIERS = '0s,70s,75s,80s';
const PATIENCE_MS = 200000;
const POST_EACH_MS = 2000;

const namespace = ['--mount', ...(process.getuid() === 0 ? [] : ['--user', '--map-root-user'])];
const options = { skip: spawnSync('unshare', [...namespace, 'true']).status !== 0 && 'this host allows no mount namespace (unshare)', timeout: 600000 };

const directory = mkdtempSync(join(tmpdir(), 'beckon-e2e-'));
const hosts = join(directory, 'hosts');
const leadsTo = (address) => writeFileSync(hosts, `127.0.0.1 localhost\n${address} ${NAME}\n`);
const received = new Set(); // ids of events
let output = '';
let standalone;
let receiver;
let trap;
let api;
let token;
let entered = 0; // connections at the address that is not allowed

before(async () => {
    if (options.skip) return;
    receiver = http.createServer((request, response) => {
        let body = '';
        request.on('data', (data) => (body += data));
        request.on('end', () => {
            received.add(JSON.parse(body).id);
            response.writeHead(204, { Connection: 'close' }).end(); // so that each delivery connects anew
        });
    });
    await new Promise((resolve) => receiver.listen(0, ALLOWED, resolve));
    trap = net.createServer((socket) => {
        ++entered;
        socket.destroy();
    });
    await new Promise((resolve) => trap.listen(receiver.address().port, INSIDE, resolve));
    leadsTo(ALLOWED);
    const [port, ops] = [await freePort(), await freePort()];
    api = `http://127.0.0.1:${port}`;
    standalone = spawn('unshare', [
        ...namespace, 'sh', '-c', 'mount --bind "$0" /etc/hosts && exec "$@"', hosts, BECKON,
        'standalone', '--data', join(directory, 'data'), '--partitions', '4', '--tiers', TIERS, '--endpoint-port', '0',
        '--edge-port', '0', '--console-port', '0', '--ops-port', String(ops), '--retry-port', String(port),
        '--retry-allowed-addresses', ALLOWED,
    ], { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [standalone.stdout, standalone.stderr]) stream.on('data', (data) => (output += data));
    await until('the start', async () => standalone.exitCode !== null || (await fetch(`http://127.0.0.1:${ops}/ready`)).status === 200, 60000);
    assert.equal(standalone.exitCode, null, output);
    const made = spawnSync(BECKON, ['webhooks', 'token', 'shop', '--data', join(directory, 'data')], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    token = made.stdout.trim();
    await until('the role serves', async () => (await ask('GET', '/webhooks')).status === 200, 60000);
});
after(async () => {
    if (standalone) {
        standalone.kill('SIGTERM');
        await new Promise((resolve) => (standalone.exitCode === null ? standalone.once('exit', resolve) : resolve()));
    }
    receiver?.closeAllConnections();
    receiver?.close();
    trap?.close();
    rmSync(directory, { recursive: true, force: true });
});

async function ask(method, path, json, type = 'application/json') {
    const reply = await fetch(api + path, {
        method, headers: { Authorization: `Bearer ${token}`, ...(json && { 'Content-Type': type }) }, body: json && JSON.stringify(json),
    });
    return { status: reply.status, json: await reply.json().catch(() => null) };
}

let events = 0;
async function post() {
    const id = `e${++events}`;
    const reply = await ask('POST', '/events', { specversion: '1.0', id, source: '/dns', type: 'dns' }, 'application/cloudevents+json');
    assert.equal(reply.status, 202);
    return id;
}

test('a name that changes to a private address is refused at the connect, and delivered to when it is public again', options, async () => {
    const made = await ask('POST', '/webhooks', { url: `http://${NAME}:${receiver.address().port}/hook`, types: ['dns'] });
    assert.equal(made.status, 201);
    const outcomes = async () => (await ask('GET', `/webhooks/${made.json.id}/attempts`)).json.attempts.map(({ outcome }) => outcome);
    const first = await post();
    await until('the first event', () => received.has(first), 30000);

    leadsTo(INSIDE);
    const posted = [];
    let next = 0;
    await until('the other address', async () => {
        if (Date.now() >= next) {
            next = Date.now() + POST_EACH_MS;
            posted.push(await post());
        }
        return (await outcomes()).includes('forbidden');
    }, PATIENCE_MS).catch((error) => {
        throw new Error(`${error.message}\n${output}`);
    });

    leadsTo(ALLOWED);
    await until('every event', () => posted.every((id) => received.has(id)), PATIENCE_MS);
    assert.equal(entered, 0, 'connections to an address that is not allowed');
});
