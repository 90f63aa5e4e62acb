// Searches and acts of the console: Find with its slider, dead letters with their redrive, the last attempts at
// webhooks; in a real Chromium and a real Firefox, with a token. LOG=embedded (standalone) or LOG=kafka. SCREENSHOTS
// names a directory for screenshots of the pages.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { Cluster, until } from './beckon.mjs';

const log = process.env.LOG ?? 'embedded';
const TOKEN = 'a-token-that-nobody-guesses-0123';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE = 120000; // a browser on a busy machine

const cluster = new Cluster(log, {
    plain: true,
    retry: ['--retry-allowed-addresses', '127.0.0.1'],
    tiers: '0s,1s',
    reliability: false,
    console: [],
});
let origin;
let browser;
let receiver;

/** A receiver that accepts events, or answers `status`. */
class Receiver {
    status = 500;
    ids = [];
    async start() {
        this.server = http.createServer((request, response) => {
            request.resume().on('end', () => {
                this.ids.push(request.headers['webhook-id']);
                response.writeHead(this.status).end();
            });
        });
        await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
        this.url = `http://127.0.0.1:${this.server.address().port}/secret-path`;
        return this;
    }
    stop() {
        this.server.closeAllConnections();
        return new Promise((resolve) => this.server.close(resolve));
    }
}

before(async () => {
    await cluster.prepare();
    origin = `http://127.0.0.1:${cluster.ports.console}`;
    const file = join(cluster.directory, 'token');
    writeFileSync(file, TOKEN + '\n');
    cluster.consoleOptions.push('--console-token-file', file);
    if (log === 'kafka') cluster.consoleOptions.push('--console-retry-urls', `http://127.0.0.1:${cluster.ports.retry}`);
    await cluster.start();
    receiver = await new Receiver().start();
    browser = await puppeteer.launch({
        executablePath: '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-gpu'], protocolTimeout: PATIENCE,
    });
});
after(async () => {
    await browser?.close();
    await receiver?.stop();
    await cluster.end();
});

/** @param {string} path */
async function ask(path, options = {}) {
    const reply = await fetch(origin + path, { ...options, headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', ...options.headers } });
    return { status: reply.status, json: await reply.json() };
}
const post = (path, body, headers = {}) => ask(path, { method: 'POST', body: JSON.stringify(body), headers });

async function open(by, page, width = 1280) {
    const tab = await by.newPage();
    tab.setDefaultTimeout(PATIENCE);
    tab.complaints = [];
    tab.on('pageerror', (error) => tab.complaints.push(error.message));
    await tab.setViewport({ width, height: 900 });
    await tab.goto(`${origin}/#/${page}`);
    await tab.waitForSelector('form.login, main .head h1');
    if (await tab.$('form.login')) {
        await tab.type('input[name=token]', TOKEN);
        await tab.click('form.login button');
    }
    await tab.waitForSelector('main > .head h1');
    return tab;
}

async function keep(tab, name) {
    if (!process.env.SCREENSHOTS) return;
    mkdirSync(process.env.SCREENSHOTS, { recursive: true });
    await tab.screenshot({ path: join(process.env.SCREENSHOTS, `${name}-${log}.png`), fullPage: true });
}

/** Readable for everybody: light, dark, and on a phone. */
async function inspect(tab, name) {
    for (const [theme, width] of [['light', 1280], ['dark', 1280], ['dark', 390]]) {
        await tab.setViewport({ width, height: 900 });
        // Without motion: colours that are still changing have no contrast to measure.
        await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
        await keep(tab, `${name}-${theme}-${width}`);
        const violations = await tab.evaluate(async (source) => {
            if (!window.axe) new Function(source)();
            const { violations: found } = await window.axe.run();
            return found.map((one) => `${one.id} at ${one.nodes.map((node) => node.target).join(' ')}`);
        }, AXE);
        assert.deepEqual(violations, [], `${name}, ${theme}, ${width}`);
        const wide = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
        assert.ok(wide <= 0, `${name} is ${wide} wider than a window of ${width}`);
    }
    await tab.setViewport({ width: 1280, height: 900 });
}

/** @param {import('puppeteer-core').Page} tab */
const seen = (tab, selector, text) => tab.waitForFunction(
    (where, what) => [...document.querySelectorAll(where)].some((element) => element.textContent?.includes(what)), {}, selector, text);
const press = (tab, text) => tab.evaluate((what) => [...document.querySelectorAll('main button')].find((button) => button.textContent?.startsWith(what)).click(), text);

let message;
let endpoint;

test('Find shows the life of a message, and of its client, in words', async () => {
    const state = join(cluster.directory, 'me.json');
    const agent = cluster.background(['listen', cluster.websocket, '--state', state]);
    endpoint = await until('a subscription', () => Object.values(JSON.parse(readFileSync(state, 'utf8')).channels)[0].endpoint);
    await cluster.tool(['push', state, 'Hello']);
    await until('it to arrive', () => /Hello/.test(agent.output), PATIENCE);
    await agent.stop();
    const pushed = await cluster.tool(['push', state, 'Later']);
    message = /\S+\/m\/\S+/.exec(pushed)[0];

    const tab = await open(browser, 'find');
    await tab.type('input[name=q]', message);
    await tab.keyboard.press('Enter');
    await seen(tab, 'ol.steps li', 'answered 201');
    await seen(tab, '.verdict', 'It waits');
    await seen(tab, '.state', 'Messages that waited: 1');
    await inspect(tab, 'find-message');
    await tab.$eval('input[name=q]', (input, text) => (input.value = text), endpoint);
    await press(tab, 'Find');
    await seen(tab, 'h2', 'This is an endpoint URL');
    await seen(tab, 'ol.steps li', 'The client acknowledged it.');
    await seen(tab, 'ol.steps li', 'registered the channel');
    await inspect(tab, 'find-endpoint');
    assert.deepEqual(tab.complaints, []);
    await tab.close();
});

test('the slider goes through the history window by keyboard, and says where it is', async () => {
    const tab = await open(browser, 'find');
    await tab.type('input[name=q]', endpoint);
    await tab.keyboard.press('Enter');
    await seen(tab, '.state', 'Messages that waited: 1');
    await tab.focus('input[type=range]');
    await tab.keyboard.press('Home');
    await seen(tab, '.state', 'was not known');
    const names = await tab.$eval('input[type=range]', (slider) => [slider.getAttribute('aria-valuetext'), slider.labels[0].textContent]);
    assert.match(names[0], /^\d{4}-\d\d-\d\d .* UTC$/);
    assert.equal(names[1], 'Moment of the history window');
    await tab.keyboard.press('End');
    await seen(tab, '.state', 'Messages that waited: 1');
    let before = '';
    for (let i = 0; i < 10 && !before.includes('waited: 0'); ++i) {
        await press(tab, 'Step before');
        await tab.waitForFunction(() => !document.querySelector('.state[aria-busy]'));
        before = await tab.$eval('.state', (state) => state.textContent);
    }
    assert.match(before, /Messages that waited: 0/, 'before the message was put');
    await tab.close();
});

test('the API finds the same, and refuses what it does not know', async () => {
    const found = await ask(`/api/find?q=${encodeURIComponent(message)}`);
    assert.equal(found.json.kind, 'message');
    assert.equal(found.json.trace.outcome, 'waiting');
    assert.equal((await ask('/api/find?q=nothing+known')).status, 404);
    assert.equal((await ask(`/api/state?q=${encodeURIComponent(message)}&at=soon`)).status, 400);
    assert.equal((await fetch(`${origin}/api/find?q=x`)).status, 401);
});

/** How the tools reach the API. */
const access = () => {
    const ring = log === 'kafka' ? ['--key-ring', join(cluster.directory, 'keys.json')] : ['--data', join(cluster.directory, 'standalone')];
    return ['--url', `http://127.0.0.1:${cluster.ports.retry}`, ...ring];
};

/** Events that nobody takes, until they are dead. */
async function deadLetter(count, types) {
    for (let i = 0; i < count; ++i) await cluster.tool(['events', 'send', types[i % types.length], `{"n":${i}}`, ...access()]);
}

test('dead letters are redriven after a dry run, and only then', async () => {
    await cluster.tool(['webhooks', 'create', receiver.url, '--type', 'order.*', ...access()]);
    receiver.status = 500;
    await deadLetter(3, ['order.created', 'order.paid']);
    await until('all to be dead', async () => (await ask('/api/dead')).json.letters?.length === 3, PATIENCE);
    await until('the delay tiers to count them', async () => (await ask('/api/pages/tiers')).json.dead === 3, PATIENCE);

    const tab = await open(browser, 'dead');
    await tab.type('input[name=type]', 'order.created');
    await press(tab, 'Redrive: dry run');
    await seen(tab, '[role=status]', '2 dead letters match');
    await inspect(tab, 'dead-dry-run');
    assert.equal((await ask('/api/dead')).json.letters.length, 3, 'nothing was changed');
    receiver.status = 204;
    const before = receiver.ids.length;
    await press(tab, 'Redrive 2 now');
    await seen(tab, '[role=status]', '2 sent on their way again.');
    await until('both at the receiver', () => receiver.ids.length === before + 2, PATIENCE);
    assert.ok(receiver.ids.slice(before).every((id) => receiver.ids.slice(0, before).includes(id)), 'under their old ids');
    await until('one to be left', async () => (await ask('/api/dead')).json.letters.length === 1, PATIENCE);
    assert.deepEqual(tab.complaints, []);
    await tab.close();
    const role = log === 'kafka' ? 'console' : 'standalone';
    assert.match(cluster.children.get(role).output, /dead_letters_redriven.*"settled":2/, 'the act is in the log');
});

test('an act needs the login, the type, the own site and a plan that was shown to the same session', async () => {
    const wanted = { type: 'order.*' };
    const shown = await post('/api/acts/redrive/check', wanted);
    assert.equal(shown.json.plan.would_settle, 1);
    const { confirmation } = shown.json;
    const refused = async (body, headers) => (await post('/api/acts/redrive', body, headers)).status;
    assert.equal(await refused({ confirmation }, { authorization: 'Bearer wrong' }), 401);
    assert.equal(await refused({ confirmation }, { 'sec-fetch-site': 'cross-site' }), 403);
    assert.equal(await refused({ confirmation }, { 'content-type': 'text/plain' }), 415);
    assert.equal(await refused(wanted), 409);
    assert.equal(await refused({ confirmation: `${confirmation}x` }), 409);
    assert.equal((await ask('/api/dead')).json.letters.length, 1);
    assert.equal((await post('/api/acts/redrive/check', { colour: 'red' })).status, 400);
    const done = await post('/api/acts/redrive', { confirmation });
    assert.deepEqual(done.json, { settled: 1, gone: 0, failed: 0, left: 0 });
});

test('the page of webhooks has success rates and last attempts, and no secret', async () => {
    const row = await until('the attempts', async () => {
        const { json } = await ask('/api/pages/webhooks');
        return json.webhooks?.find((one) => one.attempts?.delivered >= 2);
    }, PATIENCE);
    assert.ok(row.attempts.count > row.attempts.delivered, JSON.stringify(row));
    assert.equal(row.attempts.status, 204);
    assert.equal(row.origin, new URL(receiver.url).origin);
    assert.doesNotMatch(JSON.stringify(row), /secret/);
    const tab = await open(browser, 'webhooks');
    await seen(tab, 'td', 'delivered (204)');
    await inspect(tab, 'webhooks-attempts');
    await tab.close();
});

test('the page of a webhook shows its attempts, and each act does what its plan says', async () => {
    const row = (await ask('/api/pages/webhooks')).json.webhooks[0];
    const tab = await open(browser, `webhooks/${row.id}`);
    await seen(tab, 'td', 'delivered (204)');
    await seen(tab, 'h2', 'Success by hour');
    await seen(tab, '.panel p', 'No delivery waits for this webhook.');
    await inspect(tab, 'webhook');
    const act = async (button, plan, confirm, done) => {
        await press(tab, button);
        await seen(tab, '.plan li', plan);
        await press(tab, confirm);
        await seen(tab, '.plan p', done);
    };
    const before = receiver.ids.length;
    await act('Send a test', 'beckon.webhook.test', 'Confirm: send a test', 'The test event is on its way.');
    await until('the test at the receiver', () => receiver.ids.length === before + 1, PATIENCE);
    await act('Disable', 'become dead letters', 'Confirm: disable', 'The webhook is disabled.');
    await seen(tab, '.notice.bad', 'It is disabled (by an operator)');
    await act('Enable', 'Its dead letters stay', 'Confirm: enable', 'The webhook is enabled.');
    await seen(tab, 'p', 'No attempt was made since then.'); // those from before say nothing of it
    await act('Rotate the secret', 'until the next rotation', 'Confirm: rotate the secret', 'The webhook has a new secret.');
    assert.match(await tab.$eval('.secret', (code) => code.textContent), /^whsec_/);
    assert.deepEqual(tab.complaints, []);
    await tab.close();
    const role = log === 'kafka' ? 'console' : 'standalone';
    assert.match(cluster.children.get(role).output, /webhook_act.*"act":"rotate"/, 'the act is in the log');
});

test('a confirmation of one act confirms no other one, and counts once', async () => {
    const { id: webhook, owner } = (await ask('/api/pages/webhooks')).json.webhooks[0];
    const shown = await post('/api/acts/test/check', { webhook, owner });
    assert.equal(shown.status, 200, JSON.stringify(shown.json));
    const { confirmation } = shown.json;
    assert.equal((await post('/api/acts/disable', { confirmation })).status, 409);
    const before = receiver.ids.length;
    assert.equal((await post('/api/acts/test', { confirmation })).status, 200);
    await until('the test at the receiver', () => receiver.ids.length === before + 1, PATIENCE); // before it answers 500
    assert.equal((await post('/api/acts/test', { confirmation })).status, 409);
    assert.equal((await post('/api/acts/enable/check', { webhook, owner })).json.confirmation, null, 'it is enabled');
    assert.equal((await post('/api/acts/test/check', { webhook, owner: 'somebody-else' })).status, 404);
});

test('a dead letter shows its event, and a hanging delivery waits in its tier', async () => {
    receiver.status = 500;
    await deadLetter(1, ['order.lost']);
    const letter = await until('it to be dead', async () => (await ask('/api/dead?type=order.lost')).json.letters[0], PATIENCE);
    const tab = await open(browser, `dead/${letter.delivery}?webhook=${letter.webhook}`);
    await seen(tab, 'pre', '"n": 0');
    await seen(tab, 'h2', 'History: each time that it was given up');
    await inspect(tab, 'letter');
    assert.deepEqual(tab.complaints, []);
    await tab.close();
    receiver.status = 204;
    const { confirmation } = (await post('/api/acts/redrive/check', { type: 'order.lost' })).json;
    assert.equal((await post('/api/acts/redrive', { confirmation })).json.settled, 1);
    await until('none to be left', async () => (await ask('/api/dead')).json.letters.length === 0, PATIENCE);
});

test('from a message to its record, its neighbours, its bytes and its client', async () => {
    const step = (await ask(`/api/find?q=${encodeURIComponent(message)}`)).json.trace.steps.find((one) => one.what === 'accepted');
    const place = `notifications/${step.partition}@${step.offset}`;
    const tab = await open(browser, `find/${encodeURIComponent(place)}`);
    await seen(tab, 'h2', 'This is a message');
    await tab.evaluate(() => [...document.querySelectorAll('ol.steps a')].find((link) => link.textContent.startsWith('notifications/')).click());
    await seen(tab, 'h1', 'Record');
    await seen(tab, '.verdict', 'A message for channel');
    await press(tab, 'Show the value');
    await seen(tab, 'pre', '0000  ');
    await inspect(tab, 'record');
    await tab.evaluate(() => [...document.querySelectorAll('main a')].find((link) => link.textContent === 'Its client').click());
    await seen(tab, 'h2', 'Messages');
    await seen(tab, '.tile', 'Acknowledged');
    await inspect(tab, 'client');
    assert.deepEqual(tab.complaints, []);
    await tab.close();
    const page = await ask(`/api/records?topic=notifications&partition=${step.partition}`);
    assert.ok(page.json.records.some((one) => one.offset === step.offset));
    assert.doesNotMatch(JSON.stringify(page.json), new RegExp(message.split('/').pop()), 'whoever has this id could delete the message');
});

test('Firefox finds and redrives too', async () => {
    receiver.status = 500;
    await deadLetter(1, ['order.late']);
    await until('it to be dead', async () => (await ask('/api/dead')).json.letters.length === 1, PATIENCE);
    const tab = await open(browser, 'webhooks');
    await seen(tab, '.word[data-word=failing] + small', 'its last attempt failed');
    await tab.close();
    receiver.status = 204;
    const firefox = await puppeteer.launch({
        browser: 'firefox', executablePath: '/usr/bin/firefox-esr', headless: true, userDataDir: join(cluster.directory, 'profile'),
        protocolTimeout: PATIENCE,
    });
    try {
        const tab = await open(firefox, 'dead');
        await press(tab, 'Redrive: dry run');
        await seen(tab, '[role=status]', '1 dead letters match');
        await press(tab, 'Redrive 1 now');
        await seen(tab, '[role=status]', '1 sent on their way again.');
        await tab.evaluate(() => (location.hash = '#/find'));
        await tab.waitForSelector('input[name=q]');
        await tab.type('input[name=q]', endpoint);
        await press(tab, 'Find');
        await seen(tab, 'ol.steps li', 'answered 201');
        await keep(tab, 'find-firefox');
        assert.deepEqual(tab.complaints, []);
    } finally {
        await firefox.close();
    }
});
