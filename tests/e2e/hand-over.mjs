// Two processes of the role retry share the partitions on Kafka, under load; one of them is killed or stopped. Nothing
// is lost, and repetitions stay within the bounds of docs/formats/retry.md.
//
//   node --test hand-over.mjs   (LOG=kafka)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, Cluster, freePort, until } from './beckon.mjs';

const kafkaOnly = { skip: (process.env.LOG ?? 'kafka') !== 'kafka' && 'two processes share a log on Kafka only' };
// A stop waits for attempts in flight; an attempt that takes longer may be made again.
const WORKERS = 4;
// Deliveries of a killed process since its last record in `retry.done` come again: 200 ms, longer where a machine or
// its broker stalls for a moment.
const UNWRITTEN_MS = 5000;
const TIERS = '0s,2s,4s,8s';
const FIRST_DELAY_MS = 2000;
const SENDERS = 2;
const WEBHOOKS = 6; // several, so that each process has some

const cluster = new Cluster('kafka', { plain: true, tiers: TIERS });
const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
const nodes = new Map(); // name → { port, ops }
let token;
let receiver;

/** A receiver that refuses each third delivery once. */
class Receiver {
    constructor() {
        this.refused = new Map(); // webhook-id → when
        this.accepted = new Map(); // webhook-id → when, the first time
        this.events = new Set();
        this.copies = []; // of each delivery that came again after it was accepted: when it was accepted first
        this.early = 0; // deliveries that came again before their delay was over
    }
    async start() {
        this.server = http.createServer((request, response) => {
            let body = '';
            request.on('data', (data) => (body += data));
            request.on('end', () => {
                const event = `${request.url} ${JSON.parse(body).id}`;
                response.writeHead(this.judge(request.headers['webhook-id'], event, Date.now())).end();
            });
        });
        await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
        this.url = `http://127.0.0.1:${this.server.address().port}/hook`;
        return this;
    }
    judge(id, event, now) {
        if (this.accepted.has(id)) {
            this.copies.push(this.accepted.get(id));
        } else if (!this.refused.has(id) && id.charCodeAt(6) % 3 === 0) {
            this.refused.set(id, now);
            return 500;
        } else {
            if (this.refused.has(id) && now - this.refused.get(id) < FIRST_DELAY_MS) ++this.early;
            this.accepted.set(id, now);
            this.events.add(event);
        }
        return 204;
    }
    stop() {
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }
}

function ask(node, method, path, json, type = 'application/json') {
    return new Promise((resolve, reject) => {
        const request = http.request(`http://127.0.0.1:${nodes.get(node).port}${path}`, {
            method, agent, headers: { Authorization: `Bearer ${token}`, ...(json && { 'Content-Type': type }) },
        }, (response) => {
            let text = '';
            response.on('data', (data) => (text += data));
            response.on('end', () => resolve({ status: response.statusCode, text }));
        });
        request.on('error', reject);
        request.end(json && JSON.stringify(json));
    });
}

async function startNode(name, options = []) {
    if (!nodes.has(name)) nodes.set(name, { port: await freePort(), ops: await freePort() });
    const node = nodes.get(name);
    node.child = cluster.startRetry(name, node, [
        '--retry-allowed-addresses', '127.0.0.1', '--test-retry-workers', String(WORKERS), ...options,
    ]);
    return node.child;
}

/** It is gone, and that is meant. */
async function ended(name, how) {
    const { child } = nodes.get(name);
    const result = await child[how]();
    cluster.children.delete(name);
    return result;
}

const partitionsOf = (name) => cluster.metric('beckon_retry_partitions', '', nodes.get(name).ops);
const shares = (...names) => until(`${names} share the partitions`, async () => {
    const counts = await Promise.all(names.map(partitionsOf));
    return counts.reduce((sum, count) => sum + count, 0) === 4 && counts.every((count) => count > 0);
}, 120000).catch((error) => {
    throw new Error(`${error.message}\n${cluster.outputs()}`);
});

/** Posts events by turns at the nodes that are there until `stop()`; the ids of those that were accepted. */
function load(...names) {
    const accepted = new Set();
    let running = true;
    let count = 0;
    const sender = async (index) => {
        while (running) {
            const event = { specversion: '1.0', id: `${index}-${++count}-${Date.now()}`, source: '/load', type: 'load' };
            const node = names[count % names.length];
            const reply = await ask(node, 'POST', '/events', event, 'application/cloudevents+json').catch(() => null);
            if (reply?.status === 202) accepted.add(event.id);
            await new Promise((resolve) => setTimeout(resolve, 25));
        }
    };
    const senders = Array.from({ length: SENDERS }, (_, index) => sender(index));
    return {
        accepted,
        stop: async () => {
            running = false;
            await Promise.all(senders);
        },
    };
}

async function everythingArrives(accepted) {
    const wanted = [...accepted].flatMap((id) => Array.from({ length: WEBHOOKS }, (_, i) => `/hook/${i} ${id}`));
    const missing = () => wanted.filter((one) => !receiver.events.has(one));
    await until('every accepted event', () => missing().length === 0, 180000).catch((error) => {
        throw new Error(`${error.message}: ${missing().length} of ${wanted.length} missing, e.g. ${missing()[0]}\n${cluster.outputs()}`);
    });
}

before(async () => {
    if (kafkaOnly.skip) return;
    await cluster.prepare();
    const made = spawnSync(BECKON, ['webhooks', 'token', 'shop', '--publish-to-all', '--key-ring', join(cluster.directory, 'keys.json')], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    token = made.stdout.trim();
    receiver = await new Receiver().start();
    await startNode('a');
    await startNode('b');
    await shares('a', 'b');
    for (let i = 0; i < WEBHOOKS; ++i) {
        const reply = await ask('a', 'POST', '/webhooks', { url: `${receiver.url}/${i}`, types: ['load'] });
        assert.equal(reply.status, 201, reply.text);
    }
});
after(async () => {
    if (kafkaOnly.skip) return;
    agent.destroy();
    await receiver?.stop();
    await cluster.end();
});

test('a process that is stopped under load hands over without a copy, and nothing is lost', { ...kafkaOnly, timeout: 600000 }, async () => {
    const running = load('a');
    await until('some events', () => running.accepted.size > 200, 120000);
    const { code } = await ended('b', 'stop');
    assert.equal(code, 0, nodes.get('b').child.output);
    await shares('a');
    const goal = running.accepted.size + 100;
    await until('more events', () => running.accepted.size > goal, 120000);
    await running.stop();
    await everythingArrives(running.accepted);
    const copies = receiver.copies.length;
    console.log(`stopped: ${running.accepted.size} accepted and delivered to ${WEBHOOKS} webhooks, ${copies} copies`);
    assert.ok(copies <= WORKERS, `${copies} copies`);
    assert.equal(receiver.early, 0, 'deliveries that came again before their delay was over');
    assert.ok(receiver.refused.size > 0, 'nothing waited in a tier');
});

test('a process that is killed under load costs copies, and nothing is lost', { ...kafkaOnly, timeout: 600000 }, async () => {
    await startNode('b');
    await shares('a', 'b');
    receiver.copies = [];
    const running = load('a');
    await until('some events', () => running.accepted.size > 200, 120000);
    const killed = Date.now();
    await ended('b', 'kill');
    await shares('a');
    const goal = running.accepted.size + 100;
    await until('more events', () => running.accepted.size > goal, 120000);
    await running.stop();
    await everythingArrives(running.accepted);
    const { copies } = receiver;
    console.log(`killed: ${running.accepted.size} accepted and delivered to ${WEBHOOKS} webhooks, ${copies.length} copies`);
    const others = copies.filter((at) => at < killed - UNWRITTEN_MS);
    assert.deepEqual(others, [], `copies of what was delivered long before ${killed}`);
    const late = copies.filter((at) => at > killed + UNWRITTEN_MS);
    assert.deepEqual(late, [], `copies of what the other process delivered after ${killed}`);
});

test('a run of limited time ends by itself with exit code 0', { ...kafkaOnly, timeout: 300000 }, async () => {
    const child = await startNode('c', ['--max-runtime', '5s']);
    const { code } = await child.exited;
    cluster.children.delete('c');
    assert.equal(code, 0, child.output);
    await shares('a');
});
