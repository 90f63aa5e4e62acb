// The role retry as owners of webhooks use it, and receivers that do them harm.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import http from 'node:http';
import net from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BECKON, freePort, until } from './beckon.mjs';

/** The HTTP API of a cluster's role retry. */
export class RetryApi {
    /** @param {Cluster} cluster that is prepared */
    constructor(cluster) {
        this.cluster = cluster;
        this.url = `http://127.0.0.1:${cluster.ports.retry}`;
        this.agent = new http.Agent({ keepAlive: true, maxSockets: 16 });
        this.events = 0;
    }

    /** Prepares and starts the cluster; its API, which serves. */
    static async start(cluster) {
        await cluster.prepare();
        await cluster.start();
        const api = new RetryApi(cluster);
        const anybody = api.token('anybody');
        await until('the role serves', () => api.serves(anybody), 60000);
        return api;
    }

    close() {
        this.agent.destroy();
    }

    /** A token of this owner. */
    token(owner) {
        const { log, directory } = this.cluster;
        const keys = log === 'kafka' ? ['--key-ring', join(directory, 'keys.json')] : ['--data', join(directory, 'standalone')];
        const made = spawnSync(BECKON, ['webhooks', 'token', owner, ...keys], { encoding: 'utf8' });
        assert.equal(made.status, 0, made.stderr);
        return made.stdout.trim();
    }

    /** Rejects where no answer comes. */
    ask(method, path, { json, as, type = 'application/json' } = {}) {
        return new Promise((resolve, reject) => {
            const headers = { Authorization: `Bearer ${as}`, 'Content-Type': type };
            const request = http.request(this.url + path, { method, agent: this.agent, headers }, (response) => {
                let text = '';
                response.on('data', (data) => (text += data));
                response.on('error', reject);
                response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, text, json: text ? JSON.parse(text) : null }));
            });
            request.on('error', reject);
            request.end(json === undefined ? undefined : JSON.stringify(json));
        });
    }

    /** Posts an event; its id and the answer's status, which is 0 where no answer came. */
    async tryToPost(as, type, data = {}, attributes = {}) {
        const id = `e${++this.events}`;
        const event = { specversion: '1.0', id, source: '/shop', type, ...attributes, data };
        const answer = await this.ask('POST', '/events', { json: event, as, type: 'application/cloudevents+json' }).catch((error) => ({ status: 0, text: error.message }));
        return { id, ...answer };
    }

    /** The id of an event that was accepted. */
    async post(as, type, data, attributes) {
        const { id, status, text } = await this.tryToPost(as, type, data, attributes);
        assert.equal(status, 202, text);
        return id;
    }

    /** Likewise; where the owner's events wait already, it posts again when the answer says. */
    async postInTurn(as, type, data) {
        for (;;) {
            const { id, status, headers, text } = await this.tryToPost(as, type, data);
            if (status === 202) return id;
            assert.equal(status, 429, text);
            await sleep(Number(headers['retry-after']) * 1000);
        }
    }

    /** Makes a webhook; its id. */
    async webhook(as, url, types, more = {}) {
        const reply = await this.ask('POST', '/webhooks', { json: { url, types, timeout_s: 15, ...more }, as });
        assert.equal(reply.status, 201, reply.text);
        return reply.json.id;
    }

    /** Whether the role answers. */
    async serves(as) {
        return (await this.ask('GET', '/webhooks', { as })).status === 200;
    }
}

/** Receivers of webhooks on this machine. */
export class Receivers {
    servers = new Set();
    /** Connections to those that hang. */
    hanging = new Set();

    listen(server) {
        this.servers.add(server);
        return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${server.address().port}`)));
    }

    close() {
        for (const socket of this.hanging) socket.destroy();
        for (const server of this.servers) {
            server.closeAllConnections?.();
            server.close();
        }
    }

    /** Answers at once, and notes when each event came first, and how often. */
    async quick() {
        const came = new Map();
        const times = new Map();
        const url = await this.listen(http.createServer((request, response) => {
            let body = '';
            request.on('data', (data) => (body += data));
            request.on('end', () => {
                const { id } = JSON.parse(body);
                if (!came.has(id)) came.set(id, performance.now());
                times.set(id, (times.get(id) ?? 0) + 1);
                response.writeHead(204).end();
            });
        }));
        return { url, came, times };
    }

    /** Takes connections and says nothing. */
    hangs() {
        return this.listen(net.createServer((socket) => {
            this.hanging.add(socket);
            socket.on('error', () => {}).on('close', () => this.hanging.delete(socket)).resume();
        }));
    }

    slow(ms) {
        return this.listen(http.createServer((request, response) => {
            request.resume();
            setTimeout(() => response.writeHead(204).end(), ms);
        }));
    }

    refuses() {
        return this.listen(http.createServer((request, response) => {
            request.resume();
            response.writeHead(500).end();
        }));
    }

    /** Answers with more than an answer may have, and does not end. */
    endless() {
        return this.listen(http.createServer((request, response) => {
            request.resume();
            response.on('error', () => {});
            response.writeHead(200);
            response.write('x'.repeat(300 * 1024));
        }));
    }

    async absent() {
        return `http://127.0.0.1:${await freePort()}`;
    }
}

/** Takes some ten thousand steps for each object in `data.list`. */
export const costlyFilter = {
    bool: { should: Array.from({ length: 100 }, (_, i) => ({ wildcard: { 'data.list.a': `*${'b'.repeat((i % 50) + 1)}c` } })) },
};
export const costlyData = { list: Array.from({ length: 400 }, () => ({ a: 'b'.repeat(100) })) };
