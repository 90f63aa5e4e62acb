// What one owner of webhooks asks of the role retry has bounds, and costs other owners nothing: requests under way, replies
// that are not read, redrives, changes of webhooks, attachments, and the lines of ordered webhooks. Beside each of
// these another owner's requests are answered and its events delivered.
//
//   node --test retry-bounds.mjs   (LOG=embedded|kafka)
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { Receivers, RetryApi, costlyData, costlyFilter } from './retry-api.mjs';

const log = process.env.LOG ?? 'embedded';
// The machine has other work too: the limits are wide, since each of the faults costs seconds.
const WAIT_MAX_MS = 1500;
// An owner alone has 390 requests under way. All of these have connections (there are 1,024): where there is no space, idle ones are closed.
const REQUESTS = 700;
// Each holds a page of 128 KiB or more: without a bound they hold more than 100 MiB.
const SOCKETS = 600;
const MIB = 1 << 20;

const cluster = new Cluster(log, { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], tiers: '0s,5s,1min' });
const receivers = new Receivers();
let api;
let healthy;
let receiver;

before(async () => {
    api = await RetryApi.start(cluster);
    healthy = api.token('healthy');
    receiver = await receivers.quick();
    await api.webhook(healthy, receiver.url, ['tick']);
});
after(async () => {
    api?.close();
    receivers.close();
    await cluster.end();
});

/** The healthy owner asks and posts as long as `act` runs, and is served in time. */
async function beside(act) {
    let over = false;
    const asked = [];
    const posted = new Map();
    const probe = (async () => {
        while (!over) {
            const began = performance.now();
            const { status, text } = await api.ask('GET', '/webhooks', { as: healthy });
            assert.equal(status, 200, text);
            const answered = performance.now();
            posted.set(await api.post(healthy, 'tick'), answered);
            asked.push(answered - began, performance.now() - answered);
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
    })();
    try {
        await Promise.race([act(), probe.then(() => assert(over))]);
    } finally {
        over = true;
    }
    await probe;
    await until('every event of the healthy owner', () => [...posted.keys()].every((id) => receiver.came.has(id)));
    const came = [...posted].map(([id, at]) => receiver.came.get(id) - at);
    const most = `of ${asked.length} answers the last came after ${Math.max(...asked).toFixed(0)} ms, of the events after ${Math.max(...came).toFixed(0)} ms`;
    console.log(most);
    assert(Math.max(...asked) < WAIT_MAX_MS && Math.max(...came) < WAIT_MAX_MS, most);
}

const residentBytes = () => 1024 * Number(readFileSync(`/proc/${cluster.pid('retry')}/status`, 'utf8').match(/RssAnon:\s+(\d+)/)[1]);

/** A request on a connection of its own, from an address of its own; resolves with the answer's status and headers. */
function alone(method, path, as, json, held) {
    return new Promise((resolve, reject) => {
        const request = http.request(api.url + path, {
            method, agent: false, headers: { Authorization: `Bearer ${as}`, 'Content-Type': 'application/cloudevents+json' },
        }, (response) => {
            response.resume().on('end', () => resolve({ status: response.statusCode, headers: response.headers }));
        });
        held?.add(request);
        request.on('error', reject).on('close', () => held?.delete(request));
        request.end(json && JSON.stringify(json));
    });
}

test('an owner has a share of the requests under way, and is refused beyond it', { timeout: 120000 }, async () => {
    const hostile = api.token('waits');
    await api.webhook(hostile, await receivers.hangs(), ['slow']);
    const held = new Set();
    const statuses = [];
    await beside(async () => {
        const answers = Array.from({ length: REQUESTS }, (_, i) =>
            alone('POST', '/events?wait=24', hostile, { specversion: '1.0', id: `w${i}`, source: '/wait', type: 'slow' }, held)
                .then(({ status, headers }) => statuses.push([status, headers['retry-after']]), () => {}));
        await until('refusals', () => statuses.length >= REQUESTS / 4);
        await new Promise((resolve) => setTimeout(resolve, 1000)); // the rest is under way for so long
        for (const request of held) request.destroy();
        await Promise.all(answers);
    });
    assert.deepEqual([...new Set(statuses.map(([status]) => status))], [429]);
    for (const [, after] of statuses) assert.match(after, /^\d+$/);
    assert(statuses.length < REQUESTS, 'all of them were refused');
});

test('replies that are not read hold a bounded memory', { timeout: 120000 }, async () => {
    const hostile = api.token('reads-nothing');
    const words = 'w'.repeat(900);
    const filter = { bool: { should: Array.from({ length: 100 }, (_, i) => ({ term: { 'data.x': `${i}${words}` } })) } };
    for (let i = 0; i < 20; ++i) await api.webhook(hostile, receiver.url, [`never.${i}`], { filter });
    const { text } = await api.ask('GET', '/webhooks', { as: hostile });
    assert(text.length > MIB / 8, `a page of its list has ${text.length} bytes`);
    const before = residentBytes();
    const sockets = [];
    let most = 0;
    await beside(async () => {
        for (let i = 0; i < SOCKETS; ++i) {
            const socket = net.connect(cluster.ports.retry, '127.0.0.1');
            socket.on('error', () => {}).pause();
            socket.write(`GET /webhooks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${hostile}\r\n\r\n`.repeat(4));
            sockets.push(socket);
        }
        const end = performance.now() + 5000;
        while (performance.now() < end) {
            most = Math.max(most, residentBytes() - before);
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
    });
    for (const socket of sockets) socket.destroy();
    console.log(`its replies hold ${(most / MIB).toFixed(0)} MiB`);
    assert(most < 80 * MIB, `${(most / MIB).toFixed(0)} MiB more`); // a share of 64, and what the allocator keeps
    await until('its next answer', async () => (await api.ask('GET', '/webhooks', { as: hostile })).status === 200);
});

test('a caller has one redrive under way', { timeout: 120000 }, async () => {
    const hostile = api.token('redrives');
    const quick = await receivers.quick();
    for (let i = 0; i < 5; ++i) await api.webhook(hostile, quick.url, ['costly'], { filter: costlyFilter });
    for (let i = 0; i < 40; ++i) await api.post(hostile, 'costly', costlyData);
    const letters = async () => (await api.ask('GET', '/dead?limit=1000', { as: hostile })).json.letters.length;
    await until('its dead letters', async () => (await letters()) === 200);
    await beside(async () => {
        const order = { dry_run: false, limit: 100 };
        const answers = await Promise.all(Array.from({ length: 8 }, () => api.ask('POST', '/dead/redrive', { as: hostile, json: order })));
        const counts = (status) => answers.filter((answer) => answer.status === status).length;
        assert.equal(counts(200) + counts(429), 8, answers.map(({ text }) => text).join('\n'));
        assert(counts(200) >= 1 && counts(429) >= 1, `${counts(429)} of 8 were refused`);
        for (const answer of answers) if (answer.status === 429) assert.match(answer.json.detail, /one redrive or drop of a caller/);
        await until('the end of the one', async () => (await api.ask('POST', '/dead/redrive', { as: hostile, json: { ...order, limit: 1000 } })).status === 200);
        await until('the events', () => quick.came.size === 40);
    });
    assert.equal(await letters(), 0);
});

test('the webhooks of an owner may change so much in a minute', { timeout: 120000 }, async () => {
    const hostile = api.token('changes');
    const words = 'w'.repeat(1000);
    const filter = (n) => ({ bool: { should: Array.from({ length: 200 }, (_, i) => ({ term: { 'data.x': `${n}.${i}${words}` } })) } });
    const made = await api.ask('POST', '/webhooks', { as: hostile, json: { url: receiver.url, types: ['none'], filter: filter(0) } });
    assert.equal(made.status, 201, made.text);
    const { id, memory_bytes: each } = made.json;
    const most = Math.ceil(16 * MIB / each) + 2;
    let changes = 1;
    await beside(async () => {
        for (;;) {
            const { status, text, headers } = await api.ask('PATCH', `/webhooks/${id}`, { as: hostile, json: { filter: filter(changes) } });
            if (status === 429) {
                assert.match(headers['retry-after'], /^\d+$/);
                break;
            }
            assert.equal(status, 200, text);
            assert(++changes <= most, `${changes} changes of ${each} bytes in a minute`);
        }
    });
    // The next owner's change is made.
    await api.webhook(healthy, receiver.url, ['none'], { filter: filter(0) });
});

test('attachments of a request have a budget', { timeout: 120000 }, async () => {
    const hostile = api.token('attaches');
    const bodies = [];
    const url = await receivers.listen(http.createServer((request, response) => {
        let body = '';
        request.on('data', (data) => (body += data)).on('end', () => {
            bodies.push(body);
            response.writeHead(204).end();
        });
    }));
    const attachments = (expression) => Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`a${i}`, expression(i)]));
    const costly = attachments((i) => `data.list[*].[a, b, c, a, b, c, @] | [*].[@, @, @, @] | [${i}]`);
    const large = attachments(() => 'data.text');
    const WEBHOOKS = 10;
    const EVENTS = 10;
    for (let i = 0; i < WEBHOOKS; ++i) {
        await api.webhook(hostile, url, ['costly'], { attachments: costly });
        await api.webhook(hostile, url, ['large'], { attachments: large });
    }
    const list = Array.from({ length: 12000 }, (_, i) => ({ a: i % 10, b: 1, c: 2 }));
    const text = 'x'.repeat(50000);
    await beside(async () => {
        for (let i = 0; i < EVENTS; ++i) {
            await api.postInTurn(hostile, 'costly', { list });
            await api.postInTurn(hostile, 'large', { text });
        }
        await until('its deliveries', () => bodies.length >= 2 * WEBHOOKS * EVENTS, 60000);
    });
    for (const body of bodies) {
        const { type, attachments: selected } = JSON.parse(body);
        const errors = Object.values(selected._errors ?? {});
        assert(errors.length > 0, `${type}: every expression had a result`);
        assert(JSON.stringify(selected).length < 132 << 10, `${type}: the attachments are too large`);
    }
});

test('long lines of ordered webhooks delay nobody, and stay in order', { timeout: 120000 }, async () => {
    const hostile = api.token('in-order');
    const came = new Map(); // webhook → numbers
    let failing = true;
    const url = await receivers.listen(http.createServer((request, response) => {
        let body = '';
        request.on('data', (data) => (body += data)).on('end', () => {
            if (failing) return response.writeHead(503).end();
            const numbers = came.get(request.url) ?? [];
            came.set(request.url, numbers);
            numbers.push(JSON.parse(body).data.n);
            response.writeHead(204).end();
        });
    }));
    const WEBHOOKS = 60;
    const EVENTS = 60;
    for (let i = 0; i < WEBHOOKS; ++i) await api.webhook(hostile, `${url}/${i}`, ['line'], { ordered: true });
    const hasAll = (numbers) => new Set(numbers).size === EVENTS;
    // An attempt may be repeated, but none comes before the first one of an earlier event.
    const isInOrder = (numbers) => [...new Set(numbers)].every((n, i, first) => i === 0 || n > first[i - 1]);
    await beside(async () => {
        for (let n = 0; n < EVENTS; ++n) {
            await api.post(hostile, 'line', { n }, { partitionkey: 'line' });
        }
        failing = false;
        await until('every delivery', () => {
            const all = [...came.values()];
            return !all.every(isInOrder) || (all.length === WEBHOOKS && all.every(hasAll));
        }, 90000);
    });
    for (const [webhook, numbers] of came) assert(isInOrder(numbers), `${webhook}: ${numbers}`);
});
