// What the console's API answers in some worlds, for console-pages.mjs: `busy` (all is well), `failing` (whatever can be bad is bad),
// `empty` (a new installation) and `silent` (the console does not know anything, or cannot say).

import { NODES_VIEWS, nodesPage } from './console-worlds-nodes.mjs';

const MINUTE = 60000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** A round moment not long ago, so that ages on the pages are plausible. */
const now = Math.floor(Date.now() / MINUTE) * MINUTE;
const iso = (ms) => new Date(ms).toISOString();

export const IDS = {
    webhook: '0f6b1f0e2c2b4f5c9e5a7d3c1b2a4f60', hanging: '5ad0c3be7d6e4a0b8a1f2e3d4c5b6a79', disabled: '91e5b2c47a0d4e3f8b6c5d4e3f2a1b08',
    delivery: 'dlv_4Tg0Zk3m9QyXc1nB7vRw2sLd', message: '019abc12def07a3b8c4d5e6f70819203',
};

const webhook = (id, more) => ({
    id, owner: 'shop', origin: 'https://hooks.shop.example', types: ['order.*'], filtered: true, ordered: false, description: 'Orders to the shop', created: now - 40 * DAY,
    enabled: true, reason: '', failing_since: null, attempts: { count: 100, delivered: 100, at: iso(now - MINUTE), outcome: 'delivered', status: 204, why: '', answer: '' }, ...more,
});

const webhooks = {
    busy: [webhook(IDS.webhook), webhook(IDS.hanging, { description: 'Accounting', owner: 'books', origin: 'https://books.example', filtered: false, types: [] })],
    failing: [
        webhook(IDS.webhook),
        webhook(IDS.hanging, { description: 'Accounting, with a long description that somebody wrote to say what this webhook is there for', owner: 'books', origin: 'https://accounting-and-invoices.books-department.example:8443',
            failing_since: now - 3 * HOUR, attempts: { count: 100, delivered: 12, at: iso(now - 20000), outcome: 'timed_out', status: 0, why: 'no complete answer within 15 s', answer: '' } }),
        webhook(IDS.disabled, { description: '', enabled: false, reason: 'failing', failing_since: now - 5 * DAY, attempts: null }),
    ],
    empty: [],
    many: Array.from({ length: 500 }, (_, i) => webhook(String(i).padStart(32, 'a'), { owner: `owner-${i % 7}`, origin: `https://receiver-${i}.example`, description: `Webhook ${i}`, types: i % 2 ? ['order.*'] : [], enabled: i % 50 !== 0, reason: i % 50 ? '' : 'failing' })),
};

const attempt = (i, more) => ({ delivery: `dlv_${String(i).padStart(4, '0')}k3m9QyXc1nB7vRw2sLd`, number: 1, at: iso(now - i * 4 * MINUTE), took_ms: 31 + (i % 7), outcome: 'delivered', status: 204, why: '', answer: '', ...more });
const attempts = {
    busy: Array.from({ length: 100 }, (_, i) => attempt(i, i % 29 === 11 ? { outcome: 'refused', status: 500, why: 'the receiver answered 500', answer: '{"error":"deadlock detected","retry":true}' } : {})),
    failing: Array.from({ length: 100 }, (_, i) => attempt(i, i < 88 ? { outcome: i % 3 !== 2 ? 'timed_out' : 'refused', status: i % 3 !== 2 ? 0 : 503, took_ms: i % 3 !== 2 ? 15003 : 812, number: 1 + (i % 6), why: i % 3 !== 2 ? 'no complete answer within 15 s' : 'the receiver answered 503',
        answer: i % 3 !== 2 ? '' : `<html><head><title>503 Service Unavailable</title></head>\n<body>${'upstream connect error or disconnect before headers. '.repeat(18)}</body></html>`.slice(0, 1024) } : {})),
    empty: [],
};
const hours = (bad) => Array.from({ length: 24 }, (_, i) => ({ begins: iso(Math.floor(now / HOUR) * HOUR - (23 - i) * HOUR), attempts: 220 + ((i * 37) % 90), delivered: (220 + ((i * 37) % 90)) * (bad && i > 20 ? 0.1 : 1) | 0 }));

const settings = (id) => ({
    id, origin: 'https://hooks.shop.example', types: ['order.*', 'invoice.paid'], filter: { 'data.amount': [{ numeric: ['>', 100] }], 'data.country': ['de', 'fr'] }, attachments: { 'invoice.pdf': 'data.pdf' },
    method: 'POST', encoding: 'json', mode: 'structured', headers: ['X-Tenant'], ordered: false, at_a_time: 64, timeout_s: 15, created: iso(now - 40 * DAY), secrets: 2, shared_key: null, filter_too_costly: null, enabled: id !== IDS.disabled,
});

const waiting = (many) => ({ partition: 3, complete: !many, tiers: many ? [5, 60, 300, 1800].map((delay, i) => ({ topic: `retry.${i + 1}`, delay_seconds: delay, waiting: [50, 3000, 9000, 61234][i],
    first: Array.from({ length: 10 }, (_, n) => ({ delivery: `dlv_${n}`, offset: 812345 + n, attempts: i + 1, last: 'timed_out', due: now + (i * 40 - 20) * 1000 + n * 1000 })) })) : [] });

const letter = (i, more = {}) => ({ delivery: `${IDS.delivery.slice(0, -4)}${String(1000 + i)}`, webhook: i % 3 ? IDS.hanging : IDS.disabled, type: ['order.created', 'order.paid', 'com.example.warehouse.stock.level.changed'][i % 3], reason: ['timed_out', 'refused', 'expired'][i % 3], attempts: 9, accepted: iso(now - 8 * DAY - i * HOUR), died: iso(now - DAY - i * HOUR), redriven: i % 4 ? 0 : 1, ...more });
const letters = { failing: Array.from({ length: 40 }, (_, i) => letter(i)), busy: [letter(1)], empty: [] };

const step = (at, topic, offset, what, why, more = {}) => ({ at, time: iso(at), topic, partition: 3, offset, what, why, ...more });
const key = (i) => `019abc12def07a3b8c4d5e6f7081${String(9000 + i)}`;
const ACCEPTED = 'answered 201. 312 bytes, TTL 3600 s, urgency normal';
const clientSteps = [
    step(now - 9 * HOUR, 'subscriptions', 120, 'client', 'The client was recorded: webpush, made at 2026-11-20T10:00:00.000Z, last seen at 2026-11-25T08:00:00.000Z.'),
    step(now - 9 * HOUR + 900, 'subscriptions', 121, 'client', 'The client registered the channel 7c9e6679-7425-40de-944b-e07fc1f90ae7.'),
    ...Array.from({ length: 12 }, (_, i) => [
        step(now - 8 * HOUR + i * 30 * MINUTE, 'notifications', 4000 + 2 * i, 'accepted', `Message ${key(i)}: for channel 7c9e6679-7425-40de-944b-e07fc1f90ae7. The sender was ${ACCEPTED}.`, { message: key(i) }),
        ...(i % 5 === 3 ? [step(now - 7 * HOUR + i * 30 * MINUTE, 'notifications', null, 'expired', `Message ${key(i)}: its TTL ended, and it is not delivered any more. The home writes its end when it next drains the client's messages.`, { message: key(i) })]
            : i === 11 ? [] : [step(now - 8 * HOUR + i * 30 * MINUTE + 240, 'notifications', 4001 + 2 * i, 'finished', `Message ${key(i)}: The client acknowledged it.`, { message: key(i), reason: i % 7 === 5 ? 'replaced' : 'acked' })]),
    ]).flat(),
    step(now - 4 * HOUR, 'notifications', 4100, 'home', 'The edge edge-2 became the home of the partition, with epoch 12.'),
].sort((a, b) => a.at - b.at);
const messageSteps = [
    step(now - 2 * HOUR, 'notifications', 4022, 'accepted', `The sender was ${ACCEPTED}. Its TTL ends in an hour.`, { message: IDS.message }),
    step(now - 2 * HOUR + 3, 'reliability', 88, 'received', 'The endpoint checked the request.'),
    step(now - HOUR, 'notifications', null, 'expired', 'Its TTL ended. It is not delivered any more.'),
];
const found = (sought) => {
    const client = sought.endsWith('/client') || sought.startsWith('uaid');
    return {
        kind: client ? 'UAID' : 'message',
        facts: [...(client ? [] : [{ name: 'message in log lines', value: IDS.message }]), { name: 'client in log lines', value: '3fa94c1d77ab' }, { name: 'partition', value: '3' }],
        trace: { steps: client ? clientSteps : messageSteps, ...(client ? { cut: true } : { verdict: 'Its TTL ended at 2026-11-25T12:00:00.000Z and its home has not finished it yet.' }) },
        problem: '', from: now - 3 * DAY, until: now,
        ...(client ? { connection: { connected: true, since: now - 9 * MINUTE, edge: '9f3c0d5e7a1b2c41', unanswered: 1, problem: '' } } : {}),
    };
};
const state = { at: now, known: { created: now - 5 * DAY, last_seen: now - 9 * MINUTE }, channels: [{ channel: '7c9e6679-7425-40de-944b-e07fc1f90ae7', created: now - 5 * DAY, bound_to_vapid_key: true }],
    waiting: [{ message: IDS.message, channel: '7c9e6679-7425-40de-944b-e07fc1f90ae7', appended: now - MINUTE, expires: now + HOUR, topic: 'chat', bytes: 312 }] };

const TOPICS = ['notifications', 'subscriptions', 'ownership', 'broadcasts', 'retry.dead', 'retry.done', 'events', 'webhooks', 'reliability', 'control', 'reliability.totals', 'retry.0', 'retry.1', 'retry.2', 'retry.3'];
const record = (offset) => ({
    offset, time: now - (5000 - offset) * 1000, type: offset % 2 ? 'beckon.notification.finished.v1' : 'beckon.notification.accepted.v1', key: `3fa94c1d77ab${IDS.message}`, bytes: offset % 2 ? null : 312,
    headers: [{ name: 'ce_specversion', value: '1.0' }, { name: 'ce_type', value: 'beckon.notification.accepted.v1' }, { name: 'ce_id', value: '(not shown: whoever has it can delete the message)' }, { name: 'ce_source', value: 'endpoint-1' }, { name: 'ce_ttl', value: '3600' },
        { name: 'ce_encoding', value: 'aes128gcm' }, { name: 'traceparent', value: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' }],
    words: offset % 2 ? 'The client acknowledged it.' : `A message for channel 7c9e6679-7425-40de-944b-e07fc1f90ae7. ${ACCEPTED}.`, message: true, client: true,
});
const records = (query) => {
    const before = Number(query.get('before') ?? 5000);
    const from = query.has('from') ? Number(query.get('from')) : query.has('at') ? 4200 : Math.max(17, before - 50);
    const last = Math.min(5000, query.has('from') || query.has('at') ? from + 50 : before);
    return { topic: query.get('topic'), partition: Number(query.get('partition')), start: 17, end: 5000, history_begins: now - 3 * DAY, records: Array.from({ length: Math.max(0, last - from) }, (_, i) => record(from + i)), next: last };
};

const flowStep = (from, to, count, p50, p99) => ({ from, to, count, mean_ms: (p50 + p99) / 3, p50_ms: p50, p99_ms: p99 });
const day = (i, bad) => ({ day: iso(now - i * DAY).slice(0, 10), total: 120000 - i * 3000, success: 118000 - i * 3000 - bad, fail: 900 + bad, withdrawn: 1100 - bad % 2, milestones: {
    received: { count: 120000 - i * 3000, mean_ms: 4 }, int_transmitted: { count: 90000, mean_ms: 5 }, stored: { count: 29000 - i * 3000, mean_ms: 5400000 }, int_accepted: { count: 89900, mean_ms: 2 }, retrieved: { count: 28000 - i * 3000, mean_ms: 3 },
    transmitted: { count: 117900 - i * 3000, mean_ms: 1 }, accepted: { count: 117800 - i * 3000, mean_ms: 140 }, delivered: { count: 118000 - i * 3000 - bad, mean_ms: 0 }, expired: { count: 800 + bad, mean_ms: 0 }, errored: { count: 100, mean_ms: 0 }, replaced: { count: 1100, mean_ms: 0 } } });
const milestones = (bad) => ({
    counts: { received: 2, stored: 412, retrieved: 0, int_transmitted: 3, int_accepted: 1, bridge_transmitted: 0, transmitted: 0, accepted: 7, delivered: 117000 - bad, decryption_error: 4, not_delivered: 1, expired: 800 + bad, errored: 100, replaced: 1100, deleted: 3 },
    refused: bad ? [{ from: 'delivered', to: 'stored', count: 3 }] : [],
    steps: [flowStep('received', 'int_transmitted', 90000, 4, 31), flowStep('received', 'stored', 29000, 5, 44), flowStep('received', 'bridge_transmitted', 900, 90, 900), flowStep('int_transmitted', 'int_accepted', 89900, 3, 22), flowStep('stored', 'retrieved', 28100 - bad, 5400000, 40000000), flowStep('stored', 'expired', 800 + bad, 3600000, 3600000),
        flowStep('int_accepted', 'transmitted', 89900, 0.6, 4), flowStep('retrieved', 'delivered', 28000 - bad, 160, 4000), flowStep('transmitted', 'accepted', 89850, 0.4, 3), flowStep('transmitted', 'errored', 50, 900, 1200), flowStep('accepted', 'delivered', 89000, 140, 3100), flowStep('accepted', 'decryption_error', 4, 150, 160), flowStep('accepted', 'not_delivered', 1, 150, 150), flowStep('stored', 'replaced', 1100, 60000, 600000), flowStep('stored', 'deleted', 3, 60000, 600000)],
    days: [6, 5, 4, 3, 2, 1].map((i) => day(i, i === 2 ? bad : 0)),
});

/** Pages that the app follows. */
function page(world, name) {
    const bad = world === 'failing';
    const pages = {
        webhooks: () => ({ webhooks: webhooks[world] }),
        milestones: () => (world === 'empty' ? { counts: {}, refused: [], steps: [], days: [] } : milestones(bad ? 9000 : 0)),
        dead: () => ({ letters: letters[world].length, passed_over: 0 }),
        senders: () => ({
            blocked: world === 'empty' ? [] : [{ kind: 'vapid', name: '9c2f'.repeat(16), since: now - 2 * DAY, why: 'ticket 4711: 300 messages a second to one client' }, { kind: 'subscription', name: '07ab'.repeat(16), since: now - HOUR, why: '' }, { kind: 'owner', name: 'shop', since: now - MINUTE, why: 'test' }],
            limits: { vapid: bad ? 200 : 0, subscription: bad ? 5 : 0 },
            busiest: world === 'empty' ? [] : ['9c2f', 'e01d', '55aa'].map((part, i) => ({ name: part.repeat(16), per_second: [312.4, 18, 0.3][i] })),
        }),
    };
    return pages[name]?.() ?? nodesPage(world, name);
}

/** Queries of the app. */
function query(world, path, of) {
    const queries = {
        '/api/webhook': () => ({ webhook: settings(of.get('id')), attempts: attempts[of.get('id') === IDS.hanging ? world : 'busy'], hours: hours(world === 'failing'), problem: '' }),
        '/api/waiting': () => waiting(world === 'failing' && of.get('id') === IDS.hanging),
        '/api/dead': () => ({ letters: letters[world].filter((one) => !of.get('webhook') || one.webhook === of.get('webhook')).slice(0, Number(of.get('limit') ?? 100)), next: world === 'failing' && !of.get('webhook') ? '1-2-3' : null, passed_over: 0 }),
        '/api/letter': () => ({ ...letter(1), delivery: of.get('delivery'), history: [{ died: iso(now - 3 * DAY), reason: 'unreachable', attempts: 9 }], event: { specversion: '1.0', id: 'e-2206-77', source: '/shop/orders', type: 'order.created', data: { order: 4711, lines: [{ sku: 'A-1', n: 2 }], note: 'x'.repeat(300) } } }),
        '/api/find': () => (of.get('q').startsWith('nothing') ? null : found(of.get('q'))),
        '/api/state': () => state,
        '/api/log': () => ({ topics: TOPICS, partitions: of.get('topic') && world !== 'empty' ? Array.from({ length: 16 }, (_, i) => ({ partition: i, start: 17 * i, end: 5000 + 321 * i })) : [], history_begins: now - 3 * DAY }),
        '/api/records': () => (world === 'empty' ? { topic: of.get('topic'), partition: 0, start: 0, end: 0, history_begins: now - 3 * DAY, records: [], next: 0 } : records(of)),
        '/api/record': () => ({ record: record(Number(of.get('offset'))), shown: 64, text: null, hex: '8f3a'.repeat(32), withheld: '' }),
    };
    return queries[path]?.() ?? null;
}

/** The plan of an act, and its outcome. */
function act(path) {
    if (path === '/api/acts/redrive/check') return { plan: { matched: 14, disabled: 5, would_settle: 9, sample: letters.failing.slice(0, 10) }, confirmation: 'confirmed' };
    if (path === '/api/acts/redrive') return { settled: 9, gone: 0, failed: 0, left: 0 };
    if (path === '/api/acts/remove/check') return { plan: { possible: true, does: ['The client ends with 2 channels and 1 waiting message: senders get 410 from then on.', 'If it connects again it is told that it is unknown, and registers as a new client. This cannot be undone.'] }, confirmation: 'confirmed' };
    if (path === '/api/acts/remove') return { done: 'The client is gone. Its messages and channels get their tombstones within seconds.' };
    if (path.endsWith('/check')) return { plan: { webhook: IDS.webhook, origin: 'https://hooks.shop.example', possible: true, does: ['A new secret is made. It is shown here once, and never again: the receiver needs it.', 'Requests are signed with the new and the present secret until the next rotation, so the receiver loses nothing while it changes.'] }, confirmation: 'confirmed' };
    return { done: 'The webhook has a new secret.', secret: 'whsec_bm90IGEgc2VjcmV0LCBidXQgYXMgbG9uZyBhcyBvbmU=' };
}

/**
 * @param {'busy'|'failing'|'many'|'empty'|'silent'} world
 * @param {{method?: string, url: string}} request
 * @returns {{status: number, body: unknown}}
 */
export function answer(world, { method, url }) {
    const { pathname, searchParams } = new URL(url, 'http://console');
    if (world === 'silent') return { status: 503, body: { error: 'the log does not answer: no broker is reachable' } };
    if (method === 'POST') return { status: 200, body: act(pathname) };
    const name = /^\/api\/pages\/(.+)$/.exec(pathname)?.[1];
    const body = name ? page(world, name) : query(world, pathname, searchParams);
    return body ? { status: 200, body } : { status: name ? 503 : 404, body: { error: name ? 'not known yet' : 'this is no endpoint URL, message URL, message id, reliability id or UAID of this installation' } };
}

/** The addresses that console-pages.mjs looks at, by a name for the picture. */
export const VIEWS = {
    ...NODES_VIEWS,
    webhooks: '#/webhooks', webhook: `#/webhooks/${IDS.webhook}`, 'webhook-hanging': `#/webhooks/${IDS.hanging}`, 'webhook-disabled': `#/webhooks/${IDS.disabled}`,
    senders: '#/senders', dead: '#/dead', letter: `#/dead/${IDS.delivery}?webhook=${IDS.hanging}`, find: '#/find', 'find-message': '#/find/notifications%2F3%404022', 'find-client': '#/find/notifications%2F3%404022%2Fclient', 'find-nothing': '#/find/nothing',
    log: '#/log', 'log-topic': '#/log/notifications', 'log-partition': '#/log/notifications/3', 'log-record': '#/log/notifications/3/4022', milestones: '#/milestones', 'milestones-day': `#/milestones?day=${iso(now - 2 * DAY).slice(0, 10)}`,
};
