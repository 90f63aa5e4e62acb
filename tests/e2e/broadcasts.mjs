// Broadcasts from the command line, over HTTP and from a page, to clients that follow them.
//
//   LOG=embedded node broadcasts.mjs      (or LOG=kafka)
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { once } from 'node:events';
import WebSocket from 'ws';
import { Cluster, until } from './beckon.mjs';

const LOG = process.env.LOG ?? 'embedded';
const ON_KAFKA = LOG === 'kafka';

// A page behind a redirect, as the reference's own tests have it.
let page = { broadcasts: { 'page/one': '1' } };
const pages = createServer((request, response) => {
    if (request.url === '/moved') {
        response.writeHead(307, { Location: '/page' }).end();
    } else {
        response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(page));
    }
});

let cluster;
let tools;
before(async () => {
    pages.listen(0, '127.0.0.1');
    await once(pages, 'listening');
    const polls = ['--edge-broadcasts-url', `http://127.0.0.1:${pages.address().port}/moved`, '--test-broadcasts-interval', '100ms'];
    cluster = new Cluster(LOG, { plain: true, endpoint: ON_KAFKA ? [] : polls });
    await cluster.prepare();
    await cluster.start();
    tools = ON_KAFKA
        ? cluster.kafkaOptions()
        : ['--data', `${cluster.directory}/standalone`, '--ops-port', String(cluster.ports.ops)];
});
after(async () => {
    pages.close();
    await cluster.end();
});

const broadcasts = (...args) => cluster.tool(['broadcasts', ...args, ...tools]);

/** A client that keeps the versions that it receives. */
class Follower {
    constructor(named) {
        this.versions = {};
        this.frames = [];
        this.socket = new WebSocket(cluster.websocket, 'push-notification');
        this.socket.on('open', () => this.send({ messageType: 'hello', use_webpush: true, broadcasts: named }));
        this.socket.on('message', (data) => {
            const frame = JSON.parse(data);
            this.frames.push(frame);
            Object.assign(this.versions, frame.broadcasts);
        });
    }
    send(frame) {
        this.socket.send(JSON.stringify(frame));
    }
    async hello() {
        await until('an answer to hello', () => this.frames.length > 0);
        return this.frames[0].broadcasts;
    }
}

test('a version that is set on the command line reaches its followers', async () => {
    await broadcasts('set', 'demo/news', '1');
    assert.match(await broadcasts('list'), /^demo\/news\t1$/m);
    // The edge may read it a moment after the tool has written it.
    const follower = await until('the edge knows it', async () => {
        const candidate = new Follower({ 'demo/news': '0', 'demo/none': '0' });
        const versions = await candidate.hello();
        if (versions['demo/news'] === '1') return candidate;
        candidate.socket.close();
        return null;
    });
    assert.deepEqual(await follower.hello(), { 'demo/news': '1', errors: { 'demo/none': 'Broadcast not found' } });
    await broadcasts('set', 'demo/news', '2');
    await until('the change arrives', () => follower.versions['demo/news'] === '2');
    await broadcasts('delete', 'demo/news');
    assert.doesNotMatch(await broadcasts('list'), /demo\/news/);
    follower.socket.close();
});

test('a wrong argument is named', async () => {
    await assert.rejects(broadcasts('set', '!demo', '1'), /1 to 128 printable ASCII/);
    await assert.rejects(broadcasts('set', 'demo', ''), /1 to 256 printable ASCII/);
});

test('over HTTP it takes the token', { skip: ON_KAFKA }, async () => {
    const ops = `http://127.0.0.1:${cluster.ports.ops}/broadcasts`;
    const token = (await broadcasts('token')).trim();
    const refused = await fetch(`${ops}/set?id=http/one&version=1&token=${token.slice(1)}`);
    assert.equal(refused.status, 401);
    const wrong = await fetch(`${ops}/set?id=http/one&version=&token=${token}`);
    assert.equal(wrong.status, 400);
    const taken = await fetch(`${ops}/set?id=http/one&version=1&token=${token}`);
    assert.equal(taken.status, 202);
    await until('it is listed', async () => (await (await fetch(`${ops}/list`)).json()).broadcasts['http/one'] === '1');
});

test('a page is polled, and its changes are sent to followers', { skip: ON_KAFKA }, async () => {
    await until('the page is read', async () => /^page\/one\t1$/m.test(await broadcasts('list')));
    const follower = new Follower({ 'page/one': '1' });
    assert.deepEqual(await follower.hello(), {});
    page = { broadcasts: { 'page/one': '2' } };
    await until('the change arrives', () => follower.versions['page/one'] === '2');
    page = 'nonsense';
    await until('polls fail', async () => (await cluster.metric('beckon_edge_broadcast_polls_total', 'failed')) > 0);
    assert.match(await broadcasts('list'), /^page\/one\t2$/m);
    follower.socket.close();
});
