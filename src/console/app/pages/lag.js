// Lag: every consumer group, by topic, and by partition where one is unfolded.
import { chart, spark, zoneLine } from '../chart.js';
import { h, head, only, panel, table, tiles, word } from '../dom.js';
import { count, counted, rate, seconds, sum, time, timeOfDay } from '../format.js';
import { link } from '../parts.js';
import { address } from '../route.js';

/** @typedef {import('../types.js').LagRow} LagRow */

const WORST_FIRST = ['STOPPED', 'STALLED', 'SLOW', 'RESTORING', 'OK'];
/** @param {string} status */
const badness = (status) => WORST_FIRST.length - WORST_FIRST.indexOf(status);

/** An attempt that is late by more than this is late. */
const TIER_LATE_S = 5;

/** Unfolded rows and the filter outlive the next values. */
const unfolded = new Set();
let filter = '';
let onlyBehind = false;
let ofOthers = false;
let meant = false;
/** @type {import('../types.js').LagHour|undefined} */
let hour;

/** @param {LagRow[]} rows */
function ownersOf(rows) {
    const owners = [...new Set(rows.map((row) => row.owner).filter(Boolean))];
    const without = rows.filter((row) => !row.owner).length;
    const words = [owners.length > 1 ? `${count(owners.length)} owners` : owners[0], owners.length && without ? `${count(without)} without` : ''];
    return words.filter(Boolean).join(', ');
}

/** @param {LagRow[]} rows */
function summary(rows) {
    const worst = rows.reduce((a, b) => (badness(b.status) > badness(a.status) ? b : a));
    const unknown = rows.some((row) => row.lag_seconds === null);
    const length = Math.max(...rows.map((row) => row.history.length));
    const history = Array.from({ length }, (_, i) => sum(rows, (row) => row.history[row.history.length - length + i] ?? 0));
    const drains = rows.map((row) => row.drain_seconds);
    return {
        ...worst,
        lag: sum(rows, (row) => row.lag),
        lag_seconds: unknown ? null : Math.max(...rows.map((row) => row.lag_seconds ?? 0)),
        read_rate: sum(rows, (row) => row.read_rate),
        append_rate: sum(rows, (row) => row.append_rate),
        drain_seconds: drains.includes(null) ? null : Math.max(...drains.map(Number)),
        loss: rows.some((row) => row.loss === 'now') ? 'now' : rows.some((row) => row.loss === 'near') ? 'near' : 'none',
        owner: ownersOf(rows),
        history,
    };
}

/** @param {{loss: string, left_seconds: number|null}} row */
function lossText(row) {
    if (row.loss === 'now') return 'records were removed unread';
    return `removed unread in ${seconds(row.left_seconds)}`;
}

/** @param {{loss: string, left_seconds: number|null}} row */
const warning = (row) => (row.loss === 'none' ? null : h('span', { class: 'warn below' }, lossText(row)));

/**
 * A partition, as a link to the record that its group reads next.
 * @param {LagRow} row
 */
function partitionName(row) {
    const prefix = row.own ? row.group.replace(/(edge|endpoint|reliability|retry)(\/.*)?$/, '') : undefined;
    const name = `partition ${row.partition}`;
    if (prefix === undefined || !row.topic.startsWith(prefix)) return name;
    const topic = row.topic.slice(prefix.length);
    return link(address(['log', topic, String(row.partition)], row.lag ? { from: row.position } : {}), name, row.lag ? 'the records that the group has not read' : 'its records');
}

/** @param {LagRow} row */
const place = (row) => `${row.group}\n${row.topic}\n${row.partition}`;

/**
 * The last hour of a topic, or the last minutes of a partition.
 * @param {LagRow} row
 * @param {boolean} part
 */
function history(row, part) {
    const known = part ? undefined : hour?.groups.find((one) => one.group === row.group && one.topic === row.topic)?.records;
    const values = known && known.length > 1 ? known : row.history.length > 1 ? row.history : [0, 0];
    const late = values === known ? 'in the last hour' : 'in the last minutes';
    return spark(part ? place(row) : `${row.group}\n${row.topic}`, { at: values.map((_, i) => i), lines: [{ label: 'records', values, colour: badness(row.status) > 3 ? 'bad' : 'first' }], area: true, height: 22, show: count, label: `lag ${late}, now ${count(row.lag)} records` });
}

/**
 * @param {LagRow} row
 * @param {Node|string} name
 * @param {boolean} part
 */
function line(row, name, part) {
    return h('tr', { class: part ? 'part' : null },
        h('th', { scope: 'row' }, name, part ? null : warning(row)),
        h('td', { title: row.why }, word(row.status, row.why), part && row.loss !== 'none' ? h('span', { class: 'warn', title: lossText(row) }, ' !') : null),
        h('td', { class: 'num' }, count(row.lag)),
        h('td', { class: 'num' }, row.lag ? seconds(row.lag_seconds) : '–'),
        h('td', { class: 'optional late' }, history(row, part)),
        h('td', { class: 'num optional' }, rate(row.append_rate)),
        h('td', { class: 'num optional' }, rate(row.read_rate)),
        h('td', { class: 'num optional' }, row.lag && !row.delay_seconds ? seconds(row.drain_seconds) : '–', row.lag && (row.drain_seconds ?? 0) >= 60 ? h('small', {}, `at ${timeOfDay(Date.now() + 1000 * (row.drain_seconds ?? 0))}`) : null),
        h('td', { class: 'optional' }, row.owner || '–'));
}

/**
 * @param {string} key
 * @param {LagRow[]} rows
 * @param {() => void} again
 */
function topicLines(key, rows, again) {
    const open = unfolded.has(key);
    const toggle = () => {
        if (open) unfolded.delete(key);
        else unfolded.add(key);
        again();
    };
    const [group, topic] = key.split('\n');
    const name = h('button', { class: 'fold', type: 'button', 'aria-expanded': String(open), 'data-key': key, onclick: toggle }, `${group} `, h('span', { class: 'quiet' }, `${topic} · ${counted(rows.length, 'partition')}`));
    const lines = [line(/** @type {any} */ (summary(rows)), name, false)];
    if (!open) return lines;
    const known = hour?.groups.find((one) => one.group === group && one.topic === topic);
    const wide = (/** @type {HTMLElement} */ child) => h('tr', { class: 'part' }, h('td', { colspan: 9 }, child));
    if (hour && known && hour.at.length > 1) {
        lines.push(wide(chart(`hour ${key}`, { at: hour.at, lines: [{ label: 'records behind', values: known.records }], show: count, area: true, height: 130,
            label: `${group}, ${topic}: records behind in the last hour` })));
    }
    lines.push(wide(h('p', { class: 'owners' }, ...byOwner(rows))));
    lines.push(...rows.map((row) => line(row, partitionName(row), true)));
    return lines;
}

/**
 * The partitions of each process that reads them, with the records that wait there.
 * @param {LagRow[]} rows
 */
function byOwner(rows) {
    const owners = [...new Set(rows.map((row) => row.owner))].sort();
    return owners.map((owner) => {
        const of = rows.filter((row) => row.owner === owner);
        const names = of.map((row) => row.partition);
        const listed = names.length > 24 ? `${names.slice(0, 24).join(', ')} and ${count(names.length - 24)} more` : names.join(', ');
        return h('span', {}, h('strong', {}, owner || 'nobody'), ` ${counted(of.length, 'partition')}, ${count(sum(of, (row) => row.lag))} behind: ${listed}`);
    });
}

/**
 * The delay tiers as rows: deliveries wait there on purpose, and are late only when they are overdue.
 * @param {import('../types.js').Tier} tier
 */
function tierLine(tier) {
    const late = tier.overdue_seconds > TIER_LATE_S;
    return h('tr', {},
        h('th', { scope: 'row' }, h('a', { href: '#/tiers', 'data-key': `tier ${tier.topic}` }, tier.topic), h('span', { class: 'quiet' }, ` after ${seconds(tier.delay_seconds)}`)),
        h('td', {}, word(late ? 'SLOW' : 'OK', late ? 'what is due is not tried in time' : '')),
        h('td', { class: 'num' }, count(tier.waiting)), h('td', { class: 'num' }, count(tier.due)),
        h('td', { class: 'num' }, tier.overdue_seconds ? seconds(tier.overdue_seconds) : '–'),
        h('td', { class: 'num' }, tier.waiting ? seconds(tier.next_due_seconds) : '–'));
}

/** @param {import('../types.js').TiersPage|undefined} page */
function tierPanel(page) {
    if (!page?.tiers.length) return null;
    const columns = [{ title: 'Delay tier' }, { title: 'Status' }, { title: 'Waiting', class: 'num' }, { title: 'Due', class: 'num' }, { title: 'Overdue', class: 'num' }, { title: 'Next due', class: 'num' }];
    return panel('Deliveries that wait for their next attempt', table(columns, page.tiers.map(tierLine), 'Delay tiers'));
}

/** @type {[string, string][]} */
const MEANINGS = [
    ['STOPPED', 'Records wait, and nobody reads there: start the group.'],
    ['STALLED', 'A member has the partition and has not moved for 30 s: it hangs, or fails at a record again and again.'],
    ['SLOW', 'It reads, but not faster than others write: it needs more members, or its receivers are slow.'],
    ['RESTORING', 'It is behind and catches up.'],
    ['OK', 'Nothing waits, or only what came in the last 30 s.'],
];

/** What the words of the table mean. */
function meanings() {
    return h('details', { open: meant, ontoggle: (/** @type {Event} */ event) => (meant = /** @type {HTMLDetailsElement} */ (event.target).open) },
        h('summary', { 'data-key': 'meanings' }, 'What the words mean'),
        h('dl', { class: 'facts' }, ...MEANINGS.flatMap(([status, what]) => [h('dt', {}, word(status)), h('dd', {}, what)])));
}

/** @param {LagRow[]} rows */
function byTopic(rows) {
    /** @type {Map<string, LagRow[]>} */
    const groups = new Map();
    for (const row of rows) {
        const key = `${row.group}\n${row.topic}`;
        const known = groups.get(key);
        if (known) known.push(row);
        else groups.set(key, [row]);
    }
    /** @param {LagRow[]} of */
    const worst = (of) => Math.max(...of.map((row) => badness(row.status)));
    return [...groups].map(([key, of]) => ({ key, of, worst: worst(of) })).sort((a, b) => b.worst - a.worst || a.key.localeCompare(b.key));
}

/**
 * A change has the rows that differ from before.
 * @param {import('../types.js').LagPage} page
 * @param {import('../types.js').LagPage} change
 */
function merge(page, change) {
    const changed = new Map(change.rows.map((row) => [place(row), row]));
    return { ...change, rows: page.rows.map((row) => changed.get(place(row)) ?? row) };
}

/** @type {import('../types.js').Page} */
export const lag = {
    name: 'lag',
    title: 'Lag',
    follows: 'lag',
    also: ['lag_hour', 'tiers'],
    merge,
    show(/** @type {import('../types.js').LagPage} */ page, again, others) {
        hour = others.lag_hour;
        const foreign = new Set(page.rows.filter((row) => !row.own).map((row) => row.group)).size;
        const rows = page.rows.filter((row) => row.own || ofOthers);
        const chosen = rows.filter((row) => `${row.group} ${row.topic}`.includes(filter) && (!onlyBehind || row.status !== 'OK' || row.loss !== 'none'));
        const words = WORST_FIRST.filter((status) => status !== 'OK').map((status) => `${rows.filter((row) => row.status === status).length} ${status}`);
        const bad = rows.filter((row) => row.status !== 'OK').length;
        const oldest = Math.max(0, ...rows.map((row) => (row.delay_seconds ? 0 : row.lag_seconds ?? 0)));
        const input = h('input', { type: 'search', placeholder: 'group or topic', 'aria-label': 'Filter by group or topic', 'data-key': 'filter', value: filter, oninput: (/** @type {Event} */ event) => {
            filter = /** @type {HTMLInputElement} */ (event.target).value;
            again();
            const now = /** @type {HTMLInputElement|null} */ (document.querySelector('[data-key="filter"]'));
            now?.setSelectionRange(filter.length, filter.length);
        } });
        const check = h('input', { type: 'checkbox', 'data-key': 'behind', checked: onlyBehind, onchange: () => {
            onlyBehind = !onlyBehind;
            again();
        } });
        const foreigners = h('input', { type: 'checkbox', 'data-key': 'others', checked: ofOthers, onchange: () => {
            ofOthers = !ofOthers;
            again();
        } });
        const title = head('Lag', h('span', { class: 'quiet' }, `how far each consumer group is behind the end of the log that it reads · as of ${time(page.at)}, asked in ${page.took_ms} ms`));
        if (!page.rows.length && page.problems.length) return only([title, h('p', { class: 'notice bad', role: 'alert' }, `The groups are not known at present: ${page.problems.join('; ')}.`), tierPanel(others.tiers)]);
        const columns = [{ title: 'Group and topic' }, { title: 'Status' }, { title: 'Behind, records', class: 'num' }, { title: 'Behind, time', class: 'num' },
            { title: 'Last hour', optional: true }, { title: 'Written', class: 'num', optional: true }, { title: 'Read', class: 'num', optional: true },
            { title: 'Drained in', class: 'num', optional: true }, { title: 'Owner', optional: true }];
        return only([
            title,
            tiles(['Groups', count(new Set(rows.map((row) => row.group)).size), `in ${counted(rows.length, 'partition')}`],
                ['Not OK', count(bad), bad ? `partitions: ${words.filter((text) => !text.startsWith('0')).join(', ')}` : 'everybody keeps up'],
                ['Records behind', count(sum(rows, (row) => (row.delay_seconds ? 0 : row.lag))), `oldest ${seconds(oldest)}`],
                ['Loss', count(rows.filter((row) => row.loss !== 'none').length), 'partitions about to lose records unread']),
            ...page.problems.map((problem) => h('p', { class: 'notice bad', role: 'alert' }, problem)),
            h('div', { class: 'bar' }, input, h('label', { class: 'check' }, check, 'only what is not OK'),
                foreign ? h('label', { class: 'check' }, foreigners, `${counted(foreign, 'group')} of others`) : null),
            h('section', { class: 'panel' }, chosen.length
                ? table(columns, byTopic(chosen).flatMap(({ key, of }) => topicLines(key, of, again)), 'Lag of all consumer groups')
                : h('p', { class: 'quiet alone' }, rows.length ? 'No group is like that.' : 'No group has committed an offset yet.')),
            tierPanel(others.tiers),
            meanings(),
            unfolded.size ? zoneLine() : null,
        ]);
    },
};
