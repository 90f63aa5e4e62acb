// What the pages Overview, Nodes, Lag, Delay tiers and Canary get in the worlds of console-worlds.mjs. The sentences of `failing` are those of
// src/console/overview/verdict.cpp.

const MINUTE = 60000;
const now = Math.floor(Date.now() / MINUTE) * MINUTE;
const POINTS = 120;
const DAY_S = 86400;

const ROLES = [['edge', 'edge-1:9090'], ['edge', 'edge-2:9090'], ['edge', 'edge-3:9090'], ['endpoint', 'endpoint-1:9090'], ['retry', 'retry-1:9090'], ['reliability', 'reliability-1:9090'], ['console', 'console-1:9090']];
const id = (i) => `9f3c0d5e7a1b2c4${i}`;

function processes(bad) {
    return ROLES.map(([role, name], i) => ({
        role, name, id: id(i), version: '0.9.0 (2284475)', gone: bad && (i === 1 || role === 'endpoint'), ready: !(bad && i === 2), silent_seconds: bad ? 183 : 4, uptime_seconds: 6 * DAY_S + 3 * 3600,
        faults: bad && i === 2 ? ['the store has not caught up: 3 of 14 partitions serve'] : [], warnings: [], clock_off_seconds: bad && i === 4 ? -412 : 0.2, certificate_seconds: role === 'edge' ? (bad && i === 0 ? -7200 : 61 * DAY_S) : null,
        disk: bad && i === 0 ? 'bad' : 'ok', gauges: role === 'edge' ? { clients: 41234 + 17 * i, lag_records: bad ? 90211 : 3, links: 2, memory: 1.9e9, disk_free: bad && i === 0 ? 12e6 : 6.1e10, disk_size: 8e10 } : { memory: 4.1e8, disk_free: 2.2e10, disk_size: 4e10 }, rates: {},
        taken_over: bad && i === 1 ? [{ node: 'edge-1:9090', partitions: 3 }, { node: 'edge-3:9090', partitions: 2 }] : [],
    }));
}

function cluster(bad) {
    const edges = [0, 1, 2].map((i) => ({ id: id(i), name: id(i), link: `10.0.0.${i + 1}:9100`, alive: !(bad && i === 1), links: [0, 1, 2].filter((one) => one !== i && !(bad && one === 1)).map(id), clients: bad && i === 1 ? null : 41234, homes: 5, standbys: 5, controller: i === 0 }));
    const partitions = Array.from({ length: 16 }, (_, i) => ({ partition: i, state: bad && i === 7 ? 'unplaced' : bad && i === 8 ? 'moving' : 'serving', home: bad && i === 7 ? '' : id(i % 3), from: bad && i === 8 ? id(1) : '', standbys: bad && i === 7 ? [] : [id((i + 1) % 3)], ready: [id((i + 1) % 3)], epoch: 12 + i, lag: null, load: bad && i === 7 ? null : bad && i === 3 ? 41000 : 1200 + i, hot: bad && i === 3, moving: bad && i === 8 }));
    return { complete: true, roles: [{ name: 'edge', controller_epoch: 4, nodes: edges, partitions }] };
}

const finding = (level, what, todo, section, page) => ({ level, what, todo, section, page });
const FINDINGS = [
    finding('bad', 'No endpoint is alive: nobody can send (it was endpoint-1:9090).', 'Start `beckon endpoint` again on endpoint-1:9090, and read the last lines of its log. One that runs must be allowed to write `ownership`, or it is not seen here.', 'a-node-is-gone', 'nodes'),
    finding('bad', '1 partition of edge has no home: 7.', 'Wait half a minute: a living edge takes it over. If none does, look at `/ready` of each edge and start one more.', 'a-partition-has-no-home', 'nodes'),
    finding('bad', 'edge-3:9090 (edge) is not ready: the store has not caught up: 3 of 14 partitions serve.', 'Look the reason up in the table of the operations manual.', 'when-something-is-wrong', 'nodes'),
    finding('bad', 'The disk of edge-1:9090 (edge) is full: 12 MB of 80.0 GB are free.', 'Make space on it, or give it a larger disk. The process goes on by itself as soon as there is space; nothing that was accepted is lost.', 'a-disk-is-full', 'nodes'),
    finding('bad', 'The certificate of edge-1:9090 (edge) expired 2 h ago.', 'Renew it, then send the process SIGHUP: it reads the file again without a restart. Only a certificate for Kafka needs one.', 'a-certificate-expires', 'nodes'),
    finding('warning', 'Edge edge-2:9090 has been gone for 3 min; edge-1:9090 and edge-3:9090 took over its 5 partitions.', 'Look at the host edge-2:9090 and at the last lines of its log, and start it again. If it was taken away for good, it leaves this page after the history window.', 'a-node-is-gone', 'nodes'),
    finding('warning', 'The clock of retry-1:9090 (retry) is 6 min behind the brokers\' clocks.', 'Let an NTP daemon set it (chrony, systemd-timesyncd). Messages are not affected, but an endpoint judges senders\' VAPID tokens by it, and refuses good ones with 401.', 'a-clock-is-wrong', 'nodes'),
    finding('warning', '1 webhook fails: https://accounting-and-invoices.books-department.example:8443 (it does not answer in time).', 'Tell those who run the receiver; the page of the webhook has the last answers. The events wait and are tried again for days; other webhooks are not held up.', 'a-webhook-fails', 'webhooks'),
];

/** @param {boolean} bad */
function status(bad) {
    if (!bad) return { level: 'ok', sentence: 'Push works: 3 of 3 edges answer in 4 ms.', findings: [], badges: {} };
    return { level: 'bad', sentence: `Push does not work: no edge answers the canary. ${FINDINGS.slice(0, 3).map((one) => one.what).join(' ')} 5 more things are wrong.`, findings: FINDINGS, badges: { nodes: 'bad', webhooks: 'warning' } };
}

const wave = (base, i, k) => {
    const value = base * (1 + 0.2 * Math.sin(i / 9 + k));
    return base > 30 ? Math.round(value) : Math.round(value * 10) / 10;
};

/** @param {boolean} bad */
function history(bad) {
    const at = Array.from({ length: POINTS }, (_, i) => now - (POINTS - i) * 30000);
    /** @type {Record<string, (number|null)[]>} */
    const series = { at };
    const base = { clients: 123000, accepted: 410, delivered: 405, acked: 401, refused_4xx: 3, refused_5xx: 0, p50_ms: 4, p99_ms: 31, canary_ms: 6, waiting: 2100, oldest_seconds: 90, tier_waiting: 40, webhooks_failing: 0, dead: 4, disk_free_percent: 61 };
    Object.entries(base).forEach(([name, value], k) => {
        series[name] = at.map((_, i) => {
            if (!bad || i < 80) return wave(value, i, k);
            if (/accepted|delivered|acked|canary/.test(name)) return name === 'canary_ms' ? null : 0;
            return wave(/refused_5xx|waiting|p99|tier|failing|dead/.test(name) ? (value + 10) * (i - 78) : value, i, k);
        });
    });
    return series;
}

function overview(bad) {
    const all = processes(bad);
    const counted = [...new Set(all.map((one) => one.role))].map((role) => ({ role, alive: all.filter((one) => one.role === role && !one.gone).length, all: all.filter((one) => one.role === role).length }));
    return { now: { standalone: false, roles: counted, canary: { edges: 3, well: bad ? 0 : 3, ms: bad ? null : 4.4, p50_ms: bad ? null : 4.2, p99_ms: bad ? null : 31 }, webhooks: { total: 3, failing: bad ? 1 : 0, disabled: bad ? 1 : 0 }, dead: { letters: bad ? 40 : 1, hour: bad ? 12 : 0 },
        tiers: { waiting: bad ? 73284 : 12, due: bad ? 900 : 0, overdue_seconds: bad ? 320 : 0 }, disk: { name: 'edge-1:9090', free: bad ? 12e6 : 6.1e10, size: 8e10, level: bad ? 'bad' : 'ok' }, certificate: { name: 'edge-1:9090', seconds: bad ? -7200 : 61 * DAY_S } }, history: history(bad) };
}

const GROUPS = [['beckon.edge', 'beckon.notifications'], ['beckon.edge', 'beckon.subscriptions'], ['beckon.endpoint', 'beckon.subscriptions'], ['somebody.else', 'orders']];
function lag(bad) {
    return { at: now, took_ms: 12, problems: bad ? ['the broker kafka-2 does not answer'] : [], rows: GROUPS.flatMap(([group, topic], g) => Array.from({ length: 4 }, (_, partition) => {
        const word = bad ? ['SLOW', 'RESTORING', 'OK', 'STOPPED'][g] : 'OK';
        return { group, own: group !== 'somebody.else', topic, partition, status: word, why: word === 'OK' ? 'nothing waits' : 'the position has not moved for 3 min', owner: word === 'STOPPED' ? '' : 'edge-1:9090', position: 100, start: 0, end: 100, lag: word === 'OK' ? 0 : 12345, lag_seconds: word === 'OK' ? 0 : 412, read_rate: 12, append_rate: 20,
            drain_seconds: word === 'RESTORING' ? 95 : null, loss: bad && g === 3 ? 'near' : 'none', left_seconds: bad && g === 3 ? 5400 : null, history: word === 'OK' ? [] : Array.from({ length: 60 }, (_, i) => 200 * i) };
    })) };
}

const hour = (bad) => ({ at: Array.from({ length: POINTS }, (_, i) => now - (POINTS - i) * 30000), groups: GROUPS.map(([group, topic], g) => ({ group, topic, records: Array.from({ length: POINTS }, (_, i) => (bad && g !== 2 && i > 60 ? (i - 60) * 410 * (g + 1) : 0)) })) });

const tier = (delay_seconds, i, bad) => ({ topic: `retry.${i}`, delay_seconds, waiting: bad ? 900 * (i + 1) : 2, due: bad && i === 1 ? 900 : 0, overdue_seconds: bad && i === 1 ? 320 : 0, next_due_seconds: 3.2, partitions: [{ partition: 3, waiting: bad ? 900 : 2, due: bad && i === 1 ? 900 : 0, overdue_seconds: bad && i === 1 ? 320 : 0, next_due_seconds: 3.2 }] });
const canary = (bad) => ({ every_seconds: 10, untried: 0, edges: [0, 1, 2].map((i) => ({ edge: `ws://edge-${i + 1}:8080/`, state: bad ? 'failing' : 'well', p50_ms: bad ? null : 4.2, p99_ms: bad ? null : 31, sent: 360, failed: bad ? 40 : 0, last_failure: bad ? 'the endpoint refused the connection' : '',
    pushes: Array.from({ length: 60 }, (_, n) => ({ at: now - (60 - n) * 10000, ms: bad && n > 40 ? null : wave(6, n, i), why: bad && n > 40 ? 'refused' : '' })) })) });

const nothing = { status: () => ({ level: 'ok', sentence: 'Nothing is known to be wrong; no canary measures whether push works.', findings: [], badges: {} }), overview: () => ({ now: { standalone: true, roles: [{ role: 'standalone', alive: 1, all: 1 }], canary: null }, history: { at: [] } }),
    nodes: () => ({ complete: true, standalone: true, processes: [] }), cluster: () => ({ complete: true, roles: [] }), lag: () => ({ at: now, took_ms: 1, problems: [], rows: [] }), tiers: () => ({ tiers: [], dead: null }), canary: () => ({ every_seconds: 10, untried: 0, edges: [] }) };

/**
 * @param {string} world  of console-worlds.mjs
 * @param {string} name
 */
export function nodesPage(world, name) {
    const bad = world === 'failing';
    const pages = world === 'empty' ? nothing : {
        status: () => status(bad), overview: () => overview(bad), nodes: () => ({ complete: true, standalone: false, processes: processes(bad) }), cluster: () => cluster(bad), lag: () => lag(bad), lag_hour: () => hour(bad),
        tiers: () => ({ tiers: [0, 5, 60, 300, 1800].map((delay, i) => tier(delay, i, bad)), dead: bad ? 40 : 1 }), canary: () => canary(bad),
    };
    return pages[name]?.() ?? null;
}

export const NODES_VIEWS = { overview: '#/overview', nodes: '#/nodes', lag: '#/lag', tiers: '#/tiers', canary: '#/canary' };
export { FINDINGS };
