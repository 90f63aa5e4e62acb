// `./dev release` in a clone of this checkout's last commit, with packages of this build: what it makes, that it makes the same bytes twice, and what it
// refuses. Nothing is tagged but in the clone.
//
//   node --test release.mjs     (IMAGE=1: the image too, twice; as root, with a mirror of Debian in reach)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, ROOT } from './beckon.mjs';
import { version } from './own-host/package.mjs';

const VERSION = '7.8.9';
const CODENAME = readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(.*)$/m)[1];
const NUMBER = { bookworm: 12, trixie: 13 }[CODENAME];
const place = mkdtempSync(join(tmpdir(), 'beckon-release-'));
const tree = join(place, 'clone');
const packages = join(place, 'packages');
const key = join(place, 'key.pem');
let architecture;

function run(command, args, options = {}) {
    const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', timeout: 600000, maxBuffer: 64e6, ...options });
    return { status, stdout, text: `${stdout}${stderr}` };
}
function must(command, args, options) {
    const done = run(command, args, options);
    assert.equal(done.status, 0, `${command} ${args.join(' ')}\n${done.text}`);
    return done.stdout;
}
const git = (...args) => must('git', ['-C', tree, '-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args]).trim();
const release = (out, ...more) => run(join(tree, 'scripts/release.py'), [VERSION, '--debian', CODENAME, '--packages', packages, '--out', join(place, out), ...more]);
const contents = (directory) => Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name)).toString('base64')]));
function refused(why, ...args) {
    const { status, text } = release('refused', '--no-image', ...args);
    assert.equal(status, 1, text);
    assert.match(text, why);
}

/** The package of this build; its bytes follow from the build and this time. */
function makePackage(name) {
    const directory = join(place, name);
    must('cpack', ['--config', join(dirname(BECKON), 'CPackConfig.cmake'), '-B', directory], { env: { ...process.env, SOURCE_DATE_EPOCH: '1700000000' } });
    return join(directory, readdirSync(directory).find((file) => file.endsWith('.deb')));
}

before(() => {
    must('git', ['clone', '--quiet', '--no-tags', ROOT, tree]);
    const changelog = join(tree, 'CHANGELOG.md');
    const changes = readFileSync(changelog, 'utf8');
    if (!/^## Unreleased\b/m.test(changes)) { // the last commit is that of a release
        writeFileSync(changelog, changes.replace(/^## /m, '## Unreleased\n\n### Web Push\n\n* A change.\n\n## '));
        git('commit', '--quiet', '--all', '--message', 'a change');
    }
    architecture = must('dpkg', ['--print-architecture']).trim();
    const directory = join(packages, `${CODENAME}-${architecture}`);
    mkdirSync(directory, { recursive: true });
    const made = version(place, makePackage('first'), VERSION);
    renameSync(made, join(directory, basename(made)));
    must('openssl', ['genpkey', '-algorithm', 'ed25519', '-out', key]);
});
after(() => rmSync(place, { recursive: true, force: true }));

test('a package of the same build has the same bytes', () => {
    const first = join(place, 'first');
    const [name] = readdirSync(first).filter((file) => file.endsWith('.deb'));
    assert.deepEqual(readFileSync(makePackage('second')), readFileSync(join(first, name)));
});

test('a release has all its files, twice with the same bytes, and the repository stays as it was', () => {
    const head = git('rev-parse', 'HEAD');
    for (const out of ['one', 'two']) {
        const { status, text } = release(out, '--no-image', '--key', key);
        assert.equal(status, 0, text);
        assert.match(text, /there is no package for arm64: --arm64/);
    }
    const [one, two] = ['one', 'two'].map((out) => contents(join(place, out)));
    const name = `beckon_${VERSION}_debian${NUMBER}_${architecture}`;
    assert.deepEqual(Object.keys(one).sort(), [
        'SHA256SUMS', 'SHA256SUMS.sig', `beckon-${VERSION}.tgz`, `${name}.deb`, `${name}.spdx.json`, 'release-key.pem', 'release-notes.md',
        `third-party-licenses_debian${NUMBER}.txt.gz`,
    ].sort());
    for (const [file, bytes] of Object.entries(one)) assert.equal(two[file], bytes, `${file} is the same each time`);
    assert.equal(git('rev-parse', 'HEAD'), head);
    assert.equal(git('status', '--porcelain'), '');
    assert.equal(git('tag', '--list'), '');
});

test('its sums are right, and the signature holds for them alone', () => {
    const out = join(place, 'one');
    must('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: out });
    assert.equal(readFileSync(join(out, 'SHA256SUMS'), 'utf8').trim().split('\n').length, 5);
    const verify = ['pkeyutl', '-verify', '-rawin', '-pubin', '-inkey', 'release-key.pem', '-sigfile', 'SHA256SUMS.sig', '-in'];
    must('openssl', [...verify, 'SHA256SUMS'], { cwd: out });
    writeFileSync(join(place, 'other'), `${readFileSync(join(out, 'SHA256SUMS'), 'utf8')}\n`);
    assert.notEqual(run('openssl', [...verify, join(place, 'other')], { cwd: out }).status, 0);
});

test('the chart and the notes are of that version', () => {
    const out = join(place, 'one');
    const chart = must('tar', ['-xzOf', join(out, `beckon-${VERSION}.tgz`), 'beckon/Chart.yaml']);
    assert.match(chart, new RegExp(`^version: ${VERSION}\nappVersion: "${VERSION}"$`, 'm'));
    assert.match(readFileSync(join(out, 'release-notes.md'), 'utf8'), /^### \S/);
});

test('the SBOM names what is linked, compiled in and copied, and each reference leads somewhere', () => {
    const out = join(place, 'one');
    const sbom = JSON.parse(readFileSync(join(out, `beckon_${VERSION}_debian${NUMBER}_${architecture}.spdx.json`), 'utf8'));
    assert.equal(sbom.spdxVersion, 'SPDX-2.3');
    assert.match(sbom.creationInfo.created, /^\d{4}(-\d\d){2}T(\d\d:){2}\d\dZ$/);
    const ids = sbom.packages.map((one) => one.SPDXID);
    assert.equal(new Set(ids).size, ids.length);
    for (const one of sbom.packages) assert.match(one.SPDXID, /^SPDXRef-[A-Za-z0-9.-]+$/);
    for (const { spdxElementId, relatedSpdxElement } of sbom.relationships) {
        for (const id of [spdxElementId, relatedSpdxElement]) assert(id === 'SPDXRef-DOCUMENT' || ids.includes(id), id);
    }
    const how = new Map(sbom.relationships.map(({ relationshipType, relatedSpdxElement }) => [relatedSpdxElement, relationshipType]));
    assert.equal(how.get('SPDXRef-librdkafka1'), 'DYNAMIC_LINK');
    assert.equal(how.get('SPDXRef-librocksdb-dev'), 'CONTAINS', 'Debian has it as a static library too, which is linked');
    assert.equal(how.get('SPDXRef-nlohmann-json3-dev'), 'CONTAINS', 'headers alone');
    assert.equal(how.get('SPDXRef-uplot'), 'CONTAINS');
    const needed = must('readelf', ['--dynamic', BECKON]).match(/\(NEEDED\)/g).length;
    assert(sbom.relationships.filter(({ relationshipType }) => relationshipType === 'DYNAMIC_LINK').length >= needed - 5, 'all but four of glibc and gcc; the two of OpenSSL are one package');
    const licences = must('zcat', [join(out, `third-party-licenses_debian${NUMBER}.txt.gz`)]);
    for (const name of ['librocksdb-dev', 'nlohmann-json3-dev', 'libcli11-dev']) assert.match(licences, new RegExp(`^${name} \\d`, 'm'));
});

test('what is not a release is refused, and says why', () => {
    const { text } = run(join(tree, 'scripts/release.py'), ['1.0', '--no-image']);
    assert.match(text, /1\.0 is not MAJOR\.MINOR\.PATCH/);
    refused(/--debian sid: not one of bookworm, trixie/, '--debian', 'sid');
    refused(/--key .*: there is no such file/, '--key', join(place, 'none'));
    const other = join(place, 'other-packages', `${CODENAME}-${architecture}`);
    mkdirSync(other, { recursive: true });
    const made = version(place, join(packages, `${CODENAME}-${architecture}`, `beckon_${VERSION}.deb`), '7.8.8');
    renameSync(made, join(other, basename(made)));
    refused(/its Version is 7\.8\.8, not 7\.8\.9/, '--packages', dirname(other));
    rmSync(join(place, 'refused'), { recursive: true });
    appendFileSync(join(tree, 'README.md'), 'mine\n');
    refused(/the tree is not clean/);
    git('checkout', '--quiet', 'README.md');
});

test('the image is an OCI archive that runs, twice with the same bytes', { skip: !process.env.IMAGE }, () => {
    for (const out of ['image-one', 'image-two']) {
        const { status, text } = release(out);
        assert.equal(status, 0, text);
    }
    const name = `beckon-image_${VERSION}_${architecture}.tar`;
    const archive = join(place, 'image-one', name);
    assert.deepEqual(readFileSync(join(place, 'image-two', name)), readFileSync(archive));
    const read = (digest) => must('tar', ['-xOf', archive, `blobs/sha256/${digest.replace('sha256:', '')}`]);
    const index = JSON.parse(must('tar', ['-xOf', archive, 'index.json']));
    const manifest = JSON.parse(read(index.manifests[0].digest));
    const { config } = JSON.parse(read(manifest.config.digest));
    assert.equal(config.User, '10001:10001');
    assert.equal(config.Labels['org.opencontainers.image.version'], VERSION);
    const root = join(place, 'root');
    mkdirSync(root);
    must('bash', ['-eo', 'pipefail', '-c', 'tar -xOf "$1" "blobs/sha256/$2" | tar -xz -C "$3"', 'x', archive, manifest.layers[0].digest.replace('sha256:', ''), root]);
    assert.match(must('chroot', ['--userspec', config.User, root, '/usr/bin/beckon', '--version']), /^beckon \d/);
});

test('--tag tags the commit of the release, which the branch can follow', () => {
    const head = git('rev-parse', 'HEAD');
    const { status, text } = release('tagged', '--no-image', '--tag');
    assert.equal(status, 0, text);
    assert.equal(git('rev-parse', 'HEAD'), head);
    assert.equal(git('rev-parse', `v${VERSION}^{commit}~1`), head);
    git('merge', '--quiet', '--ff-only', `v${VERSION}`);
    assert.match(readFileSync(join(tree, 'CHANGELOG.md'), 'utf8'), new RegExp(`^## ${VERSION.replaceAll('.', '\\.')} \\(\\d{4}-\\d\\d-\\d\\d\\)$`, 'm'));
    assert.match(readFileSync(join(tree, 'CMakeLists.txt'), 'utf8'), new RegExp(`^project\\(beckon VERSION ${VERSION} `, 'm'));
    refused(/v7\.8\.9 is released/);
    git('tag', '--delete', `v${VERSION}`);
    refused(/has no section "## Unreleased"/);
});
