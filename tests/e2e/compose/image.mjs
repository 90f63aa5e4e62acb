// The image: made by `./dev package` as it stands, on a base like debian:*-slim; its size; the commands of docs/operations/install.md#container;
// compose.standalone.yml with Caddy. Needs a Docker engine.
//
//   node --test image.mjs
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, ROOT, freePort, until } from '../beckon.mjs';
import { UserAgent, post } from '../client.mjs';
import { blocksOf } from '../doc-blocks.mjs';

const SIZE_MAX = 120e6;
const release = readFileSync('/etc/os-release', 'utf8').match(/^VERSION_CODENAME=(.*)$/m)[1];
const directory = mkdtempSync(join(tmpdir(), 'beckon-image-'));
const environment = { ...process.env };
const composeV2 = spawnSync('docker', ['compose', 'version']).status === 0;
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; // Caddy's own authority

function shell(text, options = {}) {
    const { status, stdout, stderr } = spawnSync('bash', ['-e', '-o', 'pipefail', '-c', composeV2 ? text : text.replaceAll('docker compose', 'docker-compose')],
        { cwd: ROOT, env: environment, encoding: 'utf8', timeout: 600000, ...options });
    assert.equal(status, 0, `${text}\n${stdout}${stderr}`);
    return stdout + stderr;
}
const steps = (file, heading) => blocksOf(join(ROOT, file)).filter((block) => block.heading === heading).map(({ text }) => text);
const [run, compose] = steps('docs/operations/install.md', 'Container');
const running = [];

/** The base that no registry is reached for: what debootstrap makes, without what Debian's slim images leave out, and with their setting for apt. */
function makeBase(name) {
    if (spawnSync('docker', ['image', 'inspect', name], { stdio: 'ignore' }).status === 0) return;
    shell(`
        debootstrap --variant=minbase ${release} '${directory}/base' > '${directory}/log' || { tail -20 '${directory}/log'; exit 1; }
        rm -rf '${directory}'/base/var/cache/apt/* '${directory}'/base/var/lib/apt/lists/* '${directory}'/base/usr/share/{doc,man,info,locale,groff,lintian,linda}/*
        cp /etc/apt/sources.list.d/* '${directory}/base/etc/apt/sources.list.d/' 2> /dev/null || true
        [ -e '${directory}/base/etc/apt/sources.list' ] || cp /etc/apt/sources.list '${directory}/base/etc/apt/'
        printf 'Dir::Cache::pkgcache "";\nDir::Cache::srcpkgcache "";\n' > '${directory}/base/etc/apt/apt.conf.d/docker-clean'
        tar -C '${directory}/base' -c . | docker import - ${name}`);
}

before(() => {
    makeBase(`debian:${release}-slim`);
    if (dirname(BECKON) === join(ROOT, 'build', 'release')) {
        shell('./dev package');
        return;
    }
    // Another build than the one that ./dev has made: the same commands, with its binary.
    const context = join(directory, 'context');
    shell(`cpack --config '${dirname(BECKON)}/CPackConfig.cmake' -B '${context}' && rm -rf '${context}/_CPack_Packages'`);
    for (const file of ['entrypoint', 'health']) copyFileSync(join(ROOT, 'packaging', 'image', file), join(context, file));
    shell(`docker build --build-arg DEBIAN=${release} -t beckon -f packaging/image/Dockerfile '${context}'`);
}, { timeout: 800000 });
after(() => {
    for (const { child, name } of running) {
        spawnSync('docker', ['rm', '-f', name]);
        child?.kill('SIGKILL');
    }
    if (environment.CADDY_IMAGE) spawnSync('bash', ['-c', `${composeV2 ? 'docker compose' : 'docker-compose'} -f compose.standalone.yml -p beckon-image down --volumes --timeout 5`], { cwd: ROOT, env: environment });
    rmSync(directory, { recursive: true, force: true });
});

const inspect = (name, format) => shell(`docker inspect -f '${format}' ${name}`).trim();

test(`it has at most ${SIZE_MAX / 1e6} MB, no symbols, labels, a health check, and no root`, (t) => {
    const size = Number(inspect('beckon', '{{.Size}}'));
    const base = Number(inspect(`debian:${release}-slim`, '{{.Size}}'));
    t.diagnostic(`${(size / 1e6).toFixed(1)} MB, of which ${(base / 1e6).toFixed(1)} MB are the base made here`);
    assert.ok(size <= SIZE_MAX, `${size} bytes`);
    assert.equal(inspect('beckon', '{{.Config.User}}'), '10001:10001');
    assert.equal(inspect('beckon', '{{index .Config.Labels "org.opencontainers.image.title"}}'), 'Beckon');
    assert.notEqual(inspect('beckon', '{{.Config.Healthcheck}}'), '<nil>');
    assert.match(shell('docker run --rm beckon --version'), /^beckon \d/);
});

test('docker run IMAGE standalone becomes healthy', async () => {
    const name = 'beckon-image-alone';
    running.push({ name });
    shell(`docker run -d --name ${name} beckon standalone`);
    await until('its health', () => inspect(name, '{{.State.Health.Status}}') === 'healthy', 120000);
    shell(`docker stop --time 30 ${name}`);
    assert.equal(inspect(name, '{{.State.ExitCode}}'), '0');
});

test('the command of the page is reached from this host', async () => {
    const name = 'beckon-image-reached';
    const child = spawn('bash', ['-c', run.replace('docker run', `exec docker run --name ${name}`)], { env: environment, stdio: 'ignore' });
    running.push({ child, name });
    const client = new UserAgent('ws://127.0.0.1:8080/');
    await client.connect();
    assert.match(await client.register(), /^http:\/\/127\.0\.0\.1:8082\/wpush\//);
    assert.equal((await post(client.endpoint, 'hello')).status, 201);
    await until('the message', () => client.bodies.includes('hello'));
    client.end();
    shell(`docker stop --time 30 ${name}`);
});

test('a key ring for Kubernetes, by the chart’s README', () => {
    const [made] = steps('packaging/helm/beckon/README.md', 'On Kafka')[0].split('\n');
    shell(made, { cwd: directory });
    assert.ok(JSON.parse(readFileSync(join(directory, 'keys.json'), 'utf8')).keys.length > 0);
});

test('compose.standalone.yml: from nothing to a push over https and wss', { timeout: 300000 }, async () => {
    copyFileSync(spawnSync('bash', ['-c', 'readlink -f "$(command -v caddy)"'], { encoding: 'utf8' }).stdout.trim(), join(directory, 'caddy'));
    chmodSync(join(directory, 'caddy'), 0o755);
    writeFileSync(join(directory, 'Dockerfile'), `FROM debian:${release}-slim
COPY caddy /usr/bin/caddy
ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data
VOLUME /config /data
CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
`);
    shell(`docker build -t caddy:test '${directory}'`);
    const https = await freePort();
    const consolePort = await freePort();
    Object.assign(environment, {
        BECKON_IMAGE: 'beckon', CADDY_IMAGE: 'caddy:test', BECKON_PUBLISH: '127.0.0.1', BECKON_HTTP_PORT: String(await freePort()), BECKON_HTTPS_PORT: String(https),
        BECKON_RETRY_PORT: String(await freePort()), BECKON_CONSOLE_PORT: String(consolePort), BECKON_NET: '172.31.98', COMPOSE_PROJECT_NAME: 'beckon-image',
    });
    environment.BECKON_DOMAIN = 'localhost';
    shell(compose.replace('push.example.org', 'localhost'));
    const client = new UserAgent(`wss://localhost:${https}/`);
    await until('the proxy and the edge', () => client.connect(), 120000);
    assert.match(await client.register(), /^https:\/\/localhost\/wpush\//);
    const here = client.endpoint.replace('localhost', `localhost:${https}`);
    assert.equal((await post(here, 'hello')).status, 201);
    await until('the message', () => client.bodies.includes('hello'));
    client.end();
    // The token for the console, as the comment of the file says.
    const [, token] = /log in at the console: (\w+)/.exec(shell('docker compose -f compose.standalone.yml logs --no-color beckon'));
    await until('a page of the console', async () => (await fetch(`http://127.0.0.1:${consolePort}/api/pages/lag`, { headers: { authorization: `Bearer ${token}` } })).status === 200, 60000);
    const [, backup] = /docker compose (-f compose\.standalone\.yml exec beckon beckon backup \S+)\)/.exec(readFileSync(join(ROOT, 'compose.standalone.yml'), 'utf8'));
    shell(`docker compose ${backup.replace('exec beckon', 'exec -T beckon')}`);
});
