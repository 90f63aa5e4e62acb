// A standalone whose files were cut, deleted or replaced while it was down: every message that was answered 201 arrives,
// every UAID and endpoint URL goes on; or the start ends with a sentence, or a warning says that something was damaged.
//
//   node damaged-files.mjs
//
// ALL=1: every file of the log and of the stores, at many places; otherwise the files without which RocksDB opens an
// older state. FILE: only cases whose text contains it.
import assert from 'node:assert/strict';
import { cpSync, existsSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const ALL = process.env.ALL === '1';
const DIRECTORIES = ['log', 'edge', 'endpoint', 'reliability'];
const CLIENTS = 5;
const MESSAGES = 6; // for each client, in each life
const ARRIVAL_MS = 20000;
const DAMAGE = /"(set_aside|log_damaged|topic_made_anew)"/;
const REFUSAL = /is damaged|cannot open the log|but no log in/;

const cluster = new Cluster('embedded', { plain: true });
const data = join(cluster.directory, 'standalone');
const before = join(cluster.directory, 'before'); // the data after the first life
const killed = join(cluster.directory, 'killed'); // and after the second
const clients = []; // {uaid, endpoint, bodies}

/** A life that ends by SIGKILL, with messages that wait and one that was acknowledged. */
async function live(life, keep) {
    await cluster.start();
    const agents = await Promise.all(Array.from({ length: CLIENTS }, async () => {
        const agent = new UserAgent(cluster.websocket);
        await agent.connect();
        await agent.register();
        return agent;
    }));
    assert.equal((await post(agents[0].endpoint, 'acknowledged')).status, 201);
    await until('the message', () => agents[0].bodies.length === 1);
    for (const agent of agents) {
        await agent.close();
        clients.push({ uaid: agent.uaid, endpoint: agent.endpoint, bodies: [] });
    }
    for (const client of clients) {
        for (let n = 0; n < MESSAGES; ++n) {
            const body = `life ${life} message ${n} ${'x'.repeat(200)}`;
            assert.equal((await post(client.endpoint, body)).status, 201);
            client.bodies.push(body);
        }
    }
    await cluster.children.get('standalone').kill();
    cpSync(data, keep, { recursive: true });
}

/** What happens to a file: [text, change]. */
function changesOf(directory, name) {
    const path = join(data, directory, name);
    const size = readFileSync(join(killed, directory, name)).length;
    const cut = (bytes) => [`cut by ${bytes} of ${size} bytes`, () => truncateSync(path, size - bytes)];
    const remove = ['deleted', () => rmSync(path)];
    const olderStays = ['deleted, beside an older one', () => (rmSync(path), writeFileSync(join(data, directory, '000001.log'), ''))];
    const zeros = [`zeros at its end`, () => writeFileSync(path, readFileSync(path).fill(0, size - Math.ceil(size / 4)))];
    const former = join(before, directory, name);
    const older = ['replaced by what it was before', () => cpSync(former, path)];
    const isManifest = name.startsWith('MANIFEST');
    if (!ALL) {
        if (isManifest) return [cut(3), cut(size >> 1), zeros];
        if (name === 'CURRENT' || name === 'HIGH_WATER') return [remove];
        return name.endsWith('.log') ? [remove, olderStays, cut(size >> 1)] : [];
    }
    const places = isManifest || name.endsWith('.log') ? 12 : 2;
    const cuts = Array.from({ length: places }, (_, n) => Math.ceil(((n + 1) * size) / places));
    const bytes = [...new Set([1, 3, ...cuts])].filter((each) => each <= size && size > 0);
    return [remove, ...(name.endsWith('.log') ? [olderStays] : []), ...(size > 0 ? [zeros] : []), ...(existsSync(former) ? [older] : []), ...bytes.map(cut)];
}

function* cases() {
    for (const directory of ALL ? DIRECTORIES : DIRECTORIES.slice(0, 3)) {
        for (const name of readdirSync(join(killed, directory)).sort()) {
            for (const [text, change] of changesOf(directory, name)) yield [`${directory}/${name} ${text}`, change];
        }
    }
}

/** Whether all is there; a text says what is not. */
async function fault() {
    const agents = clients.map(({ uaid, endpoint }) => Object.assign(new UserAgent(cluster.websocket), { uaid, endpoint }));
    try {
        await Promise.all(agents.map((agent) => agent.connect()));
        const missing = () => clients.flatMap(({ bodies }, n) => bodies.filter((body) => !agents[n].bodies.includes(body)));
        await until('all messages', () => agents.some(({ faults }) => faults.length > 0) || missing().length === 0, ARRIVAL_MS).catch(() => {});
        const faults = agents.flatMap((agent) => agent.faults);
        if (faults.length > 0) return faults[0];
        if (missing().length > 0) return `${missing().length} messages are missing`;
        const answers = await Promise.all(clients.map(({ endpoint }) => post(endpoint, 'after')));
        return answers.find(({ status }) => status !== 201) ? `a subscription was answered ${answers.map(({ status }) => status)}` : '';
    } finally {
        for (const agent of agents) agent.end();
    }
}

async function tryCase(text, change) {
    rmSync(data, { recursive: true, force: true });
    cpSync(killed, data, { recursive: true });
    change();
    const ready = cluster.start().then(() => true, () => false);
    const child = cluster.children.get('standalone');
    const served = await Promise.race([ready, child.exited.then(() => false)]);
    if (!served) {
        const { code } = await child.exited;
        await ready;
        assert.match(child.output, REFUSAL, `${text}: it ended with ${code} and no sentence\n${child.output}`);
        return 'refused';
    }
    const wrong = await fault();
    const warned = DAMAGE.test(child.output);
    await child.kill();
    // A store is rebuilt from the log; only what the log has lost is lost.
    if (wrong && !(warned && text.startsWith('log/'))) throw new Error(`${text}: ${wrong}, ${warned ? 'warned' : 'without a word'}\n${child.output}`);
    return wrong ? `warned: ${wrong}` : warned ? 'warned' : 'unharmed';
}

await cluster.prepare();
let failed = 0;
try {
    await live(1, before);
    await live(2, killed);
    for (const [text, change] of cases()) {
        if (!text.includes(process.env.FILE ?? '')) continue;
        try {
            console.log(`${text}: ${await tryCase(text, change)}`);
        } catch (error) {
            ++failed;
            console.error(`FAILED: ${error.message}`);
        }
    }
} finally {
    await cluster.destroy();
}
console.log(failed ? `FAILED: ${failed} cases` : 'OK');
process.exit(failed ? 1 : 0);
