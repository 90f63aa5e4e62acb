// A real Firefox ESR with a page and a service worker that subscribe and decrypt.
import { createServer } from 'node:http';
import puppeteer from 'puppeteer-core';

const WORKER = `
self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('push', (event) => {
    const text = event.data ? event.data.text() : '(no data)';
    event.waitUntil(fetch('/got', { method: 'POST', body: text }));
});
self.addEventListener('pushsubscriptionchange', (event) => {
    event.waitUntil(fetch('/got', { method: 'POST', body: 'SUBSCRIPTION LOST' }));
});`;

/** Serves the page and the worker, and collects what the worker decrypted. */
export async function startSite() {
    const got = [];
    const server = createServer((request, response) => {
        if (request.url === '/got') {
            let body = '';
            request.on('data', (data) => (body += data));
            request.on('end', () => {
                got.push(body);
                response.end();
            });
        } else if (request.url === '/worker.js') {
            response.setHeader('content-type', 'text/javascript').end(WORKER);
        } else {
            response.setHeader('content-type', 'text/html').end('<!doctype html><title>Beckon</title>');
        }
    });
    await new Promise((resolve) => server.listen(0, 'localhost', resolve));
    return { origin: `http://localhost:${server.address().port}`, got, close: () => server.close() };
}

/**
 * @param {string} profile its directory; a second start goes on with it
 * @param {object} preferences values of `about:config` for the push server, and others that a test needs
 * @param {object} [env] beside the environment of the test
 */
export async function startFirefox(profile, preferences, origin, env = {}) {
    const browser = await puppeteer.launch({
        browser: 'firefox',
        executablePath: '/usr/bin/firefox-esr',
        headless: true,
        userDataDir: profile,
        acceptInsecureCerts: true,
        env: { ...process.env, ...env },
        extraPrefsFirefox: {
            'dom.push.retryBaseInterval': 200,
            'dom.push.maxQuotaPerSubscription': 1000000,
            'dom.push.testing.ignorePermission': true,
            'permissions.default.desktop-notification': 1,
            ...preferences,
        },
    });
    await browser.defaultBrowserContext().overridePermissions(origin, ['notifications']);
    const page = await browser.newPage();
    await page.goto(`${origin}/`);
    return { browser, page };
}

/** In the page: the profile's subscription, or a new one. */
export function subscription(page, publicKey, create) {
    return page.evaluate(
        async (key, subscribe) => {
            await navigator.serviceWorker.register('/worker.js');
            const registration = await navigator.serviceWorker.ready;
            let found = await registration.pushManager.getSubscription();
            if (!found && subscribe) {
                found = await registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key });
            }
            return found && found.toJSON();
        },
        publicKey,
        create,
    );
}
