// Webhooks and bridges behind an egress proxy, and receivers inside: every request goes through `retry.proxy` but those to
// `retry.allowed_hosts`, as docs/webhooks.md says.
//
//   node --test webhook-proxy.mjs     (SCHEME=http|https: of the proxy)
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { Apns, Fcm } from './bridge-services.mjs';
import { Receivers, RetryApi } from './retry-api.mjs';

const SCHEME = process.env.SCHEME ?? 'http'; // of the proxy
const PROXY_USER = 'beckon:pr0xy';
const retry = [];
const cluster = new Cluster('embedded', { plain: true, retry, tiers: '0s,1s,2s' });
const receivers = new Receivers();
const fcm = new Fcm();
const apns = new Apns();
const asked = []; // of the proxy: method, target, Proxy-Authorization
const refuses = new Set(); // of the targets of CONNECT
let api;
let as;
let secure;
const taken = []; // by the receivers outside: body and whether it has TLS

/** Takes requests for names under `.example`, which no server outside of this test answers, to the receiver outside. */
async function startProxy() {
    const take = (secure) => (request, response) => {
        let body = '';
        request.on('data', (data) => (body += data)).on('end', () => {
            taken.push({ body, secure });
            response.writeHead(204).end();
        });
    };
    const certificate = join(cluster.directory, 'receiver.pem');
    const key = join(cluster.directory, 'receiver.key');
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=receiver',
        '-addext', 'subjectAltName=DNS:secure.example,DNS:refused.example,DNS:fcm.example,DNS:apns.example,IP:127.0.0.1', '-keyout', key, '-out', certificate], { stdio: 'ignore' });
    const tls = { cert: readFileSync(certificate), key: readFileSync(key) };
    secure = new URL(await receivers.listen(https.createServer(tls, take(true))));
    for (const service of [fcm, apns]) await service.listen(tls);
    const services = { 'fcm.example:443': fcm.url, 'apns.example:443': apns.url };
    const file = (name, content) => {
        const path = join(cluster.directory, name);
        writeFileSync(path, content, { mode: 0o600 });
        return path;
    };
    file(apns.about.key_file, apns.p8);
    const proxy = (SCHEME === 'https' ? https : http).createServer(tls, (request, response) => {
        asked.push({ method: request.method, target: request.url, authorization: request.headers['proxy-authorization'] });
        take(false)(request, response);
    });
    proxy.on('connect', (request, socket) => {
        asked.push({ method: request.method, target: request.url, authorization: request.headers['proxy-authorization'] });
        if (refuses.has(request.url)) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
        const { port } = new URL(services[request.url] ?? secure);
        const to = net.connect(port, '127.0.0.1', () => {
            socket.write('HTTP/1.1 200 OK\r\n\r\n');
            to.pipe(socket).pipe(to);
        });
        for (const one of [to, socket]) one.on('error', () => {}).on('close', () => [to, socket].forEach((end) => end.destroy()));
    });
    const { host } = new URL(await receivers.listen(proxy));
    fcm.account.token_uri = 'https://fcm.example/token';
    retry.push('--retry-proxy', `${SCHEME}://${PROXY_USER}@${host}`, '--retry-allowed-hosts', 'localhost', '--retry-ca-file', certificate,
        '--retry-fcm-credentials', `my-app=${file('account.json', JSON.stringify(fcm.account))}`, '--test-fcm-url', 'https://fcm.example',
        '--retry-apns-credentials', `release=${file('apns.json', JSON.stringify(apns.about))}`,
        '--test-apns-url', 'https://apns.example', '--log-level', 'debug');
}

before(async () => {
    await startProxy();
    api = await RetryApi.start(cluster);
    as = api.token('shop');
});
after(async () => {
    api?.close();
    receivers.close();
    await cluster.end();
    await fcm.stop();
    await apns.stop();
});

test('a request goes through the proxy, which is told who asks', async () => {
    await api.webhook(as, 'http://outside.example/hook?a=b', ['plain']);
    const id = await api.post(as, 'plain');
    await until('the event', () => taken.some(({ body }) => body.includes(`"${id}"`)));
    assert.deepEqual(asked.at(-1), {
        method: 'POST', target: 'http://outside.example/hook?a=b', authorization: `Basic ${Buffer.from(PROXY_USER).toString('base64')}`,
    });
});

test('https passes as a tunnel, in which the receiver itself is verified', async () => {
    await api.webhook(as, 'https://secure.example/hook', ['secure']);
    const id = await api.post(as, 'secure');
    await until('the event', () => taken.some((one) => one.secure && one.body.includes(`"${id}"`)));
    assert.deepEqual([asked.at(-1).method, asked.at(-1).target], ['CONNECT', 'secure.example:443']);
    // A name that the certificate does not have:
    const other = await api.webhook(as, 'https://other.example/hook', ['other']);
    await api.post(as, 'other');
    const attempts = () => api.ask('GET', `/webhooks/${other}/attempts`, { as }).then(({ text }) => text);
    await until('an attempt that failed', async () => /tls|certificate/i.test(await attempts()));
    assert.equal(taken.filter((one) => one.secure).length, 1);
    assert.equal((await api.ask('DELETE', `/webhooks/${other}`, { as })).status, 204); // its event comes again no more
});

/** Registers a device at a bridge's app (`fcm/my-app`); its endpoint. */
async function registered(app, token) {
    const options = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) };
    const reply = await fetch(`${cluster.endpoint}/v1/${app}/registration`, options);
    const text = await reply.text();
    assert.equal(reply.status, 200, text);
    return JSON.parse(text).endpoint;
}
async function send(endpoint, body) {
    const reply = await fetch(endpoint, { method: 'POST', headers: { TTL: '600', 'Content-Encoding': 'aes128gcm' }, body });
    assert.equal(reply.status, 201, await reply.text());
}
const tunnels = (target) => asked.filter((one) => one.method === 'CONNECT' && one.target === target);

test('a bridge reaches FCM through the proxy, by HTTP/2 in a tunnel', async () => {
    await send(await registered('fcm/my-app', 'ok-device'), 'hello');
    await until('the message', () => fcm.of('ok-device').length === 1);
    assert.equal(tunnels('fcm.example:443').length, 1, 'for the access token and for the message');
});

test('a bridge reaches APNs through the proxy: one tunnel for many messages, and another when it breaks', async () => {
    const target = 'apns.example:443';
    const endpoint = await registered('apns/release', 'ok-device');
    const bodies = () => apns.of('ok-device').map(({ body }) => Buffer.from(body.body, 'base64url').toString());
    const first = Array.from({ length: 20 }, (_, i) => `message ${i}`);
    await Promise.all(first.map((body) => send(endpoint, body)));
    await until('the messages', () => bodies().length >= first.length);
    assert.deepEqual(bodies().sort(), first.sort());
    for (const { headers } of apns.of('ok-device')) assert.equal(headers[':authority'], 'apns.example');
    assert.equal(tunnels(target).length, 1);
    assert.equal(tunnels(target)[0].authorization, `Basic ${Buffer.from(PROXY_USER).toString('base64')}`);
    for (const session of apns.sessions) session.destroy();
    await send(endpoint, 'after the break');
    await until('the message', () => bodies().includes('after the break'));
    assert.equal(tunnels(target).length, 2);
});

test('what the proxy refuses to a bridge is said, comes again, and ends no client', async () => {
    const target = 'apns.example:443';
    const endpoint = await registered('apns/release', 'ok-waits');
    refuses.add(target);
    for (const session of apns.sessions) session.destroy();
    await send(endpoint, 'refused');
    await until('the reason', () => /"bridge_attempt".*the proxy \(retry\.proxy\) answered 403/.test(cluster.children.get('standalone').output));
    refuses.clear();
    await until('the message', () => apns.of('ok-waits').length === 1);
    await send(endpoint, 'the client lives');
    await until('the next message', () => apns.of('ok-waits').length === 2);
});

test('a receiver that the operator allows by name is inside: its requests bypass the proxy', async () => {
    const receiver = await receivers.quick();
    const before = asked.length;
    await api.webhook(as, receiver.url.replace('127.0.0.1', 'localhost'), ['inside']);
    const id = await api.post(as, 'inside');
    await until('the event', () => receiver.came.has(id));
    assert.equal(asked.length, before);
});

test('a URL that names an address of this network is refused, with the proxy too', async () => {
    for (const host of ['127.0.0.1:9090', '10.1.2.3', '169.254.169.254', '[::1]:9090']) {
        const { status, text } = await api.ask('POST', '/webhooks', { json: { url: `http://${host}/`, types: ['*'] }, as });
        assert.equal(status, 400, text);
        assert.match(text, /leads to an address that is not allowed/);
    }
});

test('what the proxy refuses is said of the attempt, and comes again', async () => {
    refuses.add('refused.example:443');
    const id = await api.webhook(as, 'https://refused.example/hook', ['refused']);
    const event = await api.post(as, 'refused');
    await until('the reason', async () => (await api.ask('GET', `/webhooks/${id}/attempts`, { as })).text.includes('the proxy (retry.proxy) answered 403'));
    refuses.clear();
    await until('the event', () => taken.some(({ body }) => body.includes(`"${event}"`)));
});

test('the password of the proxy is not shown', async () => {
    const shown = await cluster.tool(['config', 'print', ...retry.slice(0, 2), '--data', join(cluster.directory, 'standalone')]).catch((error) => error.message);
    assert.doesNotMatch(shown, /pr0xy/);
    assert.doesNotMatch(cluster.children.get('standalone').output, /pr0xy/);
});
