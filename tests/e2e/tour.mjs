// The pictures of docs/tour.md: terminals with what commands print, drawn in Chromium; and the upper part of screenshots that console-pages.mjs
// has made. `./dev tour` writes them all into docs/tour.
//
//   node tour.mjs DIRECTORY SCREENSHOTS
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import puppeteer from 'puppeteer-core';
import { BECKON, Cluster } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';

const [directory, screenshots] = process.argv.slice(2);
const HEIGHT_MAX = 1000;
/** Pictures of the console, by the name of the screenshot. */
const CONSOLE = {
    overview: 'busy-overview', failing: 'failing-overview', find: 'busy-find-message', webhook: 'failing-webhook-hanging', dead: 'busy-dead', milestones: 'busy-milestones',
};
const cluster = new Cluster('embedded', { plain: true });
const client = new UserAgent();

/** What a person sees who gives this command. */
function shown(command, more = []) {
    const { status, stdout, stderr } = spawnSync(BECKON, [...command.split(' ').slice(1), ...more], { encoding: 'utf8', timeout: 60000 });
    assert.equal(status, 0, `${command}\n${stdout}${stderr}`);
    return `$ ${command}\n${stdout || stderr}`.replaceAll(cluster.directory, '/var/lib').replaceAll('/var/lib/standalone', '/var/lib/beckon').trimEnd();
}

const keep = (page, name) => page.screenshot({ path: join(directory, `${name}.webp`), type: 'webp', quality: 80 });

async function copy(browser, name) {
    const page = await browser.newPage();
    const picture = readFileSync(join(screenshots, `${CONSOLE[name]}-light-1280.png`)).toString('base64');
    await page.setContent(`<!doctype html><style>body { margin: 0 }</style><img src="data:image/png;base64,${picture}">`);
    const height = await page.evaluate(() => document.querySelector('img').decode().then(() => document.querySelector('img').height));
    await page.setViewport({ width: 1280, height: Math.min(height, HEIGHT_MAX) });
    await keep(page, name);
    await page.close();
}

async function draw(browser, name, text) {
    const page = await browser.newPage();
    await page.setViewport({ width: 1000, height: 200 });
    await page.setContent('<!doctype html><style>body { margin: 0; background: #1d1f21 } pre { color: #e0e0e0; font: 13px/1.4 monospace; padding: 14px; margin: 0; white-space: pre-wrap }</style><pre></pre>');
    const height = await page.evaluate((content) => {
        const pre = document.querySelector('pre');
        pre.textContent = content;
        return Math.ceil(pre.getBoundingClientRect().height);
    }, text);
    await page.setViewport({ width: 1000, height });
    await keep(page, name);
    await page.close();
}

await cluster.prepare();
const browser = await puppeteer.launch({ executablePath: '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-gpu'], protocolTimeout: 120000 });
try {
    await cluster.start();
    client.url = cluster.websocket;
    await client.connect();
    await client.register();
    const where = ['--data', join(cluster.directory, 'standalone'), '--ops-port', String(cluster.ports.ops)];
    await draw(browser, 'demo', shown('beckon demo'));
    await client.close();
    const { id } = await post(client.endpoint, 'waits');
    await draw(browser, 'message', shown(`beckon message ${id}`, where));
    await draw(browser, 'doctor', shown('beckon doctor', where));
    for (const name of Object.keys(CONSOLE)) await copy(browser, name);
} finally {
    client.end();
    await browser.close();
    await cluster.destroy();
}
