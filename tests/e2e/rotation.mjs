// A rotation of the key ring while senders, clients and tools run: in the order of docs/operations/keys.md, and nothing is refused at
// any moment. On Kafka each role has a file of its own, as on hosts of its own, and two endpoints and two edges share the work.
//
//   LOG=embedded|kafka node --test rotation.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, until } from './beckon.mjs';
import { UserAgent, call, post } from './client.mjs';

const log = process.env.LOG ?? 'embedded';
const kafka = log === 'kafka';
const cluster = new Cluster(log, { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], reliability: true, console: [] });
const ROLES = kafka ? ['endpoint', 'endpoint-b', 'retry', 'reliability', 'console', 'edge', 'edge-b'] : ['standalone'];

/** Where a role's key ring stands: on Kafka each has a copy, or the first role to read it would show nothing of the others. */
const ringOf = (role) => join(cluster.directory, kafka ? join('rings', `${role}.json`) : join('standalone', 'keys.json'));
const newest = () => (kafka ? join(cluster.directory, 'keys.json') : ringOf('standalone'));
const ops = {};
const origins = [];
const sockets = [];
let owner; // a token for the webhooks' API, made before the rotation

before(async () => {
    await cluster.prepare();
    if (kafka) {
        mkdirSync(join(cluster.directory, 'rings'), { mode: 0o700 });
        for (const role of ROLES) copyFileSync(newest(), ringOf(role));
        const spawned = cluster.kafkaOptions.bind(cluster);
        let role;
        // Each process gets its own file: the last option of that name counts.
        cluster.kafkaOptions = (...args) => spawned(...args).map((option) => (option === newest() && role ? ringOf(role) : option));
        const as = async (name, start) => {
            role = name;
            await start();
            role = undefined;
        };
        for (const name of ['endpoint', 'edge', 'retry', 'reliability', 'console']) await as(name, () => cluster.start(name));
        await as('endpoint-b', async () => origins.push(await cluster.startAnotherEndpoint('endpoint-b')));
        await as('edge-b', async () => sockets.push(await cluster.startEdge('edge-b')));
        Object.assign(ops, {
            endpoint: cluster.ports.ops, edge: cluster.ports.opsEdge, retry: cluster.ports.opsRetry, reliability: cluster.ports.opsReliability,
            console: cluster.ports.opsConsole, 'endpoint-b': cluster.endpoints.get('endpoint-b').ops, 'edge-b': cluster.edges.get('edge-b').ops,
        });
    } else {
        await cluster.start();
        ops.standalone = cluster.ports.ops;
    }
    origins.push(cluster.endpoint);
    sockets.push(cluster.websocket);
    owner = (await tool(['webhooks', 'token', 'shop', ...ringOption(newest())])).trim();
});
after(() => cluster.destroy());

const ringOption = (file) => (kafka ? ['--key-ring', file] : ['--data', join(cluster.directory, 'standalone')]);

function tool(args) {
    return new Promise((resolve, reject) => {
        const child = spawn(BECKON, args);
        let out = '';
        let err = '';
        child.stdout.on('data', (data) => (out += data));
        child.stderr.on('data', (data) => (err += data));
        child.on('exit', (code) => (code === 0 ? resolve(out) : reject(new Error(`beckon ${args[0]} ended with ${code}: ${err}${out}`))));
    });
}

/** The traffic during a rotation, each kind in a loop of its own; `refused` has the refusals. */
class Traffic {
    constructor() {
        this.refused = [];
        this.counts = {};
        this.stopped = false;
        this.clients = [];
    }
    start(loops) {
        this.running = Object.entries(loops).map(async ([name, round]) => {
            this.counts[name] = 0;
            while (!this.stopped) {
                try {
                    await round(this.counts[name]);
                    ++this.counts[name];
                } catch (error) {
                    this.refused.push(`${name}, after ${this.counts[name]} rounds: ${error.message}`);
                    if (this.refused.length > 20) return;
                }
            }
        });
    }
    async stop() {
        this.stopped = true;
        await Promise.all(this.running);
        for (const client of this.clients) client.end();
    }
    /** Between two steps of a rotation: everything that runs meets the state before the next one. */
    async meets() {
        const before = { ...this.counts };
        const twice = ([name, rounds]) => rounds >= before[name] + 2 || this.refused.length > 0;
        await until('two rounds of everything', () => Object.entries(this.counts).every(twice), 60000);
    }
}

const at = (origin, url) => origin + new URL(url).pathname;
const statusOf = async (port) => (await fetch(`http://127.0.0.1:${port}/ready`)).json();

test('nothing is refused at any moment of a rotation', { timeout: 400000 }, async (t) => {
    const traffic = new Traffic();
    const old = [];
    for (const url of sockets) {
        const client = new UserAgent(url);
        await client.connect();
        await client.register();
        old.push(client);
        traffic.clients.push(client);
    }
    const delivered = async (client, id) => until(`the delivery of ${id}`, () => client.versions.has(id), 20000);
    const either = (list, round) => list[round % list.length];
    traffic.start({
        // Endpoint URLs of before, at every endpoint, and their messages deleted at another one.
        'a push': async (round) => {
            const client = either(old, round);
            const { status, id, body } = await post(at(either(origins, round >> 1), client.endpoint), 'x');
            assert.equal(status, 201, body);
            await delivered(client, id);
        },
        'a deletion': async (round) => {
            const sent = await post(at(either(origins, round), old[0].endpoint), 'x', { Topic: 'deleted', TTL: '60' });
            assert.equal(sent.status, 201, sent.body);
            const { status, body } = await call('DELETE', at(either(origins, round + 1), sent.headers.location));
            assert.ok(status === 204 || status === 404 && !/key/.test(body), `${status} ${body}`);
        },
        // New clients, whose URLs every endpoint knows at once, and who come back at another edge.
        'a new client': async (round) => {
            const client = new UserAgent(either(sockets, round));
            try {
                await client.connect();
                await client.register();
                const sent = await post(at(either(origins, round), client.endpoint), 'x');
                assert.equal(sent.status, 201, sent.body);
                await delivered(client, sent.id);
                await client.moveTo(either(sockets, round + 1));
                assert.deepEqual(client.faults, []);
            } finally {
                client.end();
            }
        },
        'an event': async (round) => {
            const answer = await call('POST', `http://127.0.0.1:${cluster.ports.retry}/events`, { Authorization: `Bearer ${owner}`, 'Content-Type': 'application/cloudevents+json' },
                JSON.stringify({ specversion: '1.0', id: `event-${round}`, source: '/rotation', type: 'test.rotated' }));
            assert.ok(answer.status === 202 || answer.status === 201 || answer.status === 200 || answer.status === 429, `${answer.status} ${answer.body}`);
            await new Promise((resolve) => setTimeout(resolve, 20));
        },
        // Tools with the newest file, and tools with the former one.
        'a tool': async (round) => {
            const { headers } = await post(old[0].endpoint, 'traced');
            const where = kafka
                ? ['--kafka-servers', cluster.servers, '--kafka-prefix', cluster.prefix, '--replication-factor', '1', '--key-ring', either([newest(), ringOf('console')], round)]
                : ['--data', join(cluster.directory, 'standalone'), '--ops-port', String(cluster.ports.ops)];
            await tool(['trace', headers.location, '--json', ...where]);
            const edge = kafka ? ['--ops-port', String(either([cluster.ports.opsEdge, cluster.edges.get('edge-b').ops], round))] : [];
            assert.doesNotMatch(await tool(['message', headers.location, ...where, ...edge]), /not known/);
        },
        'webhooks from the command line': async (round) => {
            await tool(['webhooks', 'list', '--owner', 'shop', '--retry-port', String(cluster.ports.retry), ...ringOption(either([newest(), ringOf(ROLES[0])], round))])
                .catch((error) => assert.match(error.message, /ended with 3/)); // it has none
            await new Promise((resolve) => setTimeout(resolve, 100));
        },
        'the console': async () => {
            const { status, body } = await call('GET', `http://127.0.0.1:${cluster.ports.console}/api/find?q=${encodeURIComponent(old[0].endpoint)}`);
            assert.ok(status === 200 || status === 503, `${status} ${body}`);
            await new Promise((resolve) => setTimeout(resolve, 100));
        },
    });
    try {
        await traffic.meets();
        await tool(['keys', 'rotate', ...(kafka ? ['--kafka-servers', cluster.servers, '--kafka-prefix', cluster.prefix] : []), ...ringOption(newest())]);
        // A role whose file is that of the tool finds the new key by itself.
        const shared = !kafka && (await tool(['webhooks', 'token', 'shop', ...ringOption(newest())])).trim();
        const listed = async () => (await call('GET', `http://127.0.0.1:${cluster.ports.retry}/webhooks`, { Authorization: `Bearer ${shared}` })).status === 200;
        if (shared) await until('a token of the new key to be good, without SIGHUP', listed, 15000);
        await traffic.meets();
        // One role after the other gets the file and rereads it. Nobody encrypts with the new key yet.
        for (const role of ROLES) {
            if (kafka) copyFileSync(newest(), ringOf(role));
            cluster.children.get(role).process.kill('SIGHUP');
            if (kafka) {
                await until(`that ${role} reads the new key`, async () => /do not encrypt yet/.test((await statusOf(ops[role])).warnings?.key_ring ?? ''), 45000);
            }
            await traffic.meets();
        }
        if (kafka) {
            await tool(['keys', 'publish', '--kafka-servers', cluster.servers, '--kafka-prefix', cluster.prefix, ...ringOption(newest())]);
            for (const role of ROLES) cluster.children.get(role).process.kill('SIGHUP'); // (or half a minute)
        }
        const encrypts = (role) => /"event":"key_encrypts".*"key":1/.test(cluster.children.get(role).output);
        for (const role of ROLES) await until(`that ${role} encrypts with the new key`, () => encrypts(role), 45000);
        await traffic.meets();
        for (const role of ROLES) assert.equal((await statusOf(ops[role])).warnings?.key_ring, undefined, role);
    } finally {
        await traffic.stop();
    }
    t.diagnostic(JSON.stringify(traffic.counts));
    assert.deepEqual(traffic.refused, []);
    for (const [what, rounds] of Object.entries(traffic.counts)) assert.ok(rounds > 3, `${what}: only ${rounds} rounds`);
    const late = new UserAgent(sockets[0]);
    await late.connect();
    await late.register();
    late.end();
    const keyOf = (url) => Buffer.from(url.split('/').pop(), 'base64url')[0] >> 2;
    assert.deepEqual([keyOf(old[0].endpoint), keyOf(late.endpoint)], [0, 1], 'the new key encrypts');
});

test('a file that lacks a key of the ring in use changes nothing, and says so', async () => {
    const role = ROLES[0];
    const file = ringOf(role);
    copyFileSync(file, `${file}.right`);
    const other = join(cluster.directory, 'other.json');
    await tool(['keys', 'generate', '--key-ring', other]);
    copyFileSync(other, file);
    cluster.children.get(role).process.kill('SIGHUP');
    await until('the warning', async () => /lacks keys of the ring in use/.test((await statusOf(ops[role])).warnings?.key_ring ?? ''), 20000);
    copyFileSync(`${file}.right`, file);
    cluster.children.get(role).process.kill('SIGHUP');
    await until('that it is over', async () => !(await statusOf(ops[role])).warnings?.key_ring, 20000);
});

test('a role that was forgotten is found out, and reads the ring by itself once it is there', { skip: !kafka && 'one process is all' }, async () => {
    const kafkaHere = ['--kafka-servers', cluster.servers, '--kafka-prefix', cluster.prefix];
    await tool(['keys', 'rotate', ...kafkaHere, ...ringOption(newest())]);
    await tool(['keys', 'publish', ...kafkaHere, ...ringOption(newest())]);
    const role = 'reliability';
    await until('the warning', async () => /names the key ring [0-9a-f]{16}, and this process has [0-9a-f]{16}: .*SIGHUP/.test((await statusOf(ops[role])).warnings?.key_ring ?? ''), 45000);
    copyFileSync(newest(), ringOf(role));
    await until('that it is over', async () => !(await statusOf(ops[role])).warnings?.key_ring, 45000);
});
