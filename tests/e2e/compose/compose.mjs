// docker-compose.yml, really started: from nothing, with a container killed, a rolling restart under
// load, and a stop and start of everything; or, with HA=1, with three brokers, of which one is killed. Needs a
// Docker engine; images.sh makes the images.
//
//   [HA=1] node --test compose.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import webpush from 'web-push';
import { BECKON, freePort, until } from '../beckon.mjs';
import { UserAgent } from '../client.mjs';
import { blocksOf } from '../doc-blocks.mjs';
import { startFirefox, startSite, subscription } from '../firefox-page.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '..', '..', '..');
const CLIENTS = 20;
const GRAFANA = 'grafana/grafana:12.1.1'; // no registry can be reached here: used where somebody has put it

const runs = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0;
const compose = runs('docker', 'compose', 'version') ? ['docker', 'compose'] : ['docker-compose'];
const skip = !runs('docker', 'info') ? 'no Docker engine runs here' : !runs(...compose, 'version') && 'no docker compose here';

let environment;
let endpoint;
let websocket;

/** Runs docker compose with the variables of `environment`, and what `more` comes before the command. */
function spawned(args, more = []) {
    const [command, ...first] = compose;
    return spawnSync(command, [...first, ...more, '-p', 'beckon-test', ...args], { cwd: ROOT, env: environment, encoding: 'utf8' });
}
/** Runs compose; if it fails, throws its output and that of the containers. */
function runWith(more, ...args) {
    const { status, stdout, stderr } = spawned(args, more);
    if (status === 0) return stdout;
    throw new Error(`compose ${args.join(' ')}: ${stdout}${stderr}\n${spawned(['logs', '--no-color', '--tail', '5'], more).stdout}`);
}
const run = (...args) => runWith([], ...args);

before(async () => {
    if (skip) return;
    const made = spawnSync(join(HERE, 'images.sh'), [BECKON], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stdout + made.stderr);
    const [http, edge] = [await freePort(), await freePort()];
    endpoint = `http://127.0.0.1:${http}`;
    websocket = `ws://127.0.0.1:${edge}/`;
    environment = {
        ...process.env,
        BECKON_IMAGE: 'beckon:test',
        KAFKA_IMAGE: 'kafka:test',
        NGINX_IMAGE: 'nginx:test',
        PROMETHEUS_IMAGE: 'prometheus:test',
        GRAFANA_IMAGE: GRAFANA,
        BECKON_ENDPOINT_PORT: String(http),
        BECKON_EDGE_PORT: String(edge),
        BECKON_RETRY_PORT: String(await freePort()),
        BECKON_CONSOLE_PORT: String(await freePort()),
        BECKON_PROMETHEUS_PORT: String(await freePort()),
        BECKON_GRAFANA_PORT: String(await freePort()),
        BECKON_ENDPOINT_URL: endpoint,
        BECKON_PARTITIONS: '8',
        BECKON_TOPICS_TIMEOUT_S: '240',
        BECKON_NET: '172.31.97',
    };
});

describe('docker-compose.yml', { skip: skip || !!process.env.HA }, () => {
    let clients;
    let load;
    const accepting = async () => (await post(clients[0].endpoint)).status === 201;

    before(() => {
        clients = Array.from({ length: CLIENTS }, () => new UserAgent(websocket));
    });
    after(() => {
        load?.stop();
        for (const client of clients ?? []) client.end();
        if (environment) run('--profile', 'tools', '--profile', 'grafana', 'down', '--volumes', '--timeout', '5');
    });

    test('from nothing to the first push', async (t) => {
        const began = Date.now();
        run('up', '-d', '--no-build');
        await until('the first client', () => clients[0].connect(), 240000);
        await clients[0].register();
        await until('the first 201', accepting, 60000);
        await until('its message', () => clients[0].versions.size > 0);
        t.diagnostic(`${((Date.now() - began) / 1000).toFixed(1)} s from up to the first push`);
        const shown = run('--profile', 'tools', 'run', '--rm', 'demo');
        assert.match(shown, /decrypted|Hello/i);
    });

    test('Firefox subscribes and gets a push of web-push', async (t) => {
        const profile = mkdtempSync(join(tmpdir(), 'beckon-firefox-'));
        let site;
        let firefox;
        t.after(async () => {  // in this order: it writes to its profile until it has ended
            await firefox?.browser.close();
            site?.close();
            rmSync(profile, { recursive: true, force: true });
        });
        site = await startSite();
        firefox = await startFirefox(profile, { 'dom.push.serverURL': websocket, 'dom.push.testing.allowInsecureServerURL': true, 'dom.push.connection.enabled': true }, site.origin);
        const keys = webpush.generateVAPIDKeys();
        const subscribed = await subscription(firefox.page, keys.publicKey, true);
        // The library makes the request; it would send it by HTTPS, which a proxy before the cluster would speak.
        const { method, headers, body } = webpush.generateRequestDetails(subscribed, 'Hello Firefox', {
            vapidDetails: { subject: 'mailto:ops@example.org', ...keys },
            TTL: 60,
        });
        delete headers['Content-Length'];
        assert.equal((await fetch(subscribed.endpoint, { method, headers, body })).status, 201);
        await until('the push', () => site.got.includes('Hello Firefox'));
    });

    test('Prometheus asks every process and has the alert rules', async () => {
        const ask = async (path) => (await (await fetch(`http://127.0.0.1:${environment.BECKON_PROMETHEUS_PORT}/api/v1/${path}`)).json()).data;
        const seen = await until('all targets', async () => {
            const { activeTargets: targets } = await ask('targets');
            return targets.every(({ health }) => health === 'up') && targets;
        }, 120000);
        assert.deepEqual(seen.map(({ labels }) => labels.role).sort(), ['console', 'edge', 'edge', 'edge', 'endpoint', 'endpoint', 'reliability', 'retry']);
        // Every alert of the file is loaded and can be evaluated, and the counts of beckon.expected.yml are those of this cluster.
        const named = [...readFileSync(join(ROOT, 'packaging', 'prometheus', 'beckon.rules.yml'), 'utf8').matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
        const rules = await until('every rule evaluated', async () => {
            const all = (await ask('rules')).groups.flatMap(({ rules }) => rules);
            return all.every(({ health }) => health !== 'unknown') && all;
        }, 120000);
        assert.deepEqual(rules.filter(({ health }) => health !== 'ok').map(({ name, lastError }) => `${name}: ${lastError}`), []);
        assert.deepEqual(rules.filter(({ type }) => type === 'alerting').map(({ name }) => name).sort(), named.sort());
        const expected = await until('the expected counts', async () => {
            const { result } = await ask('query?query=beckon:expected_processes');
            return result.length > 0 && result;
        });
        const counted = Object.fromEntries(expected.map(({ metric, value }) => [metric.role, Number(value[1])]));
        assert.deepEqual(counted, count(seen.map(({ labels }) => labels.role)));
    });

    test('the pages of the console are alive: the canary pushes through every edge, attempts at webhooks are shown', async () => {
        const token = run('exec', '-T', 'console', 'cat', '/var/lib/beckon/token').trim();
        const page = async (name) => {
            const reply = await fetch(`http://127.0.0.1:${environment.BECKON_CONSOLE_PORT}/api/pages/${name}`, { headers: { authorization: `Bearer ${token}` } });
            return reply.status === 200 && reply.json();
        };
        const { edges } = await until('a push through each edge', async () => {
            const now = await page('canary');
            return now.edges.length === 3 && now.edges.every(({ state }) => state === 'well') && now;
        }, 120000);
        assert.deepEqual(edges.map(({ edge }) => edge), ['ws://edge-1:8080/', 'ws://edge-2:8080/', 'ws://edge-3:8080/']);
        const tool = (...args) => run('exec', '-T', 'retry', 'beckon', ...args);
        tool('webhooks', 'create', 'https://receiver.invalid/', '--type', 'demo.*');
        tool('events', 'send', 'demo.hello', '{}');
        await until('an attempt that is reported', async () => (await page('webhooks')).webhooks.some(({ attempts }) => attempts?.count > 0), 120000);
        const names = new Set((await page('lag')).rows.map(({ group }) => group));
        assert.ok(names.has('beckon.edge'), [...names].join());
        assert.equal([...names].filter((name) => name.startsWith('beckon.endpoint/')).length, 2, `each endpoint has a row: ${[...names].join()}`);
    });

    test('Grafana has the dashboards, and asks Prometheus', async (t) => {
        if (!runs('docker', 'image', 'inspect', GRAFANA)) return t.skip(`the image ${GRAFANA} is not here, and Debian has no Grafana`);
        run('--profile', 'grafana', 'up', '-d', '--no-build', 'grafana');
        const ask = async (path) => (await fetch(`http://127.0.0.1:${environment.BECKON_GRAFANA_PORT}/api/${path}`)).json();
        const found = await until('the dashboards', async () => {
            const boards = await ask('search?type=dash-db');
            return boards.length === 4 && boards;
        }, 120000);
        assert.deepEqual(found.map(({ title }) => title).sort(), ['Beckon: delivery', 'Beckon: is push working?', 'Beckon: lag, webhooks and delay tiers', 'Beckon: processes and requests']);
        const { data } = await ask('datasources/proxy/uid/beckon/api/v1/query?query=beckon_ready');
        assert(data.result.length > 0);
    });

    test('a killed edge and a killed endpoint lose nothing', async () => {
        for (const client of clients.slice(1)) {
            await client.connect();
            await client.register();
        }
        load = new Load(clients);
        await load.accepts(200);
        for (const service of ['edge-2', 'endpoint-1']) {
            run('kill', service);
            await load.accepts(100);
            run('up', '-d', '--no-build', service);
            await load.accepts(100);
        }
        await load.arrived();
    });

    test('one service after the other made anew under load loses nothing', async () => {
        for (const service of ['endpoint-1', 'endpoint-2', 'edge-1', 'edge-2', 'edge-3']) {
            run('up', '-d', '--no-build', '--no-deps', '--force-recreate', service);
            await load.accepts(100);
        }
        await load.arrived();
    });

    test('the key ring is rotated under load by the commands of docs/operations/keys.md', async () => {
        const [steps] = blocksOf(join(ROOT, 'docs', 'operations', 'keys.md')).filter(({ heading, text }) => heading === 'Keys' && text.startsWith('docker compose'));
        const lines = steps.text.trim().split('\n').map((step) => step.replace('docker compose ', '').split(/ +/));
        for (const line of lines) run(...line);
        run(...lines.find(([command]) => command === 'kill')); // (or half a minute)
        const keyOf = (url) => Buffer.from(url.split('/').pop(), 'base64url')[0] >> 2;
        assert.equal(keyOf(clients[0].endpoint), 0);
        await until('a URL that the new key encrypts', async () => keyOf(await clients[0].register()) === 1, 60000);
        await load.accepts(100);
        await load.arrived();
    });

    test('everything stopped and started with its volumes loses nothing', async () => {
        load.stop();
        for (const client of clients) client.end();
        const waiting = await Promise.all(clients.map((client) => post(client.endpoint)));
        run('down', '--timeout', '30');
        run('up', '-d', '--no-build');
        await until('the clients are back', () => Promise.all(clients.map((client) => client.connect())), 120000);
        for (const [i, { status, id }] of waiting.entries()) {
            if (status !== 201) continue;
            await until('what waited', () => clients[i].versions.has(id), 60000);
        }
        assert.deepEqual(clients.flatMap((client) => client.faults), []);
    });
});

describe('docker-compose.yml with the profile ha', { skip: skip || !process.env.HA }, () => {
    const settings = ['--env-file', 'packaging/compose/ha.env'];
    const ha = (...args) => runWith(settings, ...args);
    let clients;
    let load;

    before(() => {
        clients = Array.from({ length: CLIENTS }, () => new UserAgent(websocket));
        // Values of the environment would override packaging/compose/ha.env.
        for (const name of ['BECKON_KAFKA_SERVERS', 'BECKON_REPLICATION_FACTOR', 'COMPOSE_PROFILES']) delete environment[name];
    });
    after(() => {
        load?.stop();
        for (const client of clients ?? []) client.end();
        if (environment) ha('down', '--volumes', '--timeout', '5');
    });

    test('three brokers: one is killed, and nothing is lost or refused for long', async () => {
        ha('up', '-d', '--no-build');
        await until('the first client', () => clients[0].connect(), 240000);
        await clients[0].register();
        for (const client of clients.slice(1)) {
            await client.connect();
            await client.register();
        }
        load = new Load(clients);
        await load.accepts(200);
        ha('kill', 'kafka-2');
        await load.accepts(200);
        await load.arrived();
        ha('up', '-d', '--no-build', 'kafka-2');
        await load.accepts(100);
        await load.arrived();
        assert.deepEqual(clients.flatMap((client) => client.faults), []);
    });
});

/** How often each of `values` is there. */
function count(values) {
    const counts = {};
    for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
    return counts;
}

async function post(endpoint) {
    const reply = await fetch(endpoint, {
        method: 'POST',
        headers: { TTL: '3600', 'Content-Encoding': 'aes128gcm' },
        body: 'message',
    }).catch(() => ({ status: 0, headers: new Map() }));
    return { status: reply.status, id: reply.headers.get('location')?.split('/').pop() };
}

/** Posts to each client, some seventy messages a second in all, until it is stopped. */
class Load {
    constructor(clients) {
        this.clients = clients;
        this.accepted = []; // {client, id} of each 201
        this.stopped = false;
        for (const client of clients) this.keepPosting(client);
    }
    async keepPosting(client) {
        while (!this.stopped) {
            const { status, id } = await post(client.endpoint);
            assert(status < 400 || status === 429 || status >= 500, `a live subscription is refused: ${status}`);
            if (status === 201) this.accepted.push({ client, id });
            await new Promise((resolve) => setTimeout(resolve, 300));
        }
    }
    accepts(more) {
        const goal = this.accepted.length + more;
        return until(`${more} more are accepted`, () => this.accepted.length >= goal, 120000);
    }
    arrived() {
        const sent = [...this.accepted];
        const all = () => sent.every(({ client, id }) => client.versions.has(id));
        return until('what was accepted has arrived', all, 120000).catch((error) => {
            const missing = sent.filter(({ client, id }) => !client.versions.has(id));
            throw new Error(`${missing.length} of ${sent.length} are missing: ${error.message}`);
        });
    }
    stop() {
        this.stopped = true;
    }
}
