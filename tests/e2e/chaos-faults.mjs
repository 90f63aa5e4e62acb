// Makes the faults of the plan, and heals them.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { until } from './beckon.mjs';
import { Proxy } from './proxy.mjs';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const PARTITIONS = 4;
const READY_MS = 90000;

/** One standalone on the embedded log, with the edges', endpoints' and brokers' names of the plan. */
class Standalone {
    constructor(cluster) {
        this.cluster = cluster;
        this.stores = ['edge', 'endpoint', 'reliability'].map((role) => join(cluster.directory, 'standalone', role));
    }
    async start() {
        await this.cluster.start();
    }
    urls() {
        return [this.cluster.websocket];
    }
    origins() {
        return [new URL(this.cluster.endpoint).origin];
    }
    opsPorts() {
        return [this.cluster.ports.ops];
    }
    startRole() {
        return this.cluster.start();
    }
    storesOf() {
        return this.stores;
    }
    close() {}
}

class Kafka {
    constructor(cluster, edges, endpoints) {
        Object.assign(this, { cluster, edges, endpoints });
        this.links = new Map(); // edge → proxy before its link port
        this.origin = new Map();
    }
    async start() {
        for (const edge of this.edges) {
            const proxy = new Proxy(() => this.cluster.edges.get(edge).link);
            this.links.set(edge, { proxy, port: await proxy.open() });
        }
        for (const role of [...this.endpoints, ...this.edges]) await this.startRole(role);
    }
    urls() {
        return this.edges.map((edge) => this.cluster.edges.get(edge).websocket);
    }
    origins() {
        return [...this.origin.values()];
    }
    opsPorts() {
        return this.edges.map((edge) => this.cluster.edges.get(edge).ops);
    }
    async startRole(role) {
        if (this.edges.includes(role)) {
            return this.cluster.startEdge(role, ['--edge-link-address', `127.0.0.1:${this.links.get(role).port}`]);
        }
        this.origin.set(role, await this.cluster.startAnotherEndpoint(role));
    }
    storesOf(role) {
        return [join(this.cluster.directory, role, this.edges.includes(role) ? 'edge' : 'endpoint')];
    }
    proxies(what, edge) {
        return what === 'links' ? [this.links.get(edge).proxy] : this.cluster.gatesOf(edge);
    }
    close() {
        for (const { proxy } of this.links.values()) proxy.close();
    }
}

export const installationOn = (cluster, { edges, endpoints }) =>
    cluster.log === 'kafka' ? new Kafka(cluster, edges, endpoints) : new Standalone(cluster);

export class Faults {
    /** @param {(kind: string, fields: object) => void} note */
    constructor(cluster, installation, note) {
        Object.assign(this, { cluster, installation, note });
        this.healing = new Map(); // target → promise
        this.failure = null;
        this.counts = new Map();
    }

    /** Returns once the fault is there; it heals by itself. */
    async begin(step) {
        await Promise.all(this.sharers(step).map((target) => this.healing.get(target)));
        if (this.failure) throw this.failure;
        this.counts.set(step.fault, (this.counts.get(step.fault) ?? 0) + 1);
        this.note('begun', { ...step });
        const [fault, ...what] = step.fault.split(' ');
        const healed = (this[`${fault}${what.length ? `_${what.join('_')}` : ''}`] ?? this.network).call(this, step);
        this.healing.set(step.target, healed.catch((error) => (this.failure ??= error)));
    }

    /** Two of three brokers that are away at once are an outage of Kafka, which says nothing about Beckon. */
    sharers({ target }) {
        const brokers = [...(this.cluster.brokers?.keys() ?? [])];
        return brokers.includes(target) ? brokers : [target];
    }

    async allHealed() {
        await Promise.all(this.healing.values());
        if (this.failure) throw this.failure;
    }

    async disturb({ fault, target, hold }, begin, heal) {
        const disturbance = { what: `${fault} ${target}`, name: this.installation.edges?.includes(target) ? this.cluster.nodeNameOf(target) : undefined };
        this.note('disturbing', disturbance);
        try {
            await begin();
            await pause(hold);
        } finally {
            await heal();
            this.note('calm', disturbance);
        }
    }

    async kill(step) {
        const child = this.ending(step.target);
        await child.kill();
        await this.restart(step);
    }

    async terminate(step) {
        const child = this.ending(step.target);
        const { code, signal } = await child.stop();
        if (code !== 0) throw new Error(`${step.target} ended with ${code ?? signal} at SIGTERM:\n${child.output.slice(-6000)}`);
        await this.restart(step);
    }

    ending(target) {
        this.note('ending', { name: this.cluster.nodeNameOf(target) });
        return this.cluster.children.get(target);
    }

    async restart({ target, hold, wipe }) {
        // Nobody listens any more where its links were; its proxy shall not either.
        await this.installation.links?.get(target)?.proxy.reject();
        this.cluster.children.delete(target);
        // The time of the embedded log may stop while nobody has it open (docs/design.md#time).
        const what = `down ${target}`;
        if (target === 'standalone') this.note('disturbing', { what });
        if (wipe) for (const store of this.installation.storesOf(target)) rmSync(store, { recursive: true, force: true });
        await pause(hold);
        await this.installation.links?.get(target)?.proxy.heal();
        await this.startAgain(target);
        if (target === 'standalone') this.note('calm', { what });
    }

    /** A role that starts while the brokers are away ends at once and says so; a supervisor starts it again. */
    async startAgain(target) {
        const end = performance.now() + READY_MS;
        for (;;) {
            try {
                await this.installation.startRole(target);
                return;
            } catch (error) {
                if (performance.now() > end) throw error;
                await this.ending(target)?.kill();
                this.note('start failed', { target, why: error.message.slice(-500) });
                await pause(500);
            }
        }
    }

    pause(step) {
        const { process } = this.cluster.children.get(step.target);
        return this.disturb(step, () => process.kill('SIGSTOP'), () => process.kill('SIGCONT'));
    }

    kill_broker(step) {
        return this.disturb(step, () => this.cluster.killKafka(step.target), async () => {
            await this.cluster.startKafka(step.target);
            await this.cluster.kafkaAnswers();
        });
    }

    pause_broker(step) {
        return this.disturb(step, () => this.cluster.pauseKafka(step.target), async () => {
            this.cluster.resumeKafka(step.target);
            await this.cluster.kafkaAnswers();
        });
    }

    network(step) {
        const [how, what] = step.fault.split(' ');
        const proxies = this.installation.proxies(what, step.target);
        return this.disturb(step, () => Promise.all(proxies.map((proxy) => proxy[how]())), () => Promise.all(proxies.map((proxy) => proxy.heal())));
    }

    /** Notes what stands in `ownership`, from now on. */
    watchPlacement() {
        let epoch = 0; // the highest that a controller has claimed: placements of a lower one are ignored (docs/formats/ownership.md)
        const child = (this.watcher = this.cluster.background(['replay', 'follow', '--topic', 'ownership', '--values', ...this.cluster.kafkaOptions()]));
        createInterface({ input: child.process.stdout }).on('line', (line) => {
            if (!line.startsWith('{')) return;
            const { key, value, time } = JSON.parse(line);
            const [role, kind, node] = key.split('/');
            if (role === 'controller' && kind === 'edge') epoch = Math.max(epoch, Number(node));
            if (role !== 'edge' || !value) return;
            const record = JSON.parse(Buffer.from(value, 'base64url').toString());
            const written = time - performance.timeOrigin; // on the clock of performance.now()
            if (kind === 'node') this.note('joined', { node, name: record.name, joining: record.joining === true, written });
            else if (node === undefined && record.epoch >= epoch) this.note('placed', { partition: Number(kind), home: record.home, written });
        });
    }

    async endWatch() {
        await this.watcher?.stop();
    }

    /** Every partition has a home, and no home has a pending tombstone. */
    async noPendingTombstones() {
        const sum = async (metric, labels) => {
            const values = await Promise.all(this.installation.opsPorts().map((port) => this.cluster.metric(metric, labels, port)));
            return values.reduce((total, value) => total + value, 0);
        };
        const clean = async () =>
            (await sum('beckon_edge_partitions', '"serving"')) === PARTITIONS && (await sum('beckon_edge_pending_tombstones', '')) === 0;
        await until('every partition served, and every ack in the log', async () => {
            if (!(await clean())) return false;
            await pause(300); // the gauges follow the homes in a moment
            return clean();
        }, READY_MS);
    }
}
