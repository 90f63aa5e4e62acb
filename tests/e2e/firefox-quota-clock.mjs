// Two things that a real Firefox does by itself. It gives up a subscription whose pushes show nothing to the user
// (its quota), and the clock of its computer jumps, forwards and back, while it is connected and while it is not.
// Every message that got 201 while the subscription lived arrives once.
//
//   node firefox-quota-clock.mjs
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import https from 'node:https';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import webpush from 'web-push';
import { Cluster, until } from './beckon.mjs';
import { startFirefox, startSite, subscription } from './firefox-page.mjs';
import { Proxy } from './proxy.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const agent = new https.Agent({ rejectUnauthorized: false, keepAlive: false });
const vapidDetails = { subject: 'mailto:tests@example.com', ...webpush.generateVAPIDKeys() };
const LIMIT = 120000; // of a loaded machine
const QUOTA = 3;
const DAY_S = 86400;

const cluster = new Cluster('embedded', {
    endpoint: ['--edge-ping-interval', '2s', '--test-client-ping-interval-min', '0ms'],
});
const network = new Proxy(() => cluster.ports.edge);
const site = await startSite();
const library = join(cluster.directory, 'wrong-clock.so');
const offset = join(cluster.directory, 'clock-offset');
let firefox = null;

/** From now on the wall clock of Firefox is off by so much. */
function jump(seconds) {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    writeFileSync(offset, bytes, { flag: 'r+' });
}
const isOff = async () => Math.round((await firefox.page.evaluate(() => Date.now()) - Date.now()) / 1000);

async function start(name, preferences) {
    firefox = await startFirefox(join(cluster.directory, name), {
        'dom.push.serverURL': `ws://127.0.0.1:${network.server.address().port}/`,
        'dom.push.testing.allowInsecureServerURL': true,
        'dom.push.connection.enabled': true,
        'dom.push.pingInterval': 3000,
        'dom.push.requestTimeout': 3000,
        ...preferences,
    }, site.origin, { LD_PRELOAD: library, CLOCK_OFFSET_FILE: offset });
}

let sent = 0;
/** The status of one message, and its text. */
async function send(to) {
    const text = `message ${++sent}`;
    const { statusCode } = await webpush.sendNotification(to, text, { vapidDetails, agent, TTL: 3600 }).catch((error) => error);
    return { status: statusCode, text };
}
/** Sends messages until one has its 201; its text. */
async function accepted(to) {
    return until('201', async () => {
        const { status, text } = await send(to);
        return status === 201 && text;
    }, LIMIT);
}
const arrived = (texts) => until(`${texts}`, () => texts.every((text) => site.got.includes(text)), LIMIT);
const once = () => {
    const messages = site.got.filter((text) => text.startsWith('message'));
    assert.deepEqual(messages, [...new Set(messages)]);
};
const clients = (count) => until(`${count} clients`, async () => (await cluster.metric('beckon_edge_clients')) === count, LIMIT);

async function itsQuotaEnds() {
    await start('quota', { 'dom.push.maxQuotaPerSubscription': QUOTA, 'dom.push.quotaUpdateDelay': 100 });
    const first = await subscription(firefox.page, vapidDetails.publicKey, true);
    await firefox.page.goto('about:blank'); // a site that is open has no quota
    const texts = [];
    await until('410, since Firefox has given up the subscription', async () => {
        const { status, text } = await send(first);
        if (status === 410) return true;
        if (status === 201) texts.push(text);
        if (texts.length < QUOTA) await arrived(texts);
        return false;
    }, LIMIT);
    assert(texts.length >= QUOTA, `gave up after ${texts.length}`);
    await arrived(texts.slice(0, QUOTA));
    assert((await cluster.metric('beckon_edge_answers_total', 'unregister_201')) >= 1, 'the reason that Firefox gave');

    await firefox.page.goto(`${site.origin}/`);
    const second = await subscription(firefox.page, vapidDetails.publicKey, true);
    assert.notEqual(second.endpoint, first.endpoint);
    await arrived([await accepted(second)]);
    once();
    await firefox.browser.close();
    await clients(0);
    site.got.length = 0;
}

async function itsClockJumps() {
    await start('clock');
    const to = await subscription(firefox.page, vapidDetails.publicKey, true);
    await arrived([await accepted(to)]);
    for (const days of [1, -3, 400, -400, 0]) {
        jump(days * DAY_S);
        await until(`a clock that is off by ${days} days`, async () => Math.abs(await isOff() - days * DAY_S) < 60, LIMIT);
        await arrived([await accepted(to), await accepted(to)]);

        network.cut();
        await clients(0);
        const texts = [await accepted(to), await accepted(to)];
        jump(-days * DAY_S);
        network.heal();
        await arrived(texts);
        const { endpoint } = await subscription(firefox.page, vapidDetails.publicKey, false);
        assert.equal(endpoint, to.endpoint);
        once();
        console.log(`its clock was off by ${days} days, and by ${-days}`);
    }
    assert(!site.got.includes('SUBSCRIPTION LOST'));
}

try {
    execFileSync('cc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-o', library, join(HERE, 'wrong-clock.c'), '-ldl']);
    writeFileSync(offset, Buffer.alloc(8));
    await cluster.prepare();
    await network.open();
    await cluster.start();
    await itsQuotaEnds();
    console.log('its quota ended');
    await itsClockJumps();
    console.log('OK');
} catch (error) {
    console.error(error, site.got);
    console.error(cluster.outputs());
    process.exitCode = 1;
} finally {
    await firefox?.browser.close().catch(() => {});
    network.close();
    site.close();
    await cluster.destroy();
    agent.destroy();
}
