// The Helm chart of packaging/helm/beckon: Helm accepts it, its objects follow the schemas of Kubernetes and belong together, its
// values are Beckon's settings; and its pod of mode standalone works as a process of this host (helm/pods.mjs). No cluster of
// Kubernetes takes part.
//
//   node helm.mjs
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from './beckon.mjs';
import { UserAgent } from './client.mjs';
import { ADDRESS, CHART, Pod, ROOT, ask, container, fileOf, kinds, named, render, roleOf, workloads } from './helm/pods.mjs';

const SETTINGS = [...readFileSync(join(ROOT, 'docs', 'configuration.md'), 'utf8').matchAll(/^\| `([a-z0-9_.]+)` \|/gm)].map((row) => row[1]);
const FILES = ['kafka-plain', 'kafka-sasl', 'kafka-mtls', 'standalone'];
const rendered = new Map(FILES.map((name) => [name, render({ file: fileOf(name) })]));

const environmentOf = (workload) => Object.fromEntries(container(workload).env.map(({ name, value }) => [name, value]));
const seconds = (text) => Number(text.match(/^(\d+)s$/)[1]);
const selects = (selector, labels) => Object.entries(selector).every(([name, value]) => labels[name] === value);

// --- the chart

test('every value file of the chart is rendered', () => {
    assert.deepEqual(readdirSync(join(CHART, 'ci')).sort(), FILES.map((name) => `${name}-values.yaml`).sort());
    const count = (name) => Object.fromEntries(['StatefulSet', 'Deployment', 'Job', 'PersistentVolumeClaim'].map((kind) => [kind, kinds(rendered.get(name), kind).length]));
    assert.deepEqual(count('kafka-plain'), { StatefulSet: 3, Deployment: 4, Job: 1, PersistentVolumeClaim: 0 });
    assert.deepEqual(count('kafka-sasl'), { StatefulSet: 1, Deployment: 4, Job: 1, PersistentVolumeClaim: 0 });
    assert.deepEqual(count('kafka-mtls'), { StatefulSet: 1, Deployment: 3, Job: 1, PersistentVolumeClaim: 0 });
    assert.deepEqual(count('standalone'), { StatefulSet: 0, Deployment: 1, Job: 0, PersistentVolumeClaim: 1 });
});

test('an object that breaks its schema is noticed', () => {
    const { faults } = ask({ file: fileOf('standalone'), versions: ['1.34.0'], values: {
        mode: 'standalone', url: 'https://push.example.org', standalone: { resources: { limits: { memory: ['2Gi'] } }, tolerations: [{ keys: 'x' }] },
    } });
    assert.equal(faults.length, 1, 'one sentence for an object');
    assert.match(faults[0], /Deployment push-beckon: spec\.template\.spec/);
});

test('an unknown name is refused, and so is a setting that a value of the chart decides', () => {
    const base = { mode: 'standalone', url: 'https://push.example.org' };
    const refused = (more, sentence) => assert.match(ask({ values: { ...base, ...more } }).error ?? 'accepted', sentence);
    refused({ edges: {} }, /edges/);
    refused({ edge: { replica: 3 } }, /replica/);
    refused({ config: { 'edge.pingInterval': '4min' } }, /pingInterval/);
    refused({ config: { 'edge.link_host': '0.0.0.0' } }, /edge\.link_host/);
    refused({ config: { 'ops.port': 1 } }, /ops\.port/);
    refused({ url: 'https://push.example.org/path' }, /url/);
    refused({ mode: 'kafka' }, /kafka\.servers is required/);
    refused({ mode: 'kafka', kafka: { servers: 'kafka:9092' } }, /a key ring is required/);
    refused({ mode: 'kafka', kafka: { servers: 'kafka' } }, /servers/);
    const kafka = { mode: 'kafka', keyRing: { existingSecret: 'ring' } };
    refused({ ...kafka, kafka: { servers: 'kafka:9092', auth: { mechanism: 'tls', secret: 'me' } } }, /kafka\.tls\.enabled/);
    refused({ ...kafka, kafka: { servers: 'kafka:9092', auth: { mechanism: 'PLAIN' } } }, /kafka\.auth\.secret/);
    refused({ ...kafka, kafka: { servers: 'kafka:9092' }, edge: { zone: 'a', zones: ['a'] } }, /edge\.zone and edge\.zones/);
    assert.match(ask({ values: { mode: 'standalone' } }).error, /url is required/);
});

test('every setting of Beckon is one of config or decided by the chart, and no other is', () => {
    const schema = JSON.parse(readFileSync(join(CHART, 'values.schema.json'), 'utf8'));
    const [{ enum: configurable }] = schema.properties.config.propertyNames.anyOf;
    const templates = readFileSync(join(CHART, 'templates', '_helpers.tpl'), 'utf8');
    const variable = (name) => `BECKON_${name.replaceAll('.', '_').toUpperCase()}`;
    for (const name of configurable) {
        assert(SETTINGS.includes(name), `values.schema.json: ${name} is no setting of docs/configuration.md`);
        assert(!templates.includes(`name: ${variable(name)},`), `${name} is set by the environment, which would win over config`);
    }
    for (const name of SETTINGS) {
        if (configurable.includes(name)) continue;
        assert(templates.includes(`name: ${variable(name)},`) || templates.includes(`$settings "${name}"`) || templates.includes(`"${name}" .Values`),
            `${name} is missing in values.schema.json (config, propertyNames)`);
    }
});

test('a number of config is the same number in beckon.toml, also a large one of librdkafka', () => {
    const config = {
        'kafka.librdkafka.queue.buffering.max.kbytes': 1048576, 'kafka.librdkafka.receive.message.max.bytes': 1000000000, 'kafka.librdkafka.linger.ms': 2.5,
        'kafka.librdkafka.socket.keepalive.enable': true, 'kafka.librdkafka.client.rack': '1e6', 'edge.max_pending': 1000000,
    };
    const made = render({ file: fileOf('kafka-plain'), more: { config } });
    const lines = named(made, 'ConfigMap', 'push-beckon').data['beckon.toml'].split('\n');
    for (const line of [
        'kafka.librdkafka."queue.buffering.max.kbytes" = "1048576"', 'kafka.librdkafka."receive.message.max.bytes" = "1000000000"',
        'kafka.librdkafka."linger.ms" = "2.5"', 'kafka.librdkafka."socket.keepalive.enable" = "true"', 'kafka.librdkafka."client.rack" = "1e6"',
        'edge.max_pending = 1000000',
    ]) assert(lines.includes(line), `${line}\n${lines.join('\n')}`);
});

test('values.yaml explains every value', () => {
    let lines = readFileSync(join(CHART, 'values.yaml'), 'utf8').split('\n');
    const described = new Set();
    lines.forEach((line, index) => {
        const found = /^ *([a-zA-Z]+):/.exec(line);
        if (!found) return;
        if (/^ *#/.test(lines[index - 1])) described.add(found[1]);
    });
    // Of several roles the first one says it; the rest are Kubernetes' own names.
    const own = ['image', 'repository', 'pullPolicy', 'kafka', 'tls', 'auth', 'persistence', 'service', 'type', 'port', 'annotations', 'resources',
        'podAnnotations', 'podLabels', 'nodeSelector', 'tolerations', 'affinity', 'requests', 'limits', 'size', 'className',
        'tag', 'privateKeyKey', 'extraVolumeMounts', 'interval', 'fullnameOverride',
        'livenessFailureThreshold', 'readinessPeriodSeconds', 'readinessFailureThreshold'];
    lines = lines.map((line) => /^ *([a-zA-Z]+):/.exec(line)?.[1]).filter(Boolean);
    const from = lines.indexOf('podSecurityContext');
    for (const name of lines.slice(0, from)) assert(described.has(name) || own.includes(name), `values.yaml: ${name} has no comment`);
});

// --- the objects together

test('services lead to ports of pods that exist, and budgets to pods', () => {
    for (const [name, made] of rendered) {
        const pods = workloads(made).map((workload) => workload.spec.template);
        for (const service of kinds(made, 'Service')) {
            const found = pods.filter((pod) => selects(service.spec.selector, pod.metadata.labels));
            const serving = found.filter((pod) => pod.metadata.labels['app.kubernetes.io/component'] !== 'topics');
            assert(serving.length > 0, `${name}: ${service.metadata.name} selects no pod`);
            for (const { targetPort } of service.spec.ports) {
                for (const pod of serving) {
                    const ports = pod.spec.containers[0].ports.map((port) => port.name);
                    assert(ports.includes(targetPort), `${name}: ${service.metadata.name}: no port ${targetPort}`);
                }
            }
        }
        for (const budget of kinds(made, 'PodDisruptionBudget')) {
            assert(pods.some((pod) => selects(budget.spec.selector.matchLabels, pod.metadata.labels)), budget.metadata.name);
        }
        for (const { spec: { rules } } of kinds(made, 'Ingress')) {
            for (const { backend } of rules[0].http.paths) {
                const service = named(made, 'Service', backend.service.name);
                assert(service.spec.ports.some((port) => port.name === backend.service.port.name), backend.service.name);
            }
            assert.equal(rules[0].host, 'push.example.org');
        }
        for (const workload of workloads(made)) {
            assert(selects(workload.spec.selector?.matchLabels ?? {}, workload.spec.template.metadata.labels), workload.metadata.name);
            const { enableServiceLinks, volumes, securityContext } = workload.spec.template.spec;
            assert.equal(enableServiceLinks, false, 'Kubernetes would set BECKON_…_PORT');
            assert.equal(securityContext.runAsNonRoot, true);
            assert.equal(container(workload).securityContext.readOnlyRootFilesystem, true);
            const claims = (workload.spec.volumeClaimTemplates ?? []).map((claim) => claim.metadata.name);
            const there = [...volumes.map((volume) => volume.name), ...claims].sort();
            assert.deepEqual(container(workload).volumeMounts.map((mount) => mount.name).sort(), there, workload.metadata.name);
        }
    }
});

test('an edge has a name of its own, the zone of its nodes, and time to hand over', () => {
    const plain = rendered.get('kafka-plain');
    const zones = kinds(plain, 'StatefulSet');
    assert.deepEqual(zones.map((one) => environmentOf(one).BECKON_EDGE_ZONE), ['eu-1a', 'eu-1b', 'eu-1c']);
    for (const one of zones) {
        assert.equal(one.spec.template.spec.nodeSelector['topology.kubernetes.io/zone'], environmentOf(one).BECKON_EDGE_ZONE);
        assert.equal(one.spec.template.metadata.labels.team, 'push');
        const others = zones.filter((other) => selects(one.spec.selector.matchLabels, other.spec.template.metadata.labels));
        assert.deepEqual(others, [one], 'no set takes the pods of another zone');
    }
    for (const made of rendered.values()) {
        for (const one of kinds(made, 'StatefulSet')) {
            const service = named(made, 'Service', one.spec.serviceName);
            assert.equal(service.spec.clusterIP, 'None');
            assert.equal(service.spec.publishNotReadyAddresses, true);
            assert.equal(environmentOf(one).BECKON_EDGE_LINK_ADDRESS, `$(POD_NAME).${one.spec.serviceName}.$(POD_NAMESPACE).svc.cluster.local:8081`);
        }
        for (const workload of workloads(made).filter((one) => roleOf(one) !== 'topics')) {
            const env = environmentOf(workload);
            const stop = seconds(env.BECKON_STOP_TIMEOUT);
            const preStop = Number(container(workload).lifecycle?.preStop.exec.command[1] ?? 0);
            assert(workload.spec.template.spec.terminationGracePeriodSeconds >= stop + preStop + 5, workload.metadata.name);
        }
    }
    const [long] = kinds(rendered.get('kafka-sasl'), 'StatefulSet');
    assert(long.spec.template.spec.terminationGracePeriodSeconds > 90);
});

test('the objects that a hook needs are hooks before it, and the key ring stays', () => {
    for (const name of ['kafka-plain', 'kafka-sasl', 'kafka-mtls']) {
        const made = rendered.get(name);
        const [job] = kinds(made, 'Job');
        const weight = (one) => Number(one.metadata.annotations['helm.sh/hook-weight']);
        for (const { configMap, secret } of job.spec.template.spec.volumes) {
            const wanted = configMap?.name ?? secret?.secretName;
            const one = made.objects.find((other) => ['ConfigMap', 'Secret'].includes(other.kind) && other.metadata.name === wanted);
            if (!one) continue; // it exists before the chart
            assert.equal(one.metadata.annotations['helm.sh/hook'], 'pre-install,pre-upgrade', wanted);
            assert(weight(one) < weight(job), wanted);
        }
        assert.equal(job.spec.template.spec.volumes.some(({ configMap }) => configMap), true);
    }
    assert.equal(named(rendered.get('kafka-sasl'), 'Secret', 'push-beckon-key-ring').metadata.annotations['helm.sh/resource-policy'], 'keep');
    assert.deepEqual(container(kinds(rendered.get('kafka-mtls'), 'Job')[0]).args, ['topics', 'create', '--new-log']);
});

test('Prometheus finds every pod, with the labels that the alert rules ask for', () => {
    const made = rendered.get('kafka-plain');
    const [monitor] = kinds(made, 'ServiceMonitor');
    const found = kinds(made, 'Service').filter((service) => selects(monitor.spec.selector.matchLabels, service.metadata.labels));
    assert.deepEqual(found.map((service) => service.metadata.name), ['push-beckon-ops']);
    assert.deepEqual(monitor.spec.namespaceSelector.matchNames, ['web']);
    assert.equal(monitor.spec.endpoints[0].port, found[0].spec.ports[0].name);
    const labels = Object.fromEntries(monitor.spec.endpoints[0].relabelings.map((one) => [one.targetLabel, one.replacement ?? one.sourceLabels]));
    assert.deepEqual(labels, { job: 'beckon', role: ['__meta_kubernetes_pod_label_app_kubernetes_io_component'] });
    for (const name of ['kafka-sasl', 'kafka-mtls', 'standalone']) assert.equal(kinds(rendered.get(name), 'ServiceMonitor').length, 0);
});

test('the alert rules are those of packaging/prometheus, with the numbers of pods that the chart makes', () => {
    const [{ spec: { groups } }] = kinds(rendered.get('kafka-plain'), 'PrometheusRule');
    const given = readFileSync(join(ROOT, 'packaging', 'prometheus', 'beckon.rules.yml'), 'utf8');
    assert.deepEqual(groups[0].rules.map(({ alert }) => alert), [...given.matchAll(/- alert: (\w+)/g)].map(([, name]) => name));
    assert.match(groups[0].rules[0].annotations.summary, /\{\{ \$value \}\}/, 'a template of Prometheus, not of Helm');
    const expected = Object.fromEntries(groups[1].rules.map(({ labels, expr }) => [labels.role, expr]));
    assert.deepEqual(expected, { edge: 'vector(3)', endpoint: 'vector(2)', retry: 'vector(2)', reliability: 'vector(1)', console: 'vector(1)' });
});

test('links and ops ports are closed to others, and every other port is open', () => {
    for (const [name, made] of rendered) {
        const [{ spec }] = kinds(made, 'NetworkPolicy');
        for (const workload of workloads(made)) assert(selects(spec.podSelector.matchLabels, workload.spec.template.metadata.labels), workload.metadata.name);
        const rules = new Map(spec.ingress.flatMap(({ from, ports }) => ports.map(({ port }) => [port, from])));
        const ports = new Set(workloads(made).flatMap((workload) => (container(workload).ports ?? []).map(({ containerPort }) => containerPort)));
        for (const port of ports) assert(rules.has(port), `${name}: ${port} is closed to all`);
        for (const [port, from] of rules) assert.equal(from === undefined, ![8081, 9090].includes(port), `${name}: ${port}`);
        const [own, ...others] = rules.get(9090);
        assert(workloads(made).every((workload) => selects(own.podSelector.matchLabels, workload.spec.template.metadata.labels)));
        assert.equal(others.length, name === 'kafka-plain' ? 1 : 0);
        if (name !== 'standalone') assert.equal(rules.get(8081)[0].podSelector.matchLabels['app.kubernetes.io/component'], 'edge');
    }
    const base = { mode: 'standalone', url: 'https://push.example.org', serviceMonitor: { enabled: true } };
    assert.match(ask({ values: base }).error, /networkPolicy\.opsFrom is required/);
    assert.equal(kinds(render({ values: { ...base, networkPolicy: { enabled: false } } }), 'NetworkPolicy').length, 0);
});

test('endpoints may follow the load, and edges may not', () => {
    const made = render({ file: fileOf('kafka-plain'), more: { endpoint: { autoscaling: { enabled: true, maxReplicas: 5 } } } });
    const [{ spec }] = kinds(made, 'HorizontalPodAutoscaler');
    const target = named(made, 'Deployment', spec.scaleTargetRef.name);
    assert.equal(target.spec.replicas, undefined, 'an upgrade would set it back');
    assert.deepEqual([spec.minReplicas, spec.maxReplicas], [2, 5]);
    assert(container(target).resources.requests.cpu, 'the share is of what is requested');
    assert.equal(kinds(rendered.get('kafka-plain'), 'HorizontalPodAutoscaler').length, 0);
    assert.match(ask({ file: fileOf('kafka-plain'), more: { edge: { autoscaling: { enabled: true } } } }).error, /autoscaling/);
});

test('a pod that hangs is restarted within half a minute, and all pods have the priority', () => {
    for (const [name, made] of rendered) {
        for (const workload of workloads(made).filter((one) => roleOf(one) !== 'topics')) {
            const { livenessProbe } = container(workload);
            const { periodSeconds, failureThreshold, timeoutSeconds, terminationGracePeriodSeconds } = livenessProbe;
            assert(periodSeconds * failureThreshold + timeoutSeconds + terminationGracePeriodSeconds <= 25, workload.metadata.name);
            assert.equal(workload.spec.template.spec.priorityClassName, name === 'kafka-plain' ? 'push' : undefined);
        }
    }
});

test('the notes name objects that exist', () => {
    for (const [name, made] of rendered) {
        const found = [...made.notes.matchAll(/(deployment|statefulset|service|pod)\/(\S+)/g)];
        assert(found.length > 0, made.notes);
        for (const [, kind, object] of found) {
            const wanted = kind === 'pod' ? object.replace(/-0$/, '') : object;
            const kinded = { deployment: 'Deployment', statefulset: 'StatefulSet', service: 'Service', pod: 'StatefulSet' }[kind];
            assert(named(made, kinded, wanted), `${name}: the notes name ${kind}/${object}`);
        }
        assert.match(made.notes, /https:\/\/push\.example\.org/);
    }
});

// --- the pod, as a process

test('standalone: the rendered pod becomes ready, takes a push, delivers it, and stops in its time', async () => {
    const made = rendered.get('standalone');
    const secrets = { 'beckon-console': { token: 'a token of the test' } };
    const [workload] = workloads(made);
    let pod = new Pod(made, workload, { name: 'push-beckon-0', secrets });
    await pod.ready();
    const agent = new UserAgent(`ws://${ADDRESS}:8080/`);
    await agent.connect();
    assert.match(await agent.register(), /^https:\/\/push\.example\.org\/wpush\//);
    const post = async (body) => {
        const headers = { TTL: '60', 'Content-Encoding': 'aes128gcm' };
        return (await fetch(`http://${ADDRESS}:8082${new URL(agent.endpoint).pathname}`, { method: 'POST', body, headers })).status;
    };
    assert.equal(await post('first'), 201);
    await until('the message', () => agent.bodies.includes('first'));
    const console_ = (token) => fetch(`http://${ADDRESS}:8085/api/pages/lag`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal((await console_('a token of the test')).status, 200);
    assert.equal((await console_('another')).status, 401);
    assert.match(pod.output, /"level":"debug"/, 'config.log_level');
    await pod.stop();

    // The volume remains: the next pod has the ring and the client.
    pod = new Pod(made, workload, { name: 'push-beckon-1', secrets });
    await pod.ready();
    await until('the client', () => agent.helloed);
    assert.equal(await post('second'), 201);
    await until('the message', () => agent.bodies.includes('second'));
    assert.deepEqual(agent.faults, []);
    await agent.close();
    await pod.stop();
});

test('standalone: without a token the console is on the loopback of its pod, where a port-forward reaches it', async () => {
    const made = render({ values: { mode: 'standalone', url: 'https://push.example.org' } });
    assert.equal(named(made, 'Service', 'push-beckon-console'), undefined);
    const pod = new Pod(made, workloads(made)[0], { name: 'push-beckon-0', volumes: '/var/lib/another' });
    await pod.ready();
    assert.equal((await fetch('http://127.0.0.1:8085/')).status, 200);
    await assert.rejects(fetch(`http://${ADDRESS}:8085/`), 'nobody outside of the pod');
    await pod.stop();
});
