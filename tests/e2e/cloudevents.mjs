// CloudEvents' own libraries for JavaScript, Go and Python, unchanged, each from its registry: Beckon accepts their
// events, and they read the requests to webhooks in either mode.
//
//   node --test cloudevents.mjs   (after scripts/e2e-setup.sh; LOG=embedded|kafka)
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import { existsSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CloudEvent, HTTP } from 'cloudevents';
import { Webhook } from 'standardwebhooks';
import { BECKON, CACHE_HOME, Cluster, until } from './beckon.mjs';

const log = process.env.LOG ?? 'embedded';
const SENDERS = join(dirname(fileURLToPath(import.meta.url)), 'senders');
const CACHE = join(CACHE_HOME, 'beckon', 'e2e');

const cluster = new Cluster(log, { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], tiers: '0s,1s' });
let api;
let token;
let receiver;

/** A request with any body; {status, text}. */
function request(url, { method = 'POST', headers = {}, body } = {}) {
    return new Promise((resolve, reject) => {
        const one = http.request(url, { method, headers: { Authorization: `Bearer ${token}`, ...headers } }, (response) => {
            let text = '';
            response.on('data', (data) => (text += data));
            response.on('end', () => resolve({ status: response.statusCode, text }));
        });
        one.on('error', reject);
        one.end(body);
    });
}

/** Keeps requests by path: {headers, body (bytes)}. */
class Receiver {
    constructor() {
        this.got = new Map();
    }
    async start() {
        this.server = http.createServer((incoming, response) => {
            const parts = [];
            incoming.on('data', (data) => parts.push(data));
            incoming.on('end', () => {
                const list = this.got.get(incoming.url) ?? [];
                this.got.set(incoming.url, [...list, { headers: incoming.headers, body: Buffer.concat(parts) }]);
                response.writeHead(204).end();
            });
        });
        await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
        this.url = `http://127.0.0.1:${this.server.address().port}`;
        return this;
    }
    at(path) {
        return this.got.get(path) ?? [];
    }
    stop() {
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }
}

/** Runs a program with a call; its report. */
function run(command, args, call) {
    return new Promise((resolve, reject) => {
        const child = spawn(command, args);
        let out = '';
        let err = '';
        child.stdout.on('data', (data) => (out += data));
        child.stderr.on('data', (data) => (err += data));
        child.on('error', reject);
        child.on('close', (code) => (out ? resolve(JSON.parse(out)) : reject(new Error(`${command} ended with ${code}: ${err}`))));
        child.stdin.end(JSON.stringify(call));
    });
}

// ------------------------------------------------------------------------------------------ the libraries

function madeWithJs({ extensions, data, datacontenttype, ...rest }) {
    const bytes = data === undefined ? undefined : Buffer.from(data, 'base64');
    const value = /json/.test(datacontenttype) ? JSON.parse(bytes) : /^text/.test(datacontenttype) ? bytes?.toString() : bytes && new Uint8Array(bytes);
    return new CloudEvent({ ...rest, ...extensions, ...(datacontenttype && { datacontenttype }), ...(value !== undefined && { data: value }) });
}

async function callJs(call) {
    if (call.do === 'send') {
        const message = HTTP[call.mode](madeWithJs(call.events[0]));
        const { status, text } = await request(call.url, { headers: message.headers, body: message.body });
        return { status, answer: text };
    }
    try {
        const body = Buffer.from(call.body, 'base64');
        const text = /^text|json/.test(call.headers['content-type'] ?? '');
        const { id, source, type, subject, time, datacontenttype, data, ...others } = HTTP.toEvent({ headers: call.headers, body: text ? body.toString() : body });
        const known = new Set(['specversion', 'schemaurl', 'datacontentencoding', 'dataschema', 'data_base64']);
        const bytes = data === undefined || data === null ? '' : typeof data === 'string' ? data : ArrayBuffer.isView(data) ? data : JSON.stringify(data);
        return {
            id, source, type, subject, time, datacontenttype, data: Buffer.from(bytes).toString('base64'),
            extensions: Object.fromEntries(Object.entries(others).filter(([name, value]) => !known.has(name) && value !== undefined)),
        };
    } catch (error) {
        return { error: `${error.message} ${JSON.stringify(error.errors ?? '')}` };
    }
}

const python = join(CACHE, 'python', 'bin', 'python');
const go = join(CACHE, 'go-events');
const LIBRARIES = {
    JavaScript: { present: true, modes: ['structured', 'binary'], call: callJs },
    Go: { present: existsSync(go), modes: ['structured', 'binary', 'batch'], call: (call) => run(go, [], call) },
    Python: { present: existsSync(python), modes: ['structured', 'binary'], call: (call) => run(python, [join(SENDERS, 'python', 'events.py')], call) },
};

// ------------------------------------------------------------------------------------------ the events

const base64 = (value) => Buffer.from(value).toString('base64');
const EXTENSIONS = { anattributewithaverylongname: 'x', count: 5 };
const EVENTS = {
    JSON: { datacontenttype: 'application/json', data: base64('{"n":[1,{"a":null}],"é":"ü"}'), extensions: EXTENSIONS },
    text: { datacontenttype: 'text/plain', data: base64('Grüße\n'), extensions: EXTENSIONS },
    bytes: { datacontenttype: 'image/png', data: base64(Buffer.from([0xff, 0xfe, 0, 1])), extensions: EXTENSIONS },
};

/** As Standard Webhooks has it; its library for JavaScript takes nothing but JSON. */
function signature(secret, { headers, body }) {
    const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
    const hmac = crypto.createHmac('sha256', key).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
}

let numbers = 0;
const eventOf = (type, kind) => ({
    id: `e${++numbers}`, source: '/libraries', type, subject: 'a-b', time: '2026-11-20T08:30:00.125Z', ...EVENTS[kind],
});

/** The values of an event that must agree, in a form that does not depend on the library. */
const essence = ({ id, source, type, subject, time, datacontenttype, data, extensions }) => ({
    id, source, type, subject, time: new Date(time).getTime(), datacontenttype,
    data: /json/.test(datacontenttype) ? JSON.parse(Buffer.from(data, 'base64')) : data,
    extensions: Object.fromEntries(Object.entries(extensions ?? {}).map(([name, value]) => [name, String(value)])),
});

async function made(json) {
    const reply = await request(`${api}/webhooks`, { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(json) });
    assert.equal(reply.status, 201, reply.text);
    return JSON.parse(reply.text);
}

before(async () => {
    receiver = await new Receiver().start();
    await cluster.prepare();
    await cluster.start();
    api = `http://127.0.0.1:${cluster.ports.retry}`;
    const data = log === 'kafka' ? ['--key-ring', join(cluster.directory, 'keys.json')] : ['--data', join(cluster.directory, 'standalone')];
    const issued = spawnSync(BECKON, ['webhooks', 'token', 'shop', '--publish-to-all', ...data], { encoding: 'utf8' });
    assert.equal(issued.status, 0, issued.stderr);
    token = issued.stdout.trim();
    await until('the role serves', async () => (await request(`${api}/webhooks`, { method: 'GET' })).status === 200, 60000);
});
after(async () => {
    await receiver?.stop();
    await cluster.end();
});

for (const [name, sender] of Object.entries(LIBRARIES)) {
    const skip = !sender.present && 'scripts/e2e-setup.sh has not built it';
    test(`events of the library for ${name} are accepted, and all libraries read the requests to webhooks`, { skip, timeout: 120000 }, async () => {
        const type = `from.${name.toLowerCase()}`;
        const paths = { structured: `/${name}/structured`, binary: `/${name}/binary` };
        for (const [mode, path] of Object.entries(paths)) await made({ url: receiver.url + path, types: [type], mode });
        const sent = [];
        for (const mode of sender.modes) {
            const events = Object.keys(EVENTS).map((kind) => eventOf(type, kind));
            for (const some of mode === 'batch' ? [events] : events.map((one) => [one])) {
                const reply = await sender.call({ do: 'send', mode, url: `${api}/events`, token, events: some });
                assert.equal(reply.status, 202, `${mode}: ${JSON.stringify(reply)}`);
                if (mode === 'batch') {
                    assert.deepEqual(JSON.parse(reply.answer).events, some.map(({ id, source }) => ({ id, source, status: 202 })));
                }
                sent.push(...some);
            }
        }
        for (const [mode, path] of Object.entries(paths)) {
            await until(`all events, ${mode}`, () => receiver.at(path).length >= sent.length);
            for (const { headers, body } of receiver.at(path)) {
                if (mode === 'structured') assert.equal(headers['content-type'], 'application/cloudevents+json; charset=utf-8');
                for (const [reader, { present, call }] of Object.entries(LIBRARIES)) {
                    if (!present) continue;
                    const read = await call({ do: 'read', headers, body: body.toString('base64') });
                    assert.equal(read.error, undefined, `${reader}, ${mode}: ${read.error}: ${JSON.stringify(headers)} ${body}`);
                    const wanted = sent.find(({ id }) => id === read.id);
                    assert.deepEqual(essence(read), essence(wanted), `${reader} reads ${mode}: ${JSON.stringify(headers)} ${body}`);
                }
            }
        }
    });
}

test('data and signatures are what was posted, byte by byte', async () => {
    const webhooks = {
        structured: await made({ url: `${receiver.url}/exact/structured`, types: ['exact'] }),
        binary: await made({ url: `${receiver.url}/exact/binary`, types: ['exact'], mode: 'binary' }),
    };
    const bodies = [
        ['application/json', '{"n":12345678901234567890123,"n":1e5, "z":[ ] }'],
        ['text/plain; charset=iso-8859-1', Buffer.from('caf\xe9', 'latin1')],
        ['text/plain', 'Grüße'],
        ['application/octet-stream', Buffer.from([0, 1, 0xff])],
        [undefined, 'no type, no JSON'],
    ];
    for (const [at, [type, body]] of bodies.entries()) {
        const headers = { 'ce-specversion': '1.0', 'ce-id': `x${at}`, 'ce-source': '/exact', 'ce-type': 'exact', 'ce-subject': '"caf%C3%A9 \\"1\\""', ...(type && { 'Content-Type': type }) };
        const reply = await request(`${api}/events`, { headers, body });
        assert.equal(reply.status, 202, reply.text);
        await until('it arrives', () => receiver.at('/exact/binary').length > at && receiver.at('/exact/structured').length > at);
        const binary = receiver.at('/exact/binary')[at];
        assert.deepEqual(binary.body, Buffer.from(body));
        assert.equal(binary.headers['content-type'], type);
        assert.equal(binary.headers['ce-subject'], 'caf%C3%A9%20%221%22');
        assert.equal(binary.headers['webhook-signature'], signature(webhooks.binary.secret, binary));
        const structured = receiver.at('/exact/structured')[at];
        new Webhook(webhooks.structured.secret).verify(structured.body, structured.headers);
        assert.equal(JSON.parse(structured.body).subject, 'café "1"');
        if (at === 0) assert(structured.body.toString().includes(`"data":${body}`), structured.body.toString());
    }
});

test('events of other libraries are accepted', async () => {
    const base = { specversion: '1.0', source: '/other', type: 'other', data: 1 };
    const post = (body, type = 'application/cloudevents+json') => request(`${api}/events`, { headers: { 'Content-Type': type }, body: JSON.stringify(body) });
    const taken = [
        [{ ...base, id: '1', time: null, subject: null, dataschema: null }],
        [{ ...base, id: '2', time: '2026-11-20t08:30:00z' }],
        [{ ...base, id: '3' }, 'Application/CloudEvents+JSON;Charset="UTF-8"'],
    ];
    for (const [body, type] of taken) {
        const reply = await post(body, type);
        assert.equal(reply.status, 202, reply.text);
    }
    const mixed = await post([{ ...base, id: '4' }, { ...base, id: '' }], 'application/cloudevents-batch+json');
    assert.equal(mixed.status, 207, mixed.text);
    assert.deepEqual(JSON.parse(mixed.text).events.map(({ status, detail }) => [status, detail]), [[202, undefined], [400, '$[1].id must have 1 to 1024 bytes']]);
    const raw = await request(`${api}/events`, {
        headers: { 'CE-SpecVersion': '1.0', 'ce-id': '5', 'ce-source': '/other', 'ce-type': 'other', 'Content-Type': 'Application/JSON' }, body: '1e5',
    });
    assert.equal(raw.status, 202, raw.text);
});
