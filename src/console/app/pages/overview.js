// Overview: is everything all right, what is wrong and what to do, and the last hour.
import { spark } from '../chart.js';
import { h, head, only } from '../dom.js';
import { bytes, count, counted, milliseconds, rate, seconds, sum } from '../format.js';
import { logIsSilent } from '../parts.js';

/** @typedef {import('../types.js').OverviewPage} OverviewPage */
/** @typedef {import('../types.js').Level} Level */

const POINTS_MAX = 360;
const WORDS = { ok: 'No problem is known', warning: 'Look at this', bad: 'Something is wrong' };

/**
 * A change has the points that are new.
 * @param {OverviewPage} page
 * @param {OverviewPage} change
 */
function merge(page, change) {
    /** @type {any} */
    const history = {};
    for (const name of Object.keys(change.history)) history[name] = [...(page.history[name] ?? []), ...change.history[name]].slice(-POINTS_MAX);
    return { now: change.now, history };
}

/** @param {import('../types.js').StatusPage} status */
function verdict(status) {
    return h('section', { class: 'verdict-box', 'data-level': status.level, 'aria-label': 'Verdict' },
        h('p', { class: 'level' }, WORDS[status.level]),
        h('p', { class: 'sentence', role: 'status' }, status.sentence));
}

/**
 * Text with `code` in it.
 * @param {string} text
 */
const withCode = (text) => text.split('`').map((part, i) => (i % 2 ? h('code', {}, part) : part));

/** @param {import('../types.js').Finding[]} findings */
function todo(findings) {
    const items = findings.map((one) => h('li', { 'data-level': one.level },
        h('div', {}, h('strong', {}, one.what), ' ', h('span', {}, ...withCode(one.todo))),
        h('div', { class: 'bar' }, h('a', { href: `#/${one.page}`, 'data-key': `finding ${one.what}` }, 'Show where'), h('code', { class: 'quiet' }, `docs/operations/troubleshooting.md#${one.section}`))));
    return h('section', { class: 'panel' }, h('div', { class: 'head' }, h('h2', {}, findings.length === 1 ? 'One thing is wrong' : `${count(findings.length)} things are wrong`)),
        h('ol', { class: 'findings' }, ...items));
}

/** @param {(number|null)[]|undefined} values */
function newest(values) {
    return values?.length ? values[values.length - 1] : null;
}

/**
 * @typedef {object} Tile
 * @property {string} title
 * @property {string} page  where it leads
 * @property {string} value
 * @property {string} [remark]
 * @property {string} [about]  what the number is, where its name does not say it
 * @property {Level} [level]
 * @property {{name: string, label: string, colour?: import('../chart.js').Colour}[]} [lines]  of the history
 * @property {(value: number) => string} [show]
 */

/** @param {Tile} tile  @param {import('../types.js').Series} history */
function tileLink(tile, history) {
    const show = tile.show ?? count;
    const lines = (tile.lines ?? []).map(({ name, label, colour }) => ({ label, colour, values: history[name] ?? [] }));
    const known = lines.some((line) => line.values.some((value) => value !== null));
    const greatest = Math.max(0, ...lines.flatMap((line) => line.values.map((value) => value ?? 0)));
    return h('a', { class: 'tile', href: `#/${tile.page}`, title: tile.about, 'data-key': `tile ${tile.title}`, 'data-level': tile.level && tile.level !== 'ok' ? tile.level : null },
        h('span', { class: 'name' }, tile.title), h('span', { class: 'value' }, tile.value), h('small', {}, tile.remark ?? '\u00a0'),
        known && history.at.length > 1
            ? spark(tile.title, { at: history.at, lines, show, area: lines.length === 1, height: 40, label: `${tile.title} in the last hour, at most ${show(greatest)}` })
            : h('div', { class: 'no-spark' }, lines.length ? 'nothing measured yet' : ''));
}

/** @param {import('../types.js').OverviewNow} now  @param {boolean} silent */
function roleTile(now, silent) {
    if (silent) return { title: 'Nodes alive', page: 'nodes', value: '–', remark: 'not known: no broker answers', level: /** @type {Level} */ ('bad') };
    const of = (/** @type {string} */ role) => now.roles.find((one) => one.role === role);
    const alive = sum(now.roles, (one) => one.alive);
    const all = sum(now.roles, (one) => one.all);
    const named = ['edge', 'endpoint', 'retry'].flatMap((role) => {
        const one = of(role);
        return one ? [role === 'retry' ? `${one.alive} retry` : counted(one.alive, role)] : [];
    });
    return { title: 'Nodes alive', page: 'nodes', value: all === alive ? count(alive) : `${count(alive)} of ${count(all)}`,
        remark: now.standalone ? 'standalone' : named.join(', '), level: /** @type {Level} */ (all > alive ? 'warning' : 'ok') };
}

/** @param {OverviewPage['now']['canary']} canary  @returns {Tile} */
function canaryTile(canary) {
    const tile = { title: 'POST to frame', page: 'canary', show: milliseconds, lines: [{ name: 'canary_ms', label: 'slowest edge' }],
        about: 'Of the canary: from the request of a sender until the client has the message' };
    if (!canary) return { ...tile, value: '–', remark: 'no canary (console.canary)', level: 'ok' };
    if (!canary.well && !canary.failing) return { ...tile, value: '–', remark: 'the first push is under way', level: 'ok' };
    return { ...tile, value: canary.well ? milliseconds(canary.ms) : 'fails', remark: `${canary.well} of ${canary.edges} edges; p99 ${milliseconds(canary.p99_ms)}`,
        level: canary.failing ? 'bad' : 'ok' };
}

/** @param {OverviewPage} page  @param {boolean} silent  @returns {Tile[]} */
function tilesOf({ now, history }, silent) {
    const last = (/** @type {string} */ name) => newest(history[name]);
    const perSecond = (/** @type {string} */ name) => (last(name) === null ? '–' : rate(Number(last(name))));
    const text = (/** @type {number|null} */ value, /** @type {(value: number) => string} */ show) => (value === null ? '–' : show(value));
    const percent = now.disk ? Math.floor((now.disk.free / now.disk.size) * 100) : 0;
    return [
        { title: 'Clients', page: 'nodes', value: text(last('clients'), count), remark: 'connected', lines: [{ name: 'clients', label: 'clients' }] },
        { title: 'Accepted', page: 'milestones', value: perSecond('accepted'), remark: 'messages', show: rate, lines: [{ name: 'accepted', label: 'accepted' }] },
        { title: 'Delivered', page: 'milestones', value: perSecond('delivered'), remark: `${perSecond('acked')} acknowledged`, show: rate,
            lines: [{ name: 'delivered', label: 'delivered' }, { name: 'acked', label: 'acknowledged', colour: 'third' }] },
        { title: 'Refused by us (5xx)', page: 'nodes', value: perSecond('refused_5xx'), remark: `senders' mistakes (4xx): ${perSecond('refused_4xx')}`, show: rate, level: Number(last('refused_5xx')) > 0 ? 'warning' : 'ok',
            lines: [{ name: 'refused_4xx', label: '4xx', colour: 'second' }, { name: 'refused_5xx', label: '5xx', colour: 'bad' }] },
        { title: 'Log to frame', page: 'lag', value: milliseconds(last('p50_ms')), about: 'From the record in the log until the message is sent to the client, at all edges', remark: `median; p99 ${milliseconds(last('p99_ms'))}`, show: milliseconds,
            lines: [{ name: 'p99_ms', label: 'p99', colour: 'second' }, { name: 'p50_ms', label: 'p50' }] },
        canaryTile(now.canary),
        { title: 'Waiting', page: 'lag', value: text(last('waiting'), count), remark: last('waiting') ? `messages for clients; oldest ${seconds(last('oldest_seconds'))}` : 'messages for clients', lines: [{ name: 'waiting', label: 'messages' }] },
        { title: 'Delay tiers', page: 'tiers', value: now.tiers ? count(now.tiers.waiting) : '–', remark: now.tiers?.overdue_seconds ? `deliveries; overdue by ${seconds(now.tiers.overdue_seconds)}` : 'deliveries to webhooks; none overdue',
            level: (now.tiers?.overdue_seconds ?? 0) > 60 ? 'warning' : 'ok', lines: [{ name: 'tier_waiting', label: 'deliveries' }] },
        { title: 'Webhooks failing', page: 'webhooks', value: now.webhooks ? count(now.webhooks.failing) : '–', remark: now.webhooks ? `of ${count(now.webhooks.total)}; ${count(now.webhooks.disabled)} disabled by failure` : 'not read yet',
            level: now.webhooks && now.webhooks.failing + now.webhooks.disabled ? 'warning' : 'ok', lines: [{ name: 'webhooks_failing', label: 'webhooks', colour: 'second' }] },
        { title: 'Dead letters', page: 'dead', value: now.dead ? count(now.dead.letters) : '–', remark: now.dead ? (now.dead.hour ? `${count(now.dead.hour)} of them in the last hour` : 'none in the last hour') : 'not read yet',
            level: now.dead?.hour ? 'warning' : 'ok', lines: [{ name: 'dead', label: 'letters', colour: 'second' }] },
        roleTile(now, silent),
        { title: 'Fullest disk', page: 'nodes', value: now.disk ? `${percent} % free` : '–', remark: now.disk ? `${bytes(now.disk.free)} of ${bytes(now.disk.size)}, ${now.disk.name}` : '', show: (value) => `${Math.round(value)} %`,
            level: now.disk?.level, lines: [{ name: 'disk_free_percent', label: 'free' }] },
        { title: 'Certificate', page: 'nodes', value: now.certificate ? (now.certificate.seconds > 0 ? seconds(now.certificate.seconds) : 'expired') : '–',
            remark: now.certificate ? `${now.certificate.seconds > 0 ? 'until the first expires, ' : ''}${now.certificate.name}` : silent ? 'not known' : 'no port has TLS', level: !now.certificate || now.certificate.seconds > 14 * 86400 ? 'ok' : now.certificate.seconds > 0 ? 'warning' : 'bad' },
    ];
}

/** @type {import('../types.js').Page} */
export const overview = {
    name: 'overview',
    title: 'Overview',
    follows: 'overview',
    also: ['status'],
    missing: 'Nothing is known yet: the console reads the log first.',
    merge,
    show(/** @type {OverviewPage} */ page, _, { status }) {
        return only([
            head('Overview', h('span', { class: 'quiet' }, 'the last hour, as far as this console has run')),
            status ? verdict(status) : null,
            status?.findings.length ? todo(status.findings) : null,
            h('div', { class: 'tiles charts' }, ...tilesOf(page, logIsSilent(status)).map((tile) => tileLink(tile, page.history))),
        ]);
    },
};
