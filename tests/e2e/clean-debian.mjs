// The Debian package on a host that has nothing but Debian's base: a fresh root that debootstrap has made. It is installed there
// with its dependencies, as README.md says, pushes once, serves by the steps of docs/unifiedpush-at-home.md as they stand, and is
// purged without a trace. Networks and processes of the root are its own while something listens there.
//
//   node --test clean-debian.mjs     (as root, with a mirror of Debian in reach)
//
// BECKON_DEBIAN=trixie: on that release, with the package that scripts/package-in.sh builds there. Otherwise the release is that of
// this machine, and the package that of this build.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, ROOT } from './beckon.mjs';
import { blocksOf } from './doc-blocks.mjs';

const MIRROR = process.env.BECKON_DEBIAN_MIRROR ?? 'http://deb.debian.org/debian';
const OWN = readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(.*)$/m)[1];
const RELEASE = process.env.BECKON_DEBIAN ?? OWN;

let place;
let root;

function run(command, args, options = {}) {
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 600000, ...options });
    return { status, text: `${stdout}${stderr}` };
}
function must(command, args, options) {
    const { status, text } = run(command, args, options);
    assert.equal(status, 0, `${command} ${args.join(' ')}\n${text}`);
    return text;
}

/**
 * Runs a script whose function `there` runs a text in the root, in /root, as its shell would; all mounts and processes end with it.
 * @param {{network?: boolean}} options `network`: that of this host, for apt; else one of its own, with loopback alone
 */
function host(script, { network = false } = {}) {
    const prepare = `
        ${network ? '' : 'ip link set lo up'}
        mount -t proc proc ${root}/proc && mount --rbind /dev ${root}/dev
        there() { chroot ${root} bash -euo pipefail -c "cd /root; $1"; }
        ${script}`;
    return must('unshare', ['--mount', '--pid', '--fork', '--kill-child', ...(network ? [] : ['--net']), 'bash', '-euc', prepare], {
        env: {
            PATH: '/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive', HOME: '/root', OWN_HOST: '/tmp/own-host',
            UNITS: '/usr/lib/systemd/system', ...process.env.http_proxy && { http_proxy: process.env.http_proxy },
        },
    });
}
/** `there "text"` for a script of host(). */
const there = (text) => `there ${quoted(text)}\n`;
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const install = (text) => host(there(text), { network: true });

const blocks = (file, heading) => blocksOf(join(ROOT, file)).filter((block) => block.heading === heading).map(({ text }) => text);
/** A step with the name of this host. */
const named = (text) => text.replaceAll('push.example.org', 'localhost');

before(() => {
    place = mkdtempSync(join(tmpdir(), 'beckon-clean-'));
    root = join(place, 'root');
    const packages = join(place, 'packages');
    if (RELEASE === OWN) must('cpack', ['--config', join(dirname(BECKON), 'CPackConfig.cmake'), '-B', packages]);
    else must(join(ROOT, 'scripts', 'package-in.sh'), [RELEASE, packages], { timeout: 3 * 3600 * 1000 });
    const name = readdirSync(packages).find((file) => file.endsWith('.deb'));
    mkdirSync(root);
    must('debootstrap', ['--variant=minbase', RELEASE, root, MIRROR]);
    for (const file of ['/etc/resolv.conf', '/etc/hosts']) copyFileSync(file, join(root, file));
    writeFileSync(join(root, 'etc/apt/apt.conf.d/90yes'), 'APT::Get::Assume-Yes "true";\nAPT::Install-Recommends "false";\n');
    copyFileSync(join(ROOT, 'tests', 'e2e', 'own-host', 'systemctl'), join(root, 'usr/local/bin/systemctl'));
    // Where README.md has it, and where docs/unifiedpush-at-home.md does.
    mkdirSync(join(root, 'root/build/packages'), { recursive: true });
    for (const at of ['root', 'root/build/packages']) copyFileSync(join(packages, name), join(root, at, name));
    install('apt-get update -q');
});
after(() => rmSync(place, { recursive: true, force: true }));

test('README: apt installs it with all that it needs', () => {
    const [[first]] = [blocks('README.md', 'Try it')[0].trim().split('\n')];
    assert.match(first, /^apt install /);
    install(first);
    assert.match(host(there('beckon --version')), /^beckon \d/);
    assert.match(host(there('beckon-bench --help')), /beckon-bench \[OPTIONS\]/);
});

test('README: it serves, and a push arrives', () => {
    const [, trial] = blocks('README.md', 'Try it')[0].trim().split('\n');
    const shown = host(there(`
        ${trial} > /tmp/shown 2> /tmp/log & beckon=$!
        for i in $(seq 600); do grep -q 'Beckon is running' /tmp/shown && break; sleep 0.1; done
        cat /tmp/shown /tmp/log
        kill $beckon; wait $beckon`));
    assert.match(shown, /POST to frame/);
    assert.match(shown, /Everything arrived as it was sent\./);
});

test('a fault of the configuration ends with the code at which systemd does not start it again', () => {
    const unit = readFileSync(join(root, 'usr/lib/systemd/system/beckon.service'), 'utf8');
    const [, code] = unit.match(/^RestartPreventExitStatus=(\d+)$/m);
    assert.match(host(there('set +e; beckon standalone --data /tmp/data2 --edge-prot 1; echo "ended with $?"')), new RegExp(`ended with ${code}`));
});

test('UnifiedPush at home: from the package to a push through Caddy; coming from ntfy: its commands', () => {
    const page = (heading) => blocks('docs/unifiedpush-at-home.md', heading).map(named);
    const [, beckon] = page('1. Beckon');
    const [caddy, doctor, health] = page('2. Caddy');
    const [both] = page('3. Try it without the phone');
    const [listen, push] = both.trim().split('\n');
    const [, script] = blocks('docs/coming-from-ntfy.md', 'Messages from a script').map(named);
    const [events] = blocks('docs/coming-from-ntfy.md', 'Events for a program');
    const apt = (text) => text.split('\n').filter((line) => line.startsWith('apt ')).join('\n');
    const rest = (text) => text.split('\n').filter((line) => !line.startsWith('apt ')).join('\n');
    install(apt(beckon));
    install(apt(caddy));
    const shown = host(`
        ${there('mkdir -p /tmp/own-host')}
        ${there(rest(beckon))}
        ${there(`for i in $(seq 300); do (exec 3<>/dev/tcp/127.0.0.1/9090 && printf 'GET /ready HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && head -1 <&3 | grep -q ' 200 ') 2> /dev/null && break; sleep 0.1; done`)}
        ${there('systemctl start caddy; for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/2019) 2> /dev/null && break; sleep 0.1; done') /* as Debian's package does */}
        ${there(rest(caddy))}
        for i in $(seq 100); do curl -sk -o /dev/null https://localhost/health && break; sleep 0.1; done
        ${there('cp /var/lib/caddy/.local/share/caddy/pki/authorities/local/root.crt /usr/local/share/ca-certificates/caddy.crt; update-ca-certificates > /dev/null')}
        ${there(doctor)}
        ${health.trim().replace('curl', 'curl -sSk -w "\\nhealth: %{http_code}\\n"')}
        ${there(`
            ${listen} > /tmp/listened 2>&1 & listen=$!
            for i in $(seq 100); do grep -q '"endpoint"' /tmp/listened && break; sleep 0.1; done
            ${push}
            ${script}
            for i in $(seq 100); do grep -q 'Backup failed' /tmp/listened && break; sleep 0.1; done
            kill $listen
            cat /tmp/listened`)}
        ${there(events)}`);
    assert.match(shown, /^ok +process +ready/m, shown);
    assert.doesNotMatch(shown, /^BAD /m, shown);
    assert.match(shown, /health: 200/, shown);
    assert.match(shown, /"endpoint": ?"https:\/\/localhost\/wpush\//, shown);
    assert.match(shown, /Hello$/m, shown);
    assert.match(shown, /Backup failed on /, shown);
    assert.match(shown, /receiver\.example\.org\/hook/, shown);
});

test('purged, it leaves nothing behind but its data', () => {
    install('apt-get purge -q beckon');
    for (const path of ['usr/bin/beckon', 'usr/bin/beckon-bench', 'etc/beckon', 'usr/lib/systemd/system/beckon.service', 'usr/share/beckon']) {
        assert(!existsSync(join(root, path)), path);
    }
    assert(existsSync(join(root, 'var/lib/beckon/keys.json')), 'the key ring stays: without it every endpoint URL would be lost');
});
