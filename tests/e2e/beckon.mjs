// Starts and stops real Beckon processes (and a real Kafka) for the end-to-end tests.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Proxy } from './proxy.mjs';

export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
export const BECKON = process.env.BECKON ?? join(ROOT, 'build', 'release', 'beckon');
/** The set-up keeps there, in `beckon`, what tests need and Debian does not have. */
export const CACHE_HOME = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache');
/** How many times as long everything may take: more than 1 for a binary with a sanitizer. */
const SLOWER = Number(process.env.BECKON_E2E_SLOWER ?? 1);
if (!(SLOWER >= 1)) throw new Error(`BECKON_E2E_SLOWER: ${process.env.BECKON_E2E_SLOWER}: not a number from 1 on`);

/** Below those that the C++ tests choose for their brokers (tests/support/kafka_broker.cpp), and the kernel for connections. */
const PORTS = { first: 10000, count: 5000 };

/** True once this process has claimed the port among those that run these tests: it holds the UDP port of the same number until it ends. */
function claim(port) {
    return new Promise((resolve) => {
        const holder = createSocket('udp4');
        holder.unref();
        holder.once('error', () => resolve(false));
        holder.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true));
    });
}

/** A TCP port that is free now, and that no other call gives, of this process or of a test that runs beside it. */
export async function freePort() {
    for (;;) {
        const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
        if (!(await claim(port))) continue;
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
 * on a disk that is busy with a build it stalls for seconds.
 */
function spaceForKafka() {
    const memory = '/dev/shm';
    try {
        const { bavail, bsize } = statfsSync(memory);
        return bavail * bsize > 2 ** 31 ? memory : tmpdir();
    } catch {
        return tmpdir();
    }
}

const kafkaClass = (name) => (name === 'ConfigCommand' ? 'kafka.admin.ConfigCommand' : `org.apache.kafka.tools.${name}`);
/** Of a JVM that runs a command of Kafka's own for a moment. */
function javaOptions() {
    const jars = execFileSync(join(ROOT, 'scripts', 'kafka', 'fetch.sh'), { encoding: 'utf8' }).trim();
    return [`-XX:SharedArchiveFile=${jars}/classes.jsa`, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', `${jars}/*`];
}

/** The address of the broker that ctest has started for several tests (broker.mjs); null where each test starts its own. */
function sharedBroker() {
    const file = process.env.SHARED_BROKER;
    return file ? JSON.parse(readFileSync(file, 'utf8')).servers : null;
}

/** Polls `check` until it is truthy; the error names what was waited for. */
export async function until(what, check, limitMs = 30000) {
    const end = Date.now() + limitMs * SLOWER;
    for (;;) {
        const value = await Promise.resolve()
            .then(check)
            .catch(() => null);
        if (value) return value;
        if (Date.now() > end) throw new Error(`${what}: not within ${limitMs * SLOWER} ms`);
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
    /** @param {string} [options.copyTo] a directory: its output is also appended to a file there */
    constructor(name, command, args, { copyTo, ...options } = {}) {
        this.name = name;
        this.output = '';
        this.process = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
        this.exited = new Promise((resolve) => this.process.once('exit', (code, signal) => resolve({ code, signal })));
        for (const stream of [this.process.stdout, this.process.stderr]) {
            stream.on('data', (data) => {
                this.output = (this.output + data).slice(-200000);
            });
            if (copyTo) stream.pipe(createWriteStream(join(copyTo, `${name.split(' ')[0]}.log`), { flags: 'a' }));
        }
    }
    async stop() {
        if (this.process.exitCode !== null || this.process.signalCode !== null) return this.exited;
        this.process.kill('SIGTERM');
        const timer = setTimeout(() => this.process.kill('SIGKILL'), 10000 * SLOWER);
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
     * @param {{racks?: boolean, plain?: boolean, endpoint?: string[], retry?: string[], tiers?: string, reliability?: boolean, brokers?: number,
     *     gates?: string[], copyTo?: string, console?: string[], release?: '3.9'}} [options]
     *     `racks`: the brokers stand in `rack-1`, `rack-2`, …; `release`: of Kafka, when not that of scripts/kafka; `plain`: the endpoint speaks HTTP; `endpoint`, `retry`: further options of the process that holds it; on
     *     Kafka the role retry runs only if `retry` is given, and the role reliability only with `reliability`
     *     (embedded: both always); `tiers`: the delays of a new log; `brokers`: how many; `gates`: names of edges and
     *     further endpoints that reach the brokers through proxies, see gatesOf(); `copyTo`: a directory for the output of all of them
     */
    constructor(log, { plain = false, endpoint = [], retry, tiers, reliability = false, brokers = 1, gates = [], copyTo, console = undefined, racks = false, release = undefined } = {}) {
        this.brokerCount = brokers;
        this.kafkaRelease = release; // startKafka() takes it: a broker that is started again may get another one
        this.gated = gates;
        this.racks = racks;
        this.copyTo = copyTo;
        this.reliability = reliability;
        this.consoleOptions = console;
        this.log = log;
        this.plain = plain;
        this.retryOptions = retry;
        this.tierOptions = tiers ? ['--tiers', tiers] : [];
        this.endpointOptions = plain ? endpoint : ['--endpoint-self-signed', 'true', ...endpoint];
        this.shared = log === 'kafka' ? sharedBroker() : null;
        if (this.shared && (brokers > 1 || gates.length > 0)) throw new Error('a test with several brokers, or with proxies before one, has brokers of its own');
        this.prefix = this.shared ? `test-${randomBytes(6).toString('hex')}.` : 'beckon.';
        this.directory = mkdtempSync(join(log === 'kafka' ? spaceForKafka() : tmpdir(), 'beckon-e2e-'));
        this.children = new Map();
        this.edges = new Map(); // started by startEdge(): name → ports and URL
        this.binaries = new Map(); // name of a process → the program that startEdge(), startAnotherEndpoint() and startRetry() run; others: BECKON
        this.environment = {}; // further variables for the processes that start() starts from now on
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
        };
        this.endpoint = this.plain ? `http://127.0.0.1:${this.ports.endpoint}` : `https://localhost:${this.ports.endpoint}`;
        this.websocket = `ws://127.0.0.1:${this.ports.edge}/`;
        if (this.log !== 'kafka') return;
        await this.startBrokers();
        await this.tool(['keys', 'generate', '--key-ring', join(this.directory, 'keys.json')]);
        await until('log topics', () =>
            this.tool(['topics', 'create', ...this.kafkaOptions(), '--partitions', '4', ...this.tierOptions]).then(() => true),
            120000, // a broker on a busy machine takes its time
        );
    }

    /** Starts the brokers of this cluster, which may not answer yet; none where it shares one. */
    async startBrokers() {
        this.brokers = new Map(); // name → {node, port, controller, gates: Map of edge → {port, proxy, proxyPort}}
        this.servers = this.shared;
        if (this.shared) return;
        await this.prepareBrokers();
        for (const name of this.brokers.keys()) await this.startKafka(name);
        this.servers = [...this.brokers.values()].map((broker) => `127.0.0.1:${broker.port}`).join();
    }

    /** Ports of each broker, and for each gated edge a listener of its own behind a proxy. */
    async prepareBrokers() {
        for (let node = 1; node <= this.brokerCount; ++node) {
            const broker = { node, port: await freePort(), controller: await freePort(), gates: new Map() };
            for (const edge of this.gated) {
                const gate = { port: await freePort(), proxy: new Proxy(() => gate.port) };
                gate.proxyPort = await gate.proxy.open();
                broker.gates.set(edge, gate);
            }
            this.brokers.set(node === 1 ? 'kafka' : `kafka-${node}`, broker);
        }
        this.voters = [...this.brokers.values()].map(({ node, controller }) => `${node}@127.0.0.1:${controller}`).join();
        this.kafkaCluster = `B${randomBytes(15).toString('hex').slice(0, 20)}A`;
    }

    /** The proxies between it and the brokers. */
    gatesOf(edge) {
        return [...this.brokers.values()].map(({ gates }) => gates.get(edge).proxy);
    }

    async startKafka(name = 'kafka') {
        this.mustOwn(name);
        const { node, port, controller, gates } = this.brokers.get(name);
        this.children.set(
            name,
            new Child(name, join(ROOT, 'scripts', 'kafka', 'start.sh'), [join(this.directory, name), String(port), String(controller)], {
                detached: true,
                copyTo: this.copyTo,
                env: {
                    ...process.env,
                    BECKON_KAFKA_NODE: String(node),
                    ...(this.racks && { BECKON_KAFKA_RACK: `rack-${node}` }),
                    ...(this.kafkaRelease && { BECKON_KAFKA_RELEASE: this.kafkaRelease }),
                    BECKON_KAFKA_VOTERS: this.voters,
                    BECKON_KAFKA_CLUSTER: this.kafkaCluster,
                    BECKON_KAFKA_GATES: [...gates.values()].map((gate) => `${gate.port}:${gate.proxyPort}`).join(' '),
                },
            }),
        );
    }

    /** Throws where the broker serves other tests too. */
    mustOwn(name) {
        if (this.shared) throw new Error(`${name} serves other tests too: register this one without BROKER (tests/e2e/CMakeLists.txt)`);
    }

    /** Runs a command of Kafka's own, such as TopicCommand; returns its standard output. */
    async kafkaTool(name, args) {
        const { stdout } = await promisify(execFile)('java', [...javaOptions(), kafkaClass(name), '--bootstrap-server', this.servers, ...args]);
        return stdout;
    }

    /** Likewise several, one after the other, in one JVM; each is a name and arguments, and one that returns (KafkaCommands.java). */
    async kafkaTools(commands) {
        const lines = commands.map(([name, args]) => [kafkaClass(name), '--bootstrap-server', this.servers, ...args].join('\t')).join('\n');
        const running = promisify(execFile)('java', [...javaOptions(), join(ROOT, 'tests', 'e2e', 'KafkaCommands.java')]);
        running.child.stdin.end(lines);
        await running;
    }

    /** Writes records to a log topic, by its name without the prefix: a line `HEADERS\tKEY\tVALUE` each, headers as `name:value,…`. */
    kafkaProduce(topic, lines) {
        const how = ['parse.key=true', 'parse.headers=true'].flatMap((property) => ['--reader-property', property]);
        execFileSync('java', [...javaOptions(), kafkaClass('ConsoleProducer'), '--bootstrap-server', this.servers, '--topic', `${this.prefix}${topic}`, ...how], { input: lines });
    }

    /** A setting of a log topic, by its name without the prefix. */
    alterTopic(topic, setting, value) {
        return this.kafkaTool('ConfigCommand', ['--alter', '--entity-type', 'topics', '--entity-name', `${this.prefix}${topic}`, '--add-config', `${setting}=[${value}]`]);
    }

    /** Kills a broker; startKafka() goes on with its data. */
    async killKafka(name = 'kafka') {
        this.mustOwn(name);
        const kafka = this.children.get(name);
        if (!kafka) return;
        this.children.delete(name);
        try {
            process.kill(-kafka.process.pid, 'SIGKILL'); // the broker is a child of the script
        } catch {
            return; // already gone
        }
        await kafka.exited;
    }

    /** A broker hangs: connections stand, nothing is answered. */
    async pauseKafka(name = 'kafka') {
        this.mustOwn(name);
        const group = this.children.get(name).process.pid;
        process.kill(-group, 'SIGSTOP');
        // A thread that runs while the signal comes may still answer.
        await until('every thread of the broker stopped', () => threadStates(group).every((state) => state === 'T'));
    }

    resumeKafka(name = 'kafka') {
        process.kill(-this.children.get(name).process.pid, 'SIGCONT');
    }

    /** A role that starts before the broker answers ends at once and says so. Of several all are to be in sync: else the others answer. */
    async kafkaAnswers() {
        const ask = () => this.tool(['topics', 'describe', ...this.kafkaOptions()]).then(() => true);
        await until('an answer of the broker', ask, 120000); // on a busy machine a broker takes its time
        if (this.brokerCount === 1) return;
        const behind = () => this.kafkaTool('TopicCommand', ['--describe', '--under-replicated-partitions']);
        await until('every replica in sync', async () => (await behind()).trim() === '', 120000);
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

    /** The options of every role on Kafka. */
    kafkaOptions(servers = this.servers) {
        return [
            '--kafka-servers', servers, '--kafka-prefix', this.prefix, '--key-ring', join(this.directory, 'keys.json'),
            '--replication-factor', String(this.brokerCount),
        ];
    }

    /** The brokers as an edge, or a further endpoint, reaches them. */
    serversOf(name) {
        if (!this.gated.includes(name)) return this.servers;
        return [...this.brokers.values()].map(({ gates }) => `127.0.0.1:${gates.get(name).proxyPort}`).join();
    }

    spawn(role, args) {
        const env = { ...process.env, ...this.environment };
        this.children.set(role, new Child(role, BECKON, [role, ...args], { copyTo: this.copyTo, env }));
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
            await this.startReliability('reliability', this.ports.opsReliability);
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

    /** A process with the role reliability on Kafka; one of the same name gets its data again. */
    async startReliability(name, ops) {
        this.children.set(name, new Child(name, BECKON, [
            'reliability', '--data', join(this.directory, name), '--ops-port', String(ops), '--log-format', 'json',
            ...this.kafkaOptions(),
        ]));
        await this.ready(name, ops);
    }

    binaryOf(name) {
        return this.binaries.get(name) ?? BECKON;
    }

    /**
     * A further endpoint process on the same Kafka, with the public URL of the first; its own origin.
     * @param {string[]} options further ones
     * @param {string[]} under a command that runs it
     */
    async startAnotherEndpoint(name, options = [], under = []) {
        this.endpoints ??= new Map(); // name → ports: a name that was used before gets them again
        if (!this.endpoints.has(name)) this.endpoints.set(name, { port: await freePort(), ops: await freePort() });
        const { port, ops } = this.endpoints.get(name);
        const [command, ...args] = [
            ...under, this.binaryOf(name),
            'endpoint', ...this.common(name, ops), ...this.endpointOptions, '--endpoint-port', String(port),
            ...this.kafkaOptions(this.serversOf(name)), ...options,
        ];
        this.children.set(name, new Child(name, command, args, { copyTo: this.copyTo }));
        await this.ready(name, ops);
        return new URL(this.endpoint).origin.replace(/:\d+$/, `:${port}`);
    }

    /**
     * Gives a process the node name that follows from its own, or from another one, where placements go by node names: with these each of
     * edge-1 to edge-3, edge-a and edge-b, a to c has some of four partitions, whichever of them run.
     */
    nameNode(name, from = name) {
        const data = join(this.directory, name);
        mkdirSync(data, { recursive: true, mode: 0o700 });
        writeFileSync(join(data, 'node-name'), this.nodeNameOf(from), { mode: 0o600 });
    }

    nodeNameOf(name) {
        return createHash('sha256').update(`8 ${name}`).digest('hex').slice(0, 16);
    }

    /**
     * A further edge on the same Kafka; a name that was used before gets its ports, its data and its URL again.
     * @param {string[]} options further ones
     * @param {string[]} under a command that runs it
     * @returns {Promise<string>} its WebSocket URL
     */
    async startEdge(name, options = [], under = []) {
        if (!this.edges.has(name)) {
            const [port, ops, link] = [await freePort(), await freePort(), await freePort()];
            this.edges.set(name, { port, ops, link, websocket: `ws://127.0.0.1:${port}/` });
        }
        const edge = this.edges.get(name);
        this.nameNode(name);
        const [command, ...args] = [
            ...under, this.binaryOf(name),
            'edge', ...this.common(name, edge.ops), '--edge-port', String(edge.port), '--edge-link-port', String(edge.link),
            ...this.kafkaOptions(this.serversOf(name)), ...options,
        ];
        this.children.set(name, new Child(name, command, args, { copyTo: this.copyTo }));
        await this.ready(name, edge.ops);
        return edge.websocket;
    }

    /**
     * A further process of the role retry on the same Kafka; `ports` are those of its API and its ops port.
     * @returns {Child} that has been started, and may not be ready yet
     */
    startRetry(name, ports, options = []) {
        this.nameNode(name);
        const child = new Child(name, this.binaryOf(name), [
            'retry', '--data', join(this.directory, name), '--ops-port', String(ports.ops), '--log-format', 'json',
            '--retry-port', String(ports.port), ...this.kafkaOptions(), ...options,
        ]);
        this.children.set(name, child);
        return child;
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
            return (await fetch(`http://127.0.0.1:${port}/ready`, { signal: AbortSignal.timeout(5000) })).status === 200;
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

    /** Of the process with this role; by default of that which holds the endpoint. */
    pid(role = 'endpoint') {
        return this.children.get(this.log === 'kafka' ? role : 'standalone').process.pid;
    }

    roles() {
        return [...this.children.keys()].filter((name) => !name.startsWith('kafka'));
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

    /** stop(); also if that fails, no process is left. */
    async end() {
        try {
            await this.stop();
        } finally {
            await this.destroy();
        }
    }

    async destroy() {
        for (const role of this.roles()) await this.children.get(role).kill();
        // Unused topics would cost the other tests of this broker time. They pass also if this fails.
        if (this.shared) await this.tool(['topics', 'destroy', ...this.kafkaOptions()]).catch(() => {});
        for (const name of this.brokers?.keys() ?? []) {
            await this.killKafka(name);
            for (const { proxy } of this.brokers.get(name).gates.values()) proxy.close();
        }
        rmSync(this.directory, { recursive: true, force: true });
    }

    outputs() {
        return [...this.children.values()].map((child) => `--- ${child.name}\n${child.output.slice(-6000)}`).join('\n');
    }
}
