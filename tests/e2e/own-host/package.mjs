// The Debian package of this build, on a host of its own (enter.mjs).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { BECKON } from '../beckon.mjs';

export function run(command, args, options = {}) {
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 240000, input: '', ...options });
    return { status, text: `${stdout}${stderr}` };
}

export function must(command, args, options) {
    const { status, text } = run(command, args, options);
    assert.equal(status, 0, `${command} ${args.join(' ')}\n${text}`);
    return text;
}

/** Makes the package, and a /usr that dpkg may write to, since it is a copy that ends with the host. The file's path. */
export function makePackage(host) {
    const [upper, scratch, packages] = ['usr-upper', 'usr-scratch', 'packages'].map((name) => join(host, name));
    for (const directory of [upper, scratch]) mkdirSync(directory);
    must('mount', ['-t', 'overlay', 'overlay', '-o', `lowerdir=/usr,upperdir=${upper},workdir=${scratch}`, '/usr']);
    must('cpack', ['--config', join(dirname(BECKON), 'CPackConfig.cmake'), '-B', packages]);
    return join(packages, readdirSync(packages).find((name) => name.endsWith('.deb')));
}
