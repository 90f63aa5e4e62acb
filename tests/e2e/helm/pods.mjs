// Renders the chart of packaging/helm/beckon with Helm, and runs its pods as processes of a host of their own. An import enters that
// host (own-host/enter.mjs), or ends the test as skipped where Helm's library is not installed.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BECKON, CACHE_HOME, until } from '../beckon.mjs';
import { enterOwnHost } from '../own-host/enter.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
export const ROOT = join(HERE, '..', '..', '..');
export const CHART = join(ROOT, 'packaging', 'helm', 'beckon');
const PYTHON = join(CACHE_HOME, 'beckon', 'e2e', 'python', 'bin', 'python');
const SKIPPED = 77;
if (spawnSync(PYTHON, ['-c', 'import helm_python, kubernetes_validate']).status !== 0) {
    console.log('skipped: Helm\'s library is not installed (scripts/e2e-setup.sh all)');
    process.exit(SKIPPED);
}
export const host = enterOwnHost();
process.umask(0o022);

/** The oldest that the chart names, and the newest whose schemas are there. */
const KUBERNETES = ['1.25.0', '1.34.0'];
/** The address of every pod: what listens on 127.0.0.1 alone is not reached here, as with the address of a real pod. */
export const ADDRESS = '127.0.0.2';
const NAMESPACE = 'web';

/**
 * The objects that Helm renders from the chart, see chart.py.
 * @param {{values?: object, file?: string, more?: object, versions?: string[]}} request `more` is laid over the values of `file`
 */
export function ask(request) {
    const { status, stdout, stderr } = spawnSync(PYTHON, [join(HERE, 'chart.py')], {
        input: JSON.stringify({ chart: CHART, ...request }), encoding: 'utf8', maxBuffer: 64 << 20,
    });
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout);
}
/** ask(), which must find nothing. */
export function render(request) {
    const made = ask({ versions: KUBERNETES, ...request });
    assert.equal(made.error, undefined);
    assert.deepEqual(made.lint, []);
    assert.deepEqual(made.faults, []);
    return made;
}

export const fileOf = (name) => join(CHART, 'ci', `${name}-values.yaml`);
export const kinds = (made, kind) => made.objects.filter((one) => one.kind === kind);
export const named = (made, kind, name) => kinds(made, kind).find((one) => one.metadata.name === name);
export const workloads = (made) => made.objects.filter((one) => one.spec?.template);
export const roleOf = (workload) => workload.spec.template.metadata.labels['app.kubernetes.io/component'];
export const container = (workload) => workload.spec.template.spec.containers[0];

const running = new Set();
after(() => {
    for (const pod of running) pod.process.kill('SIGKILL');
});

// The image's only program of its own.
const BINARY = '/usr/local/bin/beckon';

/** The container of a workload as a process with its command, user, environment, files and probes. One at a time: all have one network. */
export class Pod {
    /**
     * @param {{name: string, secrets?: Record<string, Record<string, string>>, volumes?: string}} options `name` of the pod; `secrets`
     *     that exist before the chart; `volumes`: where claims are kept from one pod to the next, by default below /var/lib/claims
     */
    constructor(made, workload, { name, secrets = {}, volumes = '/var/lib/claims' }) {
        this.spec = workload.spec.template.spec;
        this.container = this.spec.containers[0];
        this.name = name;
        this.output = '';
        for (const mount of this.container.volumeMounts) {
            if (mount.mountPath !== '/tmp') this.mount(made, mount, secrets, volumes);
        }
        if (!existsSync(BINARY)) copyFileSync(BECKON, BINARY);
        const { runAsUser, runAsGroup, fsGroup } = this.spec.securityContext;
        this.as = ['--reuid', runAsUser, '--regid', runAsGroup, '--groups', fsGroup, '--no-new-privs', '--bounding-set=-all', '--inh-caps=-all'].map(String);
        this.options = { env: { PATH: '/usr/local/bin:/usr/bin:/bin', ...this.environment() }, cwd: '/' };
        this.process = spawn('setpriv', [...this.as, ...this.container.command, ...(this.container.args ?? [])], {
            ...this.options, stdio: ['ignore', 'pipe', 'pipe'],
        });
        running.add(this);
        this.exited = new Promise((resolve) => this.process.once('exit', (code, signal) => {
            running.delete(this);
            resolve((this.end = code ?? signal));
        }));
        for (const stream of [this.process.stdout, this.process.stderr]) stream.on('data', (data) => (this.output += data));
    }

    /** As the kubelet lays volumes: files of ConfigMaps and Secrets are links into a directory that is replaced whole. */
    mount(made, { name, mountPath }, secrets, volumes) {
        const { fsGroup } = this.spec.securityContext;
        const volume = this.spec.volumes.find((one) => one.name === name);
        const files = volume?.configMap
            ? named(made, 'ConfigMap', volume.configMap.name)?.data
            : volume?.secret && this.secret(made, volume.secret.secretName, secrets);
        rmSync(mountPath, { recursive: true, force: true });
        mkdirSync(dirname(mountPath), { recursive: true, mode: 0o755 });
        if (!files) {
            assert(!volume?.configMap && !volume?.secret, `${this.name}: nothing has the volume ${name}`);
            const claim = volume && !volume.persistentVolumeClaim ? join(volumes, `${this.name}-${name}`) : join(volumes, name);
            mkdirSync(claim, { recursive: true, mode: 0o755 });
            chownSync(claim, 0, fsGroup);
            chmodSync(claim, 0o2775);
            symlinkSync(claim, mountPath);
            return;
        }
        mkdirSync(mountPath, { mode: 0o755 });
        this.lay(mountPath, files, volume.secret?.defaultMode ?? volume.configMap?.defaultMode ?? 0o644);
        for (const file of Object.keys(files)) symlinkSync(`..data/${file}`, join(mountPath, file));
    }

    /** Puts files in place of those that are there, all at once. */
    lay(mountPath, files, mode) {
        const data = mkdtempSync(`${mountPath}/..`);
        chmodSync(data, 0o755);
        for (const [file, text] of Object.entries(files)) {
            writeFileSync(join(data, file), text);
            chownSync(join(data, file), 0, this.spec.securityContext.fsGroup);
            chmodSync(join(data, file), mode);
        }
        symlinkSync(basename(data), join(mountPath, '..data_tmp'));
        renameSync(join(mountPath, '..data_tmp'), join(mountPath, '..data'));
    }

    /** `kubectl exec`: the output of a command in the container. */
    exec(...command) {
        const { status, stdout, stderr } = spawnSync('setpriv', [...this.as, ...command], { ...this.options, encoding: 'utf8', timeout: 60000 });
        assert.equal(status, 0, `${command.join(' ')}\n${stdout}${stderr}`);
        return stdout;
    }

    secret(made, name, secrets) {
        if (secrets[name]) return secrets[name];
        const { data } = named(made, 'Secret', name) ?? {};
        return data && Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
    }

    environment() {
        const variables = {};
        const fields = { 'metadata.name': this.name, 'metadata.namespace': NAMESPACE };
        for (const { name, value, valueFrom } of this.container.env) {
            variables[name] = valueFrom
                ? fields[valueFrom.fieldRef.fieldPath]
                : value.replace(/\$\((\w+)\)/g, (whole, other) => variables[other] ?? whole);
        }
        return variables;
    }

    /** The status that a probe gets. */
    async probe(kind) {
        const { path, port } = this.container[kind].httpGet;
        const { containerPort } = this.container.ports.find((one) => one.name === port);
        return (await fetch(`http://${ADDRESS}:${containerPort}${path}`)).status;
    }

    /** Waits until every probe is content. */
    async ready(limitMs = 60000) {
        for (const kind of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
            await until(kind, async () => this.end !== undefined || (await this.probe(kind)) === 200, limitMs).catch((error) => {
                throw new Error(`${this.name}: ${error.message}\n${this.output.slice(-4000)}`);
            });
            assert.equal(this.end, undefined, `${this.name} has ended with ${this.end}:\n${this.output.slice(-4000)}`);
        }
        for (const { name, containerPort } of this.container.ports) {
            const done = spawnSync('bash', ['-c', `exec 3<>/dev/tcp/${ADDRESS}/${containerPort}`], { encoding: 'utf8' });
            assert.equal(done.status, 0, `${this.name}: nothing listens on its port ${name}: ${done.stderr}`);
        }
    }

    /** SIGTERM, as the kubelet sends it after preStop; it must end well within the grace period. */
    async stop() {
        const began = Date.now();
        this.process.kill('SIGTERM');
        assert.equal(await this.exited, 0, `${this.name}\n${this.output.slice(-4000)}`);
        const graceMs = this.spec.terminationGracePeriodSeconds * 1000;
        assert(Date.now() - began < graceMs, `${this.name} took longer than its grace period`);
    }
}
