// Two builds in one installation, as in an upgrade and on the way back: for each order of the roles, first their processes get this
// build, one after the other, and then again the old one. `chaos.mjs --builds` judges after each direction.
//
// BECKON_OLD: the binary of the old build; without it that is this one, and the steps are tried alone.
import assert from 'node:assert/strict';
import http from 'node:http';
import { BECKON, until } from './beckon.mjs';
import { RetryApi } from './retry-api.mjs';

export const OLD = process.env.BECKON_OLD ?? BECKON;
const ROLES = ['edges', 'endpoints', 'retry'];
const EVENT_EVERY_MS = 200;
const DELIVERED_WITHIN_MS = 60000;

const orders = (list) => (list.length < 2 ? [list] : list.flatMap((first) => orders(list.filter((one) => one !== first)).map((rest) => [first, ...rest])));

/** The steps of `--builds`: {order, up}; with `some`, the first and the last order alone. */
export function steps(some) {
    const all = orders(ROLES);
    return (some ? [all[0], all.at(-1)] : all).flatMap((order) => [{ order, up: true }, { order, up: false }]);
}

export class Builds {
    /** @param {Faults} faults that end processes and start them again */
    constructor(cluster, names, faults) {
        Object.assign(this, { cluster, names, faults });
        this.accepted = new Set(); // ids of events
        this.delivered = new Set();
        this.restarts = 0;
    }

    /** The role retry, and a webhook that gets an event every 200 ms. Before the other roles start. */
    async start() {
        for (const name of [...this.names.edges, ...this.names.endpoints, 'retry']) this.cluster.binaries.set(name, OLD);
        this.ports = { port: this.cluster.ports.retry, ops: this.cluster.ports.opsRetry };
        await this.startRetry();
        this.receiver = http.createServer((request, response) => {
            let body = '';
            request.on('data', (data) => (body += data));
            request.on('end', () => {
                this.delivered.add(JSON.parse(body).id);
                response.writeHead(204).end();
            });
        });
        await new Promise((resolve) => this.receiver.listen(0, '127.0.0.1', resolve));
        this.api = new RetryApi(this.cluster);
        this.owner = this.api.token('shop');
        await until('the role retry serves', () => this.api.serves(this.owner), DELIVERED_WITHIN_MS);
        await this.api.webhook(this.owner, `http://127.0.0.1:${this.receiver.address().port}/`, ['builds']);
        this.sending = setInterval(async () => {
            const { id, status } = await this.api.tryToPost(this.owner, 'builds');
            if (status === 202) this.accepted.add(id);
        }, EVENT_EVERY_MS);
    }

    async startRetry() {
        this.cluster.startRetry('retry', this.ports, ['--retry-allowed-addresses', '127.0.0.1']);
        await this.cluster.ready('retry', this.ports.ops);
    }

    /** Each process of each role, in this order, gets the other build, while the others go on. */
    async run({ order, up }) {
        for (const role of up ? order : [...order].reverse()) {
            for (const name of role === 'retry' ? ['retry'] : this.names[role]) {
                this.cluster.binaries.set(name, up ? BECKON : OLD);
                this.restarts += 1;
                if (name !== 'retry') {
                    await this.faults.begin({ fault: 'terminate', target: name, hold: 0 });
                    await this.faults.allHealed();
                    continue;
                }
                const { code } = await this.cluster.children.get(name).stop();
                assert.equal(code, 0, 'the role retry ends in order');
                await this.startRetry();
            }
        }
    }

    /** Every event that was accepted has come. */
    async judge() {
        const missing = () => [...this.accepted].filter((id) => !this.delivered.has(id));
        const before = new Set(this.accepted);
        await until('every event', () => missing().every((id) => !before.has(id)), DELIVERED_WITHIN_MS).catch((error) => {
            throw new Error(`${error.message}: ${missing().slice(0, 5)} of ${this.accepted.size} did not come`);
        });
    }

    report() {
        return `${this.restarts} restarts with the other build (${OLD === BECKON ? 'both are this one: BECKON_OLD names another' : OLD}); ${this.accepted.size} events, all delivered`;
    }

    close() {
        clearInterval(this.sending);
        this.api?.close();
        this.receiver?.closeAllConnections();
        this.receiver?.close();
    }
}
