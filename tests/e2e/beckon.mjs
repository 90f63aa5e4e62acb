// Starts and stops real Beckon processes (and a real Kafka) for the end-to-end tests.
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const BECKON = process.env.BECKON ?? join(ROOT, 'build', 'release', 'beckon');

/** A port that is free now, below the ephemeral range (facts of Kafka's start: it must not be taken meanwhile). */
export async function freePort() {
    for (;;) {
        const port = 10000 + Math.floor(Math.random() * 22000);
        const free = await new Promise((resolve) => {
            const server = createServer();
            server.once('error', () => resolve(false));
            server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
        });
        if (free) return port;
    }
}

/**
 * Memory where there is enough of it: a broker waits for its disk at each change of its metadata, and
 * on a disk that is busy with a build it stands still for seconds.
 */
function roomForKafka() {
    const memory = '/dev/shm';
    try {
        const { bavail, bsize } = statfsSync(memory);
        return bavail * bsize > 2 ** 31 ? memory : tmpdir();
    } catch {
        return tmpdir();
    }
}

/** Polls `check` until it is truthy; the error names what was waited for. */
export async function until(what, check, limitMs = 30000) {
    const end = Date.now() + limitMs;
    for (;;) {
        const value = await Promise.resolve()
            .then(check)
            .catch(() => null);
        if (value) return value;
        if (Date.now() > end) throw new Error(`${what}: not within ${limitMs} ms`);
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
}

/** The states of all threads of a process group, as /proc names them. */
function threadStates(group) {
    const states = [];
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
        try {
            // "PID (NAME) STATE PARENT GROUP …": the name may hold anything.
            const fields = (file) => readFileSync(file, 'utf8').replace(/^.*\) /s, '').split(' ');
            if (Number(fields(`/proc/${pid}/stat`)[2]) !== group) continue;
            for (const thread of readdirSync(`/proc/${pid}/task`)) {
                states.push(fields(`/proc/${pid}/task/${thread}/stat`)[0]);
            }
        } catch {
            continue; // it ended meanwhile
        }
    }
    return states;
}

class Child {
    constructor(name, command, args, options = {}) {
        this.name = name;
        this.output = '';
        this.process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
        this.exited = new Promise((resolve) => this.process.once('exit', (code, signal) => resolve({ code, signal })));
        for (const stream of [this.process.stdout, this.process.stderr]) {
            stream.on('data', (data) => {
                this.output = (this.output + data).slice(-200000);
            });
        }
    }
    async stop() {
        if (this.process.exitCode !== null || this.process.signalCode !== null) return this.exited;
        this.process.kill('SIGTERM');
        const timer = setTimeout(() => this.process.kill('SIGKILL'), 10000);
        const result = await this.exited;
        clearTimeout(timer);
        return result;
    }
    async kill() {
        this.process.kill('SIGKILL');
        return this.exited;
    }
}

export class Cluster {
    /**
     * @param {'embedded'|'kafka'} log
     * @param {{plain?: boolean, endpoint?: string[], retry?: string[], tiers?: string, reliability?: boolean, console?: string[]}} [options]
     *     `plain`: the endpoint speaks HTTP; `endpoint`, `retry`: further options of the process that holds it; on
     *     Kafka the role retry runs only if `retry` is given, and the role reliability only with `reliability`
     *     (embedded: both always); `tiers`: the delays of a new log
     */
    constructor(log, { plain = false, endpoint = [], retry, tiers, reliability = false, console = undefined } = {}) {
        this.reliability = reliability;
        this.consoleOptions = console;
        this.log = log;
        this.plain = plain;
        this.retryOptions = retry;
        this.tierOptions = tiers ? ['--tiers', tiers] : [];
        this.endpointOptions = plain ? endpoint : ['--endpoint-self-signed', 'true', ...endpoint];
        this.directory = mkdtempSync(join(log === 'kafka' ? roomForKafka() : tmpdir(), 'beckon-e2e-'));
        this.children = new Map();
        this.edges = new Map(); // started by startEdge(): name → ports and URL
    }

    /** Chooses the ports once: clients keep their URLs over restarts. */
    async prepare() {
        this.ports = {
            endpoint: await freePort(),
            edge: await freePort(),
            ops: await freePort(),
            opsEdge: await freePort(),
            retry: await freePort(),
            opsRetry: await freePort(),
            opsReliability: await freePort(),
            console: await freePort(),
            opsConsole: await freePort(),
            kafka: await freePort(),
        };
        this.endpoint = this.plain ? `http://127.0.0.1:${this.ports.endpoint}` : `https://localhost:${this.ports.endpoint}`;
        this.websocket = `ws://127.0.0.1:${this.ports.edge}/`;
        if (this.log !== 'kafka') return;
        await this.startKafka();
        this.servers = `127.0.0.1:${this.ports.kafka}`;
        const keys = ['--key-ring', join(this.directory, 'keys.json')];
        await this.tool(['keys', 'generate', ...keys]);
        await until('log topics', () =>
            this.tool([
                'topics', 'create', '--kafka-servers', this.servers, '--replication-factor', '1',
                '--partitions', '4', ...this.tierOptions, ...keys,
            ]).then(() => true),
            120000, // a broker on a busy machine takes its time
        );
    }

    async startKafka() {
        this.children.set(
            'kafka',
            new Child('kafka', join(ROOT, 'scripts', 'kafka', 'start.sh'), [
                join(this.directory, 'kafka'),
                String(this.ports.kafka),
            ], { detached: true }),
        );
    }

    /** Kills the broker; startKafka() goes on with its data. */
    async killKafka() {
        const kafka = this.children.get('kafka');
        if (!kafka) return;
        this.children.delete('kafka');
        try {
            process.kill(-kafka.process.pid, 'SIGKILL'); // the broker is a child of the script
        } catch {
            return; // already gone
        }
        await kafka.exited;
    }

    /** The broker hangs: connections stand, nothing is answered. */
    async pauseKafka() {
        const group = this.children.get('kafka').process.pid;
        process.kill(-group, 'SIGSTOP');
        // A thread that runs while the signal comes may still answer.
        await until('every thread of the broker stopped', () => threadStates(group).every((state) => state === 'T'));
    }

    resumeKafka() {
        process.kill(-this.children.get('kafka').process.pid, 'SIGCONT');
    }

    /** A role that starts before the broker answers ends at once and says so. */
    async kafkaAnswers() {
        const ask = () => this.tool(['topics', 'describe', '--kafka-servers', this.servers, '--replication-factor', '1']).then(() => true);
        await until('an answer of the broker', ask, 60000);
    }

    /** Where the self-made certificate of the process that holds the endpoint stands. */
    certificate() {
        return join(this.directory, this.log === 'kafka' ? 'endpoint' : 'standalone', 'tls', 'certificate.pem');
    }

    /** Runs a tool to its end; throws with its output if it fails. */
    async tool(args) {
        const child = new Child(args.join(' '), BECKON, args);
        const { code } = await child.exited;
        if (code !== 0) throw new Error(`beckon ${args.join(' ')} ended with ${code}:\n${child.output}`);
        return child.output;
    }

    /** Starts a tool that goes on until it ends by itself, or the cluster does. */
    background(args) {
        const child = new Child(args.join(' '), BECKON, args);
        this.children.set(child.name, child);
        child.exited.then(() => this.children.delete(child.name));
        return child;
    }

    common(role, ops) {
        return [
            '--data', join(this.directory, role), '--ops-port', String(ops), '--log-format', 'json',
            '--endpoint-port', String(this.ports.endpoint), '--endpoint-url', this.endpoint,
        ];
    }

    /** What every role on Kafka gets; the broker is alone. */
    kafkaOptions() {
        return [
            '--kafka-servers', this.servers, '--key-ring', join(this.directory, 'keys.json'), '--replication-factor', '1',
        ];
    }

    spawn(role, args) {
        this.children.set(role, new Child(role, BECKON, [role, ...args]));
    }

    async start(only) {
        const endpoint = this.endpointOptions;
        const edge = ['--edge-port', String(this.ports.edge)];
        if (this.log === 'embedded') {
            this.spawn('standalone', [
                ...this.common('standalone', this.ports.ops), '--partitions', '4', ...edge, ...endpoint,
                '--retry-port', String(this.ports.retry), ...(this.retryOptions ?? []), ...this.tierOptions,
                '--console-port', String(this.ports.console), ...(this.consoleOptions ?? []),
            ]);
            await this.ready('standalone', this.ports.ops);
            return;
        }
        const kafka = this.kafkaOptions();
        if (!only || only === 'endpoint') {
            this.spawn('endpoint', [...this.common('endpoint', this.ports.ops), ...endpoint, ...kafka]);
        }
        if (!only || only === 'edge') {
            this.spawn('edge', [...this.common('edge', this.ports.opsEdge), ...edge, '--edge-link-port', '0', ...kafka]);
        }
        const retry = this.retryOptions && (!only || only === 'retry');
        if (retry) {
            this.spawn('retry', [
                ...this.common('retry', this.ports.opsRetry), '--retry-port', String(this.ports.retry), ...this.retryOptions,
                ...kafka,
            ]);
            await this.ready('retry', this.ports.opsRetry);
        }
        if (this.reliability && (!only || only === 'reliability')) {
            this.spawn('reliability', [
                '--data', join(this.directory, 'reliability'), '--ops-port', String(this.ports.opsReliability),
                '--log-format', 'json', ...kafka,
            ]);
            await this.ready('reliability', this.ports.opsReliability);
        }
        if (this.consoleOptions && (!only || only === 'console')) {
            this.spawn('console', [
                '--data', join(this.directory, 'console'), '--ops-port', String(this.ports.opsConsole), '--log-format', 'json',
                '--console-port', String(this.ports.console), ...this.consoleOptions, ...kafka,
            ]);
            await this.ready('console', this.ports.opsConsole);
        }
        if (!only || only === 'endpoint') await this.ready('endpoint', this.ports.ops);
        if (!only || only === 'edge') await this.ready('edge', this.ports.opsEdge);
    }

    /** A further endpoint process on the same Kafka, with the public URL of the first; its own origin. */
    async startAnotherEndpoint(name) {
        const [port, ops] = [await freePort(), await freePort()];
        this.children.set(name, new Child(name, BECKON, [
            'endpoint', ...this.common(name, ops), ...this.endpointOptions, '--endpoint-port', String(port),
            ...this.kafkaOptions(),
        ]));
        await this.ready(name, ops);
        return new URL(this.endpoint).origin.replace(/:\d+$/, `:${port}`);
    }

    /**
     * A further edge on the same Kafka; a name that was used before gets its ports, its data and its URL again.
     * @returns {Promise<string>} its WebSocket URL
     */
    async startEdge(name, options = []) {
        if (!this.edges.has(name)) {
            const [port, ops, link] = [await freePort(), await freePort(), await freePort()];
            this.edges.set(name, { port, ops, link, websocket: `ws://127.0.0.1:${port}/` });
        }
        const edge = this.edges.get(name);
        this.children.set(name, new Child(name, BECKON, [
            'edge', ...this.common(name, edge.ops), '--edge-port', String(edge.port), '--edge-link-port', String(edge.link),
            ...this.kafkaOptions(), ...options,
        ]));
        await this.ready(name, edge.ops);
        return edge.websocket;
    }

    /** The sum of a metric over some edges. */
    async edgeMetric(names, metric, labels = '') {
        const values = await Promise.all(names.map((name) => this.metric(metric, labels, this.edges.get(name).ops)));
        return values.reduce((sum, value) => sum + value, 0);
    }

    async ready(role, port) {
        const child = this.children.get(role);
        let ended = null;
        child.exited.then((result) => (ended = result));
        await until(`${role} ready`, async () => {
            if (ended) return true;
            return (await fetch(`http://127.0.0.1:${port}/ready`)).status === 200;
        }, 60000).catch((error) => {
            throw new Error(`${error.message}\n${child.output}`);
        });
        if (ended) throw new Error(`${role} ended at once (${JSON.stringify(ended)}):\n${child.output}`);
    }

    /** The sum of a metric over its series whose labels contain `labels`. */
    async metric(name, labels = '', port = this.ports.ops) {
        const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
        const series = text.split('\n').filter((line) => line.startsWith(name) && ' {'.includes(line[name.length]) && line.includes(labels));
        return series.reduce((sum, line) => sum + Number(line.split(' ').pop()), 0);
    }

    /** A page of the role reliability, as JSON; null if it is not there. */
    async reliabilityPage(path) {
        const port = this.log === 'kafka' ? this.ports.opsReliability : this.ports.ops;
        const reply = await fetch(`http://127.0.0.1:${port}/reliability/${path}`);
        if (reply.status === 404) return null;
        if (reply.status !== 200) throw new Error(`/reliability/${path} answered ${reply.status}: ${await reply.text()}`);
        return reply.json();
    }

    /** Of the process that holds the endpoint. */
    pid() {
        return this.children.get(this.log === 'kafka' ? 'endpoint' : 'standalone').process.pid;
    }

    roles() {
        return [...this.children.keys()].filter((name) => name !== 'kafka');
    }

    /** SIGTERM to all Beckon processes; throws if one does not end cleanly. */
    async stop() {
        for (const role of this.roles()) {
            const { code, signal } = await this.children.get(role).stop();
            const output = this.children.get(role).output;
            this.children.delete(role);
            if (code !== 0) throw new Error(`${role} ended with ${code ?? signal} at SIGTERM:\n${output}`);
        }
    }

    /** stop(), and whatever that says, nothing is left. */
    async end() {
        try {
            await this.stop();
        } finally {
            await this.destroy();
        }
    }

    async destroy() {
        for (const role of this.roles()) await this.children.get(role).kill();
        await this.killKafka();
        rmSync(this.directory, { recursive: true, force: true });
    }

    outputs() {
        return [...this.children.values()].map((child) => `--- ${child.name}\n${child.output.slice(-6000)}`).join('\n');
    }
}
