// While a sender runs, Beckon's processes are killed with SIGKILL and started again, ten times: every
// message that was answered 201 arrives, and no client loses its subscription.
//
//   node kill.mjs embedded|kafka
import assert from 'node:assert/strict';
import { Cluster, until } from './beckon.mjs';
import { UserAgent, agent, post } from './client.mjs';

const log = process.argv[2];
const KILLS = 10;
const CLIENTS = 12;

const cluster = new Cluster(log);
const clients = [];
try {
    await cluster.prepare();
    await cluster.start();
    for (let i = 0; i < CLIENTS; ++i) {
        const client = new UserAgent(cluster.websocket);
        await client.connect();
        await client.register();
        clients.push(client);
    }

    const accepted = new Map(); // message id → client
    let sent = 0;
    let refused = 0;
    let running = true;
    const sender = async () => {
        while (running) {
            const client = clients[sent % CLIENTS];
            const reply = await post(client.endpoint, `message ${sent++}`);
            if (reply.status === 201) {
                accepted.set(reply.id, client);
            } else {
                assert([0, 503].includes(reply.status), `unexpected status ${reply.status}: ${reply.body}`);
                ++refused;
                await new Promise((resolve) => setTimeout(resolve, 20));
            }
        }
    };
    const senders = Array.from({ length: 8 }, sender);
    const more = (count) => {
        const goal = accepted.size + count;
        return until(`${count} more accepted messages`, () => accepted.size >= goal, 60000);
    };
    for (let kill = 0; kill < KILLS; ++kill) {
        await more(100);
        const roles = cluster.roles();
        const role = roles[kill % roles.length];
        await cluster.children.get(role).kill();
        cluster.children.delete(role);
        await cluster.start(role);
    }
    await more(100);
    running = false;
    await Promise.all(senders);

    const missing = () => [...accepted].filter(([id, client]) => !client.versions.has(id));
    await until('every accepted message', () => missing().length === 0, 60000).catch((error) => {
        const [id] = missing()[0] ?? [];
        throw new Error(`${error.message}: ${missing().length} of ${accepted.size} missing, e.g. ${id}`);
    });
    for (const client of clients) assert.deepEqual(client.faults, []);
    const copies = clients.flatMap((client) => [...client.versions.values()]).filter((n) => n > 1).length;
    console.log(`OK: ${KILLS} kills, ${accepted.size} accepted and delivered, ${copies} more than once, ${refused} refused or cut off`);
    for (const client of clients) await client.close();
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
