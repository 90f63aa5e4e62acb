// Every command and config block of README.md and docs/operations, taken out of the files and run as it stands,
// in the order of a reader, on a host of its own; then the promises of the text are checked.
//
//   node docs.mjs
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import https from 'node:https';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import webpush from 'web-push';
import { BECKON, CACHE_HOME, until } from './beckon.mjs';
import { UserAgent } from './client.mjs';
import { blocksOf, inlineCommandsOf, tableOf } from './doc-blocks.mjs';
import { startFirefox, startSite, subscription } from './firefox-page.mjs';
import { enterOwnHost } from './own-host/enter.mjs';

const host = enterOwnHost();
const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..', '..');
const README = join(ROOT, 'README.md');
const OPERATIONS = readdirSync(join(ROOT, 'docs', 'operations')).map((name) => join(ROOT, 'docs', 'operations', name));
const OPS = 'http://127.0.0.1:9090';
const WEBSOCKET = 'ws://127.0.0.1:8080/';

// A checkout with links to everything in this one; a reader's new files stay in it.
const checkout = join(host, 'checkout');
const bin = join(host, 'bin');
for (const directory of [checkout, bin, join(checkout, 'build')]) mkdirSync(directory);
for (const name of readdirSync(ROOT)) {
    if (name !== 'build') symlinkSync(join(ROOT, name), join(checkout, name));
}
symlinkSync(dirname(BECKON), join(checkout, 'build', 'release'));
symlinkSync(BECKON, join(bin, 'beckon'));
symlinkSync(join(HERE, 'own-host', 'systemctl'), join(bin, 'systemctl'));
const env = {
    ...process.env,
    PATH: `${bin}:/usr/local/sbin:/usr/local/bin:${process.env.PATH}:/usr/sbin:/sbin`,
    HOME: host,
    XDG_CACHE_HOME: CACHE_HOME, // the broker is fetched once a machine
    NODE_PATH: join(HERE, 'node_modules'),
};
delete env.BECKON;

const blocks = new Map([README, ...OPERATIONS].map((file) => [file, blocksOf(file)]));
/** The blocks below a heading of one of the files, each given once. */
function take(files, heading) {
    const found = [files].flat().flatMap((file) => blocks.get(file)).filter((block) => block.heading === heading && !block.notRun);
    assert(found.length > 0, `no block below "${heading}"`);
    for (const block of found) block.taken = true;
    return found.map((block) => block.text);
}

/** Runs to the end as a shell of the reader would. */
function shell(text, extra = {}) {
    const { status, stdout, stderr } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', text], {
        cwd: checkout, env: { ...env, ...extra }, encoding: 'utf8', timeout: 120000,
    });
    return { status, text: `${stdout}${stderr}` };
}

/** shell(), which must go well. */
function must(text, extra) {
    const done = shell(text, extra);
    assert.equal(done.status, 0, `${text}\n${done.text}\n${serviceLog()}`);
    return done.text;
}

const terminals = new Set();
/** A terminal in which a command stays in the foreground. */
class Terminal {
    constructor(command) {
        this.command = command;
        this.output = '';
        this.process = spawn('bash', ['-c', `exec ${command}`], { cwd: checkout, env, detached: true });
        this.exited = new Promise((resolve) => this.process.once('exit', (code) => resolve((this.code = code ?? -1))));
        for (const stream of [this.process.stdout, this.process.stderr]) stream.on('data', (data) => (this.output += data));
        terminals.add(this);
    }
    /** Waits until it has said `text`. */
    async prints(text, limitMs = 60000) {
        await until(`"${text}" from ${this.command}`, () => this.output.includes(text) || this.code !== undefined, limitMs).catch((error) => {
            throw new Error(`${error.message}\n${this.output}`);
        });
        assert(this.output.includes(text), `${this.command} ended with ${this.code}:\n${this.output}`);
    }
    /** Ctrl-C. */
    async stop() {
        terminals.delete(this);
        if (this.code === undefined) process.kill(-this.process.pid, 'SIGINT');
        return this.exited;
    }
}
after(async () => {
    for (const terminal of terminals) await terminal.stop();
});

const ready = (ops = OPS) => until(`${ops}/ready`, async () => (await fetch(`${ops}/ready`)).status === 200, 60000);
const serviceLog = () => (existsSync(join(host, 'systemd', 'beckon.log')) ? readFileSync(join(host, 'systemd', 'beckon.log'), 'utf8').slice(-4000) : '');

/** POSTs to the path of an endpoint URL at the port that listens on loopback; the status. */
async function post(endpoint, body = 'x') {
    const { pathname } = new URL(endpoint);
    const reply = await fetch(`http://127.0.0.1:8082${pathname}`, {
        method: 'POST', body, headers: { TTL: '3600', 'Content-Encoding': 'aes128gcm' },
    });
    await reply.text();
    return reply.status;
}

// --- README.md

let run;
const vapid = () => JSON.parse(readFileSync(join(checkout, 'vapid.json'), 'utf8'));

test('README: try it', async () => {
    const [command] = take(README, 'Try it');
    run = new Terminal(command.trim());
    await run.prints('Beckon is running.');
    assert.match(run.output, /Everything arrived as it was sent/);
    assert(existsSync(join(checkout, 'build', 'data', 'log', 'CURRENT')), 'everything it keeps is in build/data');
});

test('what it says to try next works as it stands', async () => {
    const [, listen, push] = /Try next, in another terminal:\n {2}(.*)\n {2}(.*)\n/.exec(run.output);
    const client = new Terminal(listen);
    await client.prints('"endpoint"');
    must(push);
    await client.prints('Hello');
    await client.stop();
    rmSync(join(checkout, 'me.json'));
});

test('README: first push from the command line', async () => {
    const [both, keys] = take(README, 'First push from the command line');
    const [listen, push] = both.trim().split('\n');
    const first = new Terminal(listen);
    await first.prints('"endpoint"');
    must(push);
    await first.prints('Hello');
    await first.stop();
    must(push);
    const again = new Terminal(listen);
    await again.prints('Hello');
    await again.stop();
    assert.match(must('build/release/beckon demo'), /Everything arrived as it was sent/);
    must(keys);
    assert.match(vapid().publicKey, /^B/);
    assert.match(readFileSync(join(checkout, 'vapid.pem'), 'utf8'), /BEGIN .*PRIVATE KEY/);
});

test('README: first webhook', async () => {
    const [three] = take(README, 'First webhook');
    const [create, listen, send, ...more] = three.trim().split('\n');
    assert.deepEqual(more, []);
    const [, setting] = readFileSync(README, 'utf8').match(/`export (BECKON_DATA=[^`]+)`/);
    const webhook = JSON.parse(must(`env ${setting} ${create}`));
    assert(create.endsWith(` ${webhook.secret}`), 'the secret is the one of the README');
    const receiver = new Terminal(`env ${setting} ${listen}`);
    await receiver.prints('listening at');
    must(`env ${setting} ${send}`);
    await receiver.prints('verified  demo.hello  {"text":"Hello"}');
    await receiver.stop();
    assert.match(must(`env ${setting} build/release/beckon demo --webhooks`), /500 to next attempt.*Every event arrived as it was posted/s);
    must(`env ${setting} build/release/beckon webhooks delete ${webhook.id}`);
});

test('README: looking inside', async () => {
    const [command] = take(README, 'Looking inside');
    assert.match(must(command.trim()), /\w+ +edge +\d+ +\d/);
    const page = await fetch('http://127.0.0.1:8085/');
    assert.equal(page.status, 200);
    assert.match(await page.text(), /<title>.*Beckon/);
});

test('README: first push to a real Firefox', async (t) => {
    const heading = 'First push to a real Firefox';
    const [start, send] = take(README, heading);
    await run.stop();
    run = new Terminal(start.trim());
    await run.prints('Beckon is running.');

    const preferences = Object.fromEntries(
        tableOf(README, heading).map(([name, value]) => {
            const text = value.match(/`([^`]+)`/)[1];
            return [name.replaceAll('`', ''), text === 'true' ? true : text];
        }),
    );
    const site = await startSite();
    t.after(() => site.close());
    const firefox = await startFirefox(join(host, 'firefox'), preferences, site.origin);
    t.after(() => firefox.browser.close());
    const subscribed = await subscription(firefox.page, vapid().publicKey, true);
    const placeholders = join(host, 'placeholders.cjs');
    writeFileSync(placeholders, `Object.assign(globalThis, ${JSON.stringify({ PUBLIC: vapid().publicKey, PRIVATE: vapid().privateKey, SUBSCRIPTION: subscribed })});\n`);
    assert.match(must(send, { NODE_OPTIONS: `--require=${placeholders}` }), /^201$/m);
    await until('the push', () => site.got.includes('Hello Firefox'));

    site.got.length = 0;
    writeFileSync(join(checkout, 'subscription.json'), JSON.stringify(subscribed));
    must(readFileSync(README, 'utf8').match(/`(build\/release\/beckon push subscription\.json[^`]*)`/)[1]);
    await until('the push', () => site.got.includes('Hello Firefox'));
    await run.stop();
    run = null;
});

test('README: on Kafka', async () => {
    const kafka = new Terminal(`scripts/kafka/start.sh ${join(host, 'kafka')} 9092`);
    const [generate, create, endpoint, edge, retry, reliability] = take(README, 'On Kafka')[0].trim().split('\n');
    must(generate);
    await until('the topics', () => shell(create).status === 0, 120000);
    assert.match(must(create), /log topics are as expected/);
    const roles = [new Terminal(endpoint), new Terminal(edge)];
    for (const role of roles) {
        const ops = () => /ops=\S+:(\d+)|"ops":"\S+?:(\d+)"/.exec(role.output)?.filter(Boolean);
        await until(`the ops port of ${role.command}`, ops, 60000);
        const [, port] = ops();
        await ready(`http://127.0.0.1:${port}`);
    }
    roles.push(new Terminal(retry), new Terminal(reliability));
    for (const port of [9094, 9096]) await ready(`http://127.0.0.1:${port}`);
    const listen = new Terminal(`beckon listen ${WEBSOCKET} --state kafka.json`);
    await listen.prints('"endpoint"');
    const { endpoint: url } = JSON.parse(listen.output.match(/^\{.*\}$/m)[0]);
    assert.match(url, /^https:\/\/push\.example\.org\/wpush\//);
    assert.equal(await post(url, ''), 201);
    await listen.prints('(no data)');
    // Without the option that accepts a single copy, it is named.
    const refused = shell(edge.replace('--replication-factor 1', '--data elsewhere --ops-port 0 --edge-port 0 --edge-link-port 0'));
    assert.equal(refused.status, 1, refused.text);
    assert.match(refused.text, /replication\.factor is 1, expected 3.*--replication-factor 1/);

    // The edge of "Several edges" takes over from this one; there is only one broker here, so it gets that option too.
    await roles[1].stop();
    must('mkdir -p /etc/beckon && cp keys.json /etc/beckon/');
    const next = take(OPERATIONS, 'Several edges')[0].trim();
    roles[1] = new Terminal(`${next} --replication-factor 1`);
    await ready('http://127.0.0.1:9095');
    assert.equal(await post(url, ''), 201);
    await until('the push through the next edge', () => listen.output.split('(no data)').length === 3);
    rmSync('/etc/beckon', { recursive: true });
    for (const terminal of [listen, ...roles, kafka]) await terminal.stop();
});

// --- docs/operations

const DATA = '/var/lib/beckon';
const agent = new UserAgent(WEBSOCKET);

test('operations: as a service', async () => {
    await run?.stop();
    rmSync(join(bin, 'beckon'));
    must(take(OPERATIONS, 'As a service')[0]);
    await ready();
    assert.equal(must(`stat -c '%U %a' ${DATA} ${DATA}/keys.json`), 'beckon 700\nbeckon 600\n');
    await agent.connect();
    assert.match(await agent.register(), /^https:\/\/push\.example\.org\/wpush\//);
    assert.equal(await post(agent.endpoint, 'first'), 201);
    await until('the message', () => agent.bodies.includes('first'));
});

test('operations: a backup while messages are accepted, and a restore after the disk is lost', async () => {
    await agent.close();
    for (let i = 0; i < 50; i++) assert.equal(await post(agent.endpoint, `before ${i}`), 201);
    let posting = true;
    const load = (async () => {
        for (let i = 0; posting; i++) assert.equal(await post(agent.endpoint, `during ${i}`), 201);
    })();
    const [backup] = take(OPERATIONS, 'Backup, restore, another host');
    const ended = await new Promise((resolve) => {
        const terminal = new Terminal(backup.trim());
        terminal.exited.then(() => resolve(terminal));
    });
    assert.equal(ended.code, 0, ended.output);
    posting = false;
    await load;
    assert.equal(must('stat -c "%U %a" /var/backups/beckon /var/backups/beckon/keys.json'), 'beckon 700\nbeckon 600\n');
    const twice = shell(backup);
    assert.equal(twice.status, 1);
    assert.match(twice.text, /exists already/);

    must(`systemctl stop beckon; rm -rf ${DATA}`);
    must(take(OPERATIONS, 'Restore, a lost disk, another host')[0]);
    await ready();
    await agent.connect();
    assert.deepEqual(agent.faults, []);
    await until('what was accepted before', () => {
        for (let i = 0; i < 50; i++) if (!agent.bodies.includes(`before ${i}`)) return false;
        return true;
    });
    assert.equal(await post(agent.endpoint, 'after'), 201);
    await until('what comes after', () => agent.bodies.includes('after'));
});

test('operations: upgrade', async () => {
    must(take(OPERATIONS, 'Upgrade and rollback')[0]);
    await ready();
    assert.equal(await post(agent.endpoint, 'upgraded'), 201);
    await until('what comes after', () => agent.bodies.includes('upgraded'));
});

test('operations: lost keys', async () => {
    await agent.close();
    must('systemctl stop beckon');
    rmSync(join(DATA, 'keys.json'));
    must('systemctl start beckon');
    await until('the refusal', () => serviceLog().includes('there is no key ring at'));
    must(take(OPERATIONS, 'Lost keys')[0]);
    await ready();
    assert.notEqual(await post(agent.endpoint), 201);
    await agent.connect();
    assert.deepEqual(agent.faults, [], 'the UAID lives on');
    await agent.register();
    assert.equal(await post(agent.endpoint, 'new ring'), 201);
    await until('the message', () => agent.bodies.includes('new ring'));
    await agent.close();
});

/** A real Firefox subscribes through the proxy, npm web-push sends through it. */
async function pushThroughProxy(t, profile) {
    const site = await startSite();
    t.after(() => site.close());
    const preferences = { 'dom.push.serverURL': 'wss://push.example.org/', 'dom.push.connection.enabled': true };
    const firefox = await startFirefox(join(host, profile), preferences, site.origin);
    t.after(() => firefox.browser.close());
    const subscribed = await subscription(firefox.page, vapid().publicKey, true);
    assert.match(subscribed.endpoint, /^https:\/\/push\.example\.org\/wpush\//);
    const insecure = new https.Agent({ rejectUnauthorized: false });
    const sent = await webpush.sendNotification(subscribed, `through ${profile}`, {
        agent: insecure, TTL: 60, vapidDetails: { subject: 'mailto:you@example.com', ...vapid() },
    });
    assert.equal(sent.statusCode, 201);
    await until('the push', () => site.got.includes(`through ${profile}`));
    insecure.destroy();
}

test('operations: behind nginx', async (t) => {
    writeFileSync('/etc/beckon/beckon.toml', take(OPERATIONS, 'Proxies and TLS')[0]);
    must('systemctl restart beckon');
    await ready();
    const certificates = '/etc/ssl/push.example.org';
    mkdirSync(certificates, { recursive: true });
    must(`openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=push.example.org ` +
        `-addext subjectAltName=DNS:push.example.org -keyout ${certificates}/key.pem -out ${certificates}/fullchain.pem`);
    writeFileSync('/etc/nginx/conf.d/beckon.conf', take(OPERATIONS, 'nginx')[0]);
    must('nginx -t');
    const nginx = new Terminal('nginx -g "daemon off;"');
    t.after(() => nginx.stop());
    await pushThroughProxy(t, 'nginx');
});

test('operations: behind Caddy', async (t) => {
    // Caddy's own authority, in place of Let's Encrypt.
    const local = '{\n    local_certs\n    skip_install_trust\n    auto_https disable_redirects\n}\n';
    writeFileSync('/etc/caddy/Caddyfile', local + take(OPERATIONS, 'Caddy')[0]);
    const caddy = new Terminal('caddy run --config /etc/caddy/Caddyfile');
    t.after(() => caddy.stop());
    await caddy.prints('serving initial configuration');
    await pushThroughProxy(t, 'caddy');
});

// --- all

test('every block was run, or says why not', () => {
    for (const [file, all] of blocks) {
        for (const block of all) {
            const where = `${file.slice(ROOT.length + 1)}:${block.line}`;
            if (block.notRun) console.log(`not run: ${where}: ${block.notRun}`);
            assert(block.taken || block.notRun, `${where} is not run by this test:\n${block.text}`);
        }
    }
});

test('every command and option that the text names exists', () => {
    const others = ['coming-from-autopush', 'coming-from-ntfy', 'unifiedpush-at-home'].map((name) => join(ROOT, 'docs', `${name}.md`));
    for (const file of [README, ...OPERATIONS, ...others]) {
        const notRun = (blocks.get(file) ?? []).filter((block) => block.notRun).flatMap(({ text }) => text.replaceAll('\\\n', ' ').split('\n'));
        for (const command of [...inlineCommandsOf(file), ...notRun.filter((line) => line.startsWith('beckon '))]) {
            const words = command.split(' ');
            const path = words.slice(1).filter((word) => /^[a-z]+$/.test(word));
            const help = must(`beckon ${path.join(' ')} --help`);
            for (const option of words.filter((word) => word.startsWith('--'))) {
                assert(help.includes(option), `${file}: ${command}: no ${option}`);
            }
        }
    }
});
