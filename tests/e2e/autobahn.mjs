// The Autobahn test suite for RFC 6455 against the edge's WebSocket layer, with an echo behind it
// (tests/edge/ws/echo_server.cpp). autobahn.json names each case that does not end as the suite wants it, and why;
// any other difference fails, a case that ends better than it says included.
//
//   ECHO=build/release/tests/edge/ws/edge_ws_echo [CASES='*'] node autobahn.mjs
//
// CASES chooses cases (in the suite's own notation); the default is all cases except chapter 9, which takes minutes.
// Where the result depends on how frames arrive, autobahn.json allows both results. The suite (PyPI: autobahntestsuite
// 0.8.2) runs under Python 2.7 alone, which Debian no longer has: scripts/e2e-setup.sh installs it where there is
// one. Without it the test is skipped (exit code 77).
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CACHE_HOME } from './beckon.mjs';

const ECHO = process.env.ECHO;
const EXPECTED = join(dirname(fileURLToPath(import.meta.url)), 'autobahn.json');
const SKIPPED = 77;
const STRICT = ['OK', 'INFORMATIONAL', 'UNIMPLEMENTED'];
/** Limits and performance: messages of up to 16 MiB, which take Python minutes. */
const SLOW = '9.*';

const INSTALLED = join(CACHE_HOME, 'beckon', 'e2e', 'autobahn');

if (!existsSync(join(INSTALLED, 'python'))) {
    console.log('skipped: autobahntestsuite is not installed (scripts/e2e-setup.sh all, with a Python 2.7)');
    process.exit(SKIPPED);
}
const python = readFileSync(join(INSTALLED, 'python'), 'utf8').trim();

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
        'exclude-cases': process.env.CASES ? [] : [SLOW],
        'exclude-agent-cases': {},
    }));
    const wstest = 'import site, sys; site.addsitedir(sys.argv[1]); sys.argv[:2] = ["wstest"]; from autobahntestsuite.wstest import run; run()';
    const ran = spawnSync(python, ['-W', 'ignore', '-c', wstest, join(INSTALLED, 'packages'), '-m', 'fuzzingclient', '-s', spec], { cwd: directory, encoding: 'utf8', timeout: 900000, maxBuffer: 2 ** 28 });
    const index = join(directory, 'reports', 'index.json');
    assert(existsSync(index), `wstest has written no report:\n${ran.stdout.slice(-2000)}\n${ran.stderr.slice(-2000)}`);
    const results = JSON.parse(readFileSync(index)).beckon;
    if (process.env.REPORT) writeFileSync(process.env.REPORT, JSON.stringify(results));

    const { not_strict: named } = JSON.parse(readFileSync(EXPECTED));
    const expected = Object.fromEntries(named.flatMap((entry) => entry.cases.map((name) => [name, entry.results])));
    const wrong = Object.entries(results)
        .map(([name, { behavior }]) => ({ name, behavior, wanted: expected[name] ?? STRICT }))
        .filter(({ behavior, wanted }) => !wanted.includes(behavior));
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
