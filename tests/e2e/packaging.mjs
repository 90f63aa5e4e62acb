// `cmake --install` puts on a host a stripped binary that runs, and a unit that systemd accepts and whose command line
// and configuration Beckon accepts.
//
//   node packaging.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON } from './beckon.mjs';

const prefix = mkdtempSync(join(tmpdir(), 'beckon-install-'));
after(() => rmSync(prefix, { recursive: true, force: true }));
const installed = join(prefix, 'bin', 'beckon');
const unitFile = join(prefix, 'lib', 'systemd', 'system', 'beckon.service');

function run(command, args) {
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 60000 });
    return { status, text: `${stdout}${stderr}` };
}

before(() => {
    const { status, text } = run('cmake', ['--install', dirname(BECKON), '--prefix', prefix, '--strip']);
    assert.equal(status, 0, text);
});

test('the installed binary is stripped and runs', () => {
    const sections = run('readelf', ['--section-headers', '--wide', installed]);
    assert.equal(sections.status, 0, sections.text);
    assert.match(sections.text, / \.text /);
    assert.doesNotMatch(sections.text, / \.(symtab|debug_info) /);
    const { status, text } = run(installed, ['--version']);
    assert.equal(status, 0, text);
    assert.match(text, /^beckon \d/);
});

test('the unit starts what Beckon accepts, with the configuration that is installed', () => {
    const unit = readFileSync(unitFile, 'utf8');
    const words = unit.match(/^ExecStart=(.*)$/m)[1].split(' ');
    assert.equal(words.shift(), '/usr/local/bin/beckon');
    assert.equal(words.shift(), 'standalone');
    const config = join(prefix, 'share', 'doc', 'beckon', 'beckon.toml');
    const args = words.map((word) => (word === '/etc/beckon/beckon.toml' ? config : word));
    const { status, text } = run(installed, ['config', 'print', ...args]);
    assert.equal(status, 0, text);
    assert.match(text, /data = "\/var\/lib\/beckon" {2}# --data/);
    assert.match(text, /url = "https:\/\/push\.example\.org" {2}# .*beckon\.toml:/);
    assert.match(unit, /^LimitNOFILE=\d{6,}$/m);
    assert.match(unit, /^Restart=on-failure$/m);
});

test('the unit of the roles on Kafka is the same but for the role and its directory', () => {
    const role = readFileSync(join(dirname(unitFile), 'beckon@.service'), 'utf8');
    const lines = (text) => text.split('\n').filter((line) => !/^(#|Description=|ExecStart=|StateDirectory=)/.test(line));
    assert.deepEqual(lines(role), lines(readFileSync(unitFile, 'utf8')));
    for (const name of ['endpoint', 'edge', 'retry', 'reliability', 'console']) {
        const words = role.match(/^ExecStart=(.*)$/m)[1].replaceAll('%i', name).split(' ').slice(1);
        assert.equal(words[0], name);
        const config = join(prefix, 'share', 'doc', 'beckon', 'beckon.toml');
        const args = words.slice(1).map((word) => (word === '/etc/beckon/beckon.toml' ? config : word));
        const { status, text } = run(installed, ['config', 'print', ...args]);
        assert.equal(status, 0, text);
        assert(text.includes(`data = "/var/lib/beckon/${name}"  # --data`), text);
        assert.match(role, /^StateDirectory=beckon\/%i$/m);
    }
});

for (const name of ['beckon.service', 'beckon@.service']) {
    test(`systemd finds no fault in ${name}`, (t) => {
        if (run('systemd-analyze', ['--version']).status !== 0) return t.skip('no systemd-analyze here');
        const copy = join(prefix, name.replace('@', '@endpoint'));
        // It must be there to be checked; the administrator makes the account.
        const unit = readFileSync(join(dirname(unitFile), name), 'utf8').replace('/usr/local/bin/beckon', installed).replace(/^(User|Group)=.*$/gm, '');
        writeFileSync(copy, unit);
        const { status, text } = run('systemd-analyze', ['verify', '--man=no', copy]);
        assert.equal(status, 0, text);
        assert(!text.includes('beckon'), text);
    });
}
