// Stands before a TCP port, so that a test can cut its connections.
import { connect, createServer } from 'node:net';
import { Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';

const PIECE_MS = 100; // of what is throttled

export class Proxy {
    /**
     * @param {() => number} target the port behind it, asked for each connection
     * @param {{delayMs?: number}} options `delayMs`: how long a new connection waits before a byte passes
     */
    constructor(target, { delayMs = 0 } = {}) {
        this.pairs = new Set();
        this.isCut = false;
        this.isSilent = false;
        this.pace = null; // bytes a second of each connection, in each direction
        this.server = createServer((near) => {
            if (this.isCut) return near.destroy();
            const pair = [near, connect(target(), '127.0.0.1')];
            this.pairs.add(pair);
            for (const [one, other] of [pair, [...pair].reverse()]) {
                one.on('error', () => {});
                one.on('close', () => {
                    this.pairs.delete(pair);
                    other.destroy();
                });
                this.join(one, other);
            }
            if (this.isSilent) for (const socket of pair) socket.pause();
            if (delayMs === 0) return;
            near.pause();
            setTimeout(() => this.isSilent || near.resume(), delayMs);
        });
    }

    /** @returns {Promise<number>} its port */
    async open(port = 0) {
        await new Promise((resolve, reject) => this.server.once('error', reject).listen(port, '127.0.0.1', resolve));
        this.server.removeAllListeners('error');
        return this.server.address().port;
    }

    /** Resets all connections and refuses new ones, until heal(). */
    cut() {
        this.isCut = true;
        this.reset();
    }

    /** Resets all connections; calls are refused as where nobody listens, until heal(). */
    async reject() {
        this.port = this.server.address()?.port ?? this.port;
        this.reset();
        await new Promise((resolve) => this.server.close(resolve));
    }

    /** As a cable that is pulled: neither end is notified, nothing passes, until heal(). */
    silence() {
        this.isSilent = true;
        for (const pair of this.pairs) for (const socket of pair) socket.pause();
    }

    /** As a network that is slow, until heal(): each connection passes so many bytes a second in each direction. */
    throttle(bytesPerSecond) {
        this.pace = bytesPerSecond;
        for (const pair of this.pairs) {
            for (const [one, other] of [pair, [...pair].reverse()]) {
                one.unpipe(other);
                this.join(one, other);
            }
        }
    }

    join(one, other) {
        if (this.pace === null) return one.pipe(other);
        const slowly = async (data, _, done) => {
            while (this.pace !== null && data.length > 0) {
                const bytes = Math.ceil((this.pace * PIECE_MS) / 1000);
                await sleep(PIECE_MS);
                slow.push(data.subarray(0, bytes));
                data = data.subarray(bytes);
            }
            done(null, data);
        };
        const slow = new Transform({ transform: slowly });
        one.pipe(slow).pipe(other);
    }

    /** Connections that were held go on: TCP would have sent it again. */
    async heal() {
        this.isCut = false;
        this.pace = null;
        if (!this.server.listening && this.port) await this.open(this.port);
        if (!this.isSilent) return;
        this.isSilent = false;
        for (const pair of this.pairs) for (const socket of pair) socket.resume();
    }

    reset() {
        for (const pair of this.pairs) for (const socket of pair) socket.destroy();
    }

    close() {
        this.cut();
        this.server.close();
    }
}
