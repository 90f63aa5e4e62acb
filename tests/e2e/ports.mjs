// Every port of a running standalone against every attack that needs no login: a table of ports, and a table of
// attacks. The port refuses or closes the attacker, which costs no more than its bound and delays no other client; the
// process lives on. tests/layers/ports_test.py demands that each port of docs/configuration.md is in the table.
//
//   node --test ports.mjs
import assert from 'node:assert/strict';
import { hkdfSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { connect } from './attackers.mjs';
import { Cluster, until } from './beckon.mjs';

const IDLE = 2000;
const DRIPPING = 60;
const DEADLINE_MS = 32000; // of any port, for a request that does not come
const ENDLESS_BYTES = 48 << 20;
const GROWTH_MAX_KB = 48 << 10; // of the process, while headers without an end are sent: write buffers of the log fill meanwhile
const PATIENCE_MS = 10000; // for one answer, on a busy machine
const DEPTH = 100000;
const FOREIGN = ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:80', '127.1', '0.0.0.0'];

const cluster = new Cluster('embedded', {
    plain: true,
    console: [],
    endpoint: ['--embedded-sync', 'never', '--retry-allowed-addresses', '127.0.0.1', '--endpoint-matrix-gateway', 'true'],
});
let token; // of an owner of webhooks

const deep = `${'['.repeat(DEPTH)}${']'.repeat(DEPTH)}`;
const json = (path, more = '') => (body) => `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${more}Content-Length: ${Buffer.byteLength(body, 'latin1')}\r\n\r\n${body}`;
const bearer = () => `Authorization: Bearer ${token}\r\n`;

/**
 * By the setting that names the port. `name`: in `cluster.ports`; `get`: a path for everybody, with its `status`;
 * `local`: it trusts every user of this host, so it asks for the host's name; `bodies`: requests with a JSON body, by
 * their content; `upgrades`: it serves WebSockets; `proves`: a
 * path that needs the bearer token; `elsewhere`: why it is not tried here, and where.
 */
const PORTS = {
    'endpoint.port': {
        name: 'endpoint', get: '/status', status: 200,
        bodies: [
            json('/v1/fcm/app/registration'), json('/wpush/v1/x'), json('/r/x'), json('/_matrix/push/v1/notify'),
            (body) => json('/_matrix/push/v1/notify')(`{"notification":{"devices":[{"pushkey":${body}}]}}`),
        ],
    },
    // (nothing here has a body: what names one is refused, and each answer but that of a WebSocket closes)
    'edge.port': {
        name: 'edge', get: '/status', status: 200, bodies: [json('/')], upgrades: true,
    },
    'edge.link_port': { elsewhere: 'listens on Kafka alone, and speaks TLS with a pre-shared key: tests/edge/link' },
    'retry.port': {
        name: 'retry', get: '/webhooks', status: 401, proves: ['/webhooks', () => token],
        bodies: [
            (body) => json('/webhooks', bearer())(body),
            (body) => json('/events', bearer())(body),
            (body) => json('/dead/redrive', bearer())(body),
            (body) => json('/webhooks', bearer())(`{"url":"http://127.0.0.1:1/","description":${body}}`),
            (body) => json('/events', bearer())(`{"specversion":"1.0","id":"1","source":"/x","type":"a.b","data":${body}}`),
        ],
    },
    'console.port': {
        name: 'console', get: '/', status: 200, local: true,
        bodies: [json('/login'), (body) => json('/login')(`{"token":${body}}`), json('/logout'), json('/api/acts/redrive/check'), json('/api/acts/redrive')],
    },
    'ops.port': { name: 'ops', get: '/live', status: 200, local: true, bodies: [json('/live')], proves: ['/log/ends?topic=events&partitions=0', () => proof()] },
};
const TRIED = Object.entries(PORTS).filter(([, port]) => !port.elsewhere);

const FIELDS = [
    'Accept', 'Access-Control-Request-Headers', 'Access-Control-Request-Method', 'Authorization', 'Content-Encoding', 'Content-Type', 'Cookie',
    'Crypto-Key', 'Encryption', 'Forwarded', 'Host', 'If-None-Match', 'Origin', 'Prefer', 'Push-Receipt', 'Sec-Fetch-Site', 'Sec-WebSocket-Key',
    'Sec-WebSocket-Protocol', 'TTL', 'Topic', 'Traceparent', 'Urgency', 'User-Agent', 'X-Forwarded-For', 'X-Forwarded-Proto', 'X-MessageId', 'ce-type',
];
const NO_TEXT = ['\xff\xfe', '\xc0\x80', '\xed\xa0\x80', '\xf5\x80\x80\x80', 'a\xe2\x82'];

/** Requests that a server and the proxy in front of it may end at different places (RFC 9112 §6.1, §6.3, §11.2). */
const SMUGGLING = {
    'two ways to say where it ends': 'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'two lengths': 'Content-Length: 0\r\nContent-Length: 5\r\n\r\n',
    'a list of lengths': 'Content-Length: 0, 5\r\n\r\n',
    'a length with a sign': 'Content-Length: +0\r\n\r\n',
    'a negative length': 'Content-Length: -1\r\n\r\n',
    'a length in hexadecimal': 'Content-Length: 0x0\r\n\r\n',
    'a length beyond 64 bits': 'Content-Length: 18446744073709551616\r\n\r\n',
    'a blank before the colon': 'Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n',
    'a coding that nobody knows': 'Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n',
    'chunked in chunks': 'Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n',
    'chunked, and then another': 'Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n',
    'a folded line': 'X: y\r\n Content-Length: 5\r\n\r\n',
    'a name with a blank': 'Content Length: 5\r\n\r\n',
    'a byte of zero': 'X: a\0b\r\n\r\n',
    'a carriage return alone': 'X: a\rContent-Length: 5\r\n\r\n',
    'a chunk whose size has a prefix': 'Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n',
    'a chunk of a negative size': 'Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n',
    'a chunk beyond 64 bits': 'Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n\r\n',
    'a chunk that is longer than it says': 'Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n',
    'another host': 'Host: evil.example\r\n\r\n',
};

const UPGRADE = 'Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';

/** Sends bytes, and collects what comes until the connection ends, `enough` has come, or nothing more for a while. */
async function converse(port, bytes, { enough = () => false, ms = PATIENCE_MS } = {}) {
    const socket = await connect(port);
    let received = '';
    const ended = await new Promise((resolve) => {
        const timer = setTimeout(() => resolve(false), ms);
        const done = (how) => {
            clearTimeout(timer);
            resolve(how);
        };
        socket.on('data', (data) => {
            received += data.toString('latin1');
            if (enough(received)) done(false);
        });
        socket.once('close', () => done(true));
        socket.once('end', () => done(true));
        socket.write(Buffer.from(bytes, 'latin1'));
    });
    socket.destroy();
    const statuses = [...received.matchAll(/HTTP\/1\.[01] (\d{3}) /g)].map((match) => Number(match[1]));
    return { statuses, ended, received };
}

const one = { enough: (received) => /HTTP\/1\.[01] \d{3} [^]*\r\n\r\n/.test(received) };
const get = (path, more = 'Host: localhost\r\n') => `GET ${path} HTTP/1.1\r\n${more}\r\n`;

/** An honest request is answered as always, and soon. */
async function serves({ name, get: path, status }, ms = PATIENCE_MS) {
    const { statuses } = await converse(cluster.ports[name], get(path), { ...one, ms });
    assert.deepEqual(statuses, [status], `${name} answers an honest request`);
}

/** The proof of the key ring for the ops port. */
function proof() {
    const ring = JSON.parse(readFileSync(`${cluster.directory}/standalone/keys.json`, 'utf8'));
    return Buffer.from(hkdfSync('sha256', Buffer.from(ring.keys[0].secret, 'base64url'), '', 'beckon/log-pages/1', 32)).toString('base64url');
}

const child = () => cluster.children.get('standalone');
const residentKilobytes = () => Number(readFileSync(`/proc/${child().process.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);

before(async () => {
    await cluster.prepare();
    await cluster.start();
    token = (await cluster.tool(['webhooks', 'token', 'me', '--data', `${cluster.directory}/standalone`])).trim().split('\n').pop();
});
after(() => cluster.end());

for (const [setting, port] of TRIED) {
    describe(setting, () => {
        test('it answers', () => serves(port));

        test('bytes that are no text, in every field, are refused or left out', async () => {
            for (const text of NO_TEXT) {
                for (const field of FIELDS) {
                    const host = field === 'Host' ? '' : 'Host: localhost\r\n';
                    const { statuses, ended } = await converse(cluster.ports[port.name], get(port.get, `${host}${field}: ${text}\r\n`), one);
                    assert.ok(statuses.length === 1 ? statuses[0] < 500 : ended, `${field}: ${statuses}`);
                }
                for (const target of [`/${text}`, `${port.get}?${text}=${text}`, `/api/find?q=${text}`, `/%ff%fe?%c0=%80`]) {
                    const { statuses, ended } = await converse(cluster.ports[port.name], get(target), one);
                    assert.ok(statuses.length === 1 ? statuses[0] < 500 : ended, `${target}: ${statuses}`);
                }
                for (const [i, request] of port.bodies.entries()) {
                    const { statuses, ended } = await converse(cluster.ports[port.name], request(`"${text}"`), one);
                    assert.ok(statuses.length === 1 ? statuses[0] < 500 : ended, `body ${i}: ${statuses}`);
                }
            }
            await serves(port);
        });

        test(`JSON that is ${DEPTH} deep is refused`, async () => {
            for (const [i, request] of port.bodies.entries()) {
                for (const body of [deep, '['.repeat(DEPTH), '{"a":'.repeat(DEPTH / 5)]) {
                    const { statuses, ended } = await converse(cluster.ports[port.name], request(body), one);
                    assert.ok(statuses.length === 1 ? statuses[0] < 500 : ended, `body ${i}: ${statuses}`);
                }
            }
            await serves(port);
        });

        test('a request for another host is answered only by ports that do not trust this host', async () => {
            for (const host of FOREIGN) {
                for (const request of [get(port.get, `Host: ${host}\r\n`), get(`http://${host}${port.get}`)]) {
                    const { statuses } = await converse(cluster.ports[port.name], request, one);
                    if (port.local) assert.deepEqual(statuses, [421], request);
                    else assert.ok(statuses.length === 0 || statuses[0] < 500, `${request}: ${statuses}`);
                }
            }
            for (const host of ['localhost', 'LOCALHOST:1', '127.0.0.1', '127.0.0.1:1', '[::1]:1']) {
                const { statuses } = await converse(cluster.ports[port.name], get(port.get, `Host: ${host}\r\n`), one);
                assert.deepEqual(statuses, [port.status], host);
            }
        });

        test('a bearer token is accepted however its scheme is written', { skip: !port.proves && 'it asks for none here' }, async () => {
            const [path, secret] = port.proves;
            for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR']) {
                const { statuses } = await converse(cluster.ports[port.name], get(path, `Host: localhost\r\nAuthorization: ${scheme} ${secret()}\r\n`), one);
                assert.deepEqual(statuses, [200], scheme);
                const wrong = await converse(cluster.ports[port.name], get(path, `Host: localhost\r\nAuthorization: ${scheme} ${secret()}x\r\n`), one);
                assert.deepEqual(wrong.statuses, [401], scheme);
            }
        });

        test('a target in absolute form is that of its path', async () => {
            for (const { path, status, head = '' } of [
                { path: port.get, status: port.status },
                ...(port.upgrades ? [{ path: '/', status: 101, head: UPGRADE }] : []),
            ]) {
                for (const scheme of ['http', 'HTTPS', ...(head ? ['ws'] : [])]) {
                    const request = get(`${scheme}://localhost${path}`, `Host: localhost\r\n${head}`);
                    const { statuses } = await converse(cluster.ports[port.name], request, one);
                    assert.deepEqual(statuses, [status], request);
                }
            }
        });

        test('a request that could be read in two ways is read in none', async () => {
            const smuggled = get('/smuggled');
            for (const [what, rest] of Object.entries(SMUGGLING)) {
                const ways = [`POST ${port.get} HTTP/1.1\r\nHost: localhost\r\n`];
                if (port.upgrades) ways.push(`GET / HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}`);
                for (const head of ways) {
                    const { statuses, ended } = await converse(cluster.ports[port.name], `${head}${rest}${smuggled}`);
                    assert.ok(statuses.length <= 1, `${what}: ${statuses}`);
                    assert.ok(ended, `${what}: the connection goes on`);
                    assert.ok(statuses.every((status) => status >= 400 && status < 500), `${what}: ${statuses}`);
                }
            }
            for (const line of ['GET  / HTTP/1.1', 'GET / HTTP/1.1\tx', 'GET /', 'GET / HTTP/2.0', 'GET / HTTP/1.10', '\x16\x03\x01', 'G\0T / HTTP/1.1']) {
                const { statuses, ended } = await converse(cluster.ports[port.name], `${line}\r\nHost: localhost\r\n\r\n${smuggled}`);
                assert.ok(ended && statuses.length <= 1 && statuses.every((status) => status >= 400 && status < 500 || status === 505), `${line}: ${statuses}`);
            }
            await serves(port);
        });

        test('a header without an end ends its connection, and its bytes are not kept', async () => {
            const before = residentKilobytes();
            const piece = Buffer.alloc(1 << 16, 'x');
            const all = await Promise.all(['GET / HTTP/1.1\r\nHost: localhost\r\nX: ', 'GET /', 'X'.repeat(100), 'GET / HTTP/1.1\r\nHost: localhost\r\n'].map(async (begin, i) => {
                const socket = await connect(cluster.ports[port.name]);
                let sent = 0;
                socket.resume();
                socket.write(begin);
                const more = i === 3 ? Buffer.from('A: b\r\n'.repeat(10000)) : piece;
                const pump = () => {
                    while (!socket.destroyed && socket.writable && sent < ENDLESS_BYTES) {
                        sent += more.length;
                        if (!socket.write(more)) return socket.once('drain', pump);
                    }
                };
                pump();
                const timer = setTimeout(() => socket.destroy(), DEADLINE_MS);
                await socket.over;
                clearTimeout(timer);
                return sent - socket.writableLength;
            }));
            const grown = residentKilobytes() - before;
            assert.ok(all.every((sent) => sent < ENDLESS_BYTES), `${all} bytes were taken`);
            assert.ok(grown < GROWTH_MAX_KB, `${grown} KB more`);
            await serves(port);
        });

        test(`${IDLE} idle connections keep nobody from being answered`, async (t) => {
            const idle = [];
            while (idle.length < IDLE) {
                const some = await Promise.all(Array.from({ length: 100 }, () => connect(cluster.ports[port.name])));
                some.forEach((socket, i) => i % 2 === 0 && socket.resume().write(get(port.get).slice(0, -2)));
                idle.push(...some);
            }
            const begin = performance.now();
            await serves(port);
            t.diagnostic(`answered in ${Math.round(performance.now() - begin)} ms`);
            for (const socket of idle) socket.destroy();
        });
    });
}

test('a byte a second holds up nobody, and is closed in time, at every port', async () => {
    const slow = await Promise.all(TRIED.flatMap(([, { name, get: path }]) => Array.from({ length: DRIPPING }, async (_, i) => {
        const socket = await connect(cluster.ports[name]);
        socket.resume().write(i % 2 === 0 ? `GET ${path} HTTP/1.1\r\nX: ` : `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000\r\n\r\n`);
        const timer = setInterval(() => socket.writable && socket.write('x'), 1000);
        socket.once('close', () => clearInterval(timer));
        socket.once('end', () => socket.destroy());
        return { name, socket };
    })));
    for (const [, port] of TRIED) await serves(port);
    const open = () => slow.filter(({ socket }) => !socket.destroyed).map(({ name }) => name);
    await until('every slow connection closed', () => open().length === 0, DEADLINE_MS).catch((error) => {
        throw new Error(`${error.message}: ${[...new Set(open())]}`);
    });
});

test('the process lives, and says so', async () => {
    assert.equal(child().process.exitCode, null, child().output);
    assert.equal((await fetch(`http://127.0.0.1:${cluster.ports.ops}/live`)).status, 200);
    assert.doesNotMatch(child().output, /task_threw|request_threw/);
});
