// The Debian package under a real systemd: a machine of its own (machine.mjs) boots, apt installs the package there, and the units do what
// docs/operations/install.md says of them: start, serve in their sandbox, are restarted after a crash and not after a fault of the
// configuration, come back after a reboot, are upgraded, and leave with the package.
//
//   node own-host/systemd.mjs      (as root, with a mirror of Debian in reach)
//
// BECKON_DEBIAN=trixie: on that release, with the package that scripts/package-in.sh builds there.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, ROOT, until } from '../beckon.mjs';
import { UserAgent, post } from '../client.mjs';
import { SKIPPED, enterOwnHost } from './enter.mjs';
import { Machine, makeRoot, whyNoMachine } from './machine.mjs';
import { must, version } from './package.mjs';

const OWN = readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(.*)$/m)[1];
const RELEASE = process.env.BECKON_DEBIAN ?? OWN;
const ROLES = ['endpoint', 'edge', 'retry', 'reliability', 'console'];

// What needs the network of this host, before the machine has its own.
if (!process.env.MACHINE) {
    const why = whyNoMachine();
    if (why) {
        console.log(`skipped: ${why}`);
        process.exit(SKIPPED);
    }
    const place = (process.env.MACHINE = mkdtempSync(join(tmpdir(), 'beckon-machine-')));
    process.on('exit', () => rmSync(place, { recursive: true, force: true }));
    const packages = join(place, 'packages');
    if (RELEASE === OWN) must('cpack', ['--config', join(dirname(BECKON), 'CPackConfig.cmake'), '-B', packages]);
    else must(join(ROOT, 'scripts', 'package-in.sh'), [RELEASE, packages], { timeout: 3 * 3600 * 1000 });
    makeRoot(join(place, 'root'), RELEASE, join(packages, readdirSync(packages).find((name) => name.endsWith('.deb'))));
}
enterOwnHost();
const root = join(process.env.MACHINE, 'root');
const deb = join(root, 'root', readdirSync(join(root, 'root')).find((name) => name.endsWith('.deb')));
const CONFIG = join(root, 'etc/beckon/beckon.toml');
/** The package of a later version, in the machine. */
const NEWER = '/var/tmp/beckon_99.0.deb';

const machine = new Machine(root);
let client;
let endpoint;

const isReady = async () => (await fetch('http://127.0.0.1:9090/ready')).status === 200;
const ready = () => until('ready', isReady, 60000).catch((error) => {
    throw new Error(`${error.message}\n${machine.run('systemctl', 'status', '--no-pager', '--full', 'beckon').text}`);
});
/** A push goes from a sender to the client. */
async function pushes(body) {
    await until('the client is connected', () => client.helloed, 60000);
    assert.equal((await post(endpoint, body)).status, 201);
    await until(`that '${body}' arrives`, () => client.bodies.includes(body));
}
const mainPid = (unit = 'beckon') => machine.show(unit).MainPID;
const status = (text, name) => text.match(new RegExp(`^${name}:\\s+(.*)$`, 'm'))[1];

before(() => machine.boot());
after(async () => {
    client?.end();
    await machine.end();
});

test('apt installs it, with an account, and starts nothing', () => {
    const { status: code, text } = machine.run('apt-get', 'install', '-q', deb.slice(root.length));
    assert.equal(code, 0, text);
    assert.match(machine.must('getent', 'passwd', 'beckon'), /:\/var\/lib\/beckon:.*nologin$/m);
    const { ActiveState, UnitFileState } = machine.show('beckon');
    assert.deepEqual({ ActiveState, UnitFileState }, { ActiveState: 'inactive', UnitFileState: 'disabled' });
    assert.equal(machine.must('systemd-analyze', 'verify', '--man=no', 'beckon.service', 'beckon@edge.service'), '');
});

test('enabled, it serves, and its log is in the journal', async () => {
    machine.must('systemctl', 'enable', '--now', 'beckon');
    await ready();
    assert.match(machine.must('systemctl', 'status', '--no-pager', 'beckon'), /Active: active \(running\)/);
    client = new UserAgent('ws://127.0.0.1:8080/');
    await client.connect();
    endpoint = await client.register();
    await pushes('first');
    assert.match(machine.journal('beckon'), /"folder":"edge","event":"ready"/);
});

test('its sandbox holds, and takes nothing from it that it needs', () => {
    const pid = mainPid();
    const proc = machine.must('cat', `/proc/${pid}/status`);
    assert.equal(status(proc, 'NoNewPrivs'), '1');
    assert.equal(status(proc, 'Seccomp'), '2');
    for (const set of ['CapEff', 'CapPrm', 'CapBnd', 'CapAmb']) assert.match(status(proc, set), /^0+$/, set);
    assert.equal(machine.must('stat', '--format=%U', `/proc/${pid}`).trim(), 'beckon');
    assert.match(machine.must('cat', `/proc/${pid}/limits`), /^Max open files +(\d{5,}) /m);
    const inside = (script) => machine.run('nsenter', '--target', pid, '--mount', 'sh', '-c', script);
    for (const path of ['/etc/x', '/usr/x', '/var/lib/x', '/var/log/x']) assert.match(inside(`touch ${path}`).text, /Read-only file system/, path);
    assert.equal(inside('touch /var/lib/beckon/x && rm /var/lib/beckon/x').status, 0);
    assert.match(machine.must('stat', '--format=%a %U', '/var/lib/beckon'), /^700 beckon$/m);
    const [, exposure] = machine.must('systemd-analyze', 'security', '--no-pager', 'beckon').match(/Overall exposure level for beckon.service: ([\d.]+)/);
    assert.ok(Number(exposure) <= 2, exposure);
});

test('the kernel may be asked who keeps the clock', () => {
    // (what the log's time rests on after a reboot; a filter that refuses it would say "nobody")
    const asked = ['systemd-run', '--quiet', '--pipe', '--wait', '--collect'];
    const unit = readFileSync(join(root, 'usr/lib/systemd/system/beckon.service'), 'utf8');
    const sandbox = unit.match(/^(User|CapabilityBoundingSet|NoNewPrivileges|Protect\w+|PrivateDevices|SystemCall\w+)=.*$/gm).flatMap((line) => ['--property', line]);
    const perl = 'my $buf = "\\0" x 208; my $state = syscall(159, $buf); print $state < 0 ? "refused: $!" : "state $state", "\\n"';
    assert.match(machine.must(...asked, ...sandbox, 'perl', '-e', perl), /^state \d$/m);
});

test('killed, it is restarted, and the client is back', async () => {
    const pid = mainPid();
    machine.must('systemctl', 'kill', '--signal=KILL', 'beckon');
    await until('a restart', () => machine.show('beckon').NRestarts === '1' && !['0', pid].includes(mainPid()));
    await ready();
    await pushes('after a crash');
});

test('reload rereads the key ring in the same process', async () => {
    const pid = mainPid();
    machine.must('runuser', '-u', 'beckon', '--', 'beckon', 'keys', 'rotate', '--data', '/var/lib/beckon');
    machine.must('systemctl', 'reload', 'beckon');
    await until('the new key', () => machine.journal('beckon').includes('"event":"key_ring_read"'));
    assert.equal(mainPid(), pid);
    await pushes('after a reload');
});

test('it stops in order, well within its grace', () => {
    const { TimeoutStopUSec } = machine.show('beckon');
    assert.equal(TimeoutStopUSec, '1min');
    machine.must('systemctl', 'stop', 'beckon');
    const { Result, ExecMainStatus, ExecMainCode, ActiveState } = machine.show('beckon');
    assert.deepEqual({ Result, ExecMainStatus, ExecMainCode, ActiveState }, { Result: 'success', ExecMainStatus: '0', ExecMainCode: '1', ActiveState: 'inactive' });
    machine.must('systemctl', 'start', 'beckon');
});

test('a reboot brings it back, and loses nothing', async () => {
    await ready();
    await until('the client is connected', () => client.helloed, 60000);
    client.mute = true;
    assert.equal((await post(endpoint, 'before the reboot')).status, 201);
    const before = machine.init;
    const boots = () => machine.must('journalctl', '--list-boots', '--no-pager').trim().split('\n').length;
    assert.ok(boots() >= 1);
    client.mute = false;
    machine.run('systemctl', 'reboot');
    await until('another first process', () => ![undefined, before].includes(machine.initOf()), 120000);
    await machine.isUp();
    await ready();
    await until('the message of before', () => client.bodies.includes('before the reboot'), 60000);
    await pushes('after a reboot');
});

test('a fault of the configuration is said, and it is not started again', async () => {
    const good = readFileSync(CONFIG, 'utf8');
    writeFileSync(CONFIG, '[edge]\nprot = 1\n');
    machine.run('systemctl', 'restart', 'beckon');
    // (restarts are planned at the end of the process: one that is to come shows as auto-restart)
    await until('its end', () => machine.show('beckon').ActiveState === 'failed');
    const { SubState, ExecMainStatus, NRestarts } = machine.show('beckon');
    assert.deepEqual({ SubState, ExecMainStatus, NRestarts }, { SubState: 'failed', ExecMainStatus: '2', NRestarts: '0' });
    assert.match(machine.journal('beckon'), /beckon: .*edge\.prot/);
    writeFileSync(CONFIG, good);
    machine.must('systemctl', 'restart', 'beckon');
    await ready();
    await pushes('after the fault');
});

test('an upgrade starts anew what runs, and nothing else', async () => {
    const file = version(process.env.MACHINE, deb, '99.0');
    must('cp', [file, join(root, NEWER)]);
    const pid = mainPid();
    machine.must('dpkg', '--install', NEWER);
    assert.notEqual(mainPid(), pid);
    await ready();
    await pushes('after the upgrade');
    for (const role of ROLES) assert.equal(machine.show(`beckon@${role}`).ActiveState, 'inactive', role);
});

test('the roles on Kafka say what they need, and wait for a Kafka that is not there', async () => {
    machine.must('systemctl', 'disable', '--now', 'beckon');
    machine.must('systemctl', 'start', 'beckon@endpoint');
    await until('its end', () => machine.show('beckon@endpoint').ActiveState === 'failed');
    assert.equal(machine.show('beckon@endpoint').ExecMainStatus, '2');
    assert.match(machine.journal('beckon@endpoint'), /beckon: endpoint\.url: must be given/);
    // (nothing listens at that port: the network of this host is its own)
    writeFileSync(CONFIG, 'key_ring = "/etc/beckon/keys.json"\n[endpoint]\nurl = "https://push.example.org"\n[kafka]\nservers = "127.0.0.1:9092"\n');
    machine.must('beckon', 'keys', 'generate', '--key-ring', '/etc/beckon/keys.json');
    machine.must('chown', 'beckon:beckon', '/etc/beckon/keys.json');
    machine.must('systemctl', 'enable', '--now', ...ROLES.map((role) => `beckon@${role}`));
    for (const role of ROLES) {
        await until(`that ${role} says it`, () => /"event":"waiting_for_broker"/.test(machine.journal(`beckon@${role}`)), 60000);
        assert.equal(machine.show(`beckon@${role}`).ActiveState, 'active', role);
        assert.match(machine.must('stat', '--format=%a %U', `/var/lib/beckon/${role}`), /^700 beckon$/m);
    }
    // Stopped while it waits, it has not failed; and an upgrade starts the roles anew as well.
    machine.must('systemctl', 'stop', 'beckon@retry');
    assert.equal(machine.show('beckon@retry').ActiveState, 'inactive');
    const pid = mainPid('beckon@edge');
    machine.must('dpkg', '--install', NEWER);
    assert.notEqual(mainPid('beckon@edge'), pid);
});

test('purged, nothing of it runs or is enabled, and its data stays', () => {
    machine.must('apt-get', 'purge', '-q', 'beckon');
    for (const role of ROLES) assert.notEqual(machine.run('systemctl', 'is-active', `beckon@${role}`).status, 0, role);
    assert.equal(machine.must('find', '/proc', '-maxdepth', '1', '-user', 'beckon'), '');
    assert.equal(machine.must('find', '/etc/systemd/system', '-name', 'beckon*'), '');
    assert.equal(machine.must('systemctl', '--failed', '--no-legend', '--plain'), '');
    assert.ok(existsSync(join(root, 'var/lib/beckon/keys.json')));
});
