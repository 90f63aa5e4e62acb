// A stop (SIGTERM) of the real process under load: it answers every request that has arrived, resets no connection, has
// every message that it answered 201 in the log, and ends in time, also when the log hangs.
//
//   node stop.mjs
import assert from 'node:assert/strict';
import net from 'node:net';
import { after, before, describe, test } from 'node:test';
import tls from 'node:tls';
import { Cluster, until } from './beckon.mjs';
import { agent, post, startWithClient } from './client.mjs';

const KEPT = 30; // connections that are kept alive and always busy
const FRESH = 10; // senders that connect anew for each message
const IDLE = 100;
const STOP_TIMEOUT_MS = 10000; // the default of stop_timeout
// Requests that wait for a log that hangs have three tenths of it, as a stop of the endpoint shares it out (src/app/roles/roles.cpp), and
// the log's end takes no more.
const HANGING_MS = (STOP_TIMEOUT_MS * 6) / 10;

/** One connection, byte for byte: nothing is repeated or hidden as an HTTP library would. */
class Wire {
    constructor(cluster) {
        const { endpoint: port } = cluster.ports;
        this.received = '';
        this.ended = null; // null while open, then 'closed' or the code of an error
        this.connected = new Promise((resolve) => {
            this.socket = cluster.plain
                ? net.connect(port, '127.0.0.1', () => resolve(true))
                : tls.connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => resolve(true));
            this.socket.once('close', () => resolve(false));
        });
        this.socket.setNoDelay(true);
        this.socket.on('data', (data) => {
            this.received += data;
            this.wake?.();
        });
        this.socket.on('error', (error) => (this.ended = error.code ?? error.message));
        this.socket.once('close', () => {
            this.ended ??= 'closed';
            this.wake?.();
        });
    }
    /** The next reply, `{status, id, last}`, or null if the connection ended before. */
    async reply() {
        for (;;) {
            const end = this.received.indexOf('\r\n\r\n');
            if (end >= 0) {
                const head = this.received.slice(0, end);
                const whole = end + 4 + Number(head.match(/^content-length: (\d+)/im)?.[1] ?? 0);
                if (this.received.length >= whole) {
                    this.received = this.received.slice(whole);
                    return {
                        status: Number(head.slice(9, 12)),
                        id: head.match(/^location: \S+\/m\/(\S+)/im)?.[1],
                        last: /^connection: close/im.test(head),
                        retryAfter: head.match(/^retry-after: (\d+)/im)?.[1],
                    };
                }
            }
            if (this.ended) return null;
            await new Promise((resolve) => (this.wake = resolve));
        }
    }
}

const message = (url, more = '') =>
    `POST ${new URL(url).pathname} HTTP/1.1\r\nHost: x\r\nTTL: 3600\r\nContent-Encoding: aes128gcm\r\nContent-Length: 7\r\n${more}\r\nmessage`;

/** Senders that go on until the endpoint is gone. */
class Load {
    constructor(cluster, endpoint) {
        this.cluster = cluster;
        this.endpoint = endpoint;
        this.ids = []; // of messages that were answered 201
        this.faults = []; // outcomes that no request may have
        this.stopped = false;
        this.over = Promise.all([
            ...Array.from({ length: KEPT }, () => this.keepSending()),
            ...Array.from({ length: FRESH }, () => this.connectAndSend()),
        ]);
    }
    async ask(wire, more) {
        wire.socket.write(message(this.endpoint, more));
        const reply = await wire.reply();
        if (reply?.status === 201) this.ids.push(reply.id);
        else this.faults.push(reply ? `answered ${reply.status}` : `a request that was sent: ${wire.ended}`);
        return reply;
    }
    async keepSending() {
        const wire = new Wire(this.cluster);
        await wire.connected;
        for (;;) {
            const reply = await this.ask(wire);
            if (!reply) return;
            if (reply.last) break;
            await new Promise((resolve) => setTimeout(resolve, 5));
        }
        await until('the end of a connection after its last reply', () => wire.ended);
        if (wire.ended !== 'closed') this.faults.push(`after the last reply: ${wire.ended}`);
    }
    async connectAndSend() {
        while (!this.stopped) {
            const wire = new Wire(this.cluster);
            if (!(await wire.connected)) {
                if (wire.ended !== 'ECONNREFUSED') this.faults.push(`connecting: ${wire.ended}`);
                return;
            }
            await this.ask(wire, 'Connection: close\r\n');
            wire.socket.destroy();
        }
    }
}

/** How the process ends; fails if it takes longer than it may. */
async function ends(child) {
    const began = performance.now();
    const outcome = await Promise.race([child.exited, new Promise((resolve) => setTimeout(resolve, (STOP_TIMEOUT_MS * 7) / 10, null))]);
    assert(outcome, `it still runs:\n${child.output}`);
    return { ...outcome, ms: performance.now() - began };
}

for (const [title, log, role, plain] of [
    ['standalone, plain HTTP', 'embedded', 'standalone', true],
    ['an endpoint on Kafka, TLS', 'kafka', 'endpoint', false],
]) {
    describe(title, () => {
        const cluster = new Cluster(log, { plain });
        const ready = async () => (await fetch(`http://127.0.0.1:${cluster.ports.ops}/ready`)).status;
        let client;
        let endpoint;

        before(async () => {
            ({ client, endpoint } = await startWithClient(cluster));
        });
        after(async () => {
            client?.end();
            agent.destroy();
            await cluster.destroy();
        });

        test('under load: every request is answered, no connection is reset, every accepted message arrives', async (t) => {
            const child = cluster.children.get(role);
            const idle = Array.from({ length: IDLE }, () => new Wire(cluster));
            for (const wire of idle) {
                assert(await wire.connected);
                wire.socket.write('GET /__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n');
                assert.equal((await wire.reply()).status, 200);
            }
            const slow = Array.from({ length: 10 }, () => new Wire(cluster));
            const load = new Load(cluster, endpoint);
            await until('a load', () => load.ids.length > 500);
            for (const wire of slow) {
                await wire.connected;
                wire.socket.write(message(endpoint).slice(0, 40));
            }
            await until('half a request here and there', () => load.ids.length > 1000);

            child.process.kill('SIGTERM');
            await until('it stops', () => child.output.includes('stopping'));
            for (const wire of slow) {
                wire.socket.write(message(endpoint).slice(40));
                const reply = await wire.reply();
                if (reply?.status !== 201) load.faults.push(`half a request at the stop: ${reply?.status ?? wire.ended}`);
                else load.ids.push(reply.id);
            }
            const { code, signal, ms } = await ends(child);
            load.stopped = true;
            await load.over;
            await until('the end of the idle connections', () => idle.every((wire) => wire.ended));
            t.diagnostic(`${load.ids.length} messages; ended after ${ms.toFixed()} ms`);
            assert.deepEqual(load.faults, []);
            assert.deepEqual(new Set(idle.map((wire) => wire.ended)), new Set(['closed']));
            assert.equal(code, 0, `${signal}\n${child.output}`);
            cluster.children.delete(role);

            await cluster.start(log === 'kafka' ? 'endpoint' : undefined);
            await until('what was accepted', () => load.ids.every((id) => client.versions.has(id)), 60000);
        });

        test('a second signal ends it at once', async () => {
            const child = cluster.children.get(role);
            const asking = new Wire(cluster); // half a request: the stop waits for the rest
            await asking.connected;
            asking.socket.write(message(endpoint).slice(0, 40));
            await until('its connection', async () => (await cluster.metric('beckon_ingest_open_connections')) > 0);
            child.process.kill('SIGTERM');
            await until('it stops', () => child.output.includes('stopping'));
            child.process.kill('SIGINT');
            const { code, ms } = await ends(child);
            assert.equal(code, 130, child.output);
            assert(ms < 1000, `${ms} ms`);
            cluster.children.delete(role);
            await cluster.start(log === 'kafka' ? 'endpoint' : undefined);
        });

        test('a log that hangs: requests that wait for it get 503, and the stop ends in time', { skip: log !== 'kafka' }, async (t) => {
            const child = cluster.children.get(role);
            assert.equal((await post(endpoint, '', { TTL: '0' })).status, 201); // the view knows it
            await cluster.pauseKafka();
            t.after(() => cluster.resumeKafka());
            const waiting = new Wire(cluster);
            await waiting.connected;
            waiting.socket.write(message(endpoint));
            await until('a message that waits', async () => (await cluster.metric('beckon_ingest_publish_waiting_messages')) === 1);
            child.process.kill('SIGTERM');
            const began = performance.now();
            await until('not ready', async () => (await ready()) === 503);
            await until('no new connections', async () => {
                const late = new Wire(cluster);
                await late.connected;
                late.socket.destroy();
                return late.ended === 'ECONNREFUSED';
            });
            const reply = await waiting.reply();
            assert.equal(reply?.status, 503, waiting.ended);
            assert(reply.last && reply.retryAfter > 0);
            const { code, signal } = await ends(child);
            const ms = performance.now() - began;
            t.diagnostic(`ended with ${code ?? signal} after ${ms.toFixed()} ms`);
            assert(ms < HANGING_MS, `${ms} ms\n${child.output}`);
            assert.equal(code, 0, child.output);
            cluster.children.delete(role);
            cluster.resumeKafka();
            await cluster.kafkaAnswers();
            await cluster.start('endpoint');
        });

        test('a console whose broker hangs ends in time', { skip: log !== 'kafka' }, async (t) => {
            cluster.consoleOptions = [];
            await cluster.start('console');
            const console = cluster.children.get('console');
            const metrics = async () => (await fetch(`http://127.0.0.1:${cluster.ports.opsConsole}/metrics`)).text();
            await until('the lag of the groups', async () => (await metrics()).includes('kafka_consumergroup_lag_sum{'), 60000);
            await cluster.pauseKafka();
            t.after(() => cluster.resumeKafka());
            await until('a look without an answer', () => console.output.includes('lag_unknown'), 60000);
            console.process.kill('SIGTERM');
            const { code, ms } = await ends(console);
            t.diagnostic(`ended with ${code} after ${ms.toFixed()} ms`);
            assert.equal(code, 0, console.output);
            assert(ms < STOP_TIMEOUT_MS / 2, `${ms} ms\n${console.output}`);
            cluster.children.delete('console');
            cluster.resumeKafka();
            await cluster.kafkaAnswers();
        });

        test('an edge whose group forms again after a crash of the broker', { skip: log !== 'kafka' }, async () => {
            const edge = cluster.children.get('edge');
            await cluster.killKafka();
            await until('the group has missed its coordinator', () => edge.output.includes('session timed out'));
            await cluster.startKafka();
            await until('201', async () => (await post(endpoint, '', { TTL: '0' })).status === 201, 120000);
            edge.process.kill('SIGTERM');
            const { code, ms } = await ends(edge);
            assert.equal(code, 0, edge.output);
            assert(ms < STOP_TIMEOUT_MS / 2, `${ms} ms`);
            cluster.children.delete('edge');
        });
    });
}
