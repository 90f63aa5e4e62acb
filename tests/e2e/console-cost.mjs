// Figures of the console's costs and speed: nothing here passes or fails by time.
//
//   node console-cost.mjs   (PARTITIONS=1000, SECONDS=30; needs Kafka's jars, Java and Chromium)
//
// A group of another application with PARTITIONS partitions, on a real Kafka; then the CPU time of the console's process
// while no page is open, while Prometheus asks for its metrics every 15 s, and while a browser follows the page as
// well. JSON_FILE names a file that gets the figures. `./dev bench --only console` runs it.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import puppeteer from 'puppeteer-core';
import { Cluster, until } from './beckon.mjs';

const PARTITIONS = Number(process.env.PARTITIONS ?? 1000);
const SECONDS = Number(process.env.SECONDS ?? 30);
const SCRAPE_S = 15;
const LOADS = 7;
const SHOWN = 0.05; // percent of a core, of a thread that is named
const PATIENCE = 300000;
const NS = 1e9;

const cluster = new Cluster('kafka', { plain: true, console: [] });
const figures = { partitions: PARTITIONS, cores: cpus().length, cost: [] };
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const load = () => loadavg()[0].toFixed(1);

/** CPU seconds of a thread, its own and the kernel's for it, to the nanosecond: so half a minute is enough. */
const cpuSeconds = (thread) => Number(readFileSync(`${thread}/schedstat`, 'utf8').split(' ')[0]) / NS;

/** CPU seconds by the names of threads that live. */
function cpuOfThreads(pid) {
    const spent = new Map();
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
        const directory = `/proc/${pid}/task/${thread}`;
        const name = readFileSync(`${directory}/comm`, 'utf8').trim().replace(/\d+$/, '');
        spent.set(name, (spent.get(name) ?? 0) + cpuSeconds(directory));
    }
    return spent;
}

const sum = (spent) => [...spent.values()].reduce((total, one) => total + one, 0);
const percent = (seconds, began) => Number(((seconds / ((Date.now() - began) / 1000)) * 100).toFixed(2));

async function cost(what, pid, meanwhile) {
    const [began, before] = [Date.now(), cpuOfThreads(pid)];
    while (Date.now() - began < SECONDS * 1000) {
        await meanwhile();
        await pause(SCRAPE_S * 1000);
    }
    const after = cpuOfThreads(pid);
    const share = percent(sum(after) - sum(before), began);
    const threads = [...after].map(([name, seconds]) => [name, percent(seconds - (before.get(name) ?? 0), began)]);
    const most = threads.filter(([, part]) => part >= SHOWN).sort(([, a], [, b]) => b - a);
    console.log(`${what}: ${share} % of a core (${most.map(([name, part]) => `${name} ${part}`).join(', ')}; load ${load()} on ${cpus().length} cores)`);
    figures.cost.push({ what, percent: share, threads: Object.fromEntries(most), load: Number(load()) });
}

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

try {
    await cluster.prepare();
    await cluster.kafkaTool('TopicCommand', ['--create', '--topic', 'many', '--partitions', String(PARTITIONS), '--replication-factor', '1']);
    await cluster.kafkaTool('consumer.group.ConsumerGroupCommand', ['--group', 'many', '--topic', 'many', '--reset-offsets', '--to-earliest', '--execute']);
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
    await page.evaluateOnNewDocument(() => { // when it is there, not when somebody outside hears of it
        const observer = new MutationObserver(() => {
            if (!document.querySelector('main .panel table, main .verdict-box')) return;
            performance.mark('shown');
            observer.disconnect();
        });
        observer.observe(document, { childList: true, subtree: true });
    });
    const loads = [];
    const shownBy = { overview: [], lag: [] };
    for (let i = 0; i < LOADS; ++i) {
        for (const [name, times] of Object.entries(shownBy)) {
            await page.goto('about:blank'); // else only the hash changes
            await page.goto(`${origin}/#/${name}`);
            await page.waitForSelector('main .panel table, main .verdict-box');
            const [loaded, shown] = await page.evaluate(() => [performance.getEntriesByType('navigation')[0].loadEventEnd, performance.getEntriesByName('shown')[0].startTime]);
            loads.push(loaded);
            times.push(shown);
        }
    }
    Object.assign(figures, { page_load_ms: Math.round(median(loads)), first_verdict_ms: Math.round(median(shownBy.overview)), first_table_ms: Math.round(median(shownBy.lag)), load: Number(load()) });
    console.log(`page load ${figures.page_load_ms} ms, verdict ${figures.first_verdict_ms} ms, first lag table ${figures.first_table_ms} ms (medians of ${LOADS}, load ${load()})`);
    await cost('metrics, and a browser that follows the page', pid, scrape);
    await browser.close();
    if (process.env.JSON_FILE) writeFileSync(process.env.JSON_FILE, JSON.stringify(figures, null, 2) + '\n');
} finally {
    await cluster.end();
}
