// User agents with habits, good ones and bad ones. All that they see goes to `note`; the checker judges it.
import { randomUUID } from 'node:crypto';
import WebSocket from 'ws';
import { randomFrom } from './chaos-plan.mjs';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const HELLO_PATIENCE_MS = 20000; // the front answers or closes within 15 s
const PING_PATIENCE_MS = 30000;
const JOINED_MAX = 4; // channels of a client that joins and leaves

/** habit → [least, most] ms between two doings of it */
export const HABITS = {
    steady: [500, 1500],
    flapping: [300, 3000],
    slow: [500, 2000],
    mute: [1000, 2000],
    moving: [500, 3000],
    duplicate: [1000, 3000],
    joining: [200, 800],
};

/** How many of each habit there are among ten clients. */
const CROWD = ['steady', 'flapping', 'moving', 'joining', 'duplicate', 'slow', 'steady', 'moving', 'mute', 'joining'];

export const crowd = (count, rest) =>
    Array.from({ length: count }, (_, i) => new ChaosClient({ name: `${CROWD[i % 10]}-${i}`, habit: CROWD[i % 10], index: i, ...rest }));

export class ChaosClient {
    /**
     * @param {string[]} urls where edges are; a client whose connection ends tries the next one, as a balancer does
     * @param {(kind: string, fields: object) => void} note
     */
    constructor({ name, habit, index, urls, seed, note }) {
        Object.assign(this, { name, habit, urls });
        this.random = randomFrom(seed * 1000 + index);
        this.at = index % urls.length;
        this.note = (kind, fields = {}) => note(kind, { client: name, ...fields });
        this.uaid = null;
        this.connections = 0; // the number of the newest one
        this.socket = null; // the one whose hello was answered last
        this.sockets = new Set();
        this.channels = new Map(); // channel → endpoint of those that are live
        this.wishes = new Map(); // channel → 'register' or 'unregister', without an answer yet
        this.base = randomUUID(); // the channel that it never leaves
        this.acks = new Map(); // n → {at, connection} of the last ack
        this.arrivals = new Map(); // n → {at, connection} of the last arrival
        this.suspended = false; // stabilising: does nothing of its own
        this.over = false;
        this.pong = null;
    }

    start() {
        this.wishes.set(this.base, 'register');
        this.open();
        this.living = this.live();
    }

    get attached() {
        return this.socket !== null && this.socket.readyState === WebSocket.OPEN;
    }

    // --- its connection

    open() {
        if (!this.attached) this.note('seeking');
        const socket = new WebSocket(this.urls[this.at], 'push-notification', { handshakeTimeout: HELLO_PATIENCE_MS });
        socket.number = ++this.connections;
        this.sockets.add(socket);
        this.opening = socket;
        socket.on('open', () => {
            this.frame({ messageType: 'hello', use_webpush: true, ...(this.uaid && { uaid: this.uaid }) }, socket);
            socket.timer = setTimeout(() => socket.terminate(), HELLO_PATIENCE_MS);
        });
        socket.on('message', (data) => this.receive(socket, data.toString()));
        socket.on('error', () => {});
        socket.on('close', () => this.closed(socket));
    }

    closed(socket) {
        clearTimeout(socket.timer);
        this.sockets.delete(socket);
        this.note('left', { connection: socket.number });
        if (this.opening === socket) this.opening = null;
        if (this.socket === socket) {
            this.socket = null;
            this.endPing();
        }
        if (this.over || this.away || this.opening || this.socket) return;
        this.note('seeking');
        this.at = (this.at + 1) % this.urls.length;
        setTimeout(() => !this.over && !this.away && !this.opening && !this.socket && this.open(), this.random.from(20, 300));
    }

    frame(message, socket = this.socket) {
        if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
    }

    receive(socket, text) {
        const message = JSON.parse(text);
        const connection = socket.number;
        switch (message.messageType) {
            case 'hello': return this.greeted(socket, message);
            case 'notification': return this.notified(socket, message);
            case 'register': return this.registered(connection, message);
            case 'unregister': return this.unregistered(connection, message);
            default:
                this.note('replied', { connection, what: 'ping' });
                if (socket === this.socket) {
                    clearTimeout(socket.timer);
                    this.endPing();
                }
        }
    }

    endPing() {
        this.pong?.resolve();
        this.pong = null;
    }

    greeted(socket, { uaid }) {
        clearTimeout(socket.timer);
        const former = this.socket;
        this.socket = socket;
        this.opening = null;
        this.endPing();
        if (this.uaid && this.uaid !== uaid) this.channels.clear();
        this.uaid = uaid;
        this.note('greeted', { connection: socket.number, uaid, url: this.urls[this.at] });
        if (former && former !== socket && former.readyState === WebSocket.OPEN) {
            this.note('requested', { connection: former.number, what: 'close, since another connection has come' });
        }
        for (const [channel, wish] of this.wishes) this.ask(channel, wish);
    }

    // --- channels

    wish(channel, wish) {
        this.wishes.set(channel, wish);
        this.channels.delete(channel);
        this.note(`${wish}ing`, { channel });
        this.ask(channel, wish);
    }

    ask(channel, wish) {
        if (!this.attached) return;
        this.frame({ messageType: wish, channelID: channel });
        this.note('requested', { connection: this.socket.number, what: `${wish} ${channel}` });
    }

    registered(connection, { channelID: channel, status, pushEndpoint: endpoint }) {
        this.note('replied', { connection, what: `register ${channel}` });
        if (this.wishes.get(channel) !== 'register') return;
        if (status !== 200) return void setTimeout(() => this.wishes.get(channel) === 'register' && this.ask(channel, 'register'), 200);
        this.wishes.delete(channel);
        this.channels.set(channel, endpoint);
        this.note('registered', { channel, endpoint });
    }

    unregistered(connection, { channelID: channel, status }) {
        this.note('replied', { connection, what: `unregister ${channel}` });
        if (this.wishes.get(channel) !== 'unregister') return;
        if (status !== 200) return void setTimeout(() => this.wishes.get(channel) === 'unregister' && this.ask(channel, 'unregister'), 200);
        this.wishes.delete(channel);
        this.note('unregistered', { channel });
    }

    // --- messages

    notified(socket, { channelID, version, data = '' }) {
        const n = Number.parseInt(Buffer.from(data, 'base64url').toString(), 10);
        const connection = socket.number;
        this.arrivals.set(n, { at: performance.now(), connection });
        this.note('arrived', { n, connection });
        const ack = () => {
            if (socket.readyState !== WebSocket.OPEN) return;
            this.frame({ messageType: 'ack', updates: [{ channelID, version, code: 100 }] }, socket);
            this.acks.set(n, { at: performance.now(), connection });
            this.note('acked', { n, connection });
        };
        if (this.habit === 'mute') (socket.unacked ??= []).push(ack);
        else if (this.habit === 'slow' && !this.suspended) setTimeout(ack, this.random.from(100, 2000));
        else ack();
    }

    /** From now on it acknowledges. */
    unmute() {
        this.habit = 'steady';
        for (const ack of this.socket?.unacked ?? []) ack();
    }

    /** Resolves to true once the home has received all earlier frames of this connection; to false if the connection is over. */
    ping() {
        if (!this.attached || this.pong) return this.pong?.promise ?? Promise.resolve(false);
        const socket = this.socket;
        let resolve;
        const promise = new Promise((done) => (resolve = done)).then(() => this.socket === socket);
        this.pong = { promise, resolve };
        this.note('requested', { connection: socket.number, what: 'ping' });
        socket.timer = setTimeout(() => socket.terminate(), PING_PATIENCE_MS);
        socket.send('{}');
        return promise;
    }

    // --- habits

    async live() {
        while (!this.over) {
            await pause(this.random.from(...HABITS[this.habit]));
            if (this.suspended || this.over || !this.attached || this.opening) continue;
            const acts = { flapping: 'flap', moving: 'move', duplicate: 'double', joining: 'joinOrLeave', slow: 'dawdle' };
            await (acts[this.habit] ? this[acts[this.habit]]() : this.ping());
        }
    }

    async flap() {
        this.away = true;
        const politely = this.random.chance(0.5);
        for (const socket of this.sockets) politely ? socket.close(1000) : socket.terminate();
        this.socket = null;
        this.opening = null;
        this.endPing();
        await pause(this.random.from(0, 1500));
        this.away = false;
        this.at = this.random.from(0, this.urls.length - 1);
        if (!this.over && !this.opening) this.open();
    }

    move() {
        const former = this.socket;
        this.at = this.random.from(0, this.urls.length - 1);
        this.open();
        former?.terminate();
    }

    /** A second connection with its UAID; the server has to close the first. */
    double() {
        this.at = this.random.from(0, this.urls.length - 1);
        this.open();
    }

    joinOrLeave() {
        const joined = [...this.channels.keys()].filter((channel) => channel !== this.base);
        this.leftOnes ??= [];
        if (this.wishes.size > 0) return this.ping();
        if (joined.length >= this.random.from(1, JOINED_MAX)) {
            const channel = this.random.of(joined);
            this.leftOnes.push(channel);
            return this.wish(channel, 'unregister');
        }
        const again = this.leftOnes.length > 0 && this.random.chance(0.4);
        return this.wish(again ? this.leftOnes.splice(this.random.from(0, this.leftOnes.length - 1), 1)[0] : randomUUID(), 'register');
    }

    async dawdle() {
        const { socket } = this;
        socket.pause();
        await pause(this.random.from(100, 1000));
        if (socket.readyState === WebSocket.OPEN) socket.resume();
    }

    end() {
        this.over = true;
        for (const socket of this.sockets) socket.terminate();
    }
}
