// compose.standalone.yml without an engine: the command, environment and health check of its container `beckon` with the
// entrypoint of the image, behind a real Caddy with packaging/compose/Caddyfile, as processes of this host. A user agent
// and an application server use them over TLS. What only an engine does (networks, volumes, capabilities, restarts) is not
// tried here.
//
//   node --test compose-standalone.mjs   (skipped where Caddy is not installed)
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, ROOT, freePort, until } from './beckon.mjs';
import { UserAgent } from './client.mjs';

const IMAGE = join(ROOT, 'packaging', 'image');
const DOMAIN = 'localhost'; // Caddy makes a certificate for it by itself
const skip = spawnSync('caddy', ['version']).error && 'Caddy is not installed';
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; // that certificate is of nobody's authority

const directory = mkdtempSync(join(tmpdir(), 'beckon-compose-'));
const ports = {};
const children = [];
let log = '';

/** The part of the file that describes a service. */
function service(name) {
    const text = readFileSync(join(ROOT, 'compose.standalone.yml'), 'utf8');
    return new RegExp(`\\n  ${name}:\\n((?:    .*\\n|\\n)+)`).exec(text)[1];
}
/** `${NAME}`, `${NAME:-else}`, `${NAME-else}`, `${NAME:?text}`. */
const filled = (text, values) => text.replaceAll(/\$\{(\w+)(?:(:?[-?])([^}]*))?\}/g, (_, name, how, other) => {
    if (values[name] !== undefined) return values[name];
    assert(!how?.includes('?'), `${name} is not set`);
    return other ?? '';
});
/** The variables of a service, as compose gives them to its container. */
function environmentOf(name, values) {
    const rows = service(name).split('    environment:\n')[1].matchAll(/^ {6}(\w+): (.*)$|^ {4}\S/gm);
    const found = {};
    for (const [row, key, value] of rows) {
        if (!key) break;
        found[key] = filled(value.replace(/^"(.*)"$/, '$1'), values);
        assert(row);
    }
    return found;
}

/** The container `beckon`: its entrypoint and command, on this host's loopback. */
function startBeckon(values = {}) {
    const environment = environmentOf('beckon', { BECKON_DOMAIN: DOMAIN, ...values });
    const command = /^ {4}command: (.*)$/m.exec(service('beckon'))[1].split(' ');
    const child = spawn('sh', [join(IMAGE, 'entrypoint'), ...command], {
        env: {
            ...environment,
            PATH: `${join(directory, 'bin')}:${process.env.PATH}`,
            BECKON_DATA: join(directory, 'data'), // of the image, with the port of the health check
            BECKON_OPS_PORT: String(ports.ops),
            BECKON_ENDPOINT_PORT: String(ports.endpoint),
            BECKON_EDGE_PORT: String(ports.edge),
            BECKON_RETRY_PORT: String(ports.retry),
            BECKON_CONSOLE_PORT: String(ports.console),
            BECKON_CONSOLE_CANARY: environment.BECKON_CONSOLE_CANARY.replace('8080', ports.edge).replace('8082', ports.endpoint),
            BECKON_ENDPOINT_TRUSTED_PROXIES: '127.0.0.1', // Caddy's fixed address
            BECKON_EDGE_TRUSTED_PROXIES: '127.0.0.1',
        },
        stdio: ['ignore', 'ignore', 'pipe'],
    });
    log = '';
    child.stderr.on('data', (data) => (log += data));
    children.push(child);
    return child;
}
const health = () => spawnSync('bash', [join(IMAGE, 'health')], { env: { ...process.env, BECKON_OPS_PORT: String(ports.ops) }, encoding: 'utf8' });

before(async () => {
    if (skip) return;
    for (const name of ['ops', 'endpoint', 'edge', 'retry', 'console', 'http', 'https']) ports[name] = await freePort();
    mkdirSync(join(directory, 'bin'));
    mkdirSync(join(directory, 'data'));
    symlinkSync(BECKON, join(directory, 'bin', 'beckon'));
    const caddyfile = readFileSync(join(ROOT, 'packaging', 'compose', 'Caddyfile'), 'utf8');
    assert(caddyfile.includes('beckon:8080') && caddyfile.includes('beckon:8082'));
    // The ports of the host, not of the container; nothing is put among the host's trusted certificates.
    const here = `{\n  admin off\n  skip_install_trust\n  http_port ${ports.http}\n  https_port ${ports.https}\n  servers {\n    protocols h1 h2\n  }\n}\n`;
    writeFileSync(join(directory, 'Caddyfile'), here + caddyfile.replace('beckon:8080', `127.0.0.1:${ports.edge}`).replace('beckon:8082', `127.0.0.1:${ports.endpoint}`));
    startBeckon();
    const caddy = spawn('caddy', ['run', '--config', join(directory, 'Caddyfile'), '--adapter', 'caddyfile'], {
        env: { ...process.env, ...environmentOf('caddy', { BECKON_DOMAIN: DOMAIN }), HOME: directory, XDG_DATA_HOME: directory, XDG_CONFIG_HOME: directory },
        stdio: ['ignore', 'ignore', 'pipe'],
    });
    children.push(caddy);
    let complaints = '';
    caddy.stderr.on('data', (data) => (complaints += data));
    await until('Caddy', async () => (await fetch(`https://${DOMAIN}:${ports.https}/`)).status > 0).catch((error) => assert.fail(`${error.message}\n${complaints}`));
    await until('the health check', () => health().status === 0, 60000).catch((error) => assert.fail(`${error.message}\n${log}`));
});
after(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
});

test('a push goes through Caddy, over https and wss', { skip }, async (t) => {
    const client = new UserAgent(`wss://${DOMAIN}:${ports.https}/`);
    t.after(() => client.end());
    await client.connect();
    const endpoint = await client.register();
    assert.match(endpoint, /^https:\/\/localhost\/wpush\//, 'the URL has the name of BECKON_DOMAIN');
    const reply = await fetch(endpoint.replace(DOMAIN, `${DOMAIN}:${ports.https}`), { method: 'POST', headers: { TTL: '60', 'Content-Encoding': 'aes128gcm' }, body: 'hello' });
    assert.equal(reply.status, 201);
    await until('the message', () => client.bodies.includes('hello'));
    const large = await fetch(endpoint.replace(DOMAIN, `${DOMAIN}:${ports.https}`), { method: 'POST', headers: { TTL: '60', 'Content-Encoding': 'aes128gcm' }, body: 'x'.repeat(20000) });
    assert([413, 502].includes(large.status), `Caddy passes no more than 8 KB on: ${large.status}`); // 502 where the endpoint noticed first
});

test('the first start makes a token for the console, prints it once, and keeps it', { skip }, async () => {
    const [, token] = /The token to log in at the console: (\w+)/.exec(log);
    const page = (bearer) => fetch(`http://127.0.0.1:${ports.console}/api/pages/lag`, { headers: { authorization: `Bearer ${bearer}` } });
    await until('a page of the console', async () => (await page(token)).status === 200, 60000);
    assert.equal((await page('wrong')).status, 401);
    assert.equal(statSync(join(directory, 'data', 'console-token')).mode & 0o077, 0);

    const [first] = children;
    first.kill('SIGTERM');
    await once(first, 'exit');
    assert.notEqual(health().status, 0, 'a container whose process has ended is not well');
    startBeckon();
    await until('the second start', () => health().status === 0, 60000);
    assert(!log.includes(token), 'it is printed once');
    await until('the same token', async () => (await page(token)).status === 200, 60000);
});

test('a user of the container who may not write its data is told what to do', () => {
    for (const more of [{ BECKON_CONSOLE_HOST: '0.0.0.0' }, { BECKON_CONSOLE_TOKEN: '0123456789abcdef' }]) {
        const env = { PATH: process.env.PATH, BECKON_DATA: join(directory, 'absent'), ...more }; // no one may write there, not even root
        const { status, stderr } = spawnSync('sh', [join(IMAGE, 'entrypoint'), 'standalone'], { env, encoding: 'utf8' });
        assert.equal(status, 2, stderr);
        assert.match(stderr, /^beckon: .* the user \d+ may not write there\. Mount a volume .*\n?.*BECKON_CONSOLE_TOKEN_FILE\n$/);
    }
});
