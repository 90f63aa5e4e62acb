// A user agent and an application server of a few lines, for tests that need thousands of messages
// and no browser. Bodies are not encrypted: the server must not care.
import http from 'node:http';
import https from 'node:https';
import { randomUUID } from 'node:crypto';
import WebSocket from 'ws';
import { until } from './beckon.mjs';

/** Keeps one client connected: reconnects, says hello with its UAID, acks what it gets. */
export class UserAgent {
    constructor(url) {
        this.url = url;
        this.uaid = null;
        this.endpoint = null;
        this.versions = new Map(); // version → how often it came
        this.bodies = [];
        this.faults = [];
        this.wanted = false;
        this.waiting = new Map();
        this.closes = []; // codes and reasons of connections that ended while they were wanted
    }

    connect() {
        this.wanted = true;
        this.open();
        return until('hello', () => this.helloed).catch((error) => {
            throw new Error(`${error.message}; connections that ended: ${this.closes.join(', ') || 'none'}`);
        });
    }

    open() {
        const socket = new WebSocket(this.url, 'push-notification');
        this.socket = socket;
        this.helloed = false;
        socket.on('open', () => {
            if (socket === this.socket) this.send({ messageType: 'hello', use_webpush: true, ...(this.uaid && { uaid: this.uaid }) });
        });
        socket.on('message', (data) => this.receive(JSON.parse(data)));
        socket.on('error', () => {});
        socket.on('close', (code, reason) => {
            if (socket !== this.socket) return; // a later one has taken its place
            this.helloed = false;
            if (this.wanted) this.closes.push(`${code} ${reason}`);
            if (this.wanted) setTimeout(() => this.wanted && this.open(), 50);
        });
    }

    send(message) {
        this.socket.send(JSON.stringify(message));
    }

    receive(message) {
        switch (message.messageType) {
            case 'hello':
                if (this.uaid && message.uaid !== this.uaid) this.faults.push(`UAID ${this.uaid} became ${message.uaid}`);
                this.uaid = message.uaid;
                this.helloed = true;
                break;
            case 'notification': {
                this.versions.set(message.version, (this.versions.get(message.version) ?? 0) + 1);
                if (message.data) this.bodies.push(Buffer.from(message.data, 'base64url').toString());
                if (!this.mute) this.answer(message);
                break;
            }
            default:
                this.waiting.get(`${message.messageType} ${message.channelID}`)?.(message);
        }
    }

    /** How it answers a notification. */
    answer({ channelID, version }) {
        this.send({ messageType: 'ack', updates: [{ channelID, version, code: 100 }] });
    }

    /** @param key the VAPID public key that the subscription shall be bound to */
    async register(channelID = randomUUID(), key = undefined) {
        const reply = new Promise((resolve) => this.waiting.set(`register ${channelID}`, resolve));
        this.send({ messageType: 'register', channelID, key });
        const { status, pushEndpoint } = await reply;
        if (status !== 200) throw new Error(`register answered ${status}`);
        this.endpoint = pushEndpoint;
        return pushEndpoint;
    }

    /** Goes to another server, at once and without a word to the former one. */
    moveTo(url) {
        this.url = url;
        const former = this.socket;
        this.open();
        former.terminate();
        return until('hello', () => this.helloed);
    }

    async unregister(channelID) {
        const reply = new Promise((resolve) => this.waiting.set(`unregister ${channelID}`, resolve));
        this.send({ messageType: 'unregister', channelID });
        return (await reply).status;
    }

    /** Is gone at once. */
    end() {
        this.wanted = false;
        this.socket?.terminate();
    }

    async close() {
        this.wanted = false;
        const closed = new Promise((resolve) => this.socket.once('close', resolve));
        this.socket.terminate();
        await closed;
    }
}

/** Starts a new cluster, and a client with one channel: what a test of senders needs. */
export async function startWithClient(cluster) {
    await cluster.prepare();
    await cluster.start();
    const client = new UserAgent(cluster.websocket);
    await client.connect();
    return { client, endpoint: await client.register() };
}

export const agent = new https.Agent({ rejectUnauthorized: false, keepAlive: true, maxSockets: 16 });
const plainAgent = new http.Agent({ keepAlive: true, maxSockets: 16 });

/** Sends a request; resolves to {status, id, headers, body} or, when there was no answer, to {status: 0}. */
export function call(method, url, headers = {}, body = undefined) {
    const isPlain = url.startsWith('http:');
    return new Promise((resolve) => {
        const request = (isPlain ? http : https).request(
            url,
            { method, agent: isPlain ? plainAgent : agent, headers },
            (response) => {
                const parts = [];
                response.on('data', (part) => parts.push(part));
                response.on('error', () => resolve({ status: 0 }));
                response.on('end', () =>
                    resolve({
                        status: response.statusCode,
                        id: response.headers.location?.split('/').pop(),
                        headers: response.headers,
                        body: Buffer.concat(parts).toString(),
                    }),
                );
            },
        );
        request.on('error', () => resolve({ status: 0 }));
        request.setTimeout(10000, () => request.destroy());
        request.end(body);
    });
}

/** POSTs a message. */
export const post = (endpoint, body, headers = {}) =>
    call('POST', endpoint, { TTL: '3600', 'Content-Encoding': 'aes128gcm', ...headers }, body);
