// The console in a real Chromium and a real Firefox: LOG=embedded (in standalone, without a token) or LOG=kafka (as a
// role, with one). SCREENSHOTS names a directory for screenshots of the pages.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { BECKON, Cluster, until } from './beckon.mjs';
import { spawnSync } from 'node:child_process';

const log = process.env.LOG ?? 'embedded';
const kafka = log === 'kafka';
const TOKEN = 'a-token-that-nobody-guesses-0123';
const PAGES = ['overview', 'nodes', 'lag', 'tiers', 'dead', 'senders', 'find', 'log', 'milestones', 'webhooks', 'canary'];
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE = 120000; // a browser on a busy machine

const cluster = new Cluster(log, { plain: true, retry: [], reliability: kafka, console: [] });
let origin;
let browser;

before(async () => {
    await cluster.prepare();
    origin = `http://127.0.0.1:${cluster.ports.console}`;
    cluster.consoleOptions.push('--console-canary', cluster.websocket);
    cluster.environment = { BECKON_EDGE_PING_INTERVAL: '2s' };
    if (kafka) {
        const file = join(cluster.directory, 'token');
        writeFileSync(file, TOKEN + '\n');
        cluster.consoleOptions.push('--console-token-file', file);
    }
    await cluster.start();
    browser = await puppeteer.launch({
        executablePath: '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-gpu'], protocolTimeout: PATIENCE,
    });
});
after(async () => {
    await browser?.close();
    await cluster.end();
});

/** A page of the API, as soon as it is known. */
function api(name) {
    const headers = kafka ? { authorization: `Bearer ${TOKEN}` } : {};
    return until(`the page ${name}`, async () => {
        const reply = await fetch(`${origin}/api/pages/${name}`, { headers });
        return reply.status === 200 ? reply.json() : null;
    }, PATIENCE);
}

const group = (name) => (kafka ? `beckon.${name}` : name);
const rowsOf = (page, name) => page.rows.filter((row) => row.group === group(name));

/** A tab that is logged in; `complaints` has the errors of its console. */
async function open(by, width = 1280) {
    const page = await by.newPage();
    page.setDefaultTimeout(PATIENCE);
    page.complaints = [];
    page.on('pageerror', (error) => page.complaints.push(error.message));
    page.on('console', (line) => line.type() === 'error' && page.complaints.push(line.text()));
    await page.setViewport({ width, height: 800 });
    await page.goto(`${origin}/`);
    await page.waitForSelector(kafka ? 'form.login, main .verdict-box' : 'main .verdict-box');
    if (await page.$('form.login')) {
        await page.type('input[name=token]', TOKEN);
        await page.click('form.login button');
    }
    await page.waitForSelector('main .verdict-box');
    await show(page, 'lag');
    await page.waitForSelector('main .panel table');
    return page;
}

async function show(page, name) {
    await page.evaluate((to) => (location.hash = `#/${to}`), name);
    await page.waitForFunction((to) => document.querySelector('nav a[aria-current]')?.getAttribute('href') === `#/${to}`
        && document.querySelector('main h1') && !document.querySelector('main')?.textContent?.includes('Waiting for the first'), {}, name);
}

async function axe(page) {
    return page.evaluate(async (source) => {
        if (!window.axe) new Function(source)();
        const { violations, passes } = await window.axe.run();
        return { passes: passes.length, violations: violations.map((one) => `${one.id} at ${one.nodes.map((node) => node.target).join(' ')}`) };
    }, AXE);
}

async function keep(page, name) {
    if (!process.env.SCREENSHOTS) return;
    mkdirSync(process.env.SCREENSHOTS, { recursive: true });
    await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}-${log}.png`) });
}

test('every group of ours is there, with an owner and nothing behind', async () => {
    const page = await until('all groups to keep up', async () => {
        const now = await api('lag');
        const views = now.rows.filter(({ group }) => /(^|\.)endpoint(\/|$)/.test(group)); // on Kafka one group for each process
        const rows = [...rowsOf(now, 'edge'), ...views];
        return rows.length >= 12 && rows.every((row) => row.status === 'OK' && row.owner) ? now : null;
    }, PATIENCE);
    assert.deepEqual(page.problems, []);
    assert.equal(rowsOf(page, 'edge').length, 8, 'notifications and subscriptions of four partitions');
});

test('the canary pushes through the edge and measures', async () => {
    const page = await until('a push of the canary', async () => {
        const now = await api('canary');
        return now.edges[0].pushes.some((push) => push.ms !== null) ? now : null;
    }, PATIENCE);
    assert.equal(page.edges[0].edge, cluster.websocket);
    assert.ok(page.edges[0].p50_ms > 0);
});

test('the canary never fails at an edge that works: not as both start, and not for want of a pong', async () => {
    const page = await until('two pushes of the canary', async () => {
        const now = await api('canary');
        return now.edges[0].sent >= 2 ? now : null;
    }, PATIENCE);
    assert.equal(page.edges[0].failed, 0);
    const opsOfEdge = kafka ? cluster.ports.opsEdge : cluster.ports.ops;
    assert.ok(await cluster.metric('beckon_edge_clients', '', opsOfEdge) >= 1);
    assert.equal(await cluster.metric('beckon_edge_closed_total', 'reason="pong_timeout"', opsOfEdge), 0);
});

test('the cluster page has a home for every partition', async () => {
    const page = await until('all partitions to be placed', async () => {
        const now = await api('cluster');
        const edge = now.roles.find((role) => role.name === 'edge');
        return edge?.partitions.every((one) => one.home && !one.moving) ? now : null;
    }, PATIENCE);
    const edge = page.roles.find((role) => role.name === 'edge');
    assert.equal(edge.nodes.length, 1);
    assert.deepEqual(edge.nodes[0].links, [], 'there is no other edge to be linked with');
    assert.ok(edge.partitions.every((one) => one.state === 'serving' && one.from === ''));
});

test('the first page says that push works, and every role is among the nodes', async () => {
    const status = await until('the verdict', async () => {
        const now = await api('status');
        return now.sentence.startsWith('Push works: 1 of 1 edge answers in ') && now.findings.length === 0 ? now : null;
    }, PATIENCE);
    assert.equal(status.level, 'ok');
    const page = await api('nodes');
    const roles = page.processes.map((one) => one.role).sort();
    assert.deepEqual(roles, kafka ? ['console', 'edge', 'endpoint', 'reliability', 'retry'] : ['standalone']);
    assert.ok(page.processes.every((one) => one.ready && !one.gone && one.gauges.memory > 1e6), JSON.stringify(page.processes));
    const rated = await until('two points', async () => {
        const { history } = await api('overview');
        return history.at.length > 1 && history.clients.at(-1) >= 1 && history.canary_ms.at(-1) > 0 && history.accepted.at(-1) > 0 ? history : null;
    }, PATIENCE);
    assert.ok(rated.delivered.at(-1) > 0 && rated.p50_ms.at(-1) > 0 && rated.disk_free_percent.at(-1) > 0, JSON.stringify(rated));
    const metrics = await (await fetch(`http://127.0.0.1:${kafka ? cluster.ports.opsConsole : cluster.ports.ops}/metrics`)).text();
    assert.match(metrics, new RegExp(`^beckon_canary_success\\{edge="${cluster.websocket}"\\} 1$`, 'm'));
    assert.match(metrics, /^beckon_canary_pushes_total\{outcome="received"\} [1-9]/m);
    assert.match(metrics, /^beckon_canary_push_seconds_count [1-9]/m);
});

test('without a token nothing can be changed, and the answer says what is missing', { skip: kafka && 'it has a token there' }, async () => {
    const reply = await fetch(`${origin}/api/acts/redrive/check`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' });
    assert.equal(reply.status, 403);
    assert.match((await reply.json()).error, /console\.token_file/);
});

test('beckon lag shows the same table, and its exit code says that all is well', async () => {
    const ops = kafka ? cluster.ports.opsConsole : cluster.ports.ops;
    const args = kafka ? ['--kafka-servers', cluster.servers] : ['--ops-port', String(ops)];
    const table = spawnSync(BECKON, ['lag', '--by-partition', ...args], { encoding: 'utf8', timeout: PATIENCE });
    assert.equal(table.status, 0, table.stderr + table.stdout);
    assert.match(table.stdout, /^STATUS +GROUP +TOPIC/);
    assert.match(table.stdout, /OK +(beckon\.)?edge +(beckon\.)?notifications +0 /);
    const groups = spawnSync(BECKON, ['lag', ...args], { encoding: 'utf8', timeout: PATIENCE });
    assert.match(groups.stdout, /^STATUS +GROUP +PARTITIONS/);
    assert.match(groups.stdout, /\n\d+ groups, \d+ partitions: all OK/);
    const json = spawnSync(BECKON, ['lag', '--json', '--group', group('edge'), '--ops-port', String(ops)], { encoding: 'utf8', timeout: PATIENCE });
    const page = JSON.parse(json.stdout);
    assert.deepEqual([...new Set(page.rows.map((row) => row.group))], [group('edge')]);
});

test('the ops port exports the lag of every partition', async () => {
    const text = await (await fetch(`http://127.0.0.1:${kafka ? cluster.ports.opsConsole : cluster.ports.ops}/metrics`)).text();
    for (const name of ['kafka_consumergroup_lag', 'kafka_consumergroup_lag_seconds', 'beckon_console_group_status']) {
        const series = text.split('\n').filter((line) => line.startsWith(`${name}{consumergroup="${group('edge')}"`));
        assert.equal(series.length, 8, name);
    }
});

test('every page is readable for everybody: axe finds nothing, light, dark and on a phone', async () => {
    const page = await open(browser);
    for (const [look, width] of [['light', 1280], ['dark', 1280], ['light', 390]]) {
        await page.setViewport({ width, height: 800 });
        // Without reduced motion a button is on its way from one look's colours to the other's while axe measures them.
        await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: look }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
        for (const name of PAGES) {
            await show(page, name);
            await keep(page, `${name}-${look}-${width}`);
            const { passes, violations } = await axe(page);
            assert.deepEqual(violations, [], `${name}, ${look}, ${width}`);
            assert.ok(passes > 10, 'axe has looked');
            const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
            assert.ok(wide <= 0, `${name} is ${wide} wider than a window of ${width}`);
        }
    }
    assert.deepEqual(page.complaints.filter((text) => !text.includes('503')), []);
    await page.close();
});

test('the keyboard alone unfolds a group, and new values leave the focus where it is', async () => {
    const page = await open(browser);
    await page.focus('.fold');
    await page.keyboard.press('Enter');
    await page.waitForSelector('tr.part');
    const shown = () => page.$eval('.head .quiet', (element) => element.textContent);
    const before = await shown();
    await page.waitForFunction((old) => document.querySelector('.head .quiet')?.textContent !== old, {}, before);
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-expanded')), 'true');
    await page.close();
});

test('a chart says its values at the cursor, which the arrow keys move, and keeps both with new values', async () => {
    const page = await open(browser);
    await show(page, 'canary');
    await page.waitForSelector('.plot canvas');
    await until('two pushes', async () => (await api('canary')).edges[0].pushes.length > 1, PATIENCE);
    const text = () => page.$eval('.plot [role=slider]', (chart) => chart.getAttribute('aria-valuetext'));
    await page.focus('.plot [role=slider]');
    await page.keyboard.press('Home');
    const first = await text();
    assert.match(first, /^\d{4}-\d\d-\d\d .*UTC\)?: POST to frame /);
    const pushes = (await api('canary')).edges[0].pushes.length;
    await until('another push', async () => (await api('canary')).edges[0].pushes.length > pushes, PATIENCE);
    await page.waitForFunction((old) => Number(document.querySelector('.plot [role=slider]')?.getAttribute('aria-valuemax')) >= old, {}, pushes);
    assert.equal(await text(), first, 'the cursor stays');
    assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('role')), 'slider', 'and the focus');
    await page.keyboard.press('ArrowRight');
    assert.notEqual(await text(), first);
    assert.deepEqual(page.complaints, []);
    await page.close();
});

test('Find distinguishes endpoint URLs of this installation from others', async () => {
    const state = join(cluster.directory, 'me.json');
    const agent = cluster.background(['listen', cluster.websocket, '--state', state]);
    const endpoint = await until('a subscription', () => Object.values(JSON.parse(readFileSync(state, 'utf8')).channels)[0].endpoint);
    const page = await open(browser);
    await show(page, 'find');
    await page.type('input[name=q]', endpoint);
    await page.click('form.find button');
    await page.waitForFunction(() => document.querySelector('dl.facts')?.textContent?.includes('partition'));
    await page.$eval('input[name=q]', (input) => (input.value = 'nothing'));
    await page.click('form.find button');
    await page.waitForFunction(() => document.querySelector('.notice')?.textContent?.includes('no endpoint URL'));
    await page.close();
    await agent.stop();
});

test('pages that a browser keeps for "back" hold no connection', async () => {
    const page = await open(browser);
    for (let i = 0; i < 8; ++i) { // a browser has six connections for each origin
        await page.goto('about:blank');
        await page.goto(`${origin}/#/overview`);
        await page.waitForSelector('main .verdict-box');
    }
    await page.goBack();
    await page.goBack();
    await page.waitForFunction(() => document.querySelector('#live')?.textContent === 'live');
    await page.close();
});

test('a page is there in a moment', async () => {
    const page = await open(browser);
    await page.evaluate(() => (location.hash = '#/lag'));
    await page.reload();
    await page.waitForSelector('main .panel table');
    const [loaded, table] = await page.evaluate(() => [performance.getEntriesByType('navigation')[0].loadEventEnd, performance.now()]);
    console.log(`page load ${Math.round(loaded)} ms, table seen after ${Math.round(table)} ms`);
    await page.close();
});

test('Firefox shows it too', async () => {
    const firefox = await puppeteer.launch({
        browser: 'firefox', executablePath: '/usr/bin/firefox-esr', headless: true, userDataDir: join(cluster.directory, 'profile'),
        protocolTimeout: PATIENCE,
    });
    try {
        const page = await open(firefox);
        await page.click('#theme');
        assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'light');
        await show(page, 'nodes');
        await page.waitForSelector('main .panel table');
        await keep(page, 'nodes-firefox');
        assert.deepEqual(page.complaints, []);
    } finally {
        await firefox.close();
    }
});

test('a group whose only reader is away is STOPPED, the first page says so, and both recover', { skip: !kafka && 'standalone has no edge to stop' }, async () => {
    const state = join(cluster.directory, 'away.json');
    const agent = cluster.background(['listen', cluster.websocket, '--state', state]);
    await until('a subscription', () => Object.values(JSON.parse(readFileSync(state, 'utf8')).channels)[0].endpoint);
    await agent.stop();
    await cluster.children.get('edge').kill();
    cluster.children.delete('edge');
    const before = Date.now();
    await cluster.tool(['push', state, 'Hello']);
    const pushed = Date.now();
    // The page is made every few seconds: what it says is at most that old.
    const waits = (row) => {
        const [least, most] = [(Date.now() - pushed) / 1000 - 10, (Date.now() - before) / 1000 + 1];
        assert.ok(row.lag >= 1 && row.lag_seconds > Math.max(0, least) && row.lag_seconds <= most, `${least} to ${most}: ${JSON.stringify(row)}`);
    };
    const row = await until('the word', async () => rowsOf(await api('lag'), 'edge').find((one) => one.status === 'STOPPED'), PATIENCE);
    waits(row);
    const table = spawnSync(BECKON, ['lag', '--behind', '--ops-port', String(cluster.ports.opsConsole)], { encoding: 'utf8', timeout: PATIENCE });
    assert.equal(table.status, 3, table.stdout);
    // Asked of the brokers, who know no history: the record that waits is read for its age.
    const asked = spawnSync(BECKON, ['lag', '--json', '--kafka-servers', cluster.servers], { encoding: 'utf8', timeout: PATIENCE });
    const behind = JSON.parse(asked.stdout).rows.find((one) => one.group === row.group && one.topic === row.topic && one.partition === row.partition);
    waits(behind);
    await until('the canary to fail', async () => (await api('canary')).edges[0].state === 'failing', PATIENCE);
    const { sentence, badges } = await until('the verdict', async () => {
        const status = await api('status');
        return status.findings.some((one) => /^No edge is alive/.test(one.what)) && status.findings.some((one) => /^(A push|Pushes) through/.test(one.what)) ? status : null;
    }, PATIENCE);
    assert.match(sentence, /^Push does not work: no edge answers the canary\. No edge is alive: no client is connected/);
    // One fault, one finding: that nobody reads follows from the edge that died.
    assert.deepEqual([badges.nodes, badges.canary, badges.lag], ['bad', 'bad', undefined]);
    assert.ok((await api('nodes')).processes.some((one) => one.role === 'edge' && one.gone));
    const failing = await open(browser);
    await show(failing, 'overview');
    await failing.waitForSelector('nav .badge');
    await keep(failing, 'overview-failing');
    assert.match(await failing.title(), /^\(\d+\) Overview/);
    assert.deepEqual((await axe(failing)).violations, []);
    await failing.close();
    await cluster.start('edge');
    await until('everything to be read', async () => rowsOf(await api('lag'), 'edge').every((one) => one.status === 'OK'), PATIENCE);
    await until('the canary to be well', async () => (await api('canary')).edges[0].state === 'well', PATIENCE);
    await until('the verdict', async () => (await api('status')).sentence.startsWith('Push works: 1 of 1 edge answers in '), PATIENCE);
});
