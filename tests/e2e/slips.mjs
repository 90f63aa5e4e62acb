// Mistakes of an operator that must not make senders forget their subscriptions, nor pass unnoticed.
//
//   node slips.mjs
import assert from 'node:assert/strict';
import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, freePort, until } from './beckon.mjs';
import { UserAgent } from './client.mjs';

/** Runs to the end; its exit code and output. */
function run(args, env = {}) {
    const { status, stdout, stderr } = spawnSync(BECKON, args, { encoding: 'utf8', timeout: 30000, env: { ...process.env, ...env } });
    return { code: status, text: stderr + stdout };
}

async function ready(port) {
    const reply = await fetch(`http://127.0.0.1:${port}/ready`);
    return { status: reply.status, body: await reply.text() };
}

/** A POST to a plain endpoint; its status. */
async function post(url, headers = {}) {
    const reply = await fetch(url, { method: 'POST', body: 'x', headers: { TTL: '60', 'Content-Encoding': 'aes128gcm', ...headers } });
    await reply.text();
    return reply.status;
}

test('a value that is missing, empty, negative or no UTF-8 is named, and nothing begins', () => {
    for (const [args, says] of [
        [['edge', '--edge-port'], /--edge-port needs a value: 0 to 65535\n`beckon edge --help` lists the options/],
        [['listen', '--count', '-1'], /--count: '-1' is no whole number from 0/],
        [['push', '--ttl', '', 'http://127.0.0.1:1/wpush/x'], /--ttl: '' is no whole number from 0/],
        [['push', '--padding', '-1', 'http://127.0.0.1:1/wpush/x'], /--padding: '-1' is no whole number from 0 to 4096/],
        [['dead', 'drop', '--yes', '--webhook', ''], /--webhook: is empty/],
        [['webhooks', 'redrive', '--yes', ''], /ID: is empty/],
        [['replay', 'show', '--limit', '-1'], /--limit: '-1' is no whole number/],
        [['replay', 'show', '--since', ''], /--since: is empty/],
        [['replay', 'show', '--from', '5', '--until', '2'], /--until: no offset is below 2 and from --from 5 on/],
        [['replay', 'show', '--since', '2026-11-22', '--to', '2026-11-21'], /--to: it is not after --since/],
        [['webhooks', 'list', '--server', '127.0.0.1:1'], /--server: unknown option/],
        [['lag', '--group', ''], /--group: is empty/],
        [['backup', ''], /DIRECTORY: is empty/],
        [['keys'], /the name of a command is missing/],
        [['standalone', '--retry-allowed-hosts', 'a b'], /retry\.allowed_hosts: .* is no host name/],
        [['standalone', '--console-canary', 'http://127.0.0.1:1'], /console\.canary: names http:\/\/127\.0\.0\.1:1, .* no edge/],
    ]) {
        const { code, text } = run(args);
        assert.equal(code, 2, `${args.join(' ')}: ${text}`);
        assert.match(text, says, args.join(' '));
    }
    const { status, stderr } = spawnSync('bash', ['-c', `${BECKON} webhooks create http://a --type $'\\xff'`], { encoding: 'utf8' });
    assert.equal(status, 2);
    assert.match(stderr, /argument 5 is not UTF-8/);
});

test('a certificate that SIGHUP cannot load is a warning in /ready until it succeeds', async (t) => {
    const data = mkdtempSync(join(tmpdir(), 'beckon-certificate-'));
    const ops = await freePort();
    const child = spawn(BECKON, ['standalone', '--data', data, '--endpoint-self-signed', '--test-edge-self-signed', '--ops-port', String(ops), ...['endpoint', 'edge', 'retry', 'console'].flatMap((port) => [`--${port}-port`, '0'])], { stdio: 'ignore' });
    t.after(() => {
        child.kill('SIGKILL');
        rmSync(data, { recursive: true, force: true });
    });
    const warnings = async () => JSON.parse((await ready(ops)).body).warnings ?? {};
    await until('readiness', async () => (await ready(ops).catch(() => ({}))).status === 200);
    const file = join(data, 'tls', 'certificate.pem');
    const certificate = readFileSync(file);
    writeFileSync(file, 'this is none');
    child.kill('SIGHUP');
    await until('the warnings', async () => /former one stays in use/.test((await warnings()).endpoint_tls ?? '') && /former one stays in use/.test((await warnings()).edge_tls ?? ''));
    writeFileSync(file, certificate);
    child.kill('SIGHUP');
    await until('that they are over', async () => !(await warnings()).endpoint_tls && !(await warnings()).edge_tls);
});

test('a start names every port that is taken, and too few descriptors', async (t) => {
    const data = mkdtempSync(join(tmpdir(), 'beckon-slips-'));
    t.after(() => rmSync(data, { recursive: true, force: true }));
    const taken = createServer();
    await new Promise((resolve) => taken.listen(0, '127.0.0.1', resolve));
    t.after(() => taken.close());
    const port = String(taken.address().port);
    const free = ['edge', 'endpoint', 'ops', 'retry', 'console'].flatMap((role) => [`--${role}-port`, '0']);
    const other = createServer();
    await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
    t.after(() => other.close());
    const both = run(['standalone', '--data', join(data, 'b'), '--edge-port', '0', '--endpoint-port', '0', '--ops-port', '0', '--retry-port', port, '--console-port', String(other.address().port)]);
    assert.match(both.text, new RegExp(`--retry-port: cannot listen on 127.0.0.1 port ${port}: .*; --console-port: cannot listen on`));
    const few = spawnSync('bash', ['-c', `ulimit -n 100; ${BECKON} standalone --data ${join(data, 'c')} ${free.join(' ')}`], { encoding: 'utf8' });
    assert.notEqual(few.status, 0);
    assert.match(few.stderr, /the process may have 100 files open \(ulimit -Hn\), and needs at least 256/);
});

test('a role names the settings that nothing with its log reads', () => {
    const { text } = run(['standalone', '--data', '/dev/null/x'], { BECKON_EDGE_ZONE: 'a', BECKON_CONSOLE_RETRY_URLS: 'http://a', BECKON_EDGE_PORT: '0' });
    assert.match(text, /warning: no effect for `beckon standalone`: console\.retry_urls \(BECKON_CONSOLE_RETRY_URLS\), edge\.zone \(BECKON_EDGE_ZONE\)\n/);
});

test('listen ends where the server refuses it for good, and tries again where it may not', async (t) => {
    let asked = 0;
    let status = 404;
    const server = createServer((request, response) => {
        ++asked;
        response.writeHead(status).end();
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.close());
    const listen = () => new Promise((resolve) => {
        execFile(BECKON, ['listen', `ws://127.0.0.1:${server.address().port}/`, '--timeout', '5s'], (error, out, text) => resolve({ code: error?.code, text }));
    });
    const refused = await listen();
    assert.equal(refused.code, 1);
    assert.equal(asked, 1);
    assert.match(refused.text, /the server answered HTTP 404/);
    asked = 0;
    status = 503;
    assert.equal((await listen()).code, 1);
    assert.ok(asked > 1, 'asked again');
});

test('standalone: a rotation beside the running process', async (t) => {
    const cluster = new Cluster('embedded', { plain: true });
    t.after(() => cluster.destroy());
    await cluster.prepare();
    await cluster.start();
    const agent = new UserAgent(cluster.websocket);
    t.after(() => agent.end());
    await agent.connect();
    await agent.register();
    const data = join(cluster.directory, 'standalone');
    const rotated = run(['keys', 'rotate', '--data', data]);
    assert.equal(rotated.code, 0, rotated.text);
    assert.equal(await post(agent.endpoint), 201);
    const sent = await fetch(agent.endpoint, { method: 'POST', body: 'x', headers: { TTL: '60', 'Content-Encoding': 'aes128gcm' } });
    agent.mute = true;
    const message = (await fetch(agent.endpoint, { method: 'POST', body: 'waits', headers: { TTL: '60', 'Content-Encoding': 'aes128gcm' } })).headers.get('location');
    assert.equal(sent.status, 201);
    const here = ['--data', data, '--ops-port', String(cluster.ports.ops)];
    const retry = ['--data', data, '--url', `http://127.0.0.1:${cluster.ports.retry}`];
    for (const tool of [
        ['trace', message, ...here],
        ['message', message, ...here],
        ['replay', 'verify', ...here],
        ['subscriptions', 'show', agent.endpoint, ...here],
        ['cluster', ...here],
        ['doctor', '--data', data, '--server', `127.0.0.1:${cluster.ports.ops}`, '--endpoint-url', cluster.endpoint],
        ['broadcasts', 'set', 'news', '1', ...here],
        ['webhooks', 'list', ...retry],
        ['dead', 'list', ...retry],
        ['dead', 'list', '--all-owners', ...retry],
    ]) {
        const { code, text } = run(tool);
        assert.equal(code, tool.includes('list') ? 3 : 0, `${tool.join(' ')}: ${text}`); // there is nothing to list
        assert.doesNotMatch(text, /not known|answers 4\d\d/, tool.join(' '));
    }
    await until('the lag of a group', async () => run(['lag', '--group', 'edge', ...here]).code === 0, 20000);
    const unknown = run(['lag', '--group', 'egde', ...here]);
    assert.equal(unknown.code, 1);
    assert.match(unknown.text, /there is no group 'egde'; there are .*edge/);
    await cluster.stop();
    await cluster.start();
    assert.match(cluster.children.get('standalone').output, /key_ring_published/);
    assert.equal(await post(agent.endpoint), 201, 'an old endpoint URL lives');
});

test('standalone: another endpoint.url, and senders that sign for the old one', async (t) => {
    const cluster = new Cluster('embedded', { plain: true });
    t.after(() => cluster.destroy());
    await cluster.prepare();
    await cluster.start();
    const agent = new UserAgent(cluster.websocket);
    t.after(() => agent.end());
    await agent.connect();
    const old = await agent.register();
    await cluster.stop();
    cluster.endpoint = `http://localhost:${cluster.ports.endpoint}`;
    await cluster.start();
    const vapid = ['--vapid', join(cluster.directory, 'vapid.json')];
    const sent = run(['push', old, ...vapid]);
    assert.equal(sent.code, 0, sent.text);
    await until('the client is back', () => agent.helloed);
    const current = await agent.register();
    assert.match(current, /^http:\/\/localhost:/);
    assert.equal(run(['push', current, ...vapid]).code, 0);
});

const cluster = new Cluster('kafka', { plain: true });
const kafka = () => ['--kafka-servers', cluster.servers, '--kafka-prefix', 'slips.', '--replication-factor', '1'];
const ring = (name) => ['--key-ring', join(cluster.directory, name)];
const origin = ['--endpoint-url', 'https://push.example.org'];

async function role(name, keys) {
    const ops = await freePort();
    cluster.spawn(name, [
        '--data', join(cluster.directory, `slips-${name}`), '--ops-port', String(ops), '--endpoint-port', '0', '--edge-port', '0', '--edge-link-port', '0',
        '--log-format', 'json', ...origin, ...kafka(), ...ring(keys),
    ]);
    return ops;
}

before(() => cluster.prepare());
after(() => cluster.destroy());

test('Kafka: topics that were made without a ring, and a role with another one', async () => {
    for (const name of ['own.json', 'other.json']) assert.equal(run(['keys', 'generate', ...ring(name)]).code, 0);
    const made = run(['topics', 'create', '--data', join(cluster.directory, 'nowhere'), '--partitions', '4', ...kafka()]);
    assert.equal(made.code, 0, made.text);
    assert.match(made.text, /key ring none/);
    const ops = await role('endpoint', 'own.json');
    await cluster.ready('endpoint', ops);
    const refused = run(['edge', '--data', join(cluster.directory, 'slips-edge'), '--ops-port', '0', '--edge-port', '0', ...origin, ...kafka(), ...ring('other.json')]);
    assert.equal(refused.code, 2);
    assert.match(refused.text, /has the fingerprint [0-9a-f]{16}, but this log names [0-9a-f]{16}, of which it lacks keys/);
    const published = run(['keys', 'publish', ...kafka(), ...ring('other.json')]);
    assert.equal(published.code, 1);
    assert.match(published.text, /lacks keys of the published one.*--force/s);
});

test('Kafka: a rotation while the roles run, and a restart of them', async () => {
    const before = readFileSync(join(cluster.directory, 'own.json'), 'utf8');
    const other = run(['keys', 'rotate', ...kafka(), ...ring('other.json')]);
    assert.equal(other.code, 1);
    assert.match(other.text, /it lacks keys of that; rotate the newest keys\.json, which the roles use/);
    const rotated = run(['keys', 'rotate', ...kafka(), ...ring('own.json')]);
    assert.equal(rotated.code, 0, rotated.text);
    assert.notEqual(readFileSync(join(cluster.directory, 'own.json'), 'utf8'), before);
    await cluster.stop();
    const ops = await role('endpoint', 'own.json');
    await cluster.ready('endpoint', ops);
    await cluster.stop();
});

test('Kafka: /ready and the metrics show that the broker is away', async () => {
    await cluster.stop(); // of an earlier test
    const ports = { endpoint: await role('endpoint', 'own.json'), edge: await role('edge', 'own.json') };
    for (const name of ['endpoint', 'edge']) await cluster.ready(name, ports[name]);
    await cluster.killKafka();
    for (const name of ['endpoint', 'edge']) {
        const reason = await until(`${name} is not ready`, async () => {
            const now = await ready(ports[name]);
            return now.status === 503 && now.body;
        });
        assert.match(reason, /"faults":\{/);
        assert.equal(await cluster.metric('beckon_ready', 'part="log"', ports[name]), 0);
        assert.equal((await fetch(`http://127.0.0.1:${ports[name]}/live`)).status, 200, 'a restart would not help');
    }
    await cluster.startKafka();
    for (const name of ['endpoint', 'edge']) await until(`${name} is ready`, async () => (await ready(ports[name])).status === 200, 60000);
    await cluster.stop();
});
