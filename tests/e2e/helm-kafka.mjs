// The Helm chart on a real Kafka: the Job makes the topics, then the rendered container of each role becomes ready at its probes as
// a process (helm/pods.mjs), with a Kafka that is plain, one that asks for SASL over TLS, and one that asks for a client's
// certificate, each with Secrets as Strimzi's operators lay them.
//
//   node helm-kafka.mjs
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { BECKON, until } from './beckon.mjs';
import { ADDRESS, Pod, ROOT, fileOf, host, kinds, named, render, roleOf, workloads } from './helm/pods.mjs';

const BOOTSTRAP = 'my-cluster-kafka-bootstrap';
const PORTS = { plain: 9092, sasl: 9093, mtls: 9094, controller: 9095 };
const directory = join(host, 'kafka');
const at = (name) => join(directory, name);
const text = (name) => readFileSync(at(name), 'utf8');
let kafka;

/** A CA in ca.pem, and below it a certificate and its key, NAME.pem and NAME.key. */
function certificates() {
    const openssl = (...args) => execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const key = ['-newkey', 'rsa:2048', '-nodes'];
    openssl('req', '-x509', ...key, '-days', '3', '-subj', '/CN=cluster-ca', '-keyout', at('ca.key'), '-out', at('ca.pem'));
    writeFileSync(at('names'), `subjectAltName=DNS:${BOOTSTRAP}\n`);
    for (const name of ['broker', 'user']) {
        openssl('req', ...key, '-subj', `/CN=${name === 'user' ? 'beckon' : BOOTSTRAP}`, '-keyout', at(`${name}.key`), '-out', at(`${name}.csr`));
        openssl('x509', '-req', '-in', at(`${name}.csr`), '-CA', at('ca.pem'), '-CAkey', at('ca.key'), '-CAcreateserial', '-days', '3',
            '-extfile', at('names'), '-out', at(`${name}.pem`));
    }
    writeFileSync(at('keystore.pem'), text('broker.key') + text('broker.pem'));
}

before(async () => {
    mkdirSync(directory);
    certificates();
    const addresses = ['a', 'b', 'c'].map((zone) => `push-beckon-edge-eu-1${zone}-0.push-beckon-edges.web.svc.cluster.local`);
    appendFileSync('/etc/hosts', `127.0.0.1 ${BOOTSTRAP}\n127.0.0.2 ${addresses.join(' ')} push-beckon-endpoint push-beckon-retry webpush-retry\n`);
    const listeners = (name) => `PLAINTEXT://${name}:${PORTS.plain},LOCKED://${name}:${PORTS.sasl},MTLS://${name}:${PORTS.mtls}`;
    writeFileSync(at('locked.properties'), `
listeners=${listeners('127.0.0.1')},CONTROLLER://127.0.0.1:${PORTS.controller}
advertised.listeners=${listeners(BOOTSTRAP)}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,LOCKED:SASL_SSL,MTLS:SSL
sasl.enabled.mechanisms=PLAIN
listener.name.locked.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_beckon="its password" user_beckon-endpoint="another";
ssl.keystore.type=PEM
ssl.keystore.location=${at('keystore.pem')}
listener.name.mtls.ssl.client.auth=required
listener.name.mtls.ssl.truststore.type=PEM
listener.name.mtls.ssl.truststore.location=${at('ca.pem')}
`);
    kafka = spawn(join(ROOT, 'scripts', 'kafka', 'start.sh'), [at('data'), String(PORTS.plain), String(PORTS.controller)], {
        stdio: ['ignore', 'pipe', 'pipe'], detached: true, env: { ...process.env, BECKON_KAFKA_LOCKED: `${PORTS.sasl} ${PORTS.mtls} ${at('locked.properties')}` },
    });
    let said = '';
    for (const stream of [kafka.stdout, kafka.stderr]) stream.on('data', (data) => (said += data));
    const answers = () => {
        execFileSync(BECKON, ['topics', 'create', '--dry-run', '--kafka-servers', `127.0.0.1:${PORTS.plain}`, '--replication-factor', '1', '--test-startup-timeout', '2s'], { stdio: 'ignore' });
        return true;
    };
    await until('the broker', answers, 120000).catch((error) => {
        throw new Error(`${error.message}\n${said}`);
    });
}, { timeout: 240000 });
after(() => {
    if (kafka) process.kill(-kafka.pid, 'SIGKILL');
});

/** A key ring of its own for each log, and the Secrets that are there before the chart. */
function secretsOf(how) {
    const ring = at(`${how}.json`);
    execFileSync(BECKON, ['keys', 'generate', '--key-ring', ring]);
    const tls = { 'tls.crt': text('broker.pem'), 'tls.key': text('broker.key') };
    const jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="beckon" password="its password";';
    return {
        ring: readFileSync(ring, 'utf8'),
        'beckon-key-ring': { 'keys.json': readFileSync(ring, 'utf8') },
        'my-cluster-cluster-ca-cert': { 'ca.crt': text('ca.pem'), 'ca.password': 'of its p12' },
        beckon: how === 'mtls'
            ? { 'ca.crt': text('ca.pem'), 'user.crt': text('user.pem'), 'user.key': text('user.key'), 'user.password': 'of its p12' }
            : { password: 'its password', 'sasl.jaas.config': jaas },
        'beckon-endpoint': { password: 'another', 'sasl.jaas.config': jaas },
        'beckon-console': { token: 'a token of the test' },
        'push-example-org': tls,
    };
}

for (const how of ['plain', 'sasl', 'mtls']) {
    test(`${how}: the Job makes the topics, and the pod of each role becomes ready`, async () => {
        const { ring, ...secrets } = secretsOf(how);
        const more = { kafka: { prefix: `${how}.`, partitions: 4 } };
        if (how === 'sasl') more.keyRing = { json: ring };
        const made = render({ file: fileOf(`kafka-${how}`), more });
        const volumes = `/var/lib/claims-${how}`;
        const run = (workload, name) => new Pod(made, workload, { name, secrets, volumes });

        const [job] = kinds(made, 'Job');
        const topics = run(job, 'topics');
        assert.equal(await topics.exited, 0, topics.output);
        assert.match(topics.output, new RegExp(`${how}\\.control`));

        const roles = workloads(made).filter((one) => one !== job);
        for (const workload of roles) {
            const pod = run(workload, workload.kind === 'StatefulSet' ? `${workload.metadata.name}-0` : `${workload.metadata.name}-abc`);
            await pod.ready();
            await pod.stop();
            assert.doesNotMatch(pod.output, /"level":"error"|unknown option/, pod.output);
        }
        const names = ['edge', 'endpoint', 'retry', 'reliability', 'console'].filter((role) => how !== 'mtls' || role !== 'reliability');
        assert.deepEqual([...new Set(roles.map(roleOf))].sort(), names.sort());
    });
}

test('sasl: a wrong password in the Secret ends the start with a sentence', async () => {
    const { ring, ...secrets } = secretsOf('wrong');
    const made = render({ file: fileOf('kafka-sasl'), more: { kafka: { prefix: 'sasl.', partitions: 4 }, keyRing: { json: ring } } });
    secrets['beckon-endpoint'].password = 'wrong';
    const pod = new Pod(made, named(made, 'Deployment', 'push-beckon-endpoint'), { name: 'endpoint', secrets, volumes: '/var/lib/claims-wrong' });
    assert.notEqual(await pod.exited, 0);
    assert.match(pod.output, /the broker refuses the login/);
});

test('the commands of docs/operations/kubernetes.md rotate the keys of a pod', async () => {
    const documented = readFileSync(join(ROOT, 'docs', 'operations', 'kubernetes.md'), 'utf8').match(/^ {4}kubectl exec deployment\/beckon-endpoint -- bash -c '(.*)' > keys\.json\n/m);
    const { ring, ...secrets } = secretsOf('rotated');
    const made = render({ file: fileOf('kafka-plain'), more: { kafka: { prefix: 'rotated.', partitions: 4 } } });
    const start = (workload) => new Pod(made, workload, { name: 'pod', secrets, volumes: '/var/lib/claims-rotated' });
    const topics = start(kinds(made, 'Job')[0]);
    assert.equal(await topics.exited, 0, topics.output);
    const pod = start(named(made, 'Deployment', 'push-beckon-endpoint'));
    await pod.ready();
    const rotated = pod.exec('bash', '-c', documented[1]);
    assert(JSON.parse(rotated) && rotated.length > ring.length, rotated);
    pod.lay('/etc/beckon/keys', { 'keys.json': rotated }, 0o440);
    pod.process.kill('SIGHUP');
    await until('the new key', () => pod.output.includes('"key_ring_read"'));
    const warning = async () => (await (await fetch(`http://${ADDRESS}:9090/ready`)).json()).warnings?.key_ring;
    await until('the warning', async () => /not encrypt/.test(await warning()));
    pod.exec('beckon', 'keys', 'publish');
    await until('its use', () => pod.output.includes('"key_encrypts"'), 90000);
    await pod.stop();
});
