// The Debian package on a host that has nothing but Debian's base: a fresh root that debootstrap has made. It is
// installed there with its dependencies, pushes once, and is purged without a trace.
//
//   node --test clean-debian.mjs     (as root, with a mirror of Debian in reach)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON } from './beckon.mjs';

const MIRROR = process.env.BECKON_DEBIAN_MIRROR ?? 'http://deb.debian.org/debian';
// The package that was built here needs the libraries of this release.
const RELEASE = readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(.*)$/m)[1];

let place;
let root;
let name;

function must(command, args, options = {}) {
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 600000, ...options });
    assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}${stderr}`);
    return `${stdout}${stderr}`;
}

/** Runs a script there; its mounts and processes end with it. */
function there(script) {
    const prepare = `mount -t proc proc ${root}/proc && mount --rbind /dev ${root}/dev && exec chroot ${root} bash -euc "$1"`;
    return must('unshare', ['--mount', '--pid', '--fork', 'bash', '-euc', prepare, 'there', script], {
        env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive', HOME: '/root' },
    });
}

before(() => {
    place = mkdtempSync(join(tmpdir(), 'beckon-clean-'));
    root = join(place, 'root');
    mkdirSync(root);
    must('debootstrap', ['--variant=minbase', RELEASE, root, MIRROR]);
    for (const file of ['/etc/resolv.conf', '/etc/hosts']) copyFileSync(file, join(root, file));
    const packages = join(place, 'packages');
    must('cpack', ['--config', join(dirname(BECKON), 'CPackConfig.cmake'), '-B', packages]);
    name = readdirSync(packages).find((file) => file.endsWith('.deb'));
    copyFileSync(join(packages, name), join(root, 'tmp', name));
});
after(() => rmSync(place, { recursive: true, force: true }));

test('apt installs it with all that it needs', () => {
    there(`apt-get update -q; apt-get install -y -q --no-install-recommends /tmp/${basename(name)}`);
    assert.match(there('beckon --version'), /^beckon \d/);
    assert.match(there('beckon-bench --help'), /beckon-bench \[OPTIONS\]/);
});

test('it serves, and a push arrives', () => {
    const shown = there(`
        beckon standalone --demo --data /tmp/data --retry-allowed-addresses 127.0.0.1 --endpoint-port 0 --edge-port 0 \\
            --ops-port 0 --retry-port 0 --console-port 0 --edge-link-port 0 > /tmp/shown 2> /tmp/log & beckon=$!
        for i in $(seq 300); do grep -q 'Beckon is running' /tmp/shown && break; sleep 0.1; done
        cat /tmp/shown /tmp/log
        kill $beckon; wait $beckon`);
    assert.match(shown, /POST to frame/);
    assert.match(shown, /Everything arrived as it was sent\./);
});

test('purged, it leaves nothing behind', () => {
    there('apt-get purge -y -q beckon');
    for (const path of ['/usr/bin/beckon', '/usr/bin/beckon-bench', '/etc/beckon', '/var/lib/beckon', '/usr/lib/systemd/system/beckon.service']) {
        assert(!existsSync(join(root, path)), path);
    }
});
