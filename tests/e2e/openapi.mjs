// The API of the role retry is what schemas/webhooks.openapi.yaml says: schemathesis makes requests from the document,
// good and bad ones, and holds every answer to it.
//
//   node --test openapi.mjs   (after scripts/schemathesis-setup.sh)
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BECKON, Cluster } from './beckon.mjs';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const TOOL = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'beckon', 'schemathesis', 'venv', 'bin', 'schemathesis');
const options = { skip: !existsSync(TOOL) && `${TOOL} is not there: scripts/schemathesis-setup.sh has not run, or could not reach PyPI` };

const cluster = new Cluster('embedded', { plain: true, retry: ['--retry-allowed-addresses', '127.0.0.1'], tiers: '0s,1s' });

before(async () => {
    if (options.skip) return;
    await cluster.prepare();
    await cluster.start();
});
after(async () => {
    if (!options.skip) await cluster.end();
});

test('every answer to every request is one of the document', { ...options, timeout: 600000 }, async () => {
    const made = spawnSync(BECKON, ['webhooks', 'token', 'shop', '--data', join(cluster.directory, 'standalone')], { encoding: 'utf8' });
    assert.equal(made.status, 0, made.stderr);
    const tool = spawn(TOOL, [
        'run', join(ROOT, 'schemas', 'webhooks.openapi.yaml'), '--url', `http://127.0.0.1:${cluster.ports.retry}`,
        '--header', `Authorization: Bearer ${made.stdout.trim()}`, '--max-examples', process.env.EXAMPLES ?? '30', '--seed', '1',
        '--phases', 'examples,coverage,fuzzing', '--request-timeout', '30', '--generation-database', 'none',
        '--checks', 'not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,ignored_auth',
    ], { cwd: cluster.directory });
    let output = '';
    for (const stream of [tool.stdout, tool.stderr]) stream.on('data', (data) => (output += data));
    const code = await new Promise((resolve) => tool.once('exit', resolve));
    assert.equal(code, 0, output.slice(-20000));
    console.log(output.split('\n').filter((line) => /cases|generated|passed/i.test(line)).slice(-4).join('\n'));
});
