// What the console costs and how fast it is, as figures: nothing here passes or fails by time.
//
//   node console-cost.mjs   (PARTITIONS=1000, SECONDS=60; needs Kafka's jars, Java and Chromium)
//
// A group of another application with PARTITIONS partitions, on a real Kafka; then the CPU time of the console's process
// while nobody looks, while Prometheus asks for its metrics every 15 s, and while a browser follows the page as well.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { cpus, homedir, loadavg } from 'node:os';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { Cluster, until } from './beckon.mjs';

const PARTITIONS = Number(process.env.PARTITIONS ?? 1000);
const SECONDS = Number(process.env.SECONDS ?? 60);
const SCRAPE_S = 15;
const LOADS = 7;
const PATIENCE = 300000;
const TICKS = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

const cluster = new Cluster('kafka', { plain: true, console: [] });
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const load = () => loadavg()[0].toFixed(1);

/** A class of Kafka's own tools. */
function kafkaTool(name, args) {
    const root = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'beckon');
    const jars = join(root, readdirSync(root).find((entry) => /^kafka-[\d.]+$/.test(entry)), '*');
    execFileSync('java', ['-cp', jars, `org.apache.kafka.tools.${name}`, '--bootstrap-server', cluster.servers, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
}

/** CPU seconds of a process, its own and the kernel's for it. */
function cpuSeconds(pid) {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /, '').split(' ');
    return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

async function cost(what, pid, meanwhile) {
    const [began, used] = [Date.now(), cpuSeconds(pid)];
    while (Date.now() - began < SECONDS * 1000) {
        await meanwhile();
        await pause(SCRAPE_S * 1000);
    }
    const share = (cpuSeconds(pid) - used) / ((Date.now() - began) / 1000);
    console.log(`${what}: ${(share * 100).toFixed(2)} % of a core (load ${load()} on ${cpus().length} cores)`);
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

try {
    await cluster.prepare();
    kafkaTool('TopicCommand', ['--create', '--topic', 'many', '--partitions', String(PARTITIONS), '--replication-factor', '1']);
    kafkaTool('consumer.group.ConsumerGroupCommand', ['--group', 'many', '--topic', 'many', '--reset-offsets', '--to-earliest', '--execute']);
    const started = Date.now();
    await cluster.start();
    const origin = `http://127.0.0.1:${cluster.ports.console}`;
    await until('all partitions in the table', async () => {
        const reply = await fetch(`${origin}/api/pages/lag`);
        return reply.ok && (await reply.json()).rows.filter((row) => row.group === 'many').length === PARTITIONS;
    }, PATIENCE);
    console.log(`${PARTITIONS} partitions are in the table ${Date.now() - started} ms after the start of all roles`);

    const { pid } = cluster.children.get('console').process;
    const scrape = async () => (await fetch(`http://127.0.0.1:${cluster.ports.opsConsole}/metrics`)).text();
    await cost('nobody looks', pid, async () => {});
    await cost(`metrics every ${SCRAPE_S} s`, pid, scrape);
    const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-gpu'], protocolTimeout: PATIENCE });
    const page = await browser.newPage();
    const [loads, tables] = [[], []];
    for (let i = 0; i < LOADS; ++i) {
        await page.goto(`${origin}/`);
        await page.waitForSelector('main .panel table');
        const [loaded, table] = await page.evaluate(() => [performance.getEntriesByType('navigation')[0].loadEventEnd, performance.now()]);
        loads.push(loaded);
        tables.push(table);
    }
    console.log(`page load ${Math.round(median(loads))} ms, first lag table ${Math.round(median(tables))} ms (medians of ${LOADS}, load ${load()})`);
    await cost('metrics, and a browser that follows the page', pid, scrape);
    await browser.close();
} finally {
    await cluster.end();
}
