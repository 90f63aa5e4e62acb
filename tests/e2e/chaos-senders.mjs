// Application servers: messages with all kinds of TTL, Topics, and deletes. The body begins with the message's number.
import { call, post } from './client.mjs';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const TOPICS = ['news', 'mail'];
const LONG_TTL = 86400;
const PENDING_OF_A_MUTE_CLIENT = 60; // messages that wait for it; its window must not stall for ever

export class ChaosSenders {
    /**
     * @param {() => string[]} origins of the endpoints
     * @param {number} gapMs a sender waits between two messages
     */
    constructor({ clients, origins, random, note, gapMs, count = 4 }) {
        Object.assign(this, { clients, origins, random, note, gapMs, count });
        this.numbers = 0;
        this.sentTo = new Map();
        this.running = false;
        this.statuses = new Map(); // status → how often
    }

    start() {
        this.running = true;
        this.work = Array.from({ length: this.count }, () => this.send());
    }

    async stop() {
        this.running = false;
        await Promise.all(this.work);
    }

    async send() {
        while (this.running) {
            await pause(this.gapMs);
            const client = this.random.of(this.clients);
            const channels = [...client.channels];
            if (channels.length === 0) continue;
            const sent = this.sentTo.get(client) ?? 0;
            if (client.habit === 'mute' && sent >= PENDING_OF_A_MUTE_CLIENT) continue;
            this.sentTo.set(client, sent + 1);
            const [channel, endpoint] = this.random.of(channels);
            const status = await this.one(client, channel, endpoint);
            if (status !== 201) await pause(100);
        }
    }

    async one(client, channel, endpoint) {
        const ttl = this.random.weighed([[20, 0], [15, 3], [65, LONG_TTL]]);
        const topic = this.random.chance(0.2) ? this.random.of(TOPICS) : undefined;
        const reply = await this.post(client, channel, endpoint, ttl, topic);
        if (reply.status === 201 && this.random.chance(0.15)) await this.remove(reply.n, reply.headers.location);
        return reply.status;
    }

    async post(client, channel, endpoint, ttl, topic = undefined) {
        const n = ++this.numbers;
        const url = this.random.of(this.origins()) + new URL(endpoint).pathname;
        this.note('sending', { n, client: client.name, channel, ttl, topic });
        const body = `${n} `.padEnd(this.random.from(8, 2000), '.');
        const reply = await post(url, body, { TTL: String(ttl), ...(topic && { Topic: topic }) });
        this.note('answered', { n, status: reply.status, id: reply.id });
        this.statuses.set(reply.status, (this.statuses.get(reply.status) ?? 0) + 1);
        return { ...reply, n };
    }

    async remove(n, location) {
        if (this.random.chance(0.5)) await pause(this.random.from(0, 300));
        this.note('deleting', { n });
        const { status } = await call('DELETE', this.random.of(this.origins()) + new URL(location).pathname);
        if (status === 204) this.note('deleted', { n });
    }

    /** One message that is accepted, whatever it takes until `limitMs` are over. */
    async oneFor(client, limitMs) {
        const end = performance.now() + limitMs;
        for (;;) {
            const endpoint = client.channels.get(client.base);
            if (endpoint) {
                const { status, n } = await this.post(client, client.base, endpoint, LONG_TTL);
                if (status === 201) return n;
            }
            if (performance.now() > end) throw new Error(`no message to ${client.name} was accepted for ${limitMs} ms`);
            await pause(100);
        }
    }
}
