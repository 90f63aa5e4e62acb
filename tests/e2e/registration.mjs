// Two endpoint processes on one Kafka: a registration that one has answered 200 works at once at the other.
//
//   node registration.mjs
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { UserAgent } from './client.mjs';

const ROUNDS = 200;
const AT_ONCE = 8;
const APP = '/v1/fcm/my-app/registration';

const cluster = new Cluster('kafka', { plain: true, endpoint: ['--endpoint-fcm-app-ids', 'my-app'] });
const agent = new http.Agent({ keepAlive: true, maxSockets: 2 * AT_ONCE });
let a;
let b;

before(async () => {
    await cluster.prepare();
    await cluster.start();
    a = cluster.endpoint;
    b = await cluster.startAnotherEndpoint('endpoint-b');
});
after(async () => {
    agent.destroy();
    await cluster.end();
});

function ask(method, url, { json, secret, headers = {} } = {}) {
    return new Promise((resolve, reject) => {
        const request = http.request(url, {
            method,
            agent,
            headers: {
                ...(json && { 'Content-Type': 'application/json' }),
                ...(secret && { Authorization: `Bearer ${secret}` }),
                ...headers,
            },
        }, (response) => {
            let body = '';
            response.on('data', (data) => (body += data));
            response.on('end', () => resolve({ status: response.statusCode, body }));
        });
        request.on('error', reject);
        request.end(json && JSON.stringify(json));
    });
}

/** The URL of the same endpoint at another process. */
const at = (origin, url) => origin + new URL(url).pathname;
const send = (origin, url) => ask('POST', at(origin, url), { headers: { TTL: '60', 'Content-Length': '0' } });

async function ok(reply) {
    const { status, body } = await reply;
    assert.equal(status, 200, body);
    return body ? JSON.parse(body) : null;
}
const register = (origin) => ok(ask('POST', origin + APP, { json: { token: 'a-device-token' } }));
const addChannel = (origin, { uaid, secret }) => ok(ask('POST', `${origin}${APP}/${uaid}/subscription`, { json: {}, secret }));

/** The subscription is known (410 says that it is not). No role retry runs here, so the message waits. */
function assertKnown({ status, body }) {
    assert.equal(status, 201, body);
}

/** Many rounds, some of them at the same time. */
async function rounds(round) {
    let left = ROUNDS;
    const worker = async () => {
        while (left-- > 0) await round();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

test('a registration made at one endpoint takes messages at the other at once', () =>
    rounds(async () => {
        const made = await register(a);
        const sent = await send(b, made.endpoint);
        assertKnown(sent);
    }));

test('a channel that was added at one endpoint takes messages at the other, which lists it', () =>
    rounds(async () => {
        const made = await register(a);
        assertKnown(await send(b, made.endpoint)); // b knows the client from here on
        const added = await addChannel(a, made);
        const sent = await send(b, added.endpoint);
        assertKnown(sent);
        const another = await addChannel(b, made);
        const { channelIDs } = await ok(ask('GET', `${a}${APP}/${made.uaid}`, { secret: made.secret }));
        assert.deepEqual(channelIDs.sort(), [made.channelID, added.channelID, another.channelID].sort());
    }));

test('a registration that ended at one endpoint is 410 at the other, at once or a moment later', () =>
    rounds(async () => {
        const made = await register(a);
        assertKnown(await send(b, made.endpoint));
        await ok(ask('DELETE', `${a}${APP}/${made.uaid}`, { secret: made.secret }));
        assert.equal((await send(a, made.endpoint)).status, 410, 'the one that ended it knows');
        await until('410', async () => {
            const { status, body } = await send(b, made.endpoint);
            assert([201, 410].includes(status), body);
            return status === 410;
        });
        assert.equal((await ask('GET', `${b}${APP}/${made.uaid}`, { secret: made.secret })).status, 410);
    }));

test('a subscription of the WebSocket takes messages at both as soon as the client has its URL', async () => {
    const client = new UserAgent(cluster.websocket);
    await client.connect();
    for (let i = 0; i < ROUNDS; ++i) {
        const url = await client.register();
        for (const origin of [b, a]) {
            const sent = await send(origin, url);
            assert.equal(sent.status, 201, sent.body);
        }
    }
    client.end();
});

test('the lag of an endpoint that hangs is its own, though the other one commits for their group', { timeout: 120000 }, async () => {
    const ports = { [cluster.ports.ops]: 0, [cluster.endpoints.get('endpoint-b').ops]: 160 };
    /** Records that each endpoint has not read, by its ops port. */
    const lags = async () => {
        const output = await cluster.tool(['lag', '--json', ...cluster.kafkaOptions()]).catch((error) => error.message); // 3: one is STOPPED
        const rows = JSON.parse(output.split('\n').find((line) => line.startsWith('{"at"')) ?? '{"rows":[]}').rows;
        return Object.fromEntries(Object.keys(ports).map((port) => {
            const own = rows.filter(({ group }) => group.startsWith(`${cluster.prefix}endpoint/`) && group.endsWith(`:${port}`));
            return [port, own.length > 0 ? own.reduce((sum, row) => sum + row.lag, 0) : NaN];
        }));
    };
    const all = (what) => until(what, async () => Object.values(await lags()).every((lag) => lag === 0), 60000);
    await all('that both have read everything, and say so');
    const child = cluster.children.get('endpoint-b').process;
    child.kill('SIGSTOP');
    try {
        for (let i = 0; i < 80; ++i) await register(a); // two records each
        await until('that the lag is of the one that hangs', async () => {
            const now = await lags();
            return Object.entries(ports).every(([port, least]) => (least === 0 ? now[port] === 0 : now[port] >= least));
        }, 60000);
    } finally {
        child.kill('SIGCONT');
    }
    await all('that it has caught up');
});
