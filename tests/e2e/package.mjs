// The Debian package: made by CPack, installed by dpkg on a host of its own (/etc, /var and /usr are copies), and used
// there as its administrator would.
//
//   node package.mjs
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, until } from './beckon.mjs';
import { enterOwnHost } from './own-host/enter.mjs';
import { makePackage, must, run } from './own-host/package.mjs';

const host = enterOwnHost();
const UNIT = '/usr/lib/systemd/system/beckon.service';
let service;

const setting = (name) => readFileSync(UNIT, 'utf8').match(new RegExp(`^${name}=(.*)$`, 'm'))[1];

let file;
before(() => {
    file = makePackage(host);
});
after(() => service?.kill('SIGKILL'));

test('the package says what it needs and what is configuration', () => {
    const fields = must('dpkg-deb', ['--info', file]);
    assert.match(fields, /Package: beckon\n/);
    assert.match(fields, /Depends: .*librdkafka1/);
    assert.match(fields, /Section: net\n/);
    const listed = must('dpkg-deb', ['--contents', file]);
    const shared = ['prometheus/beckon.rules.yml', 'prometheus/beckon.expected.yml', 'grafana/operator.json', 'grafana/delivery.json'];
    for (const path of ['/usr/bin/beckon', UNIT, UNIT.replace('beckon.service', 'beckon@.service'), '/usr/share/man/man1/beckon.1',
        '/etc/beckon/beckon.toml', ...shared.map((name) => `/usr/share/beckon/${name}`)]) {
        assert(listed.includes(` .${path}\n`), `${path}\n${listed}`);
    }
    assert(!listed.includes('/usr/local'), listed);
});

test('dpkg installs it, with an account, and starts nothing', () => {
    must('dpkg', ['--force-not-root', '--install', file]);
    assert.match(must('getent', ['passwd', 'beckon']), /:\/var\/lib\/beckon:.*nologin$/m);
    assert.match(must('/usr/bin/beckon', ['--version']), /^beckon \d/);
    assert(statSync('/usr/bin/beckon').size < statSync(BECKON).size, 'without symbols');
    assert(!existsSync('/var/lib/beckon'));
});

test('an upgrade starts anew what runs, and a first installation nothing', () => {
    // (a systemctl that only writes down what it is asked)
    const asked = join(host, 'asked');
    mkdirSync('/run/systemd/system', { recursive: true });
    writeFileSync('/usr/local/bin/systemctl', `#!/bin/sh\necho "$@" >> ${asked}\n`, { mode: 0o755 });
    const done = (how) => {
        writeFileSync(asked, '');
        must('dpkg', ['--force-not-root', how, how === '--install' ? file : 'beckon'], { env: { ...process.env, PATH: `/usr/local/bin:${process.env.PATH}` } });
        return readFileSync(asked, 'utf8').trim().split('\n');
    };
    assert.deepEqual(done('--install'), ['daemon-reload', ...['', '@edge', '@endpoint', '@retry', '@reliability', '@console'].map((unit) => `try-restart beckon${unit}.service`)]);
    assert.deepEqual(done('--purge'), ['disable --now beckon.service', 'stop beckon@*.service', 'disable beckon@.service']);
    assert.deepEqual(done('--install'), ['daemon-reload']);
    rmSync('/run/systemd/system', { recursive: true });
    rmSync('/usr/local/bin/systemctl');
});

test('its man page is valid, and names every command', () => {
    const page = must('man', ['--warnings', '--local-file', '/usr/share/man/man1/beckon.1'], {
        env: { ...process.env, MANWIDTH: '100', LC_ALL: 'C.UTF-8' },
    });
    for (const command of ['standalone', 'keys rotate', 'replay show', 'message', 'doctor', 'cluster']) {
        assert(page.includes(`beckon ${command}`), command);
    }
    assert.match(page, /edge\.standby_count/);
    assert(!page.includes('warning'), page.match(/.*warning.*/)?.[0]);
});

test('bash completes commands and options', () => {
    const completed = (...words) =>
        must('bash', ['-c', `
            source /usr/share/bash-completion/completions/beckon
            COMP_WORDS=(beckon ${words.map((word) => `'${word}'`).join(' ')})
            COMP_CWORD=${words.length}
            _beckon
            printf '%s\\n' "\${COMPREPLY[@]}"`]).trim().split('\n');
    assert.deepEqual(completed('doc'), ['doctor']);
    assert.deepEqual(completed('replay', 's').sort(), ['show', 'state']);
    assert.deepEqual(completed('replay', 'show', '--chan'), ['--channel']);
    assert(!completed('').includes('reference'), 'which is for packagers');
});

test('its unit starts with its configuration, and the doctor finds nothing bad', async () => {
    const [program, ...args] = setting('ExecStart').split(' ');
    assert.equal(program, '/usr/bin/beckon');
    const data = `/var/lib/${setting('StateDirectory')}`;
    mkdirSync(data, { mode: 0o700 });
    must('chown', [`${setting('User')}:${setting('Group')}`, data]);
    const as = ['--reuid', setting('User'), '--regid', setting('Group'), '--clear-groups', '--no-new-privs'];
    let output = '';
    service = spawn('setpriv', [...as, program, ...args], { cwd: '/' });
    for (const stream of [service.stdout, service.stderr]) stream.on('data', (text) => (output += text));
    await until('ready', async () => (await fetch('http://127.0.0.1:9090/ready')).status === 200, 60000).catch((error) => {
        throw new Error(`${error.message}\n${output}`);
    });
    const found = run('setpriv', [...as, program, 'doctor', '--config', '/etc/beckon/beckon.toml', '--data', data], { cwd: '/' });
    assert.equal(found.status, 0, found.text);
    assert.match(found.text, /^ok +process +ready/m);
});

test('removing it leaves its data and its configuration', async () => {
    service.kill('SIGTERM');
    await until('its end', () => service.exitCode !== null || service.signalCode !== null);
    writeFileSync('/etc/beckon/beckon.toml', '# mine\n');
    must('dpkg', ['--force-not-root', '--remove', 'beckon']);
    assert(!existsSync('/usr/bin/beckon'));
    assert.equal(readFileSync('/etc/beckon/beckon.toml', 'utf8'), '# mine\n');
    must('dpkg', ['--force-not-root', '--purge', 'beckon']);
    assert(!existsSync('/etc/beckon/beckon.toml'));
    assert(existsSync('/var/lib/beckon/keys.json'));
});
