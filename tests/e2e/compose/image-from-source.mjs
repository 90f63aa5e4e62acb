// The Dockerfile of the checkout, which compiles Beckon in the image: to its end, on bases that debootstrap makes, since no registry is
// reached. It takes as long as a first build: `./dev nightly` runs it. Needs a Docker engine, and a mirror of Debian.
//
//   ./run.sh image-from-source.mjs
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT, until } from '../beckon.mjs';

const MIRROR = process.env.BECKON_DEBIAN_MIRROR ?? 'http://deb.debian.org/debian';
const CODENAMES = { 12: 'bookworm', 13: 'trixie' };
const IMAGE = 'beckon-from-source';
const SIZE_MAX = 120e6;
const directory = mkdtempSync(join(tmpdir(), 'beckon-from-source-'));

function shell(text, options = {}) {
    const { status, stdout, stderr } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', text], { cwd: ROOT, encoding: 'utf8', maxBuffer: 64e6, ...options });
    assert.equal(status, 0, `${text}\n${stdout.slice(-8000)}${stderr.slice(-8000)}`);
    return stdout + stderr;
}

// What Debian's slim images leave out, of packages that are installed later too.
const LEFT_OUT = ['doc', 'groff', 'info', 'linda', 'lintian', 'locale', 'man'];

/** `debian:13` and `debian:13-slim` as debootstrap makes them; the slim one without what Debian's slim images leave out. */
function makeBase(name) {
    if (spawnSync('docker', ['image', 'inspect', name], { stdio: 'ignore' }).status === 0) return;
    const [, number, slim] = name.match(/^debian:(\d+)(-slim)?$/);
    const base = join(directory, `base${slim ?? ''}`);
    shell(`
        debootstrap --variant=minbase ${CODENAMES[number]} '${base}' ${MIRROR} > '${directory}/log' || { tail -20 '${directory}/log'; exit 1; }
        rm -rf '${base}'/var/cache/apt/* '${base}'/var/lib/apt/lists/*
        ${slim ? `rm -rf '${base}'/usr/share/{${LEFT_OUT.join()}}/*
        printf 'path-exclude /usr/share/%s/*\\n' ${LEFT_OUT.join(' ')} > '${base}/etc/dpkg/dpkg.cfg.d/docker'
        echo 'path-include /usr/share/doc/*/copyright' >> '${base}/etc/dpkg/dpkg.cfg.d/docker'` : ''}
        printf 'Dir::Cache::pkgcache "";\\nDir::Cache::srcpkgcache "";\\n' > '${base}/etc/apt/apt.conf.d/docker-clean'
        tar -C '${base}' -c . | docker import - ${name}
        rm -rf '${base}'`);
}

before(() => {
    const bases = new Set([...readFileSync(join(ROOT, 'Dockerfile'), 'utf8').matchAll(/^FROM (debian:\S+)/gm)].map(([, name]) => name));
    assert.equal(bases.size, 2);
    for (const name of bases) makeBase(name);
    shell(`docker build -t ${IMAGE} .`, { timeout: 3 * 3600 * 1000 });
}, { timeout: 3.5 * 3600 * 1000 });
after(() => {
    spawnSync('docker', ['rm', '-f', IMAGE]);
    rmSync(directory, { recursive: true, force: true });
});

test('it has the binary, its libraries, and not much more', (t) => {
    const size = Number(shell(`docker inspect -f '{{.Size}}' ${IMAGE}`));
    t.diagnostic(`${(size / 1e6).toFixed(1)} MB`);
    assert.ok(size <= SIZE_MAX, `${size} bytes`);
    assert.match(shell(`docker run --rm ${IMAGE} --version`), /^beckon \d/);
});

test('a container of it becomes healthy, and stops in order', { timeout: 240000 }, async () => {
    shell(`docker run -d --name ${IMAGE} ${IMAGE} standalone`);
    await until('its health', () => shell(`docker inspect -f '{{.State.Health.Status}}' ${IMAGE}`).trim() === 'healthy', 120000);
    shell(`docker stop --time 30 ${IMAGE}`);
    assert.equal(shell(`docker inspect -f '{{.State.ExitCode}}' ${IMAGE}`).trim(), '0');
});
