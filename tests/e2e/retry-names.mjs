// The names of some owners' webhooks lead to name servers that say nothing: lookups hang in the system's resolver for
// ten seconds each, and attempts end after one. The webhooks of another owner, whose names are looked up for the first
// time meanwhile, are delivered to at once. In a network of its own, with a name server of its own.
//
//   node retry-names.mjs
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { enterOwnHost } from './own-host/enter.mjs';
import { Receivers, RetryApi } from './retry-api.mjs';

enterOwnHost();

const NAME_SERVER = '127.0.0.53';
const OWNERS = 6; // hostile ones
const WEBHOOKS = 40; // of each, with a name of its own
const PROBES = 40; // names of the healthy owner
const WAIT_MAX_MS = 3000; // a lookup that hangs takes ten seconds
// (src/retry/attempt/name_lookups.hpp, and the two threads for deliveries)
const LOOKUPS_MAX = 2 * 64;

/** Answers every name with 127.0.0.1, but says nothing about those that begin with "hang". */
class NameServer {
    asked = new Set(); // names that it says nothing about
    socket = createSocket('udp4');

    listen() {
        this.socket.on('message', (query, from) => {
            const labels = [];
            let at = 12;
            for (; query[at] !== 0; at += query[at] + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
            const end = at + 5; // with type and class
            if (labels[0].startsWith('hang')) return this.asked.add(labels[0]);
            const isA = query.readUInt16BE(at + 1) === 1;
            const head = Buffer.from(query.subarray(0, 12));
            head.writeUInt16BE(0x8180, 2); // an answer, recursive, without error
            head.writeUInt16BE(isA ? 1 : 0, 6);
            head.writeUInt32BE(0, 8);
            const address = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1]);
            this.socket.send(Buffer.concat([head, query.subarray(12, end), ...(isA ? [address] : [])]), from.port, from.address);
        });
        return new Promise((resolve) => this.socket.bind(53, NAME_SERVER, resolve));
    }
}

const cluster = new Cluster('embedded', { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], tiers: '0s,5s,1min' });
const names = new NameServer();
const receivers = new Receivers();
let api;

before(async () => {
    for (const [file, text] of [['resolv.conf', `nameserver ${NAME_SERVER}\noptions timeout:5 attempts:2\n`], ['nsswitch.conf', 'hosts: files dns\n']]) {
        rmSync(`/etc/${file}`, { force: true }); // it may be a link
        writeFileSync(`/etc/${file}`, text);
    }
    await names.listen();
    api = await RetryApi.start(cluster);
});
after(async () => {
    api?.close();
    receivers.close();
    names.socket.close();
    await cluster.end();
});

/** The threads that look names up now. */
function lookups() {
    const tasks = `/proc/${cluster.pid()}/task`;
    return readdirSync(tasks).filter((thread) => {
        try {
            return readFileSync(`${tasks}/${thread}/comm`, 'utf8').trim() === 'retry-names';
        } catch {
            return false; // it has ended
        }
    }).length;
}

test('names that nobody answers for delay no delivery of another owner', { timeout: 120000 }, async () => {
    const receiver = await receivers.quick();
    const { port } = new URL(receiver.url);
    const healthy = api.token('healthy');
    for (let i = 0; i < PROBES; ++i) await api.webhook(healthy, `http://good-${i}.example:${port}/`, [`probe.${i}`]);
    const hostile = Array.from({ length: OWNERS }, (_, i) => api.token(`hostile-${i}`));
    let hanging;
    for (const [o, as] of hostile.entries()) {
        for (let i = 0; i < WEBHOOKS; ++i) {
            hanging = await api.webhook(as, `http://hang-${o}-${i}.example:${port}/`, ['flood'], { timeout_s: 1 });
        }
    }
    for (const as of hostile) await api.post(as, 'flood');
    await until('lookups that hang', () => names.asked.size >= 30);

    const waits = [];
    let most = 0;
    for (let i = 0; i < PROBES; ++i) {
        if (i % 10 === 0) for (const as of hostile) await api.post(as, 'flood');
        const id = await api.post(healthy, `probe.${i}`);
        const accepted = performance.now();
        await until(`event ${id} of the healthy owner`, () => receiver.came.has(id));
        waits.push(receiver.came.get(id) - accepted);
        most = Math.max(most, lookups());
    }
    console.log(`first attempts after at most ${Math.max(...waits).toFixed(1)} ms; ${names.asked.size} names without an answer, ${most} lookups at a time`);
    assert(Math.max(...waits) < WAIT_MAX_MS, `waits: ${waits.map(Math.round)}`);
    assert(most > 0 && most <= LOOKUPS_MAX, `${most} threads look names up`);

    // An attempt ends with its own time-out, not with the resolver's.
    const as = hostile.at(-1);
    const attempts = async () => (await api.ask('GET', `/webhooks/${hanging}/attempts`, { as })).json.attempts;
    await until('an attempt at a name that hangs', async () => (await attempts()).length > 0);
    for (const { outcome, took_ms: took } of await attempts()) {
        assert.equal(outcome, 'timed_out');
        assert(took < WAIT_MAX_MS, `the attempt took ${took} ms`);
    }
});
