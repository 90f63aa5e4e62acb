// What the console says when something is wrong: each fault is made to happen to real processes on a real Kafka, and the first page must
// name it, say where and what to do, and be quiet again once it is mended. Each process has a host name of its own where the host allows
// namespaces. SCREENSHOTS names a directory for pictures of the console at each fault.
//
//   node --test console-faults.mjs
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import http from 'node:http';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import puppeteer from 'puppeteer-core';
import { BECKON, Cluster, freePort, until } from './beckon.mjs';
import { UserAgent } from './client.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const PATIENCE = 180000; // leases that end, processes that are silent, on a busy machine
const EDGES = { 'edge-1': '127.0.0.2', 'edge-2': '127.0.0.3', 'edge-3': '127.0.0.4' }; // one port for all, as in a cluster of many hosts
const CLOCK_OFF_S = -412;

const root = process.getuid() === 0;
const NAMESPACES = root ? ['--uts', '--mount'] : ['--map-root-user', '--uts', '--mount'];
const allowed = spawnSync('unshare', [...NAMESPACES, 'true']).status === 0;
const skip = !allowed && 'this host allows no namespaces (unshare)';

const cluster = new Cluster('kafka', { plain: true, retry: [], tiers: '0s,1s,600s', console: [] });
const at = (...path) => join(cluster.directory, ...path);
let port; // of every edge
let origin;
let browser;
const receivers = [];

/** A command that gives a process a host name of its own, and runs shell commands before it. */
const hosted = (name, ...first) => (allowed ? ['unshare', ...NAMESPACES, 'sh', '-c', [`hostname ${name}`, ...first, 'exec "$@"'].join(' && '), 'sh'] : []);
/** As the console calls it. */
const shownName = (name, ops) => (allowed ? name : `${hostname()}:${ops}`);
const edgeName = (name) => shownName(name, cluster.edges.get(name).ops);

const startEdge = (name, first = [], options = []) => cluster.startEdge(name, ['--edge-host', EDGES[name], '--edge-link-host', EDGES[name], ...options], hosted(name, ...first));

/** A receiver of events: `answers` false, it takes connections and says nothing. */
async function receiver(answers) {
    const server = http.createServer((request, response) => request.resume().on('end', () => answers && response.writeHead(204).end()));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    receivers.push(server);
    return { server, url: `http://127.0.0.1:${server.address().port}` };
}

before(async () => {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', at('wrong-clock.so'), join(HERE, 'wrong-clock.c'), '-ldl']);
    await cluster.prepare();
    origin = `http://127.0.0.1:${cluster.ports.console}`;
    port = await freePort();
    for (const [name, host] of Object.entries(EDGES)) cluster.edges.set(name, { port, ops: await freePort(), link: await freePort(), websocket: `ws://${host}:${port}/` });
    cluster.endpoints = new Map([['endpoint-1', { port: cluster.ports.endpoint, ops: cluster.ports.ops }]]);
    cluster.retryOptions.push('--retry-allowed-addresses', '127.0.0.1');
    cluster.consoleOptions.push('--console-canary', `ws://*:${port}/`, '--console-retry-urls', `http://127.0.0.1:${cluster.ports.retry}`);
    await cluster.startAnotherEndpoint('endpoint-1', [], hosted('endpoint-1'));
    for (const name of Object.keys(EDGES)) await startEdge(name);
    await cluster.start('retry');
    await cluster.start('console');
    browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-gpu'], protocolTimeout: PATIENCE });
});
after(async () => {
    await browser?.close();
    for (const server of receivers) {
        server.closeAllConnections();
        server.close();
    }
    await cluster.end();
});

/** A page of the console; null until it is known. */
async function page(name) {
    const reply = await fetch(`${origin}/api/pages/${name}`);
    return reply.status === 200 ? reply.json() : null;
}

/** The verdict, once it has these findings, in their order, and no others. */
async function verdict(what, ...wanted) {
    let last;
    try {
        return await until(what, async () => {
            last = await page('status');
            return last.findings.length === wanted.length && wanted.every((pattern, i) => pattern.test(last.findings[i].what)) && last;
        }, PATIENCE);
    } catch (error) {
        throw new Error(`${error.message}: ${JSON.stringify(last, null, 1)}`);
    }
}

const well = (what) => until(what, async () => {
    const now = await page('status');
    return /^Push works: 3 of 3 edges answer in \d/.test(now.sentence) && now.findings.length === 0 && now;
}, PATIENCE);

/** Looks at pages as a person does: their text; pictures of them, wide and light, narrow and dark. */
async function look(name, ...views) {
    const texts = [];
    const tab = await browser.newPage();
    tab.setDefaultTimeout(PATIENCE);
    for (const view of ['overview', ...views]) {
        await tab.goto('about:blank');
        await tab.goto(`${origin}/#/${view}`);
        await tab.waitForFunction(() => document.querySelector('main h1') && !/Reading|Asking|One moment|Waiting for the first/.test(document.querySelector('main').textContent));
        texts.push(await tab.$eval('main', (main) => main.innerText));
        if (!process.env.SCREENSHOTS) continue;
        mkdirSync(process.env.SCREENSHOTS, { recursive: true });
        for (const [theme, width] of [['light', 1280], ['dark', 360]]) {
            await tab.setViewport({ width, height: 900 });
            await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
            await tab.screenshot({ path: join(process.env.SCREENSHOTS, `fault-${name}-${view.replace(/\W.*/, '')}-${theme}-${width}.png`), fullPage: true });
        }
    }
    await tab.close();
    return texts;
}

test('all is well: push works, and nothing is found', async () => {
    const now = await well('a first push through every edge');
    assert.equal(now.level, 'ok');
    await look('none', 'nodes', 'lag', 'tiers', 'canary');
});

test('a hanging webhook: its receiver is named, and its page says who must act', async () => {
    const access = ['--url', `http://127.0.0.1:${cluster.ports.retry}`, '--key-ring', at('keys.json')];
    const hanging = await receiver(false);
    await cluster.tool(['webhooks', 'create', (await receiver(true)).url, '--type', 'order.*', '--description', 'The shop', ...access]);
    await cluster.tool(['webhooks', 'create', hanging.url, '--type', 'order.*', '--timeout-s', '1', '--description', 'Accounting', ...access]);
    await cluster.tool(['events', 'send', 'order.created', '{}', ...access]);
    const now = await verdict('the webhook to fail', new RegExp(`^1 webhook fails: ${hanging.url} of the owner default \\(webhook [0-9a-f]+: it does not answer in time(, since [^)]+)?\\)\\.$`));
    assert.equal(now.level, 'warning');
    const { webhooks } = await until('both webhooks tried', async () => {
        const known = await page('webhooks');
        return known.webhooks.every((one) => one.attempts?.at) && known;
    }, PATIENCE);
    const { id } = webhooks.find((one) => one.origin === hanging.url);
    assert.equal(now.findings[0].page, `webhooks/${id}`);
    const [first, own] = await look('hanging-webhook', `webhooks/${id}`, 'webhooks', 'tiers');
    assert.match(first, /Push works.*1 webhook fails/s);
    assert.match(own, /does not answer in time/);
    await cluster.tool(['webhooks', 'delete', id, ...access]);
    await well('the webhook to be gone');
});

test('a wrong clock: the host, how far, and what it harms', async () => {
    const env = ['env', `LD_PRELOAD=${at('wrong-clock.so')}`, `CLOCK_OFFSET_S=${CLOCK_OFF_S}`];
    await cluster.startAnotherEndpoint('endpoint-2', [], [...hosted('endpoint-2'), ...env]);
    const { ops } = cluster.endpoints.get('endpoint-2');
    const now = await verdict('the clock', new RegExp(`^The clock of ${allowed ? 'endpoint-2' : `.*:${ops}`} \\(endpoint\\) is 6 min behind the brokers' clocks\\.$`));
    assert.equal(now.level, 'bad');
    assert.match(now.findings[0].todo, /NTP/);
    await look('wrong-clock', 'nodes');
    await cluster.children.get('endpoint-2').stop();
    cluster.children.delete('endpoint-2');
    await well('the endpoint to be gone, after its good-bye');
});

test('an expired certificate: of which process, since when; renewed, it is well without a restart', async () => {
    const openssl = (...args) => execFileSync('openssl', args, { stdio: 'pipe' });
    const [key, request, certificate] = ['key.pem', 'request.pem', 'certificate.pem'].map((name) => at(name));
    openssl('req', '-new', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', key, '-out', request, '-subj', '/CN=push.example.org');
    const sign = (days) => openssl('x509', '-req', '-in', request, '-signkey', key, '-days', String(days), '-out', certificate);
    sign(-1);
    await cluster.startAnotherEndpoint('endpoint-3', ['--endpoint-tls-certificate', certificate, '--endpoint-tls-key', key], hosted('endpoint-3'));
    const now = await verdict('the certificate', /^The certificate of .* \(endpoint\) expired 24 h ago\.$/);
    assert.equal(now.level, 'bad');
    assert.match(now.findings[0].todo, /SIGHUP/);
    await look('expired-certificate', 'nodes');
    sign(30);
    cluster.children.get('endpoint-3').process.kill('SIGHUP');
    await well('the certificate to be renewed');
    await cluster.children.get('endpoint-3').stop();
    cluster.children.delete('endpoint-3');
});

test('a full disk: which one, and it goes on by itself when there is space', { skip }, async () => {
    await cluster.children.get('edge-2').stop();
    cluster.children.delete('edge-2');
    const name = at('edge-2', 'node-name'); // which the mounted disk hides
    await startEdge('edge-2', [`mount -t tmpfs -o size=2g,mode=0700 small ${at('edge-2')}`, `printf ${cluster.nodeNameOf('edge-2')} > ${name}`, `chmod 600 ${name}`]);
    await well('the edge with its small disk');
    const { pid } = cluster.children.get('edge-2').process;
    const inside = (...command) => execFileSync('nsenter', ['--target', String(pid), ...(root ? ['--mount'] : ['--user', '--preserve-credentials', '--mount']), ...command], { encoding: 'utf8' });
    const resize = (size) => inside('mount', '-o', `remount,size=${size}`, at('edge-2'));
    const used = Number(inside('df', '--output=used', '-B1', at('edge-2')).split('\n')[1]);
    resize(used + 4096);
    const now = await until('the disk', async () => {
        const known = await page('status');
        return known.findings.some((one) => /^The disk of edge-2 \(edge\) is full/.test(one.what)) && known;
    }, PATIENCE);
    assert.equal(now.level, 'bad');
    const [, nodes] = await look('full-disk', 'nodes');
    assert.match(nodes, /its disk is full: .* of .* are free/);
    resize('2g');
    await well('space again');
});

test('a dead edge: how long it is gone, and who took its partitions over', async () => {
    await cluster.children.get('edge-3').kill();
    cluster.children.delete('edge-3');
    const now = await verdict('the edge to be gone', new RegExp(`^Edge ${edgeName('edge-3')} .*took over its`));
    assert.match(now.sentence, /^Push works: 2 of 2 edges answer/);
    await look('dead-edge', 'nodes');
    await startEdge('edge-3');
    await well('the edge to be back');
});

test('no endpoint: nobody can send, and how to start it', async () => {
    await cluster.children.get('endpoint-1').kill();
    cluster.children.delete('endpoint-1');
    const now = await until('the endpoint to be gone', async () => {
        const known = await page('status');
        return /^No endpoint is alive: nobody can send/.test(known.findings[0]?.what) && known;
    }, PATIENCE);
    assert.match(now.sentence, /^Push does not work/);
    await look('no-endpoint', 'nodes', 'lag', 'canary');
    await cluster.startAnotherEndpoint('endpoint-1', [], hosted('endpoint-1'));
    await well('the endpoint to be back');
});

/** What the console's log says of pushes through each edge, in order: edge → `canary_fails`, `canary_works`, … */
function canaryLines() {
    const lines = new Map();
    for (const line of cluster.children.get('console').output.split('\n').filter((text) => text.includes('"canary_') && text.endsWith('}'))) {
        const { event, edge } = JSON.parse(line);
        lines.set(edge, [...(lines.get(edge) ?? []), event]);
    }
    return lines;
}

/** Exit code and output of a command that asks the brokers. */
function tool(...args) {
    const { status, stdout, stderr } = spawnSync(BECKON, [...args, ...cluster.kafkaOptions()], { encoding: 'utf8', timeout: 60000 });
    return { code: status, text: stdout + stderr };
}

test('no edge: no partition has a home, and every page says so; the edges come back to theirs', async () => {
    const client = new UserAgent(cluster.edges.get('edge-1').websocket);
    await client.connect();
    await client.register();
    assert.equal(tool('cluster').code, 0);
    for (const name of Object.keys(EDGES)) {
        await cluster.children.get(name).kill();
        cluster.children.delete(name);
    }
    const now = await until('no edge', async () => {
        const known = await page('status');
        return /^No edge is alive: no client is connected/.test(known.findings[0]?.what) && known;
    }, PATIENCE);
    assert.match(now.sentence, /^Push does not work/);
    const homes = async () => (await page('cluster')).roles.find((role) => role.name === 'edge').partitions;
    assert.ok((await homes()).every((one) => one.state === 'unplaced'), 'no dead node is shown as the home that serves');
    const [, nodes] = await look('no-edge', 'nodes', 'lag', 'canary');
    assert.equal(nodes.match(/nobody/g)?.length, 4, nodes);
    assert.equal(now.findings.length, 2, 'the cause, and that pushes fail');

    // The tools judge by the same records: the last reports of the edges, which no controller removes.
    const waiting = await fetch(client.endpoint, { method: 'POST', body: 'waits', headers: { TTL: '600', 'Content-Encoding': 'aes128gcm' } });
    assert.equal(waiting.status, 201);
    const shown = tool('cluster');
    assert.equal(shown.code, 3, shown.text);
    assert.equal(shown.text.match(/ gone$/gm)?.length, 3, shown.text);
    assert.doesNotMatch(shown.text, /ready|controller|warming/, shown.text);
    const lag = tool('lag', '--group', `${cluster.prefix}edge`);
    assert.equal(lag.code, 3, lag.text);
    assert.match(lag.text, /^STOPPED +\S+edge /m);
    const message = tool('message', waiting.headers.get('location'), '--data', at('message'));
    assert.match(message.text, /^It waits: .* No living edge serves its client's partition/m, message.text);
    const doctor = tool('doctor', '--data', at('doctor'));
    assert.match(doctor.text, /^BAD +processes +No edge is alive: no client is connected/m, doctor.text);
    client.end(); // or it would call the edges until the process ends

    const failing = await until('every push to fail', () => [...canaryLines()].length === 3 && [...canaryLines()].every(([, said]) => said.at(-1) === 'canary_fails') && canaryLines(), PATIENCE);
    for (const edge of failing.keys()) assert.equal(await cluster.metric('beckon_canary_success', `edge="${edge}"`, cluster.ports.opsConsole), 0);
    for (const name of Object.keys(EDGES)) await startEdge(name);
    await well('the edges to be back');
    // A line at each change, and none at any other push.
    for (const [edge, said] of canaryLines()) {
        assert.deepEqual(said, said.map((_, i) => (i % 2 === 0 ? 'canary_fails' : 'canary_works')), edge);
        assert.equal(said.at(-1), 'canary_works', edge);
        assert.equal(await cluster.metric('beckon_canary_success', `edge="${edge}"`, cluster.ports.opsConsole), 1);
    }
    assert.ok((await homes()).every((one) => one.state === 'serving'));
});

test('no broker: the processes that are silent with it are not called dead', async () => {
    await cluster.pauseKafka();
    const accused = []; // at any moment
    try {
        const now = await until('the brokers to be named', async () => {
            const known = await page('status');
            accused.push(...known.findings.filter((one) => /is alive|has been gone|no home/.test(one.what)));
            assert.match(known.findings[0].what, /^The brokers do not answer the console/);
            return /^Push does not work: (no edge answers the canary|the endpoint does not accept the canary's messages)\. The brokers do not answer/.test(known.sentence) && known;
        }, PATIENCE);
        assert.equal(now.findings[0].level, 'bad');
        const [, nodes, lag] = await look('no-broker', 'nodes', 'lag', 'canary');
        assert.match(nodes, /does not know which processes live/);
        assert.doesNotMatch(nodes, /\bgone\b/);
        assert.doesNotMatch(lag, /keeps up|No group/);
    } finally {
        cluster.resumeKafka();
    }
    await until('the brokers to be back', async () => {
        const known = await page('status');
        accused.push(...known.findings.filter((one) => /is alive|has been gone/.test(one.what)));
        return known.findings.length === 0;
    }, PATIENCE);
    assert.deepEqual(accused, []);
    await well('push to work');
});
