// Every fault at a start ends in a clear line that names the fault and the allowed values, and in a non-zero exit code.
//
//   node start-faults.mjs
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import WebSocket from 'ws';
import { BECKON, Cluster, freePort, until } from './beckon.mjs';

const directory = mkdtempSync(join(tmpdir(), 'beckon-faults-'));
after(() => rmSync(directory, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(directory, `data-${++count}`);

/** Runs to the end; its exit code and standard error. */
function run(args, env = {}) {
    const result = spawnSync(BECKON, args, { encoding: 'utf8', timeout: 30000, env: { ...process.env, ...env } });
    return { code: result.status, text: result.stderr + result.stdout };
}

async function ports() {
    return ['--edge-port', '0', '--retry-port', '0', '--console-port', '0', '--endpoint-port', '0', '--ops-port', '0', '--endpoint-url', 'http://127.0.0.1:8082'];
}

test('all faults of a configuration are reported together, with the nearest known name', () => {
    const file = join(directory, 'bad.toml');
    writeFileSync(file, 'partitions = 70000\n[edge]\nprot = 8080\nping_interval = "5"\n');
    const { code, text } = run(['standalone', '--config', file, '--endpoint-prot', '1'], { BECKON_EDGE_PORTS: '1' });
    assert.equal(code, 2);
    assert.match(text, /bad\.toml:1: partitions = '70000': not a whole number from 0 to 65535/);
    assert.match(text, /bad\.toml:3: unknown option 'edge\.prot'; did you mean 'edge\.port'\?/);
    assert.match(text, /bad\.toml:4: edge\.ping_interval = '5': not a duration with a unit/);
    assert.match(text, /--endpoint-prot: unknown option; did you mean '--endpoint-port'\?/);
    assert.match(text, /BECKON_EDGE_PORTS.*did you mean 'BECKON_EDGE_PORT'\?/);
});

test('a config file that is not TOML is named with its line', () => {
    const file = join(directory, 'broken.toml');
    writeFileSync(file, 'partitions = \n');
    const { code, text } = run(['standalone', '--config', file]);
    assert.equal(code, 2);
    assert.match(text, /broken\.toml:1: not TOML/);
});

test('a port that is taken is named', async () => {
    const taken = createServer();
    await new Promise((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const port = String(taken.address().port);
    for (const option of ['--endpoint-port', '--edge-port', '--ops-port', '--retry-port', '--console-port']) {
        const data = fresh();
        const { code, text } = run(['standalone', '--data', data, ...(await ports()), option, port]);
        assert.equal(code, 1, text);
        assert.match(text, new RegExp(`^beckon: ${option}: cannot listen on 127\\.0\\.0\\.1 port ${port}: the port is taken`, 'm'), option);
        assert.equal(existsSync(data), false, `${option}: nothing was made before that was found`);
    }
    {
        const data = fresh();
        const next = spawn(BECKON, ['standalone', '--data', data, ...(await ports())], { stdio: ['ignore', 'ignore', 'pipe'] });
        let output = '';
        next.stderr.on('data', (more) => (output += more));
        await until('that the next start listens', () => output.includes('listening') || next.exitCode !== null);
        assert.equal(next.exitCode, null, output);
        next.kill('SIGTERM');
    }
    taken.close();
});

test('two ports of one process that are the same are named both', async () => {
    const port = String(await freePort());
    const { code, text } = run(['standalone', '--data', fresh(), ...(await ports()), '--edge-port', port, '--endpoint-port', port]);
    assert.equal(code, 2, text);
    assert.match(text, new RegExp(`--endpoint-port and --edge-port are both ${port}`));
});

test('values that only another part reads, and files, are checked before anything is created', async () => {
    const missing = join(directory, 'not-there.pem');
    const open = join(directory, 'open-keys.json');
    writeFileSync(open, '{}', { mode: 0o644 });
    for (const [args, code, expected] of [
        [['--endpoint-tracking-keys', 'BAAA'], 2, /endpoint\.tracking_keys: tracking key 'BAAA' is not the base64 of an uncompressed P-256 point/],
        [['--endpoint-trusted-proxies', '10.0.0.0/40'], 2, /endpoint\.trusted_proxies: trusted proxy '10\.0\.0\.0\/40' is neither/],
        [['--edge-trusted-proxies', 'proxy'], 2, /edge\.trusted_proxies: trusted proxy 'proxy' is neither/],
        [['--endpoint-extra-audiences', 'push.example'], 2, /endpoint\.extra_audiences: not an origin/],
        [['--retry-allowed-addresses', '10.0.0.0/8,nonsense'], 2, /retry\.allowed_addresses: .*nonsense/],
        [['--console-canary', 'ftp://edge'], 2, /console\.canary: 'ftp:\/\/edge' is no WebSocket URL/],
        [['--endpoint-url', 'https://püsh.example'], 2, /endpoint\.url.*as DNS has it \(xn--/],
        [['--console-token-file', missing], 2, /console\.token_file: .*not-there\.pem/],
        [['--retry-fcm-credentials', `app=${missing}`], 2, /retry\.fcm\.credentials: .*not-there\.pem/],
        [['--key-ring', join(directory, 'not-there', 'keys.json')], 2, /key_ring: no key ring can be made in .*not-there: No such file/],
        [['--key-ring', open], 2, /key_ring: .*others may use it; allowed is 0600/],
        [['--retry-ca-file', missing], 2, /retry\.ca_file: cannot read .*not-there\.pem: No such file/],
        [['--endpoint-tls-certificate', missing, '--endpoint-tls-key', missing], 2, /endpoint\.tls_certificate: .*not-there\.pem/],
        [['--retry-tls-certificate', missing, '--retry-tls-key', missing], 2, /retry\.tls_certificate: .*not-there\.pem/],
    ]) {
        const data = fresh();
        const result = run(['standalone', '--data', data, ...(await ports()), ...args]);
        assert.equal(result.code, code, result.text);
        assert.match(result.text, expected);
        assert.equal(existsSync(data), false, `${args[0]}: nothing was made before that was found`);
    }
});

test('a role on Kafka makes nothing before its ring, ports and brokers are named rightly', async () => {
    const ring = join(directory, 'before-keys.json');
    assert.equal(run(['keys', 'generate', '--key-ring', ring]).code, 0);
    const taken = createServer();
    await new Promise((resolve) => taken.listen(0, '127.0.0.1', resolve));
    const port = String(taken.address().port);
    const kafka = ['--kafka-servers', '127.0.0.1:1', '--endpoint-url', 'https://push.example.org', '--test-startup-timeout', '1s', '--ops-port', '0'];
    for (const [args, expected, code = 1] of [
        [['edge', '--key-ring', ring, ...kafka, '--edge-port', '0', '--edge-link-port', port], /--edge-link-port: cannot listen/],
        [['endpoint', '--key-ring', ring, ...kafka, '--endpoint-port', port], /--endpoint-port: cannot listen/],
        [['retry', '--key-ring', ring, ...kafka, '--retry-port', port], /--retry-port: cannot listen/],
        [['console', '--key-ring', ring, ...kafka, '--console-port', port], /--console-port: cannot listen/],
        [['reliability', '--key-ring', ring, ...kafka, '--ops-port', port], /--ops-port: cannot listen/],
        [['reliability', '--key-ring', join(directory, 'no-ring.json'), ...kafka], /there is no key ring at .*no-ring\.json/, 2],
        [['reliability', '--key-ring', ring], /kafka\.servers is not set/, 2],
    ]) {
        const data = fresh();
        const result = run([...args, '--data', data]);
        assert.equal(result.code, code, result.text);
        assert.match(result.text, expected);
        assert.equal(existsSync(data), false, `${args.join(' ')}: nothing was made before that was found`);
    }
    taken.close();
});

test('a data directory in use by another process is refused with its pid', async () => {
    const data = fresh();
    const ops = await freePort();
    const first = spawn(BECKON, ['standalone', '--data', data, '--edge-port', '0', '--retry-port', '0', '--console-port', '0', '--endpoint-port', '0', '--ops-port', String(ops)], { stdio: 'ignore' });
    await until('the first one', async () => (await fetch(`http://127.0.0.1:${ops}/ready`)).status === 200);
    const { code, text } = run(['standalone', '--data', data, ...(await ports())]);
    first.kill('SIGTERM');
    assert.equal(code, 1);
    assert.match(text, new RegExp(`in use by another process \\(pid ${first.pid}\\)`));
});

test('a data directory that cannot be made is named', async () => {
    const file = join(directory, 'a-file');
    writeFileSync(file, '');
    const { code, text } = run(['standalone', '--data', join(file, 'below'), ...(await ports())]);
    assert.equal(code, 2);
    assert.match(text, /cannot make the data directory .*a-file/);
});

test('files of another user are named, with both users, and need not be started again', async (t) => {
    if (process.getuid() !== 0) return t.skip('only root makes files of another user');
    const data = fresh();
    const program = join(directory, 'beckon'); // where everybody may run it
    copyFileSync(BECKON, program);
    const as = (...args) => {
        const { status, stdout, stderr } = spawnSync('setpriv', ['--reuid', 'nobody', '--clear-groups', '--no-new-privs', program, ...args], { encoding: 'utf8', timeout: 30000, cwd: '/' });
        return { code: status, text: stdout + stderr };
    };
    chmodSync(directory, 0o755);
    mkdirSync(data, { mode: 0o700 });
    const of = async (file) => {
        const { code, text } = as('standalone', '--data', data, ...(await ports()));
        assert.match(text, new RegExp(`^beckon: ${file} belongs to the user root, and nobody, as which this runs, may not use it: chown -R nobody ${data}$`, 'm'));
        assert.equal(code, 2, text);
    };
    await of(data);
    // (as after a start as root: sudo beckon standalone --data …)
    mkdirSync(join(data, 'log'), { mode: 0o700 });
    writeFileSync(join(data, 'log', 'CURRENT'), '', { mode: 0o600 });
    const nobody = Number(spawnSync('id', ['-u', 'nobody'], { encoding: 'utf8' }).stdout);
    chownSync(data, nobody, -1);
    await of(join(data, 'log'));
    chownSync(join(data, 'log'), nobody, -1);
    await of(join(data, 'log', 'CURRENT'));
    assert.match(as('doctor', '--data', data).text, /^BAD +data directory +.*CURRENT belongs to the user root/m);
});

test('without the plugin of libwebsockets it says which package is missing, and need not be started again', (t) => {
    const plugin = spawnSync('sh', ['-c', 'ls /usr/lib/*/libwebsockets-evlib_ev.so | head -1'], { encoding: 'utf8' }).stdout.trim();
    if (process.getuid() !== 0 || !plugin) return t.skip('only root hides a file from a process');
    const hide = 'mount --bind /dev/null "$(readlink -f "$0")" && exec "$@"';
    const { status, stdout, stderr } = spawnSync('unshare', ['--mount', 'sh', '-c', hide, plugin, BECKON, 'standalone', '--data', fresh(), '--edge-port', '0', '--retry-port', '0', '--console-port', '0', '--endpoint-port', '0', '--ops-port', '0'], { encoding: 'utf8', timeout: 60000 });
    assert.match(`${stdout}${stderr}`, /beckon: libwebsockets cannot start: is its libev plugin there \(Debian: libwebsockets-evlib-ev\)\?/);
    assert.equal(status, 2);
});

test('a key ring that others may read, or that is corrupt, is refused', async () => {
    const data = fresh();
    mkdirSync(data);
    const ring = join(data, 'keys.json');
    assert.equal(run(['keys', 'generate', '--key-ring', ring]).code, 0);
    assert.match(run(['keys', 'generate', '--key-ring', ring]).text, /exists already/);
    chmodSync(ring, 0o644);
    let result = run(['standalone', '--data', data, ...(await ports())]);
    assert.equal(result.code, 2);
    assert.match(result.text, /0600/);
    chmodSync(ring, 0o600);
    writeFileSync(ring, readFileSync(ring, 'utf8').slice(0, 40));
    result = run(['standalone', '--data', data, ...(await ports())]);
    assert.equal(result.code, 2);
    assert.match(result.text, /keys\.json/);
});

test('a key ring that is not the installation’s is refused with both fingerprints', async () => {
    const data = fresh();
    const ops = await freePort();
    const first = spawn(BECKON, ['standalone', '--data', data, '--edge-port', '0', '--retry-port', '0', '--console-port', '0', '--endpoint-port', '0', '--ops-port', String(ops)], { stdio: 'ignore' });
    await until('the first one', async () => (await fetch(`http://127.0.0.1:${ops}/ready`)).status === 200);
    first.kill('SIGTERM');
    await new Promise((resolve) => first.once('exit', resolve));
    const other = join(directory, 'other-keys.json');
    const print = run(['keys', 'generate', '--key-ring', other]).text.match(/fingerprint ([0-9a-f]{16})/)[1];
    const { code, text } = run(['standalone', '--data', data, '--key-ring', other, ...(await ports())]);
    assert.equal(code, 2);
    assert.match(text, new RegExp(`fingerprint ${print}, but this log names [0-9a-f]{16}`));
});

test('another partition count than the log was made with is refused with both', async () => {
    const data = fresh();
    const ops = await freePort();
    const first = spawn(BECKON, ['standalone', '--data', data, '--partitions', '4', '--edge-port', '0', '--retry-port', '0', '--console-port', '0', '--endpoint-port', '0', '--ops-port', String(ops)], { stdio: 'ignore' });
    await until('the first one', async () => (await fetch(`http://127.0.0.1:${ops}/ready`)).status === 200);
    first.kill('SIGTERM');
    await new Promise((resolve) => first.once('exit', resolve));
    const { code, text } = run(['standalone', '--data', data, '--partitions', '8', ...(await ports())]);
    assert.equal(code, 2);
    assert.match(text, /4/);
    assert.match(text, /8/);
    // Without a number it keeps what it has.
    const again = spawn(BECKON, ['standalone', '--data', data, '--edge-port', '0', '--retry-port', '0', '--console-port', '0', '--endpoint-port', '0', '--ops-port', String(ops)], { stdio: 'ignore' });
    await until('the same again', async () => (await fetch(`http://127.0.0.1:${ops}/ready`)).status === 200);
    again.kill('SIGTERM');
    assert.equal(await new Promise((resolve) => again.once('exit', resolve)), 0);
});

test('an empty log beside a key ring, and a log without its ring, are refused', async () => {
    const data = fresh();
    const ring = join(data, 'keys.json');
    mkdirSync(data);
    assert.equal(run(['keys', 'generate', '--key-ring', ring]).code, 0);
    let result = run(['standalone', '--data', data, ...(await ports())]);
    assert.equal(result.code, 2);
    assert.match(result.text, /but no log in .*Is the right volume mounted.*--new-log/s);
    const elsewhere = fresh();
    assert.equal(run(['standalone', '--data', elsewhere, '--key-ring', ring, ...(await ports())]).code, 2);
    assert.equal(existsSync(elsewhere), false, 'nothing was made before that was found');

    const ops = await freePort();
    const first = spawn(BECKON, ['standalone', '--data', data, '--new-log', '--edge-port', '0', '--retry-port', '0', '--console-port', '0', '--endpoint-port', '0', '--ops-port', String(ops)], { stdio: 'ignore' });
    await until('the first one', async () => (await fetch(`http://127.0.0.1:${ops}/ready`)).status === 200);
    first.kill('SIGTERM');
    await new Promise((resolve) => first.once('exit', resolve));
    rmSync(ring);
    result = run(['standalone', '--data', data, ...(await ports())]);
    assert.equal(result.code, 2);
    assert.match(result.text, /there is no key ring at .*holds the log of an installation/s);
    assert.throws(() => readFileSync(ring));
});

test('a wrong command is named with the nearest one, also with --help', () => {
    for (const args of [['stanalone'], ['stanalone', '--help']]) {
        const { code, text } = run(args);
        assert.equal(code, 2);
        assert.match(text, /unknown command 'stanalone'; did you mean 'standalone'\?/);
    }
    const { code, text } = run(['keys', 'rotat', '--help']);
    assert.equal(code, 2);
    assert.match(text, /unknown command 'keys rotat'; did you mean 'rotate'\?/);
    assert.match(run(['config', 'print', '--edge-prot', '1']).text, /`beckon config print --help` lists the options/);
});

test('a flag needs no true, and one without effect is named', async () => {
    assert.match(run(['config', 'print', '--endpoint-self-signed']).text, /self_signed = true/);
    const { text } = run(['standalone', '--data', join(directory, 'a-file', 'below'), '--kafka-servers', 'k:1', ...(await ports())]);
    assert.match(text, /kafka\.servers has no effect for `beckon standalone`: it uses the embedded log/);
});

test('a role that others reach must be given its public URL', () => {
    const { code, text } = run(['standalone', '--data', fresh(), '--endpoint-host', '0.0.0.0']);
    assert.equal(code, 2);
    assert.match(text, /endpoint\.url: must be given/);
});

test('no broker at the start: it says so while it tries, then exits with 1', async () => {
    const ring = join(directory, 'cluster-keys.json');
    run(['keys', 'generate', '--key-ring', ring]);
    const port = await freePort();
    const { code, text } = run([
        'edge', '--data', fresh(), '--key-ring', ring, '--kafka-servers', `127.0.0.1:${port}`, '--test-startup-timeout', '2s', ...(await ports()),
    ]);
    assert.equal(code, 1);
    assert.match(text, new RegExp(`no broker at 127\\.0\\.0\\.1:${port} within 2s`));
});

test('the commands for log topics wait for a broker too', async () => {
    const port = await freePort();
    for (const command of ['create', 'describe']) {
        const { code, text } = run(['topics', command, '--kafka-servers', `127.0.0.1:${port}`, '--test-startup-timeout', '2s']);
        assert.equal(code, 1);
        assert.match(text, new RegExp(`no broker at 127\\.0\\.0\\.1:${port} within 2s`));
    }
});

test('a start that waits for a broker ends at SIGTERM', async () => {
    const ring = join(directory, 'cluster-keys.json');
    const child = spawn(BECKON, ['endpoint', '--data', fresh(), '--key-ring', ring, '--kafka-servers', `127.0.0.1:${await freePort()}`, ...(await ports())]);
    let text = '';
    child.stderr.on('data', (data) => (text += data));
    const exited = new Promise((resolve) => child.once('exit', resolve));
    await until('that it waits', () => text.includes('waiting_for_broker'));
    child.kill('SIGTERM');
    assert.equal(await exited, 0);
    assert.match(text, /"event":"stopping","signal":"SIGTERM"/);
    assert.match(text, /stopped while waiting for a broker/);
});

test('no broker configured: it names the option and the alternative', async () => {
    const ring = join(directory, 'cluster-keys.json');
    const { code, text } = run(['endpoint', '--data', fresh(), '--key-ring', ring, ...(await ports())]);
    assert.equal(code, 2);
    assert.match(text, /--kafka-servers/);
    assert.match(text, /beckon standalone/);
});

test('an option for librdkafka that a promise rests on is refused with its value and why', async () => {
    const ring = join(directory, 'acks-keys.json');
    run(['keys', 'generate', '--key-ring', ring]);
    const { code, text } = run([
        'endpoint', '--data', fresh(), '--key-ring', ring,
        '--kafka-servers', `127.0.0.1:${await freePort()}`, '--kafka-librdkafka', 'acks=1', ...(await ports()),
    ]);
    assert.equal(code, 2);
    assert.match(text, /librdkafka option 'acks' cannot be '1': a 201 is a promise.*always 'all'/);
});

test('options for librdkafka that cannot work end a start for good, without a directory, and no password is printed', async () => {
    const ring = join(directory, 'options-keys.json');
    run(['keys', 'generate', '--key-ring', ring]);
    const tried = [
        [['sasl.pasword=hunter2'], /kafka\.librdkafka\.sasl\.pasword: .*no option of this name/],
        [['security.protocol=SASL_SSL', 'sasl.mechanism=PLAIN', 'sasl.username=u'], /kafka\.librdkafka: .*sasl\.password/],
        [['security.protocol=SSL', 'ssl.ca.location=/does/not/exist.pem'], /kafka\.librdkafka: ssl\.ca\.location/],
        [['queue.buffering.max.kbytes=1e+06'], /kafka\.librdkafka\.queue\.buffering\.max\.kbytes is '1e\+06', which librdkafka would read as 1:/],
        [['allow.auto.create.topics=true'], /'allow\.auto\.create\.topics' cannot be 'true': only `beckon topics create` makes log topics/],
    ];
    for (const [options, expected] of tried) {
        const data = fresh();
        const { code, text } = run([
            'edge', '--data', data, '--key-ring', ring, '--endpoint-url', 'https://push.example.org', '--kafka-servers', `127.0.0.1:${await freePort()}`,
            '--edge-port', '0', '--edge-link-port', '0', '--ops-port', '0', ...options.flatMap((option) => ['--kafka-librdkafka', option]),
        ]);
        assert.equal(code, 2, text);
        assert.match(text, expected);
        assert.doesNotMatch(text, /hunter2/);
        assert.equal(existsSync(data), false, text);
    }
});

test('fewer file descriptors than clients: it says so, and the one too many receives a Retry-After', async (t) => {
    const [edge, ops] = [await freePort(), await freePort()];
    const args = ['standalone', '--data', fresh(), '--edge-port', String(edge), '--retry-port', '0', '--console-port', '0', '--endpoint-port', '0', '--ops-port', String(ops)];
    const child = spawn('bash', ['-c', 'ulimit -n 400 && exec "$0" "$@"', BECKON, ...args]);
    const exited = new Promise((resolve) => child.once('exit', resolve));
    t.after(() => child.kill('SIGTERM') && exited);
    let text = '';
    child.stdout.resume();
    child.stderr.on('data', (data) => (text += data));
    await until('ready', async () => (await fetch(`http://127.0.0.1:${ops}/ready`)).status === 200);
    assert.match(text, /"clients_limited".*"file_descriptors":400,"clients_max":200/);

    const open = () =>
        new Promise((resolve) => {
            const socket = new WebSocket(`ws://127.0.0.1:${edge}/`);
            t.after(() => socket.terminate());
            socket.on('error', () => {});
            socket.on('open', () => resolve('open'));
            socket.on('unexpected-response', (_, response) => resolve(response));
        });
    for (let i = 0; i < 200; i++) assert.equal(await open(), 'open');
    const refused = await open();
    assert.equal(refused.statusCode, 503);
    assert.match(refused.headers['retry-after'], /^\d+$/);
});

test('on Kafka: missing topics, a wrong partition count and a destroy outside test are refused', async (t) => {
    const cluster = new Cluster('kafka');
    t.after(() => cluster.destroy());
    await cluster.prepare();
    const ring = ['--key-ring', join(cluster.directory, 'keys.json')];
    const kafka = ['--kafka-servers', cluster.servers];
    let result = run(['edge', '--data', fresh(), ...ring, ...kafka, '--kafka-prefix', 'nowhere.', ...(await ports())]);
    assert.equal(result.code, 1);
    assert.match(result.text, /'nowhere\.' do not exist.*beckon topics create/s);

    result = run(['topics', 'create', ...kafka, ...ring, '--replication-factor', '1', '--partitions', '8']);
    assert.equal(result.code, 1);
    assert.match(result.text, /4/);
    assert.match(result.text, /8/);

    result = run(['topics', 'create', ...kafka, ...ring, '--replication-factor', '1', '--partitions', '4']);
    assert.equal(result.code, 0, result.text);

    result = run(['topics', 'destroy', ...kafka, ...ring]);
    assert.equal(result.code, 1);
    assert.match(result.text, /test/);

    // Somebody gives a topic more partitions, which Kafka cannot take away again: they are not used.
    await cluster.kafkaTool('TopicCommand', ['--alter', '--topic', 'beckon.retry.1', '--partitions', '8']);
    result = run(['topics', 'describe', ...kafka, ...ring, '--replication-factor', '1']);
    assert.equal(result.code, 0, result.text);
    assert.match(result.text, /differs beckon\.retry\.1: partitions is 8, expected 4/);
});
