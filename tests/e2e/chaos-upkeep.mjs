// What operators do to the brokers of a living cluster: an upgrade to the next release of Kafka, a restart of one after the other,
// leaders that move, replicas that move, and quotas that throttle. Three brokers, as `chaos.mjs --upkeep` has them.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT, until } from './beckon.mjs';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const QUOTA_MS = 15000;
/** Bytes a second of one client, and the share of a broker's threads: far below what the senders of chaos.mjs cause. */
const QUOTAS = { producer_byte_rate: 20000, request_percentage: 5 };
const CALM_MS = 5000;

/** The release that the brokers have before their upgrade. */
export const OLD_KAFKA = '3.9';

/** The steps of `--upkeep`, each followed by a judgement. */
export const UPKEEP = ['nothing', 'upgrade of all brokers', 'restart of all brokers', 'leaders that move', 'replicas that move', 'quotas'];

/** Where the jars of the release of scripts/kafka are. */
const jars = async () => (await promisify(execFile)(join(ROOT, 'scripts', 'kafka', 'fetch.sh'))).stdout.trim();

export class Upkeep {
    /** @param {(kind: string, fields: object) => void} note */
    constructor(cluster, note) {
        Object.assign(this, { cluster, note });
        this.steps = []; // {what, from, to, latencies}
        this.sent = new Map(); // number of a message → when it was sent
    }

    /** Each event of the history: how long a sender waited for its 201, and a connected client for its message. */
    heed({ kind, at, n, status }) {
        const step = this.steps.at(-1);
        if (kind === 'sending') this.sent.set(n, { at });
        const message = this.sent.get(n);
        if (!message || !step || step.to) return;
        if (kind === 'answered' && status === 201) {
            message.answered = at;
            step.accepting.push(at - message.at);
        }
        if (kind === 'answered' && status !== 201) step.refused += 1;
        if (kind === 'arrived' && !message.arrived) {
            message.arrived = at;
            step.delivering.push(at - message.at);
        }
    }

    async run(what, now) {
        const step = { what, from: now(), accepting: [], delivering: [], refused: 0 };
        this.steps.push(step);
        this.note('upkeep', { what });
        await {
            nothing: () => pause(CALM_MS),
            'upgrade of all brokers': () => this.upgradeAll(),
            'restart of all brokers': () => this.restartAll(),
            'leaders that move': () => this.moveLeaders(),
            'replicas that move': () => this.moveReplicas(),
            quotas: () => this.throttle(),
        }[what]();
        await pause(CALM_MS);
        step.to = now();
    }

    /** Sorted, the value at a share of the list; '–' of nothing. */
    static quantile(list, share) {
        const sorted = [...list].sort((a, b) => a - b);
        return sorted.length === 0 ? '–' : `${Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))])} ms`;
    }
    report() {
        return this.steps.map(({ what, from, to, accepting, delivering, refused }) => {
            const of = (list) => `p50 ${Upkeep.quantile(list, 0.5)}, p99 ${Upkeep.quantile(list, 0.99)}, longest ${Upkeep.quantile(list, 1)}`;
            return `${what} (${Math.round(((to ?? from) - from) / 1000)} s): ${accepting.length} accepted, ${refused} refused; to the 201 ${of(accepting)}; to the client ${of(delivering)}`;
        }).join('\n');
    }

    /** To the release of scripts/kafka, by the steps of Kafka's documentation: the programs first, then the features of the cluster. */
    async upgradeAll() {
        this.cluster.kafkaRelease = undefined;
        await this.restartAll();
        const [, release] = readdirSync(await jars()).join('\n').match(/^kafka-server-(\d+\.\d+)\.\d+\.jar$/m);
        await this.cluster.kafkaTool('FeatureCommand', ['upgrade', '--release-version', release]);
        const finalized = await this.cluster.kafkaTool('FeatureCommand', ['describe']);
        assert.match(finalized, new RegExp(`metadata\\.version.*FinalizedVersionLevel: ${release}`));
    }

    /** Each broker ends in order, comes back, and is in sync before the next one goes. */
    async restartAll() {
        for (const name of this.cluster.brokers.keys()) {
            const broker = this.cluster.children.get(name);
            process.kill(-broker.process.pid, 'SIGTERM');
            await broker.exited;
            this.cluster.children.delete(name);
            await this.cluster.startKafka(name);
            await this.cluster.kafkaAnswers();
        }
        await this.electPreferred();
    }

    async moveLeaders() {
        await this.reassign((replicas) => [...replicas.slice(1), replicas[0]]);
        await this.electPreferred();
    }

    /** Each partition leaves a broker, and then comes back to it: the copy is made anew. */
    async moveReplicas() {
        const before = await this.partitions();
        await this.reassign((replicas) => replicas.slice(0, 2), before);
        await this.reassign((replicas) => [replicas[2], replicas[0], replicas[1]], before);
        await this.electPreferred();
    }

    async throttle() {
        const quota = (...how) => this.configs(['--alter', '--entity-type', 'clients', '--entity-default', ...how]);
        await quota('--add-config', Object.entries(QUOTAS).map(([name, value]) => `${name}=${value}`).join());
        await pause(QUOTA_MS);
        await quota('--delete-config', Object.keys(QUOTAS).join());
    }

    async electPreferred() {
        await this.cluster.kafkaTool('LeaderElectionCommand', ['--election-type', 'preferred', '--all-topic-partitions']);
    }

    /** {topic, partition, replicas} of all log topics. */
    async partitions() {
        const text = await this.cluster.kafkaTool('TopicCommand', ['--describe']);
        return [...text.matchAll(/Topic: (\S+)\s+Partition: (\d+)\s+Leader: \S+\s+Replicas: ([\d,]+)/g)]
            .filter(([, topic]) => topic.startsWith(this.cluster.prefix))
            .map(([, topic, partition, replicas]) => ({ topic, partition: Number(partition), replicas: replicas.split(',').map(Number) }));
    }

    async reassign(to, from) {
        const partitions = (from ?? (await this.partitions())).map((one) => ({ ...one, replicas: to(one.replicas) }));
        const file = join(this.cluster.directory, 'reassign.json');
        writeFileSync(file, JSON.stringify({ version: 1, partitions }));
        await this.cluster.kafkaTool('reassign.ReassignPartitionsCommand', ['--reassignment-json-file', file, '--execute']);
        await until('the end of the reassignment', async () => {
            const verified = await this.cluster.kafkaTool('reassign.ReassignPartitionsCommand', ['--reassignment-json-file', file, '--verify']);
            return !/in progress/.test(verified);
        }, 120000);
    }

    async configs(args) {
        await promisify(execFile)('java', ['-cp', `${await jars()}/*`, 'kafka.admin.ConfigCommand', '--bootstrap-server', this.cluster.servers, ...args]);
    }
}
