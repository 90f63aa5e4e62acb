// One Kafka broker for all end-to-end tests that need no more than that: ctest starts it before the first of them and ends it
// after the last (the fixture `broker`). Each of them has a prefix of its own for its log topics and groups.
//
//   node broker.mjs start FILE    starts it; FILE has its address, as JSON, once it takes connections
//   node broker.mjs stop FILE     ends it, and returns when it is gone
//
// It also ends when the process that called `start` is gone: a ctest that is killed leaves no broker behind.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Cluster, until } from './beckon.mjs';

const START_MS = 120000; // on a busy machine a broker takes its time
const STOP_MS = 30000;

const runs = (pid) => {
    try {
        return process.kill(pid, 0);
    } catch {
        return false;
    }
};

/** Whether it takes connections; a test repeats its first request until there is an answer. */
const answers = (server) => new Promise((resolve) => {
    const [host, port] = server.split(':');
    const socket = connect(Number(port), host, () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
});

/** The process that `start` leaves running: the broker, for as long as FILE exists and `caller` runs. */
async function hold(file, caller) {
    const print = (fields) => {
        writeFileSync(`${file}.new`, JSON.stringify({ pid: process.pid, ...fields }));
        renameSync(`${file}.new`, file);
    };
    const cluster = new Cluster('kafka');
    try {
        await cluster.startBrokers();
        const broker = cluster.children.get('kafka');
        let ended = false;
        broker.exited.then(() => (ended = true));
        await until('the broker', async () => ended || answers(cluster.servers), START_MS);
        if (ended) throw new Error(`the broker ended at once:\n${broker.output}`);
        print({ servers: cluster.servers });
        const over = () => ended || !existsSync(file) || !runs(caller);
        await new Promise((resolve) => {
            const watch = setInterval(() => over() && resolve(clearInterval(watch)), 200);
        });
        if (ended) print({ error: `the broker has ended:\n${broker.output}` });
        else rmSync(file, { force: true });
    } catch (error) {
        print({ error: error.message });
    } finally {
        await cluster.destroy();
    }
    process.exit();
}

async function start(file) {
    await stop(file).catch(() => {}); // one that another run has left
    const holder = spawn(process.execPath, [fileURLToPath(import.meta.url), 'hold', file, String(process.ppid)], { detached: true, stdio: 'ignore' });
    holder.unref();
    await until('the broker', () => existsSync(file), START_MS);
    const { error, servers } = JSON.parse(readFileSync(file, 'utf8'));
    if (error) throw new Error(error);
    console.log(`a broker for all: ${servers}`);
}

async function stop(file) {
    if (!existsSync(file)) return;
    const { pid, error } = JSON.parse(readFileSync(file, 'utf8'));
    rmSync(file);
    if (pid) await until('the end of the broker', () => !runs(pid), STOP_MS);
    if (error) throw new Error(error);
}

const [how, file, caller] = process.argv.slice(2);
if (how === 'hold') await hold(file, Number(caller));
else if (how === 'start' && file) await start(file);
else if (how === 'stop' && file) await stop(file);
else throw new Error('usage: node broker.mjs start|stop FILE');
