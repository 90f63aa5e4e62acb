// Hours of a real Firefox in a few minutes: its computer sleeps, its network is cut or goes silent, the server
// restarts or is killed, it unsubscribes and subscribes again, and at last its profile is copied, so that two
// Firefoxes have one UAID. Every message that got 201 arrives; no acknowledged message comes again.
//
//   node firefox-hours.mjs
import assert from 'node:assert/strict';
import https from 'node:https';
import { cpSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import webpush from 'web-push';
import { Cluster, until } from './beckon.mjs';
import { startFirefox, startSite, subscription } from './firefox-page.mjs';
import { Proxy } from './proxy.mjs';

const agent = new https.Agent({ rejectUnauthorized: false, keepAlive: false });
const vapidDetails = { subject: 'mailto:tests@example.com', ...webpush.generateVAPIDKeys() };
const LIMIT = 120000; // of a loaded machine

// An idle connection is looked at every two seconds, from both ends, in place of minutes.
const cluster = new Cluster('embedded', {
    endpoint: ['--edge-ping-interval', '2s', '--test-client-ping-interval-min', '0ms'],
});
const network = new Proxy(() => cluster.ports.edge);
const site = await startSite();
const running = [];
const profile = (name) => join(cluster.directory, `firefox-${name}`);

async function start(name) {
    const preferences = {
        'dom.push.serverURL': `ws://127.0.0.1:${network.server.address().port}/`,
        'dom.push.testing.allowInsecureServerURL': true,
        'dom.push.connection.enabled': true,
        'dom.push.pingInterval': 3000,
        'dom.push.requestTimeout': 3000,
    };
    const firefox = await startFirefox(profile(name), preferences, site.origin);
    running.push(firefox);
    return firefox;
}

async function close(firefox) {
    running.splice(running.indexOf(firefox), 1);
    await firefox.browser.close();
}

let sent = 0;
/** Sends one message, until it has its 201; its text. */
async function send(to, what) {
    const text = `${what} ${++sent}`;
    await until(`201 for "${text}"`, async () => {
        const { statusCode } = await webpush.sendNotification(to, text, { vapidDetails, agent, TTL: 3600 });
        return statusCode === 201;
    }, LIMIT);
    return text;
}

const arrived = (texts) => until(`${texts}`, () => texts.every((text) => site.got.includes(text)), LIMIT);
/** A 503 has no promise, yet the message may be in the log: it is sent again, and may come twice. */
const once = (texts) => {
    for (const text of texts) assert.equal(site.got.filter((other) => other === text).length, 1, `not once: ${text}`);
};

/** A process and all that it has started. */
function family(pid) {
    const children = new Map();
    for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
        try {
            const parent = Number(readFileSync(`/proc/${name}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ')[1]);
            children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
        } catch {
            continue; // it ended meanwhile
        }
    }
    const all = [pid];
    for (const one of all) all.push(...(children.get(one) ?? []));
    return all;
}

/** Clients that have said hello, as the server counts them. */
async function clients() {
    const metrics = await (await fetch(`http://127.0.0.1:${cluster.ports.ops}/metrics`)).text();
    return Number(/^beckon_edge_clients (\d+)/m.exec(metrics)[1]);
}
const connected = (count) => until(`${count} clients`, async () => (await clients()) === count, LIMIT);

try {
    await cluster.prepare();
    await network.open();
    await cluster.start();
    let firefox = await start('one');
    let to = await subscription(firefox.page, vapidDetails.publicKey, true);
    await arrived([await send(to, 'at first')]);
    console.log('subscribed');

    for (let round = 0; round < 3; ++round) {
        const sleepers = family(firefox.browser.process().pid);
        for (const pid of sleepers) process.kill(pid, 'SIGSTOP');
        await connected(0); // no pong: it is closed
        const texts = [await send(to, 'asleep'), await send(to, 'asleep')];
        for (const pid of sleepers) process.kill(pid, 'SIGCONT');
        await arrived(texts);
        once(texts);
    }
    console.log('slept and woke');

    for (const [how, what] of [['cut', 'while the network is cut'], ['silence', 'while nothing passes']]) {
        await connected(1);
        network[how]();
        const texts = [await send(to, what), await send(to, what)];
        await connected(0);
        if (how === 'silence') network.reset(); // bytes in a silent connection never arrive
        network.heal();
        await arrived(texts);
        once(texts);
    }
    console.log('lost its network');

    for (const end of ['stop', 'kill']) {
        await connected(1);
        const texts = [await send(to, `before the server's ${end}`)];
        if (end === 'stop') await cluster.stop();
        else await cluster.children.get('standalone').kill();
        await cluster.start();
        texts.push(await send(to, `after the server's ${end}`));
        await arrived(texts);
    }
    console.log('its server restarted');

    const former = to;
    await firefox.page.evaluate(async () => {
        const registration = await navigator.serviceWorker.ready;
        await (await registration.pushManager.getSubscription()).unsubscribe();
    });
    to = await subscription(firefox.page, vapidDetails.publicKey, true);
    assert.notEqual(to.endpoint, former.endpoint);
    await until('410 for the former subscription', () => webpush.sendNotification(former, 'too late', { vapidDetails, agent }).then(
        () => false,
        (error) => error.statusCode === 410,
    ), LIMIT);
    await arrived([await send(to, 'to the new subscription')]);
    console.log('subscribed again');

    await close(firefox);
    await connected(0);
    cpSync(profile('one'), profile('two'), { recursive: true });
    for (const lock of ['lock', '.parentlock']) rmSync(join(profile('two'), lock), { force: true });
    const waiting = [await send(to, 'for two profiles')];
    firefox = await start('one');
    await arrived(waiting);
    const duplicate = await start('two');
    const texts = [];
    for (let i = 0; i < 20; ++i) texts.push(await send(to, 'to one of two'));
    await arrived(texts); // the later hello wins, and the other comes back: the attached one has it
    await close(duplicate);
    await arrived([await send(to, 'the duplicate is gone')]);
    once(waiting); // acknowledged before the duplicate came
    assert(!site.got.includes('SUBSCRIPTION LOST'));
    assert(!site.got.includes('too late'));
    console.log('OK');
} catch (error) {
    console.error(error);
    console.error(cluster.outputs());
    process.exitCode = 1;
} finally {
    for (const { browser } of [...running]) {
        for (const pid of family(browser.process().pid)) {
            try {
                process.kill(pid, 'SIGCONT');
            } catch {
                continue; // it has ended
            }
        }
        await browser.close().catch(() => {});
    }
    network.close();
    site.close();
    await cluster.destroy();
    agent.destroy();
}
