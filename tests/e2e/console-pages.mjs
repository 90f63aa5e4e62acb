// Every page of the console in a real browser, in worlds that no real process is brought into quickly (console-worlds.mjs): with data, empty, with
// everything failing, and while nothing answers; wide and narrow, light and dark, by keyboard alone, and clean to axe. The app is the binary's;
// its API is played.
//
//   DOCUMENT=<the app as one document> [BROWSER=firefox] [LOOKS=<how many of four>] [SCREENSHOTS=<directory>] node --test console-pages.mjs
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import puppeteer from 'puppeteer-core';
import { answer, IDS, VIEWS } from './console-worlds.mjs';
import { FINDINGS } from './console-worlds-nodes.mjs';

const which = process.env.BROWSER ?? 'chromium';
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const PATIENCE = 60000; // a browser on a busy machine
const LOOKS = [['light', 1280], ['dark', 360], ['dark', 1280], ['light', 360]].slice(0, Number(process.env.LOOKS ?? 4));
const directory = mkdtempSync(join(tmpdir(), 'beckon-console-pages-'));

let world = 'busy';
let served;
let origin;
let browser;
const streams = new Set();

/** The document, with the policy that the server of the console gives it. */
function loadDocument() {
    const text = readFileSync(process.env.DOCUMENT, 'utf8').replace('data-session=""', 'data-session="in"');
    const hash = (open, close) => createHash('sha256').update(text.split(open)[1].split(close)[0]).digest('base64');
    const policy = `default-src 'none'; script-src 'sha256-${hash('<script type="module">', '</script>')}'; style-src 'sha256-${hash('<style>', '</style>')}'; `
        + "img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    return { text, policy };
}

function serve({ text, policy }) {
    return createServer((request, response) => {
        if (request.url === '/') return void response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': policy }).end(text);
        if (request.url.startsWith('/api/live') && world !== 'silent') {
            response.writeHead(200, { 'content-type': 'text/event-stream' });
            for (const name of new URL(request.url, 'http://console').searchParams.get('pages').split(',')) {
                const { status, body } = answer(world, { url: `/api/pages/${name}` });
                if (status === 200) response.write(`event: ${name}\ndata: ${JSON.stringify(body)}\n\n`);
            }
            streams.add(response);
            return void response.on('close', () => streams.delete(response));
        }
        const { status, body } = answer(world, request);
        request.resume().on('end', () => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body)));
    });
}

before(async () => {
    served = serve(loadDocument());
    await new Promise((resolve) => served.listen(0, '127.0.0.1', resolve));
    origin = `http://127.0.0.1:${served.address().port}`;
    browser = await puppeteer.launch(which === 'firefox'
        ? { browser: 'firefox', executablePath: '/usr/bin/firefox-esr', headless: true, userDataDir: directory, protocolTimeout: PATIENCE }
        : { executablePath: '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-gpu'], userDataDir: directory, protocolTimeout: PATIENCE });
});
after(async () => {
    await browser?.close();
    served?.closeAllConnections();
    served?.close();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
});

/** A tab at an address; `complaints` has the errors of its console. */
async function open(view, width = 1280) {
    const tab = await browser.newPage();
    tab.setDefaultTimeout(PATIENCE);
    tab.complaints = [];
    // A browser says itself that a query was refused, as this server does in some worlds.
    const complain = (text) => !/status of (404|503)|establish a connection|interrupted while the page was loading/.test(text) && tab.complaints.push(text);
    tab.on('pageerror', (error) => complain(error.message));
    tab.on('console', (line) => line.type() === 'error' && complain(line.text()));
    await look(tab, 'light', width);
    await tab.goto(`${origin}/${view}`);
    await settled(tab);
    return tab;
}

async function look(tab, theme, width) {
    await tab.setViewport({ width, height: 900 });
    if (which === 'firefox') { // by the button, so that charts are painted anew
        return void (await tab.evaluate((to) => {
            const button = document.getElementById('theme');
            for (let i = 0; button && i < 3 && document.documentElement.dataset.theme !== to; ++i) button.click();
        }, theme));
    }
    // Without motion: colours that are still changing have no contrast to measure.
    await tab.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: theme }, { name: 'prefers-reduced-motion', value: 'reduce' }]);
}

/** Nothing is waited for any more. */
const settled = (tab) => tab.waitForFunction(() => document.querySelector('main h1') && !/Reading|Asking|One moment|Waiting for the first/.test(document.querySelector('main').textContent), { polling: 50 });

async function go(tab, view) {
    await tab.evaluate((to) => {
        document.querySelector('main').replaceChildren();
        if (location.hash === to) window.dispatchEvent(new HashChangeEvent('hashchange'));
        else location.hash = to;
    }, view);
    if (world !== 'silent') return settled(tab);
    return tab.waitForFunction(() => document.querySelector('main h1'));
}

async function keep(tab, name) {
    if (!process.env.SCREENSHOTS) return;
    const folder = join(process.env.SCREENSHOTS, which);
    mkdirSync(folder, { recursive: true });
    await tab.screenshot({ path: join(folder, `${name}.png`), fullPage: true });
}

/** What is not readable for everybody, or wider than the window; and tables that have nothing to say. */
async function faults(tab, name) {
    const violations = await tab.evaluate(async (source) => {
        if (!window.axe) new Function(source)();
        const { violations: found } = await window.axe.run({ resultTypes: ['violations'] });
        return found.map((one) => `${one.id} at ${one.nodes.map((node) => node.target).join(' ')}`);
    }, AXE);
    const wide = await tab.evaluate(() => {
        const over = document.documentElement.scrollWidth - window.innerWidth;
        const scrolls = (element) => element && (/auto|scroll|hidden/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
        const who = [...document.querySelectorAll('body *')].filter((one) => one.getBoundingClientRect().right > window.innerWidth + 1 && !scrolls(one.parentElement)).map((one) => `${one.tagName}.${one.getAttribute('class')}`);
        return over > 0 ? [`wider than the window by ${over}: ${who.slice(0, 5)}`] : [];
    });
    const bare = await tab.$$eval('table', (tables) => tables.filter((one) => !one.tBodies[0].rows.length).map((one) => `a heading without rows: ${one.getAttribute('aria-label')}`));
    return [...violations, ...wide, ...bare].map((fault) => `${name}: ${fault}`);
}

for (const one of ['busy', 'failing', 'empty', 'silent']) {
    test(`each page with the world ${one} is readable, light and dark, wide and narrow`, async () => {
        world = one;
        const tab = await open(one === 'silent' ? '#/find' : '#/log');
        const found = [];
        // Two worlds have little to show: half of the looks.
        const looks = one === 'empty' || one === 'silent' ? LOOKS.slice(0, Math.ceil(LOOKS.length / 2)) : LOOKS;
        for (const [theme, width] of looks) {
            await look(tab, theme, width);
            for (const [name, view] of Object.entries(VIEWS)) {
                await go(tab, view);
                if (which === 'firefox') await look(tab, theme, width);
                await keep(tab, `${one}-${name}-${theme}-${width}`);
                found.push(...await faults(tab, `${one}, ${name}, ${theme}, ${width}`));
            }
        }
        assert.deepEqual(found, []);
        assert.deepEqual(tab.complaints, []);
        await tab.close();
    });
}

test('what is wrong is said with what to do, and each leads to its page by keyboard', async () => {
    world = 'failing';
    const tab = await open('#/overview');
    const shown = await tab.$$eval('.findings li', (items) => items.map((item) => item.textContent));
    assert.equal(shown.length, FINDINGS.length);
    FINDINGS.forEach(({ what, todo }, i) => assert.ok(shown[i].includes(what) && shown[i].includes(todo.split('`')[0]), what));
    await tabTo(tab, '.findings li:last-child a');
    await tab.keyboard.press('Enter');
    await says(tab, 'h1', 'Webhooks');
    await tab.close();
});

/** Presses Tab until the element has the focus. */
async function tabTo(tab, selector) {
    for (let i = 0; i < 120; ++i) {
        if (await tab.evaluate((wanted) => document.activeElement?.matches(wanted), selector)) return;
        await tab.keyboard.press('Tab');
    }
    assert.fail(`no way to ${selector} by keyboard`);
}
const says = (tab, selector, text) => tab.waitForFunction((where, what) => [...document.querySelectorAll(where)].some((element) => element.textContent.includes(what)), { polling: 50 }, selector, text);

test('by keyboard alone: from the list to a webhook, its secret rotated after a plan', async () => {
    world = 'failing';
    const tab = await open('#/webhooks');
    await tabTo(tab, `a[data-key="${IDS.hanging}"]`);
    await tab.keyboard.press('Enter');
    await says(tab, '.notice.bad', 'does not answer in time');
    await tabTo(tab, 'button[data-key="act rotate"]');
    await tab.keyboard.press('Enter');
    await says(tab, '.plan li', 'until the next rotation');
    await keep(tab, 'keyboard-plan');
    assert.deepEqual(await faults(tab, 'the plan of an act'), []);
    await tabTo(tab, 'button[data-key="confirm"]');
    await tab.keyboard.press('Enter');
    await says(tab, '.plan', 'whsec_');
    assert.deepEqual(await faults(tab, 'an act that was done'), []);
    await tab.close();
});

test('five hundred webhooks come in pages, are filtered, and are cards on a phone', async () => {
    world = 'many';
    for (const [theme, width] of LOOKS.slice(0, 2)) {
        const tab = await open('#/webhooks', width);
        await look(tab, theme, width);
        const rows = () => tab.$$eval('main tbody tr', (all) => all.length);
        assert.equal(await rows(), 50);
        const name = `many webhooks, ${theme}, ${width}`;
        await keep(tab, `many-webhooks-${theme}-${width}`);
        assert.deepEqual(await faults(tab, name), []);
        if (width < 700) assert.deepEqual(await tab.$$eval('main .scroll', (all) => all.filter((one) => one.scrollWidth > one.clientWidth).length), 0, 'a table is wider than the phone');
        await tabTo(tab, 'main .panel > .bar a');
        await tab.keyboard.press('Enter');
        await says(tab, '.bar', 'page 2 of 10');
        await tab.focus('input[name=search]');
        await tab.keyboard.type('receiver-49');
        for (const stream of streams) stream.write(`event: webhooks\ndata: ${JSON.stringify(answer(world, { url: '/api/pages/webhooks' }).body)}\n\n`); // drawn anew meanwhile
        await tab.keyboard.type('9.');
        await tab.keyboard.press('Enter');
        await says(tab, 'h2', '1 of 500 webhooks');
        assert.equal(await rows(), 1);
        assert.match(await tab.evaluate(() => location.hash), /search=receiver-499/);
        await go(tab, '#/webhooks?state=disabled&owner=owner-1');
        await says(tab, 'h2', '2 of 500 webhooks');
        assert.equal(await tab.$eval('select[name=state]', (one) => one.value), 'disabled');
        await go(tab, '#/webhooks?search=nobody');
        await says(tab, '.panel .quiet', 'None of them matches the filter');
        assert.deepEqual(tab.complaints, []);
        await tab.close();
    }
});

test('by keyboard alone: the filter of dead letters takes what is shown, and stands in the address', async () => {
    world = 'failing';
    const tab = await open('#/dead');
    await tabTo(tab, 'main tbody td:nth-child(4) a');
    await tab.keyboard.press('Enter');
    await tab.waitForFunction(() => location.hash.includes('reason=timed_out') && document.querySelector('select[name=reason]')?.value === 'timed_out', { polling: 50 });
    await tabTo(tab, 'button[data-key="dry"]');
    await tab.keyboard.press('Enter');
    await says(tab, '[role=status]', '14 dead letters match; 5 of them are of webhooks that are disabled');
    await keep(tab, 'keyboard-redrive');
    await tabTo(tab, 'button[data-key="redrive"]');
    await tab.keyboard.press('Enter');
    await says(tab, '[role=status]', '9 sent on their way again.');
    await tab.close();
});

test('by keyboard alone: from a message to its record, its neighbour, its bytes, and to its client', async () => {
    world = 'busy';
    const tab = await open('#/find/notifications%2F3%404022');
    await tabTo(tab, 'ol.steps a');
    await tab.keyboard.press('Enter');
    await says(tab, 'h1', 'Record 4,022');
    await tabTo(tab, '.pages a:last-child');
    await tab.keyboard.press('Enter');
    await says(tab, 'h1', 'Record 4,023');
    await tabTo(tab, 'button[data-key="value"]');
    await tab.keyboard.press('Enter');
    await says(tab, 'pre.raw, .panel .quiet', '');
    await tab.evaluate(() => history.back());
    await says(tab, 'h1', 'Record 4,022');
    await tabTo(tab, 'a[href$="%2Fclient"]');
    await tab.keyboard.press('Enter');
    await says(tab, 'h2', 'This is an UAID'.replace('an UAID', 'a UAID'));
    await says(tab, '.tile', 'Acknowledged');
    await tab.close();
});

test('by keyboard alone: a group unfolds to its hour and its partitions, which lead to their records; the words are explained', async () => {
    world = 'failing';
    for (const [theme, width] of LOOKS.slice(0, 2)) {
        const tab = await open('#/lag', width);
        await look(tab, theme, width);
        await tabTo(tab, 'button.fold[data-key^="beckon.edge"]');
        await tab.keyboard.press('Enter');
        await says(tab, 'tr.part th a', 'partition 0');
        await tab.waitForSelector('tr.part .plot canvas');
        await tabTo(tab, 'summary');
        await tab.keyboard.press('Enter');
        await says(tab, 'details dd', 'start the group');
        await keep(tab, `keyboard-lag-${theme}-${width}`);
        assert.deepEqual(await faults(tab, `a group that is unfolded, ${theme}, ${width}`), []);
        const to = await tab.$eval('tr.part th a', (link) => link.getAttribute('href'));
        assert.equal(to, '#/log/notifications/0?from=100');
        await tab.close();
    }
});
