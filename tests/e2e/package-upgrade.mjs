// The Debian package's upgrades, as an administrator meets them, on a host of its own: beside clients and senders, half way, with a
// configuration that the administrator or the maintainers changed, back to the former version, and after a purge. Nothing that was
// answered 201 is lost, and what runs goes on until the new version can take over.
//
//   node package-upgrade.mjs
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT, until } from './beckon.mjs';
import { UserAgent, post } from './client.mjs';
import { enterOwnHost } from './own-host/enter.mjs';
import { makePackage, must, run, version as versionOf } from './own-host/package.mjs';

const host = enterOwnHost();
const CONFIG = '/etc/beckon/beckon.toml';
const STATE = join(host, 'systemd');
Object.assign(process.env, { PATH: `/usr/local/bin:${process.env.PATH}`, UNITS: '/usr/lib/systemd/system', DEBIAN_FRONTEND: 'noninteractive' });

const systemctl = (...args) => must('systemctl', args);
const install = (file, ...how) => run('dpkg', ['--force-not-root', ...how, '--install', file]);
const pid = () => Number(readFileSync(join(STATE, 'beckon'), 'utf8'));
const isReady = async () => (await fetch('http://127.0.0.1:9090/ready')).status === 200;
const ready = () => until('ready', isReady, 60000).catch((error) => {
    throw new Error(`${error.message}\n${readFileSync(join(STATE, 'beckon.log'), 'utf8').slice(-4000)}`);
});

/** The package as another version, with `change(tree)` made in it. */
const version = (name, change) => versionOf(host, made, name, change);

let made;
let client;
let endpoint;
const accepted = []; // ids of messages that were answered 201
let sending = false;
let sender;

/** Posts until it is stopped; only what was answered 201 counts. */
async function send() {
    for (let i = 0; sending; ++i) {
        const { status, id } = await post(endpoint, `${i}`);
        if (status === 201) accepted.push(id);
        else await new Promise((resolve) => setTimeout(resolve, 20));
        assert.ok([0, 201, 503].includes(status), `a POST got ${status}`);
    }
}
const goesOn = async () => {
    const before = accepted.length;
    await until('that POSTs are accepted', () => accepted.length > before + 5, 60000);
};

before(async () => {
    made = makePackage(host);
    mkdirSync('/run/systemd/system', { recursive: true });
    symlinkSync(join(ROOT, 'tests', 'e2e', 'own-host', 'systemctl'), '/usr/local/bin/systemctl');
    const first = install(version('1.0'));
    assert.equal(first.status, 0, first.text);
    systemctl('enable', '--now', 'beckon.service');
    await ready();
    client = new UserAgent('ws://127.0.0.1:8080/');
    await client.connect();
    endpoint = await client.register();
    sending = true;
    sender = send();
});
after(async () => {
    sending = false;
    await sender;
    client?.end();
    run('systemctl', ['stop', 'beckon.service']);
});

test('an upgrade beside clients and senders', async () => {
    await goesOn();
    const before = pid();
    const { status, text } = install(version('2.0'));
    assert.equal(status, 0, text);
    assert.notEqual(pid(), before, 'the new version runs');
    await ready();
    await until('the client is back', () => client.helloed);
    await goesOn();
});

test('an upgrade that fails half way leaves what runs as it was', async () => {
    const before = pid();
    const refused = install(version('3.0', (tree) => writeFileSync(join(tree, 'DEBIAN', 'preinst'), '#!/bin/sh\nexit 1\n', { mode: 0o755 })));
    assert.notEqual(refused.status, 0);
    // (cut in the middle of the binary, as by a full disk or a lost connection)
    const whole = version('3.1');
    const cut = join(host, 'cut.deb');
    const bytes = readFileSync(whole);
    writeFileSync(cut, bytes.subarray(0, bytes.length / 2));
    assert.notEqual(install(cut).status, 0);
    assert.equal(pid(), before);
    assert.match(must('/usr/bin/beckon', ['--version']), /^beckon \d/);
    await goesOn();
    assert.equal(install(version('3.2')).status, 0);
    await ready();
});

test('a configuration that both sides changed: dpkg asks, what runs goes on, and the administrator’s is kept', async () => {
    writeFileSync(CONFIG, '[edge]\nclient_ttl = "300d"\n');
    const changed = version('4.0', (tree) => writeFileSync(join(tree, CONFIG), '# of the maintainers\n'));
    const before = pid();
    const asked = install(changed); // at the end of its input dpkg gives up
    assert.notEqual(asked.status, 0);
    assert.match(asked.text, /beckon\.toml/);
    assert.equal(pid(), before, 'it still runs');
    await goesOn();
    must('dpkg', ['--force-not-root', '--force-confold', '--configure', '--pending']);
    assert.notEqual(pid(), before);
    await ready();
    assert.match(readFileSync(CONFIG, 'utf8'), /300d/);
    assert.match(must('beckon', ['config', 'print', '--config', CONFIG]), /client_ttl = "?300d/);
    await goesOn();
});

test('a version that refuses the configuration ends nothing: the upgrade says so', async () => {
    writeFileSync(CONFIG, '[edge]\nsetting_of_another_version = 1\n');
    const before = pid();
    const { status, text } = install(version('5.0'), '--force-confold');
    assert.equal(status, 0, text);
    assert.match(text, /edge\.setting_of_another_version/);
    assert.match(text, /beckon: .*was not restarted/);
    assert.equal(pid(), before);
    await goesOn();
    writeFileSync(CONFIG, '[edge]\nclient_ttl = "300d"\n');
    systemctl('restart', 'beckon.service');
    await ready();
});

test('back to the former version', async () => {
    const { status, text } = install(join(host, 'beckon_1.0.deb'), '--force-downgrade', '--force-confold');
    assert.equal(status, 0, text);
    assert.match(must('dpkg-query', ['--show', 'beckon']), /\t1\.0$/m);
    await ready();
    await goesOn();
});

test('purged with its data and installed again, it is the same service', async () => {
    sending = false;
    await sender;
    must('dpkg', ['--force-not-root', '--purge', 'beckon']);
    assert.ok(!existsSync('/etc/beckon'), 'nothing is left in /etc');
    assert.ok(existsSync('/var/lib/beckon/keys.json'));
    await until('that it ended', () => fetch('http://127.0.0.1:9090/live').then(() => false, () => true));
    assert.equal(install(join(host, 'beckon_2.0.deb')).status, 0);
    assert.equal(await isReady().catch(() => false), false, 'a first installation starts nothing');
    systemctl('enable', '--now', 'beckon.service');
    await ready();
    await until('the client is back', () => client.helloed);
    assert.equal((await post(endpoint, 'after the purge')).status, 201);
});

test('everything that was accepted meanwhile has arrived, and the client was never forgotten', async () => {
    await until('all messages', () => accepted.every((id) => client.versions.has(id)), 60000);
    assert.deepEqual(client.faults, []);
    assert.ok(accepted.length > 30, String(accepted.length));
});
