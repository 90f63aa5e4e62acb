// The Autobahn test suite for RFC 6455 against the edge's WebSocket layer, with an echo behind it
// (tests/edge/ws/echo_server.cpp). autobahn.json names each case that does not end as the suite wants it, and why;
// any other difference fails, a case that ends better than it says included.
//
//   ECHO=build/release/tests/edge/ws/edge_ws_echo node autobahn.mjs
//
// The suite (PyPI: autobahntestsuite 0.8.2) runs under Python 2.7 alone, which Debian no longer has: BECKON_PYTHON2
// names one, with the suite installed, or one of pyenv's is taken. Without it the test is skipped (exit code 77).
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ECHO = process.env.ECHO;
const EXPECTED = join(dirname(fileURLToPath(import.meta.url)), 'autobahn.json');
const SKIPPED = 77;

function pythons() {
    const pyenv = join(homedir(), '.pyenv', 'versions');
    const versions = existsSync(pyenv) ? readdirSync(pyenv).filter((name) => /^(pypy)?2\.7/.test(name)) : [];
    return [process.env.BECKON_PYTHON2, 'python2', 'pypy', ...versions.map((name) => join(pyenv, name, 'bin', 'python'))].filter(Boolean);
}

const python = pythons().find((name) => spawnSync(name, ['-c', 'import autobahntestsuite.wstest']).status === 0);
if (!python) {
    console.log('skipped: no Python 2.7 with autobahntestsuite 0.8.2 (see BECKON_PYTHON2)');
    process.exit(SKIPPED);
}

const directory = mkdtempSync(join(tmpdir(), 'beckon-autobahn-'));
const echo = spawn(ECHO, [], { stdio: ['pipe', 'pipe', 'inherit'] });
try {
    const port = await new Promise((resolve, reject) => {
        echo.stdout.once('data', (data) => resolve(Number(data)));
        echo.once('exit', () => reject(new Error('the echo has ended')));
    });
    const spec = join(directory, 'spec.json');
    writeFileSync(spec, JSON.stringify({
        outdir: join(directory, 'reports'),
        servers: [{ agent: 'beckon', url: `ws://127.0.0.1:${port}` }],
        cases: (process.env.CASES ?? '*').split(','),
        'exclude-cases': [],
        'exclude-agent-cases': {},
    }));
    const wstest = 'import sys; sys.argv = ["wstest"] + sys.argv[1:]; from autobahntestsuite.wstest import run; run()';
    const ran = spawnSync(python, ['-c', wstest, '-m', 'fuzzingclient', '-s', spec], { cwd: directory, encoding: 'utf8', timeout: 900000, maxBuffer: 2 ** 28 });
    const index = join(directory, 'reports', 'index.json');
    assert(existsSync(index), `wstest has written no report:\n${ran.stdout.slice(-2000)}\n${ran.stderr.slice(-2000)}`);
    const results = JSON.parse(readFileSync(index)).beckon;
    if (process.env.REPORT) writeFileSync(process.env.REPORT, JSON.stringify(results));

    const { not_strict: named } = JSON.parse(readFileSync(EXPECTED));
    const expected = Object.fromEntries(named.flatMap(({ result, cases }) => cases.map((name) => [name, result])));
    const wrong = Object.entries(results)
        .map(([name, { behavior }]) => ({ name, behavior, wanted: expected[name] ?? 'OK' }))
        .filter(({ behavior, wanted }) => (wanted === 'OK' ? !['OK', 'INFORMATIONAL', 'UNIMPLEMENTED'].includes(behavior) : behavior !== wanted));
    const counts = {};
    for (const { behavior } of Object.values(results)) counts[behavior] = (counts[behavior] ?? 0) + 1;
    console.log(JSON.stringify(counts));
    assert(Object.keys(results).length > 0, 'no case has run');
    assert.deepEqual(wrong, []);
    assert.equal(echo.exitCode, null, 'the echo has ended');
} finally {
    echo.stdin.end();
    echo.kill();
    rmSync(directory, { recursive: true, force: true });
}
