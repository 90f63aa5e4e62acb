// Webhooks and bridges behind an egress proxy, and receivers inside: every request goes through `retry.proxy` but those to
// `retry.allowed_hosts`, as docs/webhooks.md says.
//
//   node --test webhook-proxy.mjs
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Cluster, until } from './beckon.mjs';
import { Fcm } from './bridge-services.mjs';
import { Receivers, RetryApi } from './retry-api.mjs';

const PROXY_USER = 'beckon:pr0xy';
const retry = [];
const cluster = new Cluster('embedded', { plain: true, retry, tiers: '0s,1s,2s' });
const receivers = new Receivers();
const fcm = new Fcm();
const asked = []; // of the proxy: method, target, Proxy-Authorization
let refuses = false;
let api;
let as;
let secure;
const taken = []; // by the receiver outside: body and whether by TLS

/** Takes requests for names under `.example`, which no server outside of this test answers, to the receiver outside. */
async function startProxy() {
    const take = (request, response) => {
        let body = '';
        request.on('data', (data) => (body += data)).on('end', () => {
            taken.push({ body, secure: !!request.socket.encrypted });
            response.writeHead(204).end();
        });
    };
    const certificate = join(cluster.directory, 'receiver.pem');
    const key = join(cluster.directory, 'receiver.key');
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2', '-subj', '/CN=receiver',
        '-addext', 'subjectAltName=DNS:secure.example,DNS:refused.example,DNS:fcm.example', '-keyout', key, '-out', certificate], { stdio: 'ignore' });
    const tls = { cert: readFileSync(certificate), key: readFileSync(key) };
    secure = new URL(await receivers.listen(https.createServer(tls, take)));
    await fcm.listen(tls);
    const account = join(cluster.directory, 'account.json');
    writeFileSync(account, JSON.stringify(fcm.account), { mode: 0o600 });
    const proxy = http.createServer((request, response) => {
        asked.push({ method: request.method, target: request.url, authorization: request.headers['proxy-authorization'] });
        take(request, response);
    });
    proxy.on('connect', (request, socket) => {
        asked.push({ method: request.method, target: request.url, authorization: request.headers['proxy-authorization'] });
        if (refuses) return socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
        const { port } = request.url.startsWith('fcm.example:') ? new URL(fcm.url) : secure;
        const to = net.connect(port, '127.0.0.1', () => {
            socket.write('HTTP/1.1 200 OK\r\n\r\n');
            to.pipe(socket).pipe(to);
        });
        for (const one of [to, socket]) one.on('error', () => {}).on('close', () => [to, socket].forEach((end) => end.destroy()));
    });
    const { host } = new URL(await receivers.listen(proxy));
    retry.push('--retry-proxy', `http://${PROXY_USER}@${host}`, '--retry-allowed-hosts', 'localhost', '--retry-ca-file', certificate,
        '--retry-fcm-credentials', `my-app=${account}`, '--retry-fcm-url', 'https://fcm.example', '--retry-fcm-token-url', 'https://fcm.example/token');
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
});

test('a bridge reaches FCM through the proxy, by HTTP/2 in a tunnel', async () => {
    const json = { method: 'POST', headers: { 'Content-Type': 'application/json' } };
    const reply = await fetch(`${cluster.endpoint}/v1/fcm/my-app/registration`, { ...json, body: JSON.stringify({ token: 'ok-device' }) });
    const { endpoint } = await reply.json();
    const sent = await fetch(endpoint, { method: 'POST', headers: { TTL: '60', 'Content-Encoding': 'aes128gcm' }, body: 'hello' });
    assert.equal(sent.status, 201);
    await until('the message', () => fcm.of('ok-device').length === 1);
    assert(asked.some(({ method, target }) => method === 'CONNECT' && target === 'fcm.example:443'));
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
    refuses = true;
    const id = await api.webhook(as, 'https://refused.example/hook', ['refused']);
    const event = await api.post(as, 'refused');
    await until('the reason', async () => (await api.ask('GET', `/webhooks/${id}/attempts`, { as })).text.includes('the proxy (retry.proxy) answered 403'));
    refuses = false;
    await until('the event', () => taken.some(({ body }) => body.includes(`"${event}"`)));
});

test('the password of the proxy is not shown', async () => {
    const shown = await cluster.tool(['config', 'print', ...retry.slice(0, 2), '--data', join(cluster.directory, 'standalone')]).catch((error) => error.message);
    assert.doesNotMatch(shown, /pr0xy/);
    assert.doesNotMatch(cluster.children.get('standalone').output, /pr0xy/);
});
