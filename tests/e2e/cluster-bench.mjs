// Costs of several edges on Kafka for their clients: how long clients wait for an edge that dies or restarts, how much
// a hop over a link adds to a message, how fast an edge without a store restores its partitions, and which session
// time-out is long enough on a busy machine.
//
//   node cluster-bench.mjs [--only failover,restart,rolling,hop,restore,session] [--json FILE] [--quick]
//
// `--quick` only shows that it works: its figures are no measurements. Exits with 1 if a figure is above the promise of
// docs/operations/running.md. Messages reach the clients through senders of this process, which also is all clients: its own
// share of a figure is some tenths of a millisecond, but for `hop`, which `beckon-bench` measures.
import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { BECKON, Cluster, until } from './beckon.mjs';
import { UserAgent, agent } from './client.mjs';

const PARTS = ['failover', 'restart', 'rolling', 'hop', 'restore', 'session'];
const { values: given } = parseArgs({
    options: { only: { type: 'string', default: PARTS.join() }, json: { type: 'string' }, quick: { type: 'boolean', default: false } },
});
const only = given.only.split(',');
const unknown = only.filter((part) => !PARTS.includes(part));
if (unknown.length > 0) {
    console.error(`cluster-bench: --only ${unknown}: not one of ${PARTS.join(', ')}`);
    process.exit(2);
}

const SESSION_MS = 6000; // edge.session_timeout, and the least that a broker takes unless it was changed
const EDGES = ['edge-1', 'edge-2', 'edge-3'];
const CLIENTS = given.quick ? 30 : 300;
const EACH_MS = 200; // a client gets a message so often
const PENDING = given.quick ? 2000 : 100000;
const RECOVERY_MS = 120000;
const AIMS = { failover_p50_ms: 500, failover_p99_ms: 1000, restart_ms: 1000, dark_ms: 1000, hop_ms: 0.3, hop_cpu_us: 10, restored_per_s: 300000 };
// The first rate leaves capacity on the machine, and says what a hop adds to a message's time; the last one is a load, and says
// what it costs.
const HOP = { rates: given.quick ? [200] : [1000, 4000, 8000, 11000], rounds: given.quick ? 1 : 3, duration: given.quick ? 2 : 10 };
const FILL_S = given.quick ? 3 : 60;
const LOADED = { timeouts: given.quick ? [2000] : [1000, 2000, 3000, 6000], ms: given.quick ? 3000 : 60000, hogs: 4 * cpus().length };

const posts = new http.Agent({ keepAlive: true, maxSockets: 64 });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const now = () => performance.now();
const results = {};
const missed = [];

function quantiles(numbers) {
    const sorted = [...numbers].sort((a, b) => a - b);
    const at = (share) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
    return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
}

function report(name, text, figures, met) {
    results[name] = { ...figures, met };
    const isMiss = !met && !given.quick;
    if (isMiss) missed.push(name);
    console.log(`${name}: ${text}${isMiss ? ' (AIM MISSED)' : ''}`);
}

/** Whether it was accepted; the body says when it was sent. */
function post(endpoint) {
    return new Promise((resolve) => {
        const request = http.request(endpoint, { method: 'POST', agent: posts, headers: { TTL: '3600', 'Content-Encoding': 'aes128gcm' } }, (response) => {
            response.resume().on('end', () => resolve(response.statusCode === 201));
        });
        request.on('error', () => resolve(false));
        request.end(`${now()} `.padEnd(300, '.'));
    });
}

/** Remembers of each arrival when it came and when it was sent. Where its edge goes, it goes to another one at once. */
class Client extends UserAgent {
    constructor(url, elsewhere) {
        super(url);
        this.elsewhere = elsewhere;
        this.arrivals = [];
        this.lost = 0;
    }
    open() {
        super.open();
        const { socket } = this;
        socket.on('close', () => {
            if (socket !== this.socket || !this.wanted) return;
            ++this.lost;
            this.url = this.elsewhere(this.url);
        });
    }
    receive(message) {
        if (message.data) this.arrivals.push({ at: now(), sent: Number.parseFloat(Buffer.from(message.data, 'base64url')) });
        super.receive(message);
        this.bodies.length = 0;
    }
    /** How long after `moment` the first message came that was sent after it. */
    servedAfter(moment) {
        const first = this.arrivals.find(({ sent }) => sent > moment);
        return first && first.at - moment;
    }
    /** The longest time without an arrival since `moment`. */
    darkSince(moment) {
        const times = [moment, ...this.arrivals.map(({ at }) => at).filter((at) => at > moment)];
        return Math.max(...times.slice(1).map((at, i) => at - times[i]));
    }
}

/** Three edges with clients that each have a home at the edge where they began, and a message for each again and again. */
class Installation {
    constructor({ options = [], standbys = 1 } = {}) {
        this.options = ['--edge-standby-count', String(standbys), ...options];
        this.standbys = standbys;
        this.cluster = new Cluster('kafka', { plain: true });
        this.running = [];
        this.clients = new Map(); // edge → clients whose home it was at first
    }
    urlOf(edge) {
        return this.cluster.edges.get(edge).websocket;
    }
    async start(edges = EDGES) {
        await this.cluster.prepare();
        await this.cluster.start('endpoint');
        for (const edge of edges) await this.startEdge(edge);
        await this.rested();
    }
    async startEdge(edge, more = []) {
        await this.cluster.startEdge(edge, ['--log-level', 'warn', ...this.options, ...more]);
        this.running.push(edge);
    }
    metric(name, labels = '') {
        return this.cluster.edgeMetric(this.running, name, labels);
    }
    /** Every partition has a home and the copies that it can have, and all edges are linked. */
    rested() {
        const count = this.running.length;
        return until('an installation at rest', async () => {
            const partitions = await this.partitions();
            return (await this.metric('beckon_edge_partitions', '"serving"')) === partitions.length &&
                (await this.metric('beckon_edge_links')) === count * (count - 1) &&
                partitions.every(({ moving, standbys }) => !moving && standbys.length === Math.min(this.standbys, count - 1) && standbys.every(({ ready }) => ready));
        }, RECOVERY_MS);
    }
    async connect(perEdge, frontOf = (edge) => edge) {
        const elsewhere = (url) => {
            const others = this.running.map((edge) => this.urlOf(edge)).filter((each) => each !== url);
            return others[Math.floor(Math.random() * others.length)] ?? url;
        };
        for (const edge of this.running) {
            const clients = [];
            for (let i = 0; i < perEdge; ++i) {
                const client = new Client(this.urlOf(edge), elsewhere);
                await client.connect();
                await client.register();
                const front = this.urlOf(frontOf(edge, i));
                if (front !== client.url) await client.moveTo(front);
                client.lost = 0;
                clients.push(client);
            }
            this.clients.set(edge, clients);
        }
    }
    all() {
        return [...this.clients.values()].flat();
    }
    /** A message for each client every EACH_MS, spread over that time. */
    startSending() {
        const clients = this.all();
        let next = 0;
        let began = now();
        let sent = 0;
        this.sending = setInterval(() => {
            const due = ((now() - began) * clients.length) / EACH_MS;
            for (; sent < due; ++sent) post(clients[next++ % clients.length].endpoint);
        }, 5);
    }
    async flowing() {
        const from = now();
        await until('a message for everybody', () => this.all().every((client) => client.servedAfter(from)), RECOVERY_MS);
    }
    /** The edges as `beckon cluster` shows them. */
    async shown() {
        const output = await this.cluster.tool(['cluster', '--json', '--kafka-servers', this.cluster.servers, '--key-ring', join(this.cluster.directory, 'keys.json')]);
        return JSON.parse(output.split('\n').find((line) => line.startsWith('{'))).roles[0];
    }
    async partitions() {
        return (await this.shown()).partitions;
    }
    /** The name of the edge that is the controller, or of one that is not. */
    async edgeThat(isController) {
        const { nodes } = await this.shown();
        const ports = new Set(nodes.filter(({ controller }) => controller === isController).map((node) => node.link.split(':').pop()));
        return this.running.find((edge) => ports.has(String(this.cluster.edges.get(edge).link)));
    }
    /** Rises when a partition changes its home. */
    async epochs() {
        return (await this.partitions()).reduce((sum, { epoch }) => sum + epoch, 0);
    }
    async kill(edge) {
        this.running = this.running.filter((each) => each !== edge);
        const child = this.cluster.children.get(edge);
        this.cluster.children.delete(edge);
        const moment = now();
        await child.kill();
        return moment;
    }
    async restart(edge) {
        this.running = this.running.filter((each) => each !== edge);
        const child = this.cluster.children.get(edge);
        this.cluster.children.delete(edge);
        await child.stop();
        await this.startEdge(edge);
        await this.rested();
    }
    async end() {
        clearInterval(this.sending);
        for (const client of this.all()) client.end();
        await this.cluster.destroy();
    }
}

/** Messages that wait for clients which are away. */
async function pending(installation, count) {
    const clients = installation.clients.get('edge-1');
    const away = clients.slice(0, clients.length / 10);
    for (const client of away) await client.close();
    let left = count;
    const sender = async () => {
        while (left > 0) {
            --left;
            await until('an accepted message', () => post(away[left % away.length].endpoint), RECOVERY_MS);
        }
    };
    await Promise.all(Array.from({ length: 64 }, sender));
    installation.clients.set('edge-1', clients.slice(away.length));
}

/** From the SIGKILL of an edge until the clients whose home it was have messages again. */
async function failover(name, standbys, { waiting = 0, controller = false } = {}) {
    const installation = new Installation({ standbys });
    try {
        await installation.start();
        // Every other client is at another edge than its home.
        await installation.connect(CLIENTS / 3, (edge, i) => (i % 2 === 0 ? edge : EDGES[(EDGES.indexOf(edge) + 1) % 3]));
        if (waiting > 0) await pending(installation, waiting);
        await installation.rested();
        installation.startSending();
        await installation.flowing();
        const victim = waiting > 0 ? 'edge-1' : await installation.edgeThat(controller);
        const affected = installation.clients.get(victim);
        const moment = await installation.kill(victim);
        await until('messages for all of them', () => affected.every((client) => client.servedAfter(moment)), RECOVERY_MS);
        const remote = affected.filter((client) => client.lost === 0);
        const served = quantiles(remote.map((client) => client.servedAfter(moment)));
        const own = quantiles(affected.filter((client) => client.lost > 0).map((client) => client.servedAfter(moment)));
        report(
            `failover, ${name}`,
            `${served.count} clients of its partitions, connected to other edges, have messages again after p50 ${served.p50}, p99 ${served.p99}, at most ` +
                `${served.max} ms (aim: ${AIMS.failover_p50_ms} and ${AIMS.failover_p99_ms} ms); ${own.count} that were connected to it after p50 ${own.p50}, p99 ${own.p99} ms`,
            { ...served, connected_to_it: own },
            standbys === 0 || (served.p50 <= AIMS.failover_p50_ms && served.p99 <= AIMS.failover_p99_ms),
        );
    } finally {
        await installation.end();
    }
}

/** From the start of a process after a SIGKILL until it serves what it had: with nobody else, and with two others. */
async function restart(name, edges) {
    const installation = new Installation({ standbys: edges.length > 1 ? 1 : 0 });
    try {
        await installation.start(edges);
        const times = [];
        for (let i = 0; i < (given.quick ? 1 : 5); ++i) {
            const { length } = await installation.partitions();
            await installation.kill('edge-1');
            const began = now();
            const starting = installation.startEdge('edge-1');
            await until('all partitions served', async () => {
                const served = await installation.metric('beckon_edge_partitions', '"serving"').catch(() => 0);
                const own = await installation.cluster.metric('beckon_edge_partitions', '"serving"', installation.cluster.edges.get('edge-1').ops).catch(() => 0);
                return (installation.running.includes('edge-1') ? served : served + own) === length;
            }, RECOVERY_MS);
            times.push(now() - began);
            await starting;
            await installation.rested();
        }
        const took = quantiles(times);
        report(`restart, ${name}`, `all partitions are served p50 ${took.p50}, at most ${took.max} ms after the start of the process (aim: ${AIMS.restart_ms} ms)`, took, took.max <= AIMS.restart_ms);
    } finally {
        await installation.end();
    }
}

/** Three edges are restarted one after the other. */
async function rolling() {
    const installation = new Installation({});
    try {
        await installation.start();
        await installation.connect(CLIENTS / 3, (edge, i) => (i % 2 === 0 ? edge : EDGES[(EDGES.indexOf(edge) + 1) % 3]));
        installation.startSending();
        await installation.flowing();
        const began = now();
        const lost = [];
        for (const edge of EDGES) {
            const before = new Map(installation.all().map((client) => [client, { lost: client.lost, url: client.url }]));
            await installation.restart(edge);
            await installation.flowing();
            for (const [client, { lost: had, url }] of before) if (url !== installation.urlOf(edge) && client.lost > had) lost.push(client);
        }
        const dark = quantiles(installation.all().map((client) => client.darkSince(began)));
        report(
            'rolling restart',
            `the longest time without a message is p50 ${dark.p50}, p99 ${dark.p99}, at most ${dark.max} ms of ${dark.count} clients that get one each ` +
                `${EACH_MS} ms; ${lost.length} lost a connection to an edge that went on (aim: ${AIMS.dark_ms} ms more than ${EACH_MS}, 0)`,
            { ...dark, lost_elsewhere: lost.length },
            dark.max <= AIMS.dark_ms + EACH_MS && lost.length === 0,
        );
    } finally {
        await installation.end();
    }
}

function bench(args) {
    return new Promise((resolve, reject) => {
        const child = spawn(`${BECKON}-bench`, ['--json', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
        let output = '';
        let errors = '';
        child.stdout.on('data', (data) => (output += data));
        child.stderr.on('data', (data) => (errors += data));
        child.once('exit', (code) => (code === 0 ? resolve(JSON.parse(output)) : reject(new Error(`beckon-bench ended with ${code}: ${errors}`))));
    });
}

const median = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

/** Clients at their home, and the same at the other edge, in turns. As many senders as the rate needs: each waits for its 201. */
async function hop() {
    const installation = new Installation();
    try {
        await installation.start(EDGES.slice(0, 2));
        const [near, far] = installation.running.map((edge) => installation.urlOf(edge));
        const pids = installation.running.flatMap((edge) => ['--pid', `${edge}=${installation.cluster.children.get(edge).process.pid}`]);
        const common = (rate) => ['--profiles', 'latency', '--connections', '200', '--senders', '512', '--rate', String(rate), '--duration', String(HOP.duration), ...pids];
        await bench([near, ...common(HOP.rates.at(-1)), '--warm-up', given.quick ? '1' : '30']);
        for (const rate of HOP.rates) {
            const figures = { home: [], link: [] };
            for (let round = 0; round < HOP.rounds; ++round) {
                for (const [kind, more] of [['home', []], ['link', ['--reconnect-to', far]]]) {
                    const { latency } = await bench([near, ...common(rate), ...more]);
                    const cpu = latency.cpu.processes.reduce((sum, { us_per_message: us }) => sum + us, 0);
                    figures[kind].push({ p50: latency.post_to_frame.p50_ms, p99: latency.post_to_frame.p99_ms, cpu });
                }
            }
            const of = (kind, what) => median(figures[kind].map((each) => each[what]));
            const extra = { p50_ms: of('link', 'p50') - of('home', 'p50'), cpu_us: of('link', 'cpu') - of('home', 'cpu') };
            report(
                `hop at ${rate}/s`,
                `p50 ${of('home', 'p50').toFixed(2)} ms at home, ${of('link', 'p50').toFixed(2)} over a link (${extra.p50_ms.toFixed(2)} more, aim ${AIMS.hop_ms}), ` +
                    `p99 ${of('home', 'p99').toFixed(2)} and ${of('link', 'p99').toFixed(2)}; CPU of both edges ${of('home', 'cpu').toFixed(0)} and ` +
                    `${of('link', 'cpu').toFixed(0)} us a message (aim: ${AIMS.hop_cpu_us} more at load)`,
                { ...extra, rounds: figures },
                (rate !== HOP.rates[0] || extra.p50_ms <= AIMS.hop_ms) && (rate !== HOP.rates.at(-1) || extra.cpu_us <= AIMS.hop_cpu_us),
            );
        }
    } finally {
        await installation.end();
    }
}

/** CPU seconds of a process. */
function cpuOf(pid) {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ');
    return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** How long each partition's messages took to restore, as the edge says in its log. */
function restored(edge) {
    const lines = edge.output.split('\n').filter((line) => line.includes('"caught_up"') && line.includes('"notifications/'));
    return lines.map((line) => JSON.parse(line).seconds);
}

/** One edge with one shard has lost its store, and reads all again: each message and its end. */
async function restore() {
    const installation = new Installation({ standbys: 0, options: ['--threads', '1'] });
    const { cluster } = installation;
    try {
        await installation.start(['edge-1']);
        const { saturation } = await bench([installation.urlOf('edge-1'), '--profiles', 'saturation', '--connections', '1000', '--duration', String(FILL_S), '--warm-up', '0']);
        await until('durable acks', async () => (await installation.metric('beckon_edge_pending_tombstones')) === 0, RECOVERY_MS);
        const { code } = await cluster.children.get('edge-1').stop();
        if (code !== 0) throw new Error(`edge-1 ended with ${code}`);
        cluster.children.delete('edge-1');
        rmSync(join(cluster.directory, 'edge-1', 'edge'), { recursive: true, force: true });
        installation.running = [];
        const starting = installation.startEdge('edge-1', ['--log-level', 'debug']);
        const edge = cluster.children.get('edge-1');
        await until('all partitions', () => restored(edge).length === 4, RECOVERY_MS);
        const cpu = cpuOf(edge.process.pid);
        await starting;
        const records = 2 * saturation.accepted;
        const seconds = Math.max(...restored(edge));
        const rate = records / seconds;
        report(
            'restore',
            `${records} records in ${seconds.toFixed(1)} s: ${Math.round(rate)} records/s in one shard, ` +
                `${((cpu / records) * 1e6).toFixed(1)} us of CPU a record (aim: ${AIMS.restored_per_s})`,
            { records, seconds, records_per_s: rate, cpu_us: (cpu / records) * 1e6 },
            rate >= AIMS.restored_per_s,
        );
    } finally {
        await installation.end();
    }
}

/** Processes that want every core all the time. */
function hog(count) {
    const hogs = Array.from({ length: count }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
    return () => hogs.forEach((each) => each.kill('SIGKILL'));
}

/** Nobody dies, so no partition may move, however busy the machine is. */
async function session() {
    for (const timeout of LOADED.timeouts) {
        const installation = new Installation({ options: ['--edge-session-timeout', `${timeout}ms`] });
        try {
            await installation.start();
            await installation.connect(CLIENTS / 3);
            installation.startSending();
            await installation.flowing();
            const before = await installation.epochs();
            const end = hog(LOADED.hogs);
            try {
                await pause(LOADED.ms);
            } finally {
                end();
            }
            const moves = (await installation.epochs()) - before;
            report(
                `session time-out of ${timeout} ms`,
                `${moves} moves of partitions in ${LOADED.ms / 1000} s beside ${LOADED.hogs} processes that want a core (aim: 0 with ${SESSION_MS} ms)`,
                { moves, hogs: LOADED.hogs },
                timeout < SESSION_MS || moves === 0,
            );
        } finally {
            await installation.end();
        }
    }
}

console.log(`load ${loadavg()[0].toFixed(2)} on ${cpus().length} cores`);
try {
    if (only.includes('failover')) {
        await failover('with a standby', 1);
        await failover('of the controller', 1, { controller: true });
        await failover(`with a standby and ${PENDING} messages that wait`, 1, { waiting: PENDING });
        await failover('without a standby', 0);
    }
    if (only.includes('restart')) {
        await restart('of the only edge', ['edge-1']);
        await restart('of one of three edges', EDGES);
    }
    if (only.includes('rolling')) await rolling();
    if (only.includes('hop')) await hop();
    if (only.includes('restore')) await restore();
    if (only.includes('session')) await session();
} finally {
    agent.destroy();
    posts.destroy();
}
if (given.json) writeFileSync(given.json, JSON.stringify(results, null, 4));
if (missed.length > 0) {
    console.error(`missed: ${missed.join('; ')}`);
    process.exit(1);
}
process.exit(0);
