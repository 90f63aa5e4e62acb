// While a sender runs whose messages are tracked, Beckon's processes are killed with SIGKILL and
// started again: in the end each message is counted by the outcome that its sender and its client saw, the sums
// are those of the histories, and a rebuild from the topic gives the same.
//
//   node reliability.mjs embedded|kafka
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import https from 'node:https';
import webpush from 'web-push';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, agent, call, post } from './client.mjs';

const log = process.argv[2];
const KILLS = 8;
const CLIENTS = 6;
const STABLE_WITHIN_MS = 120000; // the TTL of a message ends, and a minute later it has expired
/**
 * The number of messages sent while a process is away. It does not grow with a slow start, and in all each client
 * refuses more messages than its home remembers of it.
 */
const SENT_DURING_A_KILL = 250;

const keys = webpush.generateVAPIDKeys();
const cluster = new Cluster(log, { endpoint: ['--endpoint-tracking-keys', keys.publicKey], reliability: true });

/** A client's answers to a message, and the end that each counts as. The body begins with the name. */
const ANSWERS = {
    ack100: { code: 100, end: 'delivered' },
    ack101: { code: 101, end: 'decryption_error' },
    ack102: { code: 102, end: 'not_delivered' },
    nack301: { nack: 301, end: 'decryption_error' },
    nack303: { nack: 303, end: 'not_delivered' },
};
const KINDS = Object.keys(ANSWERS);

/** Answers each message always alike, as the message asks for, and notes its reliability id. */
class Judge extends UserAgent {
    seen = new Set();
    answer({ channelID, version, data, reliability_id: id }) {
        const [kind, number] = Buffer.from(data, 'base64url').toString().split(' ');
        if (id !== `${kind}-${number}`) this.faults.push(`message ${kind} ${number} has the reliability id ${id}`);
        this.seen.add(id);
        const { code, nack } = ANSWERS[kind];
        if (nack) this.send({ messageType: 'nack', version, code: nack });
        else this.send({ messageType: 'ack', updates: [{ channelID, version, code }] });
    }
}

function headers(id) {
    const origin = new URL(cluster.endpoint).origin;
    const { Authorization } = webpush.getVapidHeaders(
        origin, 'mailto:tests@example.com', keys.publicKey, keys.privateKey, 'aes128gcm',
    );
    return { Authorization, 'X-MessageId': id };
}

/** GET of the endpoint's public port. */
function get(path, accept) {
    return new Promise((resolve, reject) => {
        https.get(cluster.endpoint + path, { agent, headers: { Accept: accept } }, (response) => {
            const parts = [];
            response.on('data', (part) => parts.push(part));
            response.on('end', () => resolve({ type: response.headers['content-type'], body: Buffer.concat(parts).toString() }));
        }).on('error', reject);
    });
}

const history = (id) => cluster.reliabilityPage(`history/${id}`);

/** The milestone that each id is at; undefined where nothing is known of it. */
async function milestones(ids) {
    const found = new Map();
    for (const id of ids) found.set(id, (await history(id))?.current);
    return found;
}

function sums(found) {
    const counts = {};
    for (const at of found.values()) if (at) counts[at] = (counts[at] ?? 0) + 1;
    return counts;
}

const withoutZeros = (counts) => Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));

const clients = [];
try {
    await cluster.prepare();
    await cluster.start();
    for (let i = 0; i < CLIENTS; ++i) {
        const client = new Judge(cluster.websocket);
        await client.connect();
        await client.register();
        clients.push(client);
    }
    const away = new Judge(cluster.websocket);
    await away.connect();
    await away.register();
    away.end();
    clients.push(away);

    // --- without a kill, one of each way through the diagram
    const single = async (id, to, fields = {}) => {
        const reply = await post(to.endpoint, id.replace('-', ' '), { ...headers(id), ...fields });
        assert.equal(reply.status, 201, reply.body);
    };
    const walked = async (id, wanted) => {
        // The endpoint and the edge report on their own: the end may be there before the beginning.
        let steps = [];
        const all = async () => {
            steps = ((await history(id))?.steps ?? []).map((step) => step.milestone);
            return steps.length >= wanted.length && steps.at(-1) === wanted.at(-1);
        };
        await until(`${id} is ${wanted.at(-1)}`, all, STABLE_WITHIN_MS).catch(() => {});
        assert.deepEqual(steps, wanted);
    };
    const direct = ['received', 'int_transmitted', 'int_accepted', 'transmitted', 'accepted'];
    for (const kind of KINDS) await single(`${kind}-direct`, clients[0]);
    for (const kind of KINDS) await walked(`${kind}-direct`, [...direct, ANSWERS[kind].end]);
    await single('ack100-away', away);
    await walked('ack100-away', ['received', 'stored']);
    await new Promise((resolve) => setTimeout(resolve, 6000)); // longer than a take-over grants its clients
    await single('ack100-now', away, { TTL: '0' });
    await walked('ack100-now', ['received', 'expired']);
    await single('ack100-short', away, { TTL: '1' });
    await single('ack100-zero', clients[0], { TTL: '0' });
    await walked('ack100-zero', [...direct, 'delivered']);
    const older = 'ack100-replaced';
    const newer = 'ack100-newer'; // waits, and is delivered in the end
    await single(older, away, { Topic: 'news' });
    await single(newer, away, { Topic: 'news' });
    await walked(older, ['received', 'stored', 'replaced']);
    const withdrawn = await post(away.endpoint, 'ack100 deleted', headers('ack100-deleted'));
    await walked('ack100-deleted', ['received', 'stored']);
    assert.equal((await call('DELETE', `${cluster.endpoint}/m/${withdrawn.id}`)).status, 204);
    await walked('ack100-deleted', ['received', 'stored', 'deleted']);
    const singles = [
        ...KINDS.map((kind) => `${kind}-direct`), 'ack100-away', 'ack100-now', 'ack100-short', 'ack100-zero',
        older, newer, 'ack100-deleted',
    ];

    // --- kills
    const accepted = new Map(); // reliability id → its expected end
    const uncertain = new Set(); // no 201: it may be there or not
    let sent = 0;
    let allowed = Infinity; // messages that may be sent in all
    let running = true;
    const pause = () => new Promise((resolve) => setTimeout(resolve, 20));
    const sender = async () => {
        while (running) {
            if (sent >= allowed) {
                await pause();
                continue;
            }
            const number = sent++;
            const kind = KINDS[number % KINDS.length];
            const id = `${kind}-${number}`;
            const client = clients[Math.floor(number / KINDS.length) % clients.length];
            const reply = await post(client.endpoint, `${kind} ${number}`, headers(id));
            if (reply.status === 201) {
                accepted.set(id, ANSWERS[kind].end);
            } else {
                assert([0, 503].includes(reply.status), `unexpected status ${reply.status}: ${reply.body}`);
                uncertain.add(id);
            }
            await pause();
        }
    };
    const senders = Array.from({ length: 4 }, sender);
    const more = async (count) => {
        const goal = accepted.size + count;
        allowed = Infinity;
        await until(`${count} more accepted messages`, () => accepted.size >= goal, 60000);
        allowed = sent + SENT_DURING_A_KILL;
    };
    for (let kill = 0; kill < KILLS; ++kill) {
        await more(60);
        const roles = cluster.roles();
        const role = roles[kill % roles.length];
        await cluster.children.get(role).kill();
        cluster.children.delete(role);
        await cluster.start(role);
    }
    await more(60);
    running = false;
    await Promise.all(senders);
    await away.connect(); // gets what has waited

    // --- message by message
    let open = [...accepted.keys()]; // an end stands for ever: what was right once is not asked again
    let found = new Map();
    await until('every accepted message has the end that its client saw', async () => {
        found = await milestones(open);
        open = open.filter((id) => found.get(id) !== accepted.get(id));
        return open.length === 0;
    }, STABLE_WITHIN_MS).catch((error) => {
        const wrong = open.slice(0, 5).map((id) => `${id}: ${found.get(id)}, not ${accepted.get(id)}`);
        throw new Error(`${error.message}: ${open.length} of ${accepted.size} differ, e.g. ${wrong.join('; ')}`);
    });
    for (const client of clients) assert.deepEqual(client.faults, []);
    for (const id of uncertain) {
        const seen = clients.some((client) => client.seen.has(id));
        const at = (await history(id))?.current;
        if (seen) assert.equal(at, ANSWERS[id.split('-')[0]].end, `${id}, which was not answered 201 and was delivered`);
        else assert([undefined, 'received', 'errored'].includes(at), `${id}, which was not answered 201, is at ${at}`);
    }
    await walked('ack100-short', ['received', 'stored', 'expired']);
    await walked('ack100-away', ['received', 'stored', 'retrieved', 'delivered']);

    // --- sums
    const ids = [...singles, ...accepted.keys(), ...uncertain];
    const expected = sums(await milestones(ids));
    assert.deepEqual([expected.replaced, expected.deleted], [1, 1]);
    const { replaced, deleted, ...original } = expected; // tools of others know only these
    original.errored = (original.errored ?? 0) + replaced + deleted;
    const counted = async () => withoutZeros(JSON.parse((await get('/__milestones__', '*/*')).body));
    let counts = {};
    await until('the counts', async () => {
        counts = await counted();
        assert.deepEqual(counts, original);
        return true;
    }, 30000).catch(() => assert.deepEqual(counts, original));
    const metrics = await get('/metrics', 'text/plain');
    assert.match(metrics.type, /^application\/openmetrics-text/);
    assert.match(metrics.body, new RegExp(`autopush_reliability\\{state="delivered"\\} ${expected.delivered}\n`));
    assert.deepEqual(withoutZeros((await cluster.reliabilityPage('counts')).counts), expected);

    // --- a report from the topic: all that ended today (or, around midnight, yesterday and today)
    const ops = `http://127.0.0.1:${log === 'kafka' ? cluster.ports.opsReliability : cluster.ports.ops}`;
    const days = new Set();
    for (const id of ids) {
        const end = (await history(id))?.ended;
        if (end) days.add(new Date(end).toISOString().slice(0, 10));
    }
    let reported = 0;
    let noLoss = 0;
    for (const day of days) {
        const report = JSON.parse(await cluster.tool(['reliability', 'report', '--ops', ops, '--day', day, '--from-log', '--json']));
        reported += report.total_count;
        noLoss += report.withdrawn_count;
    }
    const ended = Object.entries(expected).filter(([name]) => !['received', 'stored'].includes(name));
    assert.equal(reported, ended.reduce((sum, [, count]) => sum + count, 0));
    assert.equal(noLoss, replaced + deleted);
    assert.match(await cluster.tool(['reliability', 'counts', '--ops', ops]), new RegExp(`delivered +${expected.delivered}\n`));
    assert.match(await cluster.tool(['reliability', 'show', 'ack100-away', '--ops', ops]), /retrieved/);

    // --- rebuilt
    const role = log === 'kafka' ? 'reliability' : 'standalone';
    await cluster.children.get(role).stop();
    cluster.children.delete(role);
    rmSync(join(cluster.directory, role, 'reliability'), { recursive: true });
    await cluster.start(role);
    await until('the same counts from the topic alone', async () => {
        assert.deepEqual(withoutZeros((await cluster.reliabilityPage('counts')).counts), expected);
        assert.deepEqual(sums(await milestones(ids)), expected);
        return true;
    }, 60000);

    console.log(`OK: ${KILLS} kills, ${accepted.size} tracked messages accepted, ${uncertain.size} uncertain, counts ${JSON.stringify(expected)}`);
    for (const client of clients) client.end();
    await cluster.stop();
} catch (error) {
    console.error(error);
    console.error(cluster.outputs());
    process.exitCode = 1;
} finally {
    for (const client of clients) client.wanted = false;
    agent.destroy();
    await cluster.destroy();
    setTimeout(() => process.exit(), 500).unref();
}
