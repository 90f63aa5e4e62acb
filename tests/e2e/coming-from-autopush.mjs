// The steps of docs/coming-from-autopush.md as they stand, on a host of its own whose Redis has what a running autopush has left there
// (autopush/redis.json); then the clients of that autopush connect with their UAIDs, and its endpoint URLs deliver.
//
//   node coming-from-autopush.mjs
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import webpush from 'web-push';
import { BECKON, ROOT, until } from './beckon.mjs';
import { UserAgent } from './client.mjs';
import { blocksOf } from './doc-blocks.mjs';
import { enterOwnHost } from './own-host/enter.mjs';

const host = enterOwnHost();
const PAGE = join(ROOT, 'docs', 'coming-from-autopush.md');
const autopush = JSON.parse(readFileSync(join(ROOT, 'tests', 'e2e', 'autopush', 'redis.json'), 'utf8'));
const [one, twice] = autopush.clients;
const work = join(host, 'shell');
const children = [];

/** Runs to the end as the reader's shell would, whose variables stay. */
const exported = [];
function must(text) {
    const { status, stdout, stderr } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', `${exported.join('\n')}\n${text}`], {
        cwd: work, encoding: 'utf8', timeout: 120000, env: { ...process.env, PATH: `${join(host, 'bin')}:/usr/local/bin:${process.env.PATH}:/usr/sbin:/sbin` },
    });
    const log = join(host, 'systemd', 'beckon.log');
    assert.equal(status, 0, `${text}\n${stdout}${stderr}\n${existsSync(log) ? readFileSync(log, 'utf8').slice(-4000) : ''}`);
    return `${stdout}${stderr}`;
}
const ready = () => until('/ready', async () => (await fetch('http://127.0.0.1:9090/ready')).status === 200, 60000);

/** The blocks of the page's steps that are run, each given once. */
const steps = ['The move, step by step', 'What an import reads'].map((heading) => blocksOf(PAGE).filter((block) => block.heading === heading && !block.notRun));
const next = () => steps[0].shift().text;

/** The page names keys and URLs by these; here are those of the autopush. */
const PLACES = { '[k1,k2]': autopush.crypto_keys, '[a1]': autopush.auth_keys, 'https://push.example.org/wpush/v1/gAAAAA…': one.channels[0].endpoint };
function withTheirs(text) {
    for (const [place, value] of Object.entries(PLACES)) text = text.replace(place, value);
    return text;
}

before(async () => {
    for (const directory of [work, join(host, 'bin')]) mkdirSync(directory);
    symlinkSync(join(ROOT, 'tests', 'e2e', 'own-host', 'systemctl'), join(host, 'bin', 'systemctl'));
    children.push(spawn('redis-server', ['--save', '', '--dir', host], { stdio: 'ignore' }));
    await until('Redis', () => spawnSync('redis-cli', ['ping'], { encoding: 'utf8' }).stdout === 'PONG\n');
    // As if its clients had connected just now: a dump grows too old for an import. (The newest number is the time of the dump.)
    const { redis } = autopush;
    const newest = Math.max(...Object.entries(redis).filter(([key]) => key.startsWith('autopush/co/')).map(([, value]) => Number(value)));
    const moved = (text) => text.replaceAll(/\b\d{13}\b/g, (ms) => String(Number(ms) - newest + Date.now()));
    for (const [key, value] of Object.entries(redis)) {
        if (typeof value === 'string') must(`redis-cli SET '${key}' '${moved(value)}'`);
        else if (typeof value[0] === 'string') must(`redis-cli RPUSH '${key}' ${value.join(' ')}`);
        else must(`redis-cli ZADD '${key}' ${value.map(([member, score]) => `${score} '${member}'`).join(' ')}`);
    }
    const install = blocksOf(join(ROOT, 'docs', 'operations', 'install.md')).find(({ heading }) => heading === 'As a service').text;
    must(install.replaceAll('build/release', dirname(BECKON)).replaceAll('packaging/', `${join(ROOT, 'packaging')}/`).replace('systemctl enable --now beckon', ''));
});
after(() => {
    for (const child of children) child.kill();
    spawnSync(join(ROOT, 'tests', 'e2e', 'own-host', 'systemctl'), ['stop', 'beckon']);
});

test('the name, and the keys', () => {
    must(next());
    const [exports, ...rest] = withTheirs(next()).trim().split('\n');
    exported.push(exports);
    const said = must(rest.join('\n'));
    assert.match(said, /the ring has 1 Fernet keys \(crypto_keys\) and 2 auth keys now/);
});

test('a dump of Redis becomes lines', () => {
    assert.match(must(next()), /^3 clients, 0 other rows, 0 refused$/m);
    assert.equal(readFileSync(join(work, 'clients.jsonl'), 'utf8').trim().split('\n').length, 3);
});

test('a dump of Bigtable with the same clients becomes the same lines', () => {
    // (cells as autopush-rs 1.83.1 writes them, in Google's emulator, printed by cbt 1.23)
    const table = join(ROOT, 'tests', 'e2e', 'autopush', 'bigtable.txt');
    const said = must(`beckon subscriptions convert bigtable ${table} > from-table.jsonl`);
    assert.match(said, /^3 clients, 1 other rows, 0 refused$/m);
    const clients = (file) => readFileSync(join(work, file), 'utf8').trim().split('\n').map((line) => JSON.parse(line))
        .map(({ uaid, channelIDs, router_type, router_data }) => ({ uaid, channelIDs: [...new Set(channelIDs)].sort(), router_type, router_data }))
        .sort((a, b) => (a.uaid < b.uaid ? -1 : 1));
    assert.deepEqual(clients('from-table.jsonl'), clients('clients.jsonl'));
});

test('the dry run says what the page shows, and writes nothing', () => {
    const command = `{ ${next()} } 2> /dev/null`;
    const said = next();
    assert.equal(must(command), said);
    assert.equal(must(command), said);
});

test('the import takes all of them', async () => {
    assert.match(must(next()), /^imported 3 clients with 5 channels$/m);
    await ready();
});

test('an endpoint URL that autopush made takes a message, and it waits for its client', () => {
    const shown = must(withTheirs(next()));
    assert.match(shown, /^HTTP\/1\.1 201 /m);
    assert.match(shown, new RegExp(`channel ${one.channels[0].channelID}, .* <- the endpoint's$`, 'm'));
    assert.match(shown, /^1 message waits for it:$/m);
    assert.equal(steps[0].length, 0, `${PAGE}: this test runs every block`);
});

test('clients find their channels, and a message to each arrives', async () => {
    for (const { uaid, channels } of autopush.clients) {
        const client = new UserAgent('ws://127.0.0.1:8080/');
        client.uaid = uaid;
        await client.connect();
        assert.deepEqual(client.faults, []);
        for (const { channelID, endpoint, vapid, unregistered } of channels) {
            const { pathname } = new URL(endpoint);
            const { headers } = vapid
                ? webpush.generateRequestDetails({ endpoint }, null, { vapidDetails: { subject: 'mailto:you@example.com', ...vapid } })
                : { headers: {} };
            const reply = await fetch(`http://127.0.0.1:8082${pathname}`, {
                method: 'POST', body: channelID, headers: { TTL: '60', 'Content-Encoding': 'aes128gcm', ...(headers.Authorization && { Authorization: headers.Authorization }) },
            });
            const said = await reply.text();
            assert.equal(reply.status, unregistered ? 410 : 201, `${endpoint}: ${said}`);
            if (!unregistered) await until('the message', () => client.bodies.includes(channelID));
        }
        await client.close();
    }
});

test('a bridged client proves itself by the secret that autopush gave it', async () => {
    const { uaid, channelID, secret } = autopush.bridged;
    const reply = await fetch(`http://127.0.0.1:8082/v1/fcm/my-app/registration/${uaid}`, { headers: { Authorization: `Bearer ${secret}` } });
    assert.equal(reply.status, 200);
    assert.deepEqual((await reply.json()).channelIDs, [channelID]);
});

test('an import that is repeated changes nothing; the lines that the page shows are such', () => {
    must('systemctl stop beckon');
    const again = must(`runuser -u beckon -- beckon subscriptions import clients.jsonl --data /var/lib/beckon`);
    assert.match(again, /^unchanged: 2 clients/m);
    assert(twice.channels[2].unregistered && !again.includes('without these channels'), again);
    const lines = steps[1].shift().text;
    must(`cat > lines.jsonl <<'END'\n${lines}END`);
    assert.match(must('runuser -u beckon -- beckon subscriptions import lines.jsonl --data /var/lib/beckon'), /^imported 2 clients with 1 channels$/m);
    assert.equal(steps[1].length, 0, `${PAGE}: this test runs every block`);
});
