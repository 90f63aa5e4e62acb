// The server's memory for an idle client, with TLS and without, and how much goes back to the system when clients
// leave. Clients are in processes of their own, of at most 10,000 each. Exits with 1 above our bounds: 5 KiB for a
// plain client, 20 KiB for a client with TLS, and a quarter of that once it has left. For fewer than 1,000 clients the
// memory need not go back.
//
//   node idle-memory.mjs [--clients 10000] [--json FILE]
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';
import { Cluster, until } from './beckon.mjs';

const { values } = parseArgs({
    options: { clients: { type: 'string', default: '10000' }, json: { type: 'string' }, hold: { type: 'string' } },
});
const EACH = 10000; // clients of one process: it has ports for twice as many
const AT_ONCE = 100; // upgrades that one process has under way
const BOUND = { plain: 5 * 1024, tls: 20 * 1024 };
const KEPT_MAX = 0.25;

/** A process of clients: says hello with each, prints "ready", and ends with its input. */
async function hold(url, count) {
    const open = () => new Promise((resolve, reject) => {
        const socket = new WebSocket(url, 'push-notification', { rejectUnauthorized: false, perMessageDeflate: false });
        socket.once('error', reject);
        socket.once('message', resolve);
        socket.once('open', () => socket.send('{"messageType":"hello","use_webpush":true}'));
    });
    for (let left = count; left > 0; left -= AT_ONCE) {
        await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, open));
    }
    console.log('ready');
    process.stdin.resume().once('end', () => process.exit(0));
}

/** Resident bytes of a process that no file backs: its code and the page cache are not the clients'. */
function memoryOf(pid) {
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;
}

/** As many clients as the server says that it has file descriptors for. */
function possible(wanted, output) {
    const limited = /"clients_limited".*"clients_max":"?(\d+)/.exec(output);
    return limited ? Math.min(wanted, Number(limited[1])) : wanted;
}

async function measure(kind, wanted) {
    const tls = kind === 'tls' ? ['--test-edge-self-signed', 'true'] : [];
    const cluster = new Cluster('embedded', { plain: true, endpoint: [...tls, '--edge-ping-interval', '10min', '--test-hello-timeout', '1min'] });
    const holders = [];
    try {
        await cluster.prepare();
        await cluster.start();
        const url = tls.length > 0 ? cluster.websocket.replace('ws:', 'wss:') : cluster.websocket;
        const server = cluster.children.get('standalone');
        const { pid } = server.process;
        const clients = possible(wanted, server.output);
        const connected = async () => Number(/^beckon_edge_clients (\d+)/m.exec(
            await (await fetch(`http://127.0.0.1:${cluster.ports.ops}/metrics`)).text(),
        )[1]);
        await connected();
        const before = memoryOf(pid);
        for (let left = clients; left > 0; left -= EACH) {
            const holder = spawn(process.execPath, [fileURLToPath(import.meta.url), '--hold', url, '--clients', String(Math.min(left, EACH))], {
                stdio: ['pipe', 'pipe', 'inherit'],
            });
            holders.push(holder);
            await new Promise((resolve, reject) => {
                holder.stdout.once('data', resolve);
                holder.once('exit', () => reject(new Error('a process of clients has ended')));
            });
        }
        await until('all clients', async () => (await connected()) === clients, 300000);
        const during = memoryOf(pid);
        for (const holder of holders) holder.stdin.end();
        await until('no client', async () => (await connected()) === 0, 300000);
        const each = (during - before) / clients;
        const kept = () => (memoryOf(pid) - before) / clients;
        await until('memory that is given back', () => kept() < each * KEPT_MAX, 60000).catch(() => {}); // the figure says it
        return { kind, wanted, clients, bytes_each: Math.round(each), bytes_kept_each: Math.round(kept()), bound: BOUND[kind] };
    } finally {
        for (const holder of holders) holder.kill();
        await cluster.destroy();
    }
}

if (values.hold) {
    await hold(values.hold, Number(values.clients));
} else {
    const results = [];
    for (const count of values.clients.split(',').map(Number)) {
        for (const kind of Object.keys(BOUND)) {
            const result = await measure(kind, count);
            const { wanted, clients, bytes_each, bytes_kept_each, bound } = result;
            const fewer = clients < wanted ? ` (${wanted} were asked for: this process has no descriptors for more)` : '';
            console.log(`${kind}: ${clients} idle clients${fewer} cost ${bytes_each} bytes each (at most ${bound}), and keep ${bytes_kept_each} when they have left`);
            results.push(result);
        }
    }
    if (values.json) writeFileSync(values.json, JSON.stringify(results, null, 4));
    process.exitCode = results.every(({ bytes_each: bytes, bytes_kept_each: kept, bound }) => bytes <= bound && kept <= bytes * KEPT_MAX) ? 0 : 1;
}
