// Every HTTP API agrees with its document in schemas/: the documents are valid, schemathesis makes good and bad requests from them and
// compares every answer with its document. The process lives on, and does not grow.
//
//   node --test openapi.mjs   (after scripts/e2e-setup.sh)
//
// EXAMPLES: the number of random requests per operation in a run. MINUTES: for so long, further runs follow, each with another seed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createConfig, lint } from '@redocly/openapi-core';
import { BECKON, CACHE_HOME, Cluster, until } from './beckon.mjs';
import { UserAgent } from './client.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const SCHEMAS = join(HERE, '..', '..', 'schemas');
const VENV = join(CACHE_HOME, 'beckon', 'e2e', 'python', 'bin');
const TOOL = join(VENV, 'schemathesis');
const options = { skip: !existsSync(TOOL) && `${TOOL} is not there: scripts/e2e-setup.sh has not run, or could not reach PyPI` };
const EXAMPLES = process.env.EXAMPLES ?? '15';
const MINUTES = Number(process.env.MINUTES ?? 0);
const GROWTH_MAX_KB = 96 << 10; // of one run after the first: write buffers of the log fill, and the clients and messages that the run made are kept

const cluster = new Cluster('embedded', {
    plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], console: [], tiers: '0s,1s',
    endpoint: ['--embedded-sync', 'never', '--endpoint-matrix-gateway', 'true', '--endpoint-fcm-app-ids', 'my-app'],
});

/** The port against which each document is tested. `settings`: its schemathesis.toml; `more`: further arguments of schemathesis. */
const DOCUMENTS = {
    'openapi.yaml': { port: 'endpoint', settings: subscribed, more: [] },
    'webhooks.openapi.yaml': { port: 'retry', token: () => owner(), more: [] },
    // (a live stream has no end)
    'console.openapi.yaml': { port: 'console', token: () => CONSOLE_TOKEN, more: ['--exclude-path', '/api/live', '--exclude-path', '/logout'] },
};
const CONSOLE_TOKEN = 'a-token-of-this-test-and-of-nobody-else';
// (not those by which every request that its schema allows is taken: ids, tokens and dates are more than their schemas say)
const CHECKS = [
    'not_a_server_error', 'status_code_conformance', 'content_type_conformance', 'response_headers_conformance', 'response_schema_conformance',
    'unsupported_method', 'use_after_free', 'ensure_resource_availability', 'ignored_auth',
];

/** What a schema cannot make up: a subscribed endpoint, and a registration with its secret. Each operation sees them in some of its cases. */
async function subscribed() {
    const client = new UserAgent(cluster.websocket);
    await client.connect();
    const token = new URL(await client.register()).pathname.split('/').pop();
    client.end();
    const made = await fetch(`${cluster.endpoint}/v1/fcm/my-app/registration`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{"token":"0123456789"}',
    });
    const { uaid, secret } = await made.json();
    return `[parameters]
"path.token" = "${token}"
"path.uaid" = "${uaid}"
"path.app_id" = "my-app"

[[operations]]
include-path-regex = "registration/"
headers = { Authorization = "Bearer ${secret}" }
`;
}

function owner() {
    const made = spawnSync(BECKON, ['webhooks', 'token', 'shop', '--data', join(cluster.directory, 'standalone')], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    return made.stdout.trim();
}

const child = () => cluster.children.get('standalone');
const residentKilobytes = () => Number(readFileSync(`/proc/${child().process.pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);

before(async () => {
    if (options.skip) return;
    await cluster.prepare();
    const file = join(cluster.directory, 'console-token');
    writeFileSync(file, `${CONSOLE_TOKEN}\n`, { mode: 0o600 });
    cluster.consoleOptions.push('--console-token-file', file, '--console-canary', `ws://127.0.0.1:${cluster.ports.edge}/`);
    await cluster.start();
    // A page of which nothing is known yet is 503.
    for (const page of ['lag', 'tiers', 'dead', 'cluster', 'milestones', 'webhooks', 'canary']) {
        const there = async () =>
            (await fetch(`http://127.0.0.1:${cluster.ports.console}/api/pages/${page}`, { headers: { Authorization: `Bearer ${CONSOLE_TOKEN}` } })).ok;
        await until(`the page ${page}`, there, 60000);
    }
});
after(async () => {
    if (!options.skip) await cluster.end();
});

/** One run of schemathesis over a document; fails with what it found. */
async function hold(name, seed) {
    const { port, token, settings, more } = DOCUMENTS[name];
    const directory = join(cluster.directory, name);
    mkdirSync(directory, { recursive: true });
    if (settings) writeFileSync(join(directory, 'schemathesis.toml'), await settings());
    const tool = spawn(TOOL, [
        'run', join(SCHEMAS, name), '--url', `http://127.0.0.1:${cluster.ports[port]}`,
        ...(token ? ['--header', `Authorization: Bearer ${token()}`] : []), '--max-examples', EXAMPLES, '--seed', String(seed),
        '--phases', 'examples,coverage,fuzzing', '--request-timeout', '30', '--generation-database', 'none', '--checks', CHECKS.join(), ...more,
    ], { cwd: directory });
    let output = '';
    for (const stream of [tool.stdout, tool.stderr]) stream.on('data', (data) => (output += data));
    const code = await new Promise((resolve) => tool.once('exit', resolve));
    assert.equal(child().process.exitCode, null, `the process has ended:\n${child().output.slice(-4000)}`);
    assert.equal(code, 0, output.slice(-20000));
    return output.split('\n').filter((line) => /cases|generated|passed/i.test(line)).slice(-3).join(' ');
}

test('every document validates', options, () => {
    const names = readdirSync(SCHEMAS).filter((name) => name.endsWith('openapi.yaml'));
    assert.deepEqual(names.filter((name) => !DOCUMENTS[name]), [], 'a document that no API is held to');
    const { status, stdout, stderr } = spawnSync(join(VENV, 'python'), [join(HERE, 'openapi-valid.py'), ...names.map((name) => join(SCHEMAS, name))], { encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
    const examples = spawnSync(join(VENV, 'python'), [join(HERE, 'openapi-examples.py'), join(SCHEMAS, 'openapi.yaml')], { encoding: 'utf8' });
    assert.equal(examples.status, 0, examples.stdout + examples.stderr);
});

/** Redocly's rules that do not fit: paths that share an operation have no id of their own, some routes fail on purpose, and a server's name is an example. */
const NOT_OURS = { 'operation-operationId': 'off', 'operation-2xx-response': 'off', 'no-server-example.com': 'off' };

test('Redocly finds no fault in a document', async () => {
    const config = await createConfig({ extends: ['recommended'], rules: NOT_OURS });
    for (const name of Object.keys(DOCUMENTS)) {
        const found = await lint({ ref: join(SCHEMAS, name), config });
        assert.deepEqual(found.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`), [], name);
    }
});

test('each port serves its document', options, async () => {
    for (const [name, { port }] of Object.entries(DOCUMENTS)) {
        const reply = await fetch(`http://127.0.0.1:${cluster.ports[port]}/openapi.yaml`);
        assert.equal(reply.status, 200, name);
        assert.equal(await reply.text(), readFileSync(join(SCHEMAS, name), 'utf8'), name);
    }
});

describe('every answer to every request is one of the document', { ...options, concurrency: false }, () => {
    for (const name of Object.keys(DOCUMENTS)) {
        test(name, { timeout: 1800000 }, async (t) => {
            t.diagnostic(await hold(name, 1));
            const end = Date.now() + (MINUTES * 60000) / Object.keys(DOCUMENTS).length;
            const begin = residentKilobytes();
            for (let seed = 2; Date.now() < end; ++seed) t.diagnostic(`seed ${seed}: ${await hold(name, seed)}`);
            const grown = residentKilobytes() - begin;
            t.diagnostic(`${begin} KB after the first run, ${grown} KB more after the last`);
            assert.ok(grown < GROWTH_MAX_KB, `${grown} KB more than after the first run`);
        });
    }
    test('nothing of it was a fault of the process', () => {
        assert.doesNotMatch(child().output, /task_threw|request_threw/);
    });
});
