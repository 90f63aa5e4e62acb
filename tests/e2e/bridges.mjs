// Bridges from the outside: apps that register over HTTP, senders, and Google's and Apple's services as
// stand-ins that speak their protocols; services that fail, and processes that are killed.
//
//   node --test bridges.mjs   (LOG=embedded|kafka)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import webpush from 'web-push';
import { BECKON, Cluster, freePort, until } from './beckon.mjs';
import { Apns, Fcm, makeCertificates } from './bridge-services.mjs';

const log = process.env.LOG ?? 'embedded';
const KILLS = 5;
const THREADS = 2; // of deliveries, by default
const TIERS = '0s,1s,4s';
// A breaker that has opened lets nobody through for 30 s, and for twice as long after the next failure.
const PATIENCE_MS = 150000;
const keys = webpush.generateVAPIDKeys();

const fcm = new Fcm();
const apns = new Apns();
const SERVICES = { fcm: { service: fcm, app: 'my-app' }, apns: { service: apns, app: 'release' } };
const cluster = new Cluster(log, {
    plain: true,
    endpoint: ['--endpoint-fcm-app-ids', 'my-app', '--endpoint-apns-channels', 'release', '--endpoint-tracking-keys', keys.publicKey],
    retry: [],
    tiers: TIERS,
    reliability: true,
});
const role = log === 'kafka' ? 'retry' : 'standalone';
const opsOfRetry = () => (log === 'kafka' ? cluster.ports.opsRetry : cluster.ports.ops);

before(async () => {
    const { ca, tls } = makeCertificates(cluster.directory);
    await fcm.listen(tls);
    await apns.listen(tls);
    const file = (name, content) => {
        const path = join(cluster.directory, name);
        writeFileSync(path, content, { mode: 0o600 });
        return path;
    };
    file('AuthKey.p8', apns.p8);
    fcm.account.token_uri = `${fcm.url}/token`;
    cluster.retryOptions.push(
        '--retry-fcm-credentials', `my-app=${file('account.json', JSON.stringify(fcm.account))}`,
        '--test-fcm-url', fcm.url,
        '--retry-apns-credentials', `release=${file('apns.json', JSON.stringify(apns.about))}`,
        '--test-apns-url', apns.url, '--retry-ca-file', ca,
    );
    await cluster.prepare();
    await cluster.start();
});
after(async () => {
    await cluster.end();
    await fcm.stop();
    await apns.stop();
});

let devices = 0;
async function registered(bridge, kind, more = {}) {
    const token = `${kind}-device-${++devices}`;
    const url = `${cluster.endpoint}/v1/${bridge}/${SERVICES[bridge].app}/registration`;
    const reply = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token, ...more }) });
    const text = await reply.text();
    assert.equal(reply.status, 200, text);
    return { bridge, token, url, service: SERVICES[bridge].service, ...JSON.parse(text) };
}
async function send(client, { body = 'data', ttl = 600, headers = {} } = {}) {
    const reply = await fetch(client.endpoint, {
        method: 'POST',
        headers: { TTL: String(ttl), 'Content-Encoding': 'aes128gcm', ...headers },
        body,
    });
    return { status: reply.status, text: await reply.text(), id: reply.headers.get('location')?.split('/m/')[1], ttl: reply.headers.get('ttl') };
}
async function accepted(client, options) {
    const reply = await send(client, options);
    assert.equal(reply.status, 201, reply.text);
    return reply;
}
const came = (client, times = 1) =>
    until(`${times} requests for ${client.token}`, () => client.service.of(client.token).length >= times, PATIENCE_MS);
const bodyOf = ({ body }) => Buffer.from(body.android ? body.android.data.body : body.body, 'base64url').toString();
const attempts = (bridge, outcome) =>
    cluster.metric('beckon_retry_bridge_attempts_total', `bridge="${bridge}",outcome="${outcome}"`, opsOfRetry());

test('a message reaches FCM as its HTTP v1 API has it', async () => {
    const client = await registered('fcm', 'ok');
    const reply = await accepted(client, { body: 'hello', ttl: 90 });
    assert.equal(reply.ttl, '90');
    await came(client);
    const [{ headers, body }] = client.service.of(client.token);
    assert.deepEqual(body, {
        token: client.token,
        android: { ttl: '90s', data: { chid: client.channelID, body: Buffer.from('hello').toString('base64url'), con: 'aes128gcm' } },
    });
    assert.equal(headers[':method'], 'POST');
    assert.match(headers.authorization, /^Bearer granted-\d+$/);
});

test('a message reaches APNs over HTTP/2 with a token of ours', async () => {
    const client = await registered('apns', 'ok');
    const sent = Math.floor(Date.now() / 1000);
    const reply = await accepted(client, { body: 'hello', ttl: 90 });
    await came(client);
    const [{ headers, body }] = client.service.of(client.token);
    assert.deepEqual(body, {
        aps: {
            alert: { 'title-loc-key': 'SentTab.NoTabArrivingNotification.title', 'loc-key': 'SentTab.NoTabArrivingNotification.body' },
            'mutable-content': 1,
        },
        chid: client.channelID, ver: reply.id, body: Buffer.from('hello').toString('base64url'), con: 'aes128gcm',
    });
    assert.equal(headers['apns-topic'], 'org.example.app');
    assert.equal(headers['apns-priority'], '10');
    const expires = Number(headers['apns-expiration']);
    assert(expires >= sent + 89 && expires <= sent + 150, `${expires} for a message of ${sent}`);
    const own = await registered('apns', 'ok', { aps: '{"badge":3}' });
    await accepted(own);
    await came(own);
    assert.deepEqual(own.service.of(own.token)[0].body.aps, { badge: 3 });
});

test('brackets in a token, or in a text for APNs, are text: the endpoint works, after a change of the token too', async () => {
    const brackets = '{'.repeat(60) + '['.repeat(60);
    for (const bridge of ['fcm', 'apns']) {
        const more = bridge === 'apns' ? { aps: JSON.stringify({ alert: { title: brackets } }) } : {};
        const client = await registered(bridge, bridge === 'fcm' ? `ok-${brackets}` : 'ok', more);
        await accepted(client, { body: 'first' });
        await came(client);
        const changed = `${client.token}-changed`;
        const reply = await fetch(`${client.url}/${client.uaid}`, {
            method: 'PUT',
            headers: { Authorization: `Bearer ${client.secret}`, 'Content-Type': 'application/json' },
            body: JSON.stringify({ token: changed, ...more }),
        });
        assert.equal(reply.status, 200, await reply.text());
        // (as soon as the new token is known to the endpoint)
        await until('a message to the new token', async () => {
            await accepted(client, { body: 'second' });
            return client.service.of(changed).length > 0;
        });
        const { body } = client.service.of(changed)[0];
        assert.equal(bodyOf({ body }), 'second');
        if (bridge === 'apns') assert.equal(body.aps.alert.title, brackets);
    }
});

test('one access token serves many messages, and one that is refused is replaced', async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => registered('fcm', 'ok')));
    const toAll = async (times) => {
        await Promise.all(clients.map((client) => accepted(client)));
        await Promise.all(clients.map((client) => came(client, times)));
    };
    await toAll(1); // each thread of deliveries has a token of its own
    const before = fcm.grants;
    assert(before <= THREADS, `${before} tokens`);
    await toAll(2);
    assert.equal(fcm.grants, before);
    fcm.revoke();
    await accepted(clients[0]);
    await came(clients[0], 4); // twice before, refused, and again with a new token
    assert.equal(fcm.grants, before + 1);
    // The other threads find theirs refused now, not in a later test.
    await Promise.all(clients.slice(1).map((client) => accepted(client)));
    await Promise.all(clients.slice(1).map((client) => came(client, 3)));
    assert(apns.sessions.size <= 2 * THREADS, `${apns.sessions.size} connections to APNs`);
});

for (const bridge of ['fcm', 'apns']) {
    test(`${bridge}: a dead token ends the client, and its endpoint is 410`, async () => {
        const client = await registered(bridge, 'gone');
        await accepted(client);
        await until('410', async () => {
            const { status, text } = await send(client);
            assert([201, 410].includes(status), text);
            return status === 410;
        }, PATIENCE_MS);
        const known = await fetch(`${client.url}/${client.uaid}`, { headers: { Authorization: `Bearer ${client.secret}` } });
        assert.equal(known.status, 410);
        assert.equal(client.service.of(client.token).every(({ body }) => bodyOf({ body }) === 'data'), true);
        assert(await attempts(bridge, 'gone') >= 1);
    });

    test(`${bridge}: a token of another project or environment ends its client where the app works`, async () => {
        const works = await registered(bridge, 'ok');
        await accepted(works);
        await came(works);
        const client = await registered(bridge, 'foreign');
        await accepted(client);
        await until('410', async () => (await send(client)).status === 410, PATIENCE_MS);
        assert.equal((await send(works)).status, 201);
    });

    test(`${bridge}: 429 is tried again after Retry-After, and not before`, async () => {
        const client = await registered(bridge, 'quota');
        await accepted(client);
        await came(client, 2);
        const [first, second] = client.service.of(client.token);
        assert(second.at - first.at >= 3000, `again after ${second.at - first.at} ms`);
    });

    test(`${bridge}: errors, time-outs, resets, and connections that end are tried again`, async () => {
        for (const kind of ['flaky', 'slow', 'reset', 'cut', 'goaway']) {
            const client = await registered(bridge, kind);
            await accepted(client, { body: kind });
            await came(client, 2);
            assert.deepEqual(new Set(client.service.of(client.token).map(bodyOf)), new Set([kind]));
        }
    });

    test(`${bridge}: a message that the service never takes is dead, and others go on`, async () => {
        const bad = await registered(bridge, 'bad');
        const good = await registered(bridge, 'ok');
        await accepted(bad);
        await until('a refusal', async () => (await attempts(bridge, 'refused')) >= 1, PATIENCE_MS);
        await accepted(good);
        await came(good);
        assert.equal(bad.service.of(bad.token).length, 1);
        assert.equal((await send(bad)).status, 201, 'the client is not gone');
    });
}

test('a message that no bridge accepts is refused at once', async () => {
    const client = await registered('fcm', 'ok');
    const large = await send(client, { body: 'x'.repeat(4000) });
    assert.equal(large.status, 413, large.text);
    assert.equal(JSON.parse(large.text).errno, 104);
});

test('a message expires while its service is away', async () => {
    const client = await registered('fcm', 'dead');
    const expired = () => cluster.metric('beckon_retry_bridge_messages_total', 'outcome="expired"', opsOfRetry());
    const before = await expired();
    await accepted(client, { ttl: 3 });
    await until('its end', async () => (await expired()) > before, PATIENCE_MS);
    assert(client.service.of(client.token).length >= 1);
});

test('tracked messages show how far they got', async () => {
    const tracked = async (bridge, kind, id, wanted, ttl = 60) => {
        const client = await registered(bridge, kind);
        const vapid = webpush.getVapidHeaders(cluster.endpoint, 'mailto:a@example.com', keys.publicKey, keys.privateKey, 'aes128gcm');
        await accepted(client, { ttl, headers: { ...vapid, 'X-MessageId': id } });
        let steps = [];
        await until(`the milestones of ${id}`, async () => {
            steps = ((await cluster.reliabilityPage(`history/${id}`))?.steps ?? []).map(({ milestone }) => milestone);
            return steps.length === 2;
        }, PATIENCE_MS).catch(() => {});
        assert.deepEqual(steps, ['received', wanted], id);
        return client;
    };
    const client = await tracked('fcm', 'ok', 'to-fcm', 'bridge_transmitted');
    assert.equal(client.service.of(client.token)[0].body.android.data.rid, 'to-fcm');
    await tracked('apns', 'ok', 'to-apns', 'bridge_transmitted');
    await tracked('fcm', 'bad', 'refused', 'errored');
    await tracked('apns', 'gone', 'gone', 'errored');
    await tracked('fcm', 'dead', 'expired', 'expired', 2);
});

test('credentials files that are wrong end the start with their fault', async () => {
    const broken = join(cluster.directory, 'broken.json');
    writeFileSync(broken, JSON.stringify({ ...fcm.account, private_key: 'not a key' }));
    const data = join(cluster.directory, 'refused');
    for (const [option, value, wanted] of [
        ['--retry-fcm-credentials', `my-app=${broken}`, /retry\.fcm\.credentials: .*broken\.json: `private_key` holds no unencrypted private key/],
        ['--retry-fcm-credentials', 'my-app=/nowhere.json', /retry\.fcm\.credentials: \/nowhere\.json: cannot be read/],
        ['--retry-apns-credentials', `release=${broken}`, /retry\.apns\.credentials: .*broken\.json: has no text `team_id`/],
    ]) {
        const ports = ['--endpoint-port', String(await freePort()), '--edge-port', String(await freePort()), '--ops-port', '0', '--retry-port', '0'];
        const { status, stderr } = spawnSync(BECKON, ['standalone', '--data', data, ...ports, option, value], { encoding: 'utf8' });
        assert.equal(status, 2, stderr);
        assert.match(stderr, wanted);
        assert(!stderr.includes('not a key'), 'a secret is not shown');
    }
});

test(`${KILLS} kills lose nothing`, { timeout: 400000 }, async () => {
    const clients = [];
    for (let i = 0; i < 20; ++i) {
        // Every third one is only taken at the second attempt, which is after a tier.
        clients.push(await registered(i % 2 ? 'fcm' : 'apns', i % 3 ? 'ok' : 'flaky'));
    }
    const sent = new Map(); // body → client
    let running = true;
    let number = 0;
    const sender = async () => {
        while (running) {
            const body = `kill ${++number}`;
            const client = clients[number % clients.length];
            const reply = await send(client, { body, ttl: 3600 }).catch(() => null);
            if (reply?.status === 201) sent.set(body, client);
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
    };
    const senders = Array.from({ length: 4 }, sender);
    for (let kill = 0; kill < KILLS; ++kill) {
        const goal = sent.size + 40 + Math.floor(Math.random() * 60);
        await until('more accepted messages', () => sent.size >= goal, 60000);
        await cluster.children.get(role).kill();
        cluster.children.delete(role);
        await cluster.start(role);
    }
    running = false;
    await Promise.all(senders);
    const missing = () => {
        const seen = new Map(clients.map((client) => [client.token, new Set(client.service.of(client.token).map(bodyOf))]));
        return [...sent].filter(([body, client]) => !seen.get(client.token).has(body)).map(([body]) => body);
    };
    await until('every accepted message', () => missing().length === 0, PATIENCE_MS).catch((error) => {
        throw new Error(`${error.message}: ${missing().length} of ${sent.size} missing, e.g. ${missing()[0]}\n${cluster.outputs()}`);
    });
    console.log(`${KILLS} kills, ${sent.size} accepted, all of them came to the services`);
});

test('a service that refuses our credentials shows in the metrics and in /ready, until it does not', { timeout: 300000 }, async () => {
    const faulty = () => cluster.metric('beckon_retry_bridge_faulty_apps', 'bridge="apns"', opsOfRetry());
    apns.refusing = true;
    const clients = await Promise.all(Array.from({ length: 4 }, () => registered('apns', 'ok')));
    await Promise.all(clients.map((client) => accepted(client, { ttl: 3600 })));
    await until('the fault', async () => (await faulty()) === 1, PATIENCE_MS);
    assert.match(cluster.children.get(role).output, /bridge_refuses_credentials.*403 InvalidProviderToken/);
    const ready = async () => fetch(`http://127.0.0.1:${opsOfRetry()}/ready`).then((reply) => reply.json());
    const readiness = await ready();
    assert.equal(readiness.status, 'OK', 'the rest goes on');
    assert.match(JSON.stringify(readiness.warnings), /"retry: apns [^"]+":"403 InvalidProviderToken/);
    apns.refusing = false;
    await until('its end', async () => (await faulty()) === 0, PATIENCE_MS);
    assert.equal((await ready()).warnings, undefined);
});
