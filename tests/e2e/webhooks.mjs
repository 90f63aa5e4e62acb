// Webhooks from the outside: events in over HTTP, requests out, checked by the real receiver library of
// Standard Webhooks; receivers that fail, and processes that are killed.
//
//   node --test webhooks.mjs   (LOG=embedded|kafka)
//   KILLS=200 SEED=1 node --test --test-name-pattern='lose nothing' webhooks.mjs
//
// The last event before each kill follows from the seed; the exact moment of the kill does not.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import http from 'node:http';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { BECKON, Cluster, freePort, until } from './beckon.mjs';
import { randomFrom } from './chaos-plan.mjs';

const log = process.env.LOG ?? 'embedded';
const TIERS = [0, 2, 4];
const KILLS = Number(process.env.KILLS ?? 8);
const SEED = Number(process.env.SEED ?? Date.now() % 1000000);
// Node's clock and the log's tick alike on one machine; the log rounds times to milliseconds.
const ROUNDING_MS = 2;

const cluster = new Cluster(log, {
    plain: true,
    retry: ['--retry-allowed-addresses', '127.0.0.1'],
    tiers: `0s,${TIERS[1]}s,${TIERS[2]}s`,
});
const agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
let api;
let token;

// Running receivers: a test that fails does not reach its stop().
const receivers = new Set();

/** A receiver that keeps what it gets; `answer` decides the status by delivery id and how often it came. */
class Receiver {
    constructor(answer = () => 204) {
        this.requests = [];
        this.times = new Map(); // how often a delivery came, by its id
        this.seen = new Set(); // ids of events
        this.answer = answer;
    }
    async start() {
        this.server = http.createServer((request, response) => {
            let body = '';
            request.on('data', (data) => (body += data));
            request.on('end', () => {
                const id = request.headers['webhook-id'];
                this.requests.push({ id, at: Date.now(), headers: request.headers, body });
                this.times.set(id, (this.times.get(id) ?? 0) + 1);
                this.seen.add(JSON.parse(body).id);
                const answered = this.answer(id, this.times.get(id), body);
                response.writeHead(answered, answered === 302 ? { Location: this.url } : {}).end();
            });
        });
        await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
        this.url = `http://127.0.0.1:${this.server.address().port}/hook`;
        receivers.add(this);
        return this;
    }
    events() {
        return this.seen;
    }
    stop() {
        receivers.delete(this);
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }
}

function ask(method, path, { json, type = 'application/json', headers = {}, as = token, raw } = {}) {
    return new Promise((resolve, reject) => {
        const body = raw ?? (json === undefined ? undefined : JSON.stringify(json));
        const request = http.request(api + path, {
            method,
            agent,
            headers: { ...(as && { Authorization: `Bearer ${as}` }), ...(body !== undefined && { 'Content-Type': type }), ...headers },
        }, (response) => {
            let text = '';
            response.on('data', (data) => (text += data));
            response.on('end', () => {
                let parsed = null;
                try {
                    parsed = JSON.parse(text);
                } catch {
                    // a 204, or not JSON
                }
                resolve({ status: response.statusCode, headers: response.headers, text, json: parsed });
            });
        });
        request.on('error', reject);
        request.end(body);
    });
}

const ownerToken = (owner, ...more) => {
    const data = log === 'kafka' ? ['--key-ring', join(cluster.directory, 'keys.json')] : ['--data', join(cluster.directory, 'standalone')];
    const made = spawnSync(BECKON, ['webhooks', 'token', owner, ...more, ...data], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    return made.stdout.trim();
};

let events = 0;
const eventOf = (type, data = {}, more = {}) => ({
    specversion: '1.0', id: `e${++events}`, source: '/shop', type, data, ...more,
});
const post = (event, more = {}) => ask('POST', '/events', { json: event, type: 'application/cloudevents+json', ...more });

async function posted(event, more) {
    const reply = await post(event, more);
    assert.equal(reply.status, 202, reply.text);
    return event;
}
async function made(json, more) {
    const reply = await ask('POST', '/webhooks', { json, ...more });
    assert.equal(reply.status, 201, reply.text);
    return reply.json;
}
const serving = () => until('the role serves', async () => (await ask('GET', '/webhooks')).status === 200, 60000);

before(async () => {
    await cluster.prepare();
    await cluster.start();
    api = `http://127.0.0.1:${cluster.ports.retry}`;
    token = ownerToken('shop', '--publish-to-all');
    await serving();
});
after(async () => {
    agent.destroy();
    await Promise.all([...receivers].map((receiver) => receiver.stop()));
    await cluster.end();
});

test('an event reaches the webhook that wants it, signed as Standard Webhooks has it', async () => {
    const receiver = await new Receiver().start();
    const webhook = await made({ url: receiver.url, types: ['order.*'], filter: { range: { 'data.price': { gte: 10 } } } });
    await posted(eventOf('order.created', { price: 5 }));
    await posted(eventOf('user.created', { price: 50 }));
    const wanted = await posted(eventOf('order.created', { price: 50 }));
    await posted(wanted); // again: nothing happens
    await until('the event', () => receiver.requests.length > 0);
    const [{ headers, body }] = receiver.requests;
    const verified = new Webhook(webhook.secret).verify(body, headers);
    assert.deepEqual(verified, wanted);
    assert.throws(() => new Webhook(webhook.secret).verify(body.replace('50', '51'), headers), /signature/i);
    const last = await posted(eventOf('order.paid', { price: 99 }));
    await until('a later event', () => receiver.events().has(last.id));
    assert.deepEqual([...receiver.events()], [wanted.id, last.id]);
    await receiver.stop();
});

test('a webhook\'s own headers and Basic authentication are sent, and never shown', async () => {
    const receiver = await new Receiver().start();
    const url = new URL(receiver.url);
    const webhook = await made({ url: `http://us%20er:p%40ss@${url.host}${url.pathname}`, types: ['own'], headers: { 'X-Shop': 'berlin' } });
    assert.equal(webhook.url, receiver.url);
    assert.deepEqual(webhook.headers, ['Authorization', 'X-Shop']);
    await posted(eventOf('own'));
    await until('the event', () => receiver.requests.length > 0);
    const [{ headers }] = receiver.requests;
    assert.equal(headers['x-shop'], 'berlin');
    assert.equal(headers.authorization, `Basic ${Buffer.from('us er:p@ss').toString('base64')}`);
    const changed = await ask('PATCH', `/webhooks/${webhook.id}`, { json: { headers: { authorization: 'Bearer b' } } });
    assert.deepEqual(changed.json.headers, ['authorization'], changed.text);
    assert(!(await ask('GET', `/webhooks/${webhook.id}`)).text.includes('Bearer'));
    await posted(eventOf('own'));
    await until('another', () => receiver.requests.length > 1);
    assert.equal(receiver.requests[1].headers.authorization, 'Bearer b');
    assert.equal(receiver.requests[1].headers['x-shop'], undefined);
    await receiver.stop();
});

test('no page, log line, attempt, dead letter or file shows the password of a URL, or the value of a header', async () => {
    const receiver = await new Receiver(() => 410).start();
    const { host } = new URL(receiver.url);
    const secrets = ['only%20the%20receiver', 'only the receiver', Buffer.from('shop:only the receiver').toString('base64'), 'v4lue-of-a-header'];
    const { id, secret, ...shown } = await made({ url: `http://shop:${secrets[0]}@${host}/hook`, types: ['secret'], headers: { 'X-Key': secrets[3] } });
    await posted(eventOf('secret'));
    const letters = async () => (await ask('GET', `/dead?webhook=${id}`)).json.letters;
    await until('a dead letter', async () => (await letters()).length === 1);
    assert.equal(receiver.requests[0].headers.authorization, `Basic ${secrets[2]}`);
    assert.equal(receiver.requests[0].headers['x-key'], secrets[3]);
    const refused = await ask('POST', '/webhooks', { json: { url: `http://shop:${secrets[0]}%0A@${host}/` } });
    assert.match(refused.json.detail, /^\$\.url may have a user name and a password without control characters/);

    const [{ delivery }] = await letters();
    const pages = [JSON.stringify(shown), refused.text];
    for (const path of ['/webhooks', `/webhooks/${id}`, `/webhooks/${id}/attempts`, '/attempts', '/dead', `/dead/${delivery}`]) {
        const reply = await ask('GET', path);
        assert.equal(reply.status, 200, reply.text);
        pages.push(reply.text);
    }
    const access = ['--url', api, '--token', token];
    for (const command of [['webhooks', 'list'], ['webhooks', 'show', id], ['webhooks', 'attempts', id], ['dead', 'list', '--json'], ['dead', 'show', delivery]]) {
        pages.push(await cluster.tool([...command, ...access]));
    }
    if (log === 'embedded') {
        const page = (name) => fetch(`http://127.0.0.1:${cluster.ports.console}/api/pages/${name}`).then((reply) => reply.text());
        await until('the webhook in the console', async () => (await page('webhooks')).includes(id));
        pages.push(await page('webhooks'), await page('dead'));
        pages.push(await fetch(`http://127.0.0.1:${cluster.ports.ops}/metrics`).then((reply) => reply.text()));
        for (const name of readdirSync(cluster.directory, { recursive: true })) {
            const path = join(cluster.directory, name);
            if (statSync(path, { throwIfNoEntry: false })?.isFile()) pages.push(readFileSync(path, 'latin1'));
        }
    }
    for (const child of cluster.children.values()) pages.push(child.output);
    for (const text of pages) {
        for (const part of secrets) assert(!text.includes(part), `${part} in ${text.slice(0, 2000)}`);
    }
    await receiver.stop();
});

test('binary mode carries the same event', async () => {
    const receiver = await new Receiver().start();
    await made({ url: receiver.url, types: ['binary'] });
    const reply = await ask('POST', '/events', {
        raw: '{"n":1}',
        headers: { 'CE-SpecVersion': '1.0', 'ce-id': 'b1', 'ce-source': '/bin', 'ce-type': 'binary', 'ce-note': 'caf%C3%A9' },
    });
    assert.equal(reply.status, 202, reply.text);
    await until('the event', () => receiver.requests.length > 0);
    const event = JSON.parse(receiver.requests[0].body);
    assert.deepEqual(event, {
        specversion: '1.0', id: 'b1', source: '/bin', type: 'binary', note: 'café',
        datacontenttype: 'application/json', data: { n: 1 },
    });
    await receiver.stop();
});

test('a receiver that fails gets it again after the delay of each tier, and never before', async () => {
    const receiver = await new Receiver((id, times) => (times <= 2 ? 500 : 200)).start();
    await made({ url: receiver.url, types: ['late'] });
    await posted(eventOf('late'));
    await until('three attempts', () => receiver.requests.length === 3);
    const waits = receiver.requests.slice(1).map(({ at }, i) => at - receiver.requests[i].at);
    waits.forEach((wait, i) => assert(wait >= 1000 * TIERS[i + 1] - ROUNDING_MS, `attempt ${i + 2} came after ${wait} ms`));
    assert.equal(new Set(receiver.requests.map(({ id }) => id)).size, 1, 'under one id');
    assert.deepEqual(receiver.requests.map(({ headers }) => headers['beckon-attempt']), ['0', '1', '2']);
    await receiver.stop();
});

test('while a secret is exchanged, receivers with the old and with the new one find theirs', async () => {
    const receiver = await new Receiver().start();
    const webhook = await made({ url: receiver.url, types: ['turn'] });
    const rotated = await ask('POST', `/webhooks/${webhook.id}/secret`);
    assert.equal(rotated.status, 200, rotated.text);
    assert.notEqual(rotated.json.secret, webhook.secret);
    await posted(eventOf('turn'));
    await until('the event', () => receiver.requests.length === 1);
    for (const secret of [webhook.secret, rotated.json.secret]) {
        new Webhook(secret).verify(receiver.requests[0].body, receiver.requests[0].headers);
    }
    const alone = await ask('POST', `/webhooks/${webhook.id}/secret`, { json: { keep: false } });
    await posted(eventOf('turn'));
    await until('another', () => receiver.requests.length === 2);
    new Webhook(alone.json.secret).verify(receiver.requests[1].body, receiver.requests[1].headers);
    assert.throws(() => new Webhook(rotated.json.secret).verify(receiver.requests[1].body, receiver.requests[1].headers));
    await receiver.stop();
});

test('an owner sees its own webhooks only, and its events reach no others', async () => {
    const other = ownerToken('other');
    const receiver = await new Receiver().start();
    const theirs = await new Receiver().start();
    const mine = await made({ url: receiver.url, types: ['scope'] });
    await made({ url: theirs.url, types: ['scope'] }, { as: other });
    for (const [method, path] of [['GET', ''], ['PATCH', ''], ['DELETE', ''], ['POST', '/enable'], ['POST', '/disable'], ['POST', '/secret'], ['POST', '/test'], ['GET', '/attempts']]) {
        const reply = await ask(method, `/webhooks/${mine.id}${path}`, { as: other });
        assert.equal(reply.status, 404, `${method} ${path}: ${reply.text}`);
    }
    const { json } = await ask('GET', '/webhooks', { as: other });
    assert.deepEqual(json.webhooks.map(({ url }) => url), [theirs.url]);
    assert.equal(json.webhooks[0].secret, undefined, 'a secret is never shown again');

    await posted(eventOf('scope', {}, { id: 'same' }), { as: other });
    await until('its own', () => theirs.requests.length === 1);
    await posted(eventOf('scope', {}, { id: 'same' })); // of everybody: the same id is another event
    await until('of everybody', () => receiver.requests.length === 1 && theirs.requests.length === 2);
    const refused = await post(eventOf('scope', {}, { beckonowner: 'shop' }), { as: other });
    assert.equal(refused.status, 403, refused.text);
    for (const bad of [null, 'shop.all.AAAA', token.slice(0, -2) + 'xx', token.replace('shop', 'other')]) {
        assert.equal((await ask('GET', '/webhooks', { as: bad })).status, 401);
    }
    await receiver.stop();
    await theirs.stop();
});

test('an event that is too costly for a filter holds up nobody, and its webhook says so', async () => {
    const receiver = await new Receiver().start();
    const neighbour = await new Receiver().start();
    const [hostile, quiet] = [ownerToken('hostile'), ownerToken('quiet')];
    await made({ url: neighbour.url }, { as: quiet });
    const exists = Array(200).fill({ exists: { field: 'data.a.b' } });
    const costly = await made({ url: receiver.url, filter: { bool: { should: exists } } }, { as: hostile });
    assert.ok(costly.memory_bytes > 1000);
    for (let i = 0; i < 5; ++i) await posted(eventOf('order.created', { a: Array(80000).fill({}) }), { as: hostile });
    const began = Date.now();
    const wanted = await posted(eventOf('order.created'), { as: quiet });
    await until('the event of another owner', () => neighbour.events().has(wanted.id));
    assert.ok(Date.now() - began < 5000);
    const costlyFilter = await until('the webhook names its costly event', async () => (await ask('GET', `/webhooks/${costly.id}`, { as: hostile })).json.filter_too_costly);
    assert.equal(costlyFilter.source, '/shop');
    await until('the dead letters', async () => (await ask('GET', '/dead?reason=filter_too_costly', { as: hostile })).json.letters.length === 5);
    assert.equal(receiver.requests.length, 0);
    const long = Array(255).fill('a').join('.');
    const refused = await ask('POST', '/webhooks', { json: { url: receiver.url, filter: { exists: { field: long } } }, as: hostile });
    assert.deepEqual([refused.status, refused.json.detail], [400, '$.filter.exists.field is a path of more than 64 names']);
    await receiver.stop();
    await neighbour.stop();
});

test('a fault is named with its place', async () => {
    const cases = [
        [{}, /\$\.url is missing/],
        [{ url: 'ftp://a.example/' }, /\$\.url must begin with https/],
        [{ url: 'http://10.0.0.1/' }, /\$\.url leads to an address that is not allowed \(private\)/],
        [{ url: 'http://[::ffff:169.254.169.254]/' }, /not allowed/],
        [{ url: 'https://a.example/', headers: { 'Webhook-Id': 'x' } }, /\$\.headers\.Webhook-Id is set by Beckon/],
        [{ url: 'https://a.example/', headers: { 'X-A': 'a\r\nb' } }, /\$\.headers\.X-A must have 1 to 1024 printable/],
        [{ url: 'https://a.example/', filter: { bool: { must: [{ term: { a: 1 } }, { range: { b: {} } }] } } }, /\$\.filter\.bool\.must\[1\]\.range/],
        [{ url: 'https://a.example/', secret: 'whsec_AAAA' }, /\$\.secret: .*24/],
        [{ url: 'https://a.example/', shared_key: { id: 'k', secret: 'fifteen bytes..' } }, /\$\.shared_key\.secret must have at least 16 bytes/],
        [{ url: 'https://a.example/', shared_key: { id: `${'k'.repeat(100)}\r\nX: y`, secret: '0123456789abcdef' } }, /\$\.shared_key\.id must have/],
        [{ url: 'https://a.example/', secret: `whsec_${'-_'.repeat(16)}` }, /\$\.secret: .*URL-safe/],
        [{ url: 'https://a.example/', types: ['a*b'] }, /\$\.types\[0\]/],
        [{ url: 'https://a.example/', attachments: { a: 'data[?b]' } }, /\$\.attachments\.a: at byte 4: a filter is not known here/],
        [{ url: 'https://a.example/', attachments: { _a: 'b' } }, /\$\.attachments\._a: a name must have 1 to 64 bytes/],
        [{ url: 'https://a.example/', timeout_s: 600 }, /\$\.timeout_s must be a whole number from 1 to 60/],
        [{ url: 'https://a.example/', tpyes: [] }, /\$\.tpyes is no field of a webhook; there are .*url, types/],
    ];
    for (const [json, wanted] of cases) {
        const reply = await ask('POST', '/webhooks', { json });
        assert.equal(reply.status, 400, reply.text);
        assert.equal(reply.headers['content-type'], 'application/problem+json');
        assert.match(reply.json.detail, wanted);
    }
    assert.match((await post({ specversion: '1.0', id: '1', type: 't' })).json.detail, /\$\.source is missing/);
    assert.match((await post(eventOf('beckon.mine'))).json.detail, /\$\.type must not begin/);
    assert.equal((await ask('POST', '/events', { json: { a: 1 } })).status, 415);
    assert.equal((await post(eventOf('big', 'x'.repeat(300_000)))).status, 413);
    assert.equal((await ask('PUT', '/events', { json: {} })).headers.allow, 'POST');
    for (const name of ['ce-id', 'ce-source', 'ce-type', 'ce-subject', 'ce-note']) {
        const headers = { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': '/bin', 'ce-type': 'binary' };
        const reply = await ask('POST', '/events', { raw: '1', headers: { ...headers, [name]: 'a%E2%82' } });
        assert.equal(reply.status, 400, reply.text);
        assert.equal(reply.json.detail, `$.${name.slice(3)} must be UTF-8`);
    }
});

test('attachments select parts of the event, made with the command line', async () => {
    const receiver = await new Receiver().start();
    const webhook = JSON.parse(await cluster.tool([
        'webhooks', 'create', receiver.url, '--type', 'order.*', '--attach', 'first=data.items[0].sku',
        '--attach', 'prices=data.items[*].price', '--attach', 'pointer=/data/items/1/sku', '--url', api, '--token', token,
    ]));
    assert.deepEqual(webhook.attachments, { first: 'data.items[0].sku', prices: 'data.items[*].price', pointer: '/data/items/1/sku' });
    const event = await posted(eventOf('order.attached', { items: [{ sku: 'a-17', price: 3 }, { sku: 'b', price: 5 }] }));
    await until('the event', () => receiver.requests.length > 0);
    const [{ headers, body }] = receiver.requests;
    const verified = new Webhook(webhook.secret).verify(body, headers);
    assert.deepEqual(verified, { ...event, attachments: { first: 'a-17', prices: [3, 5], pointer: 'b' } });
    await receiver.stop();
});

test('the sender of an event can wait for its first attempts', async () => {
    const receiver = await new Receiver(() => 503).start();
    const webhook = await made({ url: receiver.url, types: ['waited.*'] });
    const waited = JSON.parse(await cluster.tool(['events', 'send', 'waited.for', '{}', '--wait', '20s', '--url', api, '--token', token]));
    assert.equal(waited.complete, true, JSON.stringify(waited));
    assert.deepEqual(waited.attempts.map((one) => [one.webhook, one.delivery, one.status]), [[webhook.id, receiver.requests[0].id, 503]]);
    assert.equal((await ask('DELETE', `/webhooks/${webhook.id}`)).status, 204);
    await receiver.stop();
});

test('a receiver that wants a handshake gets no event before it has allowed events', async () => {
    const seen = [];
    let allowed = null;
    const server = http.createServer((request, response) => {
        seen.push({ method: request.method, asked: request.headers['webhook-request-origin'], origin: request.headers.origin });
        request.resume().on('end', () => response.writeHead(200, allowed ? { 'WebHook-Allowed-Origin': allowed } : {}).end());
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const webhook = await made({ url: `http://127.0.0.1:${server.address().port}/hook`, types: ['handshake'], request_origin: 'events.example.com' });
    assert.equal(webhook.request_origin, 'events.example.com');
    await posted(eventOf('handshake'));
    await until('an attempt that is refused', async () => {
        const { json } = await ask('GET', `/webhooks/${webhook.id}/attempts`);
        return json.attempts.length === 1 && json.attempts[0].outcome === 'refused' && json.attempts[0].why.includes('handshake');
    });
    assert.deepEqual(seen, [{ method: 'OPTIONS', asked: 'events.example.com', origin: undefined }]);
    allowed = 'events.example.com';
    await until('the event', () => seen.some(({ method }) => method === 'POST'));
    await posted(eventOf('handshake'));
    await until('the next event', () => seen.filter(({ method }) => method === 'POST').length === 2);
    assert.deepEqual(seen.map(({ method }) => method), ['OPTIONS', 'OPTIONS', 'POST', 'POST'], 'it is asked once');
    assert.deepEqual(seen[2], { method: 'POST', asked: undefined, origin: 'events.example.com' });
    assert.equal((await ask('DELETE', `/webhooks/${webhook.id}`)).status, 204);
    server.closeAllConnections();
    server.close();
});

test('redirects are not followed, and attempts can be looked at', async () => {
    const receiver = await new Receiver(() => 302).start();
    const webhook = await made({ url: receiver.url, types: ['elsewhere'] });
    await posted(eventOf('elsewhere'));
    await until('an attempt that is reported', async () => {
        const { json } = await ask('GET', `/webhooks/${webhook.id}/attempts`);
        return json.attempts.length === 1 && json.attempts[0].outcome === 'refused' && json.attempts[0].status === 302;
    });
    assert.equal(receiver.requests.length, 1);
    assert.equal((await ask('DELETE', `/webhooks/${webhook.id}`)).status, 204);
    assert.equal((await ask('GET', `/webhooks/${webhook.id}`)).status, 404);
    await receiver.stop();
});

test('410 disables a webhook; its owner is notified, and can enable it again', async () => {
    let status = 410;
    const receiver = await new Receiver(() => status).start();
    const watcher = await new Receiver().start();
    const webhook = await made({ url: receiver.url, types: ['gone'] });
    await made({ url: watcher.url, types: ['beckon.webhook.disabled'] });
    await posted(eventOf('gone'));
    await until('what Beckon says', () => watcher.requests.length === 1);
    assert.deepEqual(JSON.parse(watcher.requests[0].body).data, { webhook: webhook.id, reason: 'gone' });
    await until('its state', async () => (await ask('GET', `/webhooks/${webhook.id}`)).json.enabled === false);
    status = 200;
    const enabled = await ask('POST', `/webhooks/${webhook.id}/enable`);
    assert.equal(enabled.json.enabled, true, enabled.text);
    const tried = await ask('POST', `/webhooks/${webhook.id}/test`);
    assert.equal(tried.status, 202, tried.text);
    await until('the test event', () => receiver.requests.some(({ id }) => id === tried.json.delivery));
    const disabled = await ask('POST', `/webhooks/${webhook.id}/disable`, { json: { by: 'operator' } });
    assert.equal(disabled.json.reason, 'by an operator', disabled.text);
    await until('what Beckon says of the operator', () => watcher.requests.length === 2);
    assert.deepEqual(JSON.parse(watcher.requests[1].body).data, { webhook: webhook.id, reason: 'by an operator' });
    assert.notEqual(JSON.parse(watcher.requests[1].body).id, JSON.parse(watcher.requests[0].body).id);
    await receiver.stop();
    await watcher.stop();
});

test('the command line: listen makes a webhook, send posts, the signature is checked', async () => {
    const access = ['--url', api, '--token', token];
    const listen = cluster.background(['webhooks', 'listen', '--type', 'cli.*', '--count', '1', '--fail-first', '1', '--timeout', '60s', ...access]);
    await until('the receiver', () => /listening at/.test(listen.output));
    await cluster.tool(['events', 'send', 'cli.hello', '{"text":"Hello"}', ...access]);
    const { code } = await listen.exited;
    assert.equal(code, 0, listen.output);
    assert.match(listen.output, /verified, answered 500 as asked for/);
    assert.match(listen.output, /verified {2}cli\.hello {2}{"text":"Hello"}/);
    const { json } = await ask('GET', '/webhooks');
    assert(!json.webhooks.some(({ types }) => types.includes('cli.*')), 'it was deleted at the end');
});

test('the demo shows an event that arrives and one that comes again, here or at a server of its own', async () => {
    const keys = log === 'kafka' ? ['--key-ring', join(cluster.directory, 'keys.json')] : ['--data', join(cluster.directory, 'standalone')];
    for (const where of [['--retry-port', String(cluster.ports.retry), ...keys], ['--retry-port', String(await freePort())]]) {
        const output = await cluster.tool(['demo', '--webhooks', '--json', '--timeout', '60s', ...where]);
        const report = JSON.parse(output.trim().split('\n').at(-1));
        assert.equal(report.ok, true, report.problem);
        const again = report.steps.find(({ step }) => step === '500 to next attempt');
        assert.ok(again.ms >= 990, `the second attempt came after ${again.ms} ms`);
    }
});

test('dead letters are listed, and a redrive delivers them under their old ids', async () => {
    let status = 500;
    const receiver = await new Receiver(() => status).start();
    const webhook = await made({ url: receiver.url, types: ['dead.*'] });
    const access = ['--url', api, '--token', token];
    const dead = (...args) => cluster.tool(['dead', ...args, ...access]);
    const sent = [await posted(eventOf('dead.one')), await posted(eventOf('dead.two'))];
    await until('both dead', async () => (await ask('GET', `/dead?webhook=${webhook.id}`)).json.letters.length === 2, 60000);
    const ids = [...new Set(receiver.requests.map(({ id }) => id))];
    assert.match(await dead('list', '--webhook', webhook.id, '--type', 'dead.*'), /dead\.one {2}refused after 3 attempts/);
    const listed = (await dead('list', '--webhook', webhook.id, '--json')).trim().split('\n').map((line) => JSON.parse(line).delivery);
    assert.deepEqual(listed.sort(), [...ids].sort());
    assert.match(await dead('list', '--webhook', webhook.id, '--limit', '1'), /1 of 2 shown; --limit 0 shows all/);
    const keys = log === 'kafka' ? ['--key-ring', join(cluster.directory, 'keys.json')] : ['--data', join(cluster.directory, 'standalone')];
    const all = await cluster.tool(['dead', 'list', '--all-owners', '--webhook', webhook.id, '--url', api, ...keys]);
    assert.equal(all.trim().split('\n').length, 2);
    assert.match(all, /Z {2}shop {2}dlv_/);
    const dry = await dead('redrive', '--webhook', webhook.id);
    assert.match(dry, /^2 dead letters match\. Nothing was changed/m);
    for (const id of ids) assert(dry.includes(id), `a dry run shows a sample:\n${dry}`);
    await assert.rejects(dead('redrive', '--type', 'no.such.type'), /ended with 3/, 'nothing matches');
    const before = receiver.requests.length;
    status = 204;
    assert.match(await dead('redrive', ids[0], '--yes'), /redrive: 1/);
    await until('the first', () => receiver.requests.length === before + 1);
    assert.equal(receiver.requests.at(-1).id, ids[0]);
    assert.match(await cluster.tool(['webhooks', 'redrive', webhook.id, '--yes', ...access]), /redrive: 1/);
    await until('the other', () => receiver.requests.length === before + 2);
    assert.deepEqual([...receiver.events()].sort(), sent.map(({ id }) => id).sort());
    await assert.rejects(dead('list', '--webhook', webhook.id), /ended with 3/, 'nothing matches');

    status = 410;
    await posted(eventOf('dead.three'));
    await until('it is dead', async () => (await ask('GET', `/dead?webhook=${webhook.id}`)).json.letters.length === 1);
    assert.equal((await ask('GET', '/dead', { as: ownerToken('other') })).json.letters.length, 0);
    const [{ delivery }] = (await ask('GET', `/dead?webhook=${webhook.id}`)).json.letters;
    assert.match(await dead('show', delivery), /"reason": "gone"/);
    assert.match(await dead('redrive', '--webhook', webhook.id), /1 of them are of webhooks that are disabled/);
    assert.match(await dead('drop', '--webhook', webhook.id, '--yes'), /drop: 1/);
    assert.equal((await ask('GET', `/dead/${delivery}`)).status, 404);
    const acts = cluster.children.get(log === 'kafka' ? 'retry' : 'standalone').output.split('\n')
        .filter((line) => line.includes('"dead_letters_settled"')).map((line) => JSON.parse(line));
    assert.deepEqual(acts.map(({ how, settled }) => [how, settled]), [['redriven', 1], ['redriven', 1], ['dropped', 1]], 'each act has its line, a dry run none');
    await receiver.stop();
});

test(`${KILLS} kills lose nothing`, { timeout: 200000 + KILLS * 20000 }, async () => {
    const receiver = await new Receiver((id, times) => (times === 1 && id.charCodeAt(5) % 3 === 0 ? 500 : 204)).start();
    await made({ url: receiver.url, types: ['kill'] });
    const accepted = new Set();
    let running = true;
    const sender = async () => {
        while (running) {
            const event = eventOf('kill', { at: Date.now() });
            const reply = await post(event).catch(() => null);
            if (reply?.status === 202) accepted.add(event.id);
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
    };
    const senders = Array.from({ length: 4 }, sender);
    const role = log === 'kafka' ? 'retry' : 'standalone';
    const random = randomFrom(SEED);
    for (let kill = 0; kill < KILLS; ++kill) {
        const goal = accepted.size + 50 + Math.floor(random() * 100);
        await until('more accepted events', () => accepted.size >= goal, 60000);
        await cluster.children.get(role).kill();
        cluster.children.delete(role);
        await cluster.start(role);
    }
    running = false;
    await Promise.all(senders);
    const missing = () => [...accepted].filter((id) => !receiver.events().has(id));
    await until('every accepted event', () => missing().length === 0, 120000).catch((error) => {
        throw new Error(`${error.message}: ${missing().length} of ${accepted.size} missing, e.g. ${missing()[0]}\n${cluster.outputs()}`);
    });
    const copies = [...receiver.times.values()].filter((times) => times > 2).length;
    console.log(`${KILLS} kills (seed ${SEED}), ${accepted.size} accepted and delivered, ${copies} came more often than they failed`);
    await receiver.stop();
});
