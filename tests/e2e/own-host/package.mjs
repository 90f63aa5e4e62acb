// The Debian package of this build, for tests that install it on a host of their own.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
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
    rmSync('/var/lib/man-db/auto-update', { force: true }); // or dpkg would index all manuals of this machine
    must('cpack', ['--config', join(dirname(BECKON), 'CPackConfig.cmake'), '-B', packages]);
    return join(packages, readdirSync(packages).find((name) => name.endsWith('.deb')));
}

/** The package `made` as another version in `directory`, with `change(tree)` made in it. The file's path. */
export function version(directory, made, name, change = () => {}) {
    const tree = join(directory, `tree-${name}`);
    must('dpkg-deb', ['--raw-extract', made, tree]);
    const control = join(tree, 'DEBIAN', 'control');
    writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, `Version: ${name}`));
    change(tree);
    const file = join(directory, `beckon_${name}.deb`);
    must('dpkg-deb', ['--root-owner-group', '-Znone', '--build', tree, file]);
    rmSync(tree, { recursive: true });
    return file;
}
