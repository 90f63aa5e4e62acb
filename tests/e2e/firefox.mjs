// A real Firefox ESR with a real page and service worker subscribes; npm web-push sends over TLS; the
// worker decrypts. Then Firefox is closed, messages are sent, all servers restart, Firefox comes back
// with its profile: it gets them, and its subscription is still the same.
//
//   node firefox.mjs embedded|kafka
import assert from 'node:assert/strict';
import https from 'node:https';
import { join } from 'node:path';
import webpush from 'web-push';
import { Cluster, until } from './beckon.mjs';
import { startFirefox, startSite, subscription } from './firefox-page.mjs';

const log = process.argv[2];
assert(['embedded', 'kafka'].includes(log), 'usage: node firefox.mjs embedded|kafka');

// The certificate is the one that Beckon made for itself.
const agent = new https.Agent({ rejectUnauthorized: false, keepAlive: false });
const vapidDetails = { subject: 'mailto:tests@example.com', ...webpush.generateVAPIDKeys() };
const send = (to, text, options = {}) =>
    webpush.sendNotification(to, text, { vapidDetails, agent, TTL: 3600, ...options });

const cluster = new Cluster(log);
const site = await startSite();
let firefox = null;
try {
    await cluster.prepare();
    const preferences = {
        'dom.push.serverURL': cluster.websocket,
        'dom.push.testing.allowInsecureServerURL': true,
        'dom.push.connection.enabled': true,
    };
    await cluster.start();

    firefox = await startFirefox(join(cluster.directory, 'firefox'), preferences, site.origin);
    const first = await subscription(firefox.page, vapidDetails.publicKey, true);
    assert(first.endpoint.startsWith(`${cluster.endpoint}/wpush/`), `endpoint URL: ${first.endpoint}`);
    console.log('subscribed');

    const reply = await send(first, 'hello Firefox');
    assert.equal(reply.statusCode, 201);
    assert(reply.headers.location.startsWith(`${cluster.endpoint}/m/`), reply.headers.location);
    assert.equal(reply.headers.ttl, '3600');
    await until('the first push', () => site.got.includes('hello Firefox'));
    await send(first, 'legacy encoding', { contentEncoding: 'aesgcm' });
    await until('an aesgcm push', () => site.got.includes('legacy encoding'));
    await send(first, null);
    await until('a push without data', () => site.got.includes('(no data)'));
    console.log('pushed while connected');

    await firefox.browser.close();
    firefox = null;
    const away = ['while away 1', 'while away 2', 'while away 3'];
    for (const text of away) assert.equal((await send(first, text)).statusCode, 201);
    await send(first, 'replaced by its Topic', { topic: 'news' });
    await send(first, 'the newest of its Topic', { topic: 'news' });
    await cluster.stop();
    await cluster.start();
    console.log('servers restarted');

    firefox = await startFirefox(join(cluster.directory, 'firefox'), preferences, site.origin);
    await until('the messages sent while away', () =>
        [...away, 'the newest of its Topic'].every((text) => site.got.includes(text)),
    );
    assert(!site.got.includes('replaced by its Topic'), 'a replaced message was delivered');
    const second = await subscription(firefox.page, vapidDetails.publicKey, false);
    assert.equal(second?.endpoint, first.endpoint, 'the subscription changed');
    await send(second, 'still the same');
    await until('a push after the restart', () => site.got.includes('still the same'));
    assert(!site.got.includes('SUBSCRIPTION LOST'));
    for (const text of new Set(site.got)) {
        assert.equal(site.got.filter((other) => other === text).length, 1, `delivered twice: ${text}`);
    }
    console.log('came back with the same subscription');

    const gone = await subscription(firefox.page, vapidDetails.publicKey, false);
    await firefox.page.evaluate(async () => {
        const registration = await navigator.serviceWorker.ready;
        await (await registration.pushManager.getSubscription()).unsubscribe();
    });
    await until('410 after unsubscribe', () => send(gone, 'too late').then(
        () => false,
        (error) => error.statusCode === 410,
    ));
    console.log('unsubscribed: the sender is told 410');

    await firefox.browser.close();
    firefox = null;
    await cluster.stop();
    console.log('OK');
} catch (error) {
    console.error(error);
    console.error(cluster.outputs());
    process.exitCode = 1;
} finally {
    await firefox?.browser.close().catch(() => {});
    site.close();
    await cluster.destroy();
    agent.destroy();
}
