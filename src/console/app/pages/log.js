// The log: its topics, their partitions, and the records of one, page by page. All other pages are computed from these.
import { asked } from '../asked.js';
import { factList, h, head, only, panel, table, tiles, unanswered } from '../dom.js';
import { count, time } from '../format.js';
import { findAt, link, pre, trail } from '../parts.js';
import { address, go, routeNow } from '../route.js';

/** @typedef {import('../types.js').LogRecord} LogRecord */
/** @typedef {import('../types.js').RecordsPage} RecordsPage */

const HEX_LINE = 32;

/** @type {Record<string, string>} */
const ABOUT = {
    notifications: 'messages and their ends, by client', subscriptions: 'clients and their channels', ownership: 'nodes, leases and placement',
    broadcasts: 'broadcasts', 'retry.dead': 'dead letters', 'retry.done': 'which deliveries are finished', events: 'events of senders, for webhooks',
    webhooks: 'webhooks and their state', reliability: 'milestones of tracked messages', control: 'what holds for all, such as the tiers',
    'reliability.totals': 'counts and reports of milestones',
};

/** Records whose value is shown. */
const withValue = new Set();

/** @param {string} topic */
const about = (topic) => ABOUT[topic] ?? 'deliveries that wait for their next attempt';

/** @param {import('../types.js').TopicsPage} page */
function topicsPart(page) {
    const rows = page.topics.map((topic) => h('tr', {}, h('th', { scope: 'row' }, link(address(['log', topic]), topic)), h('td', { class: 'wide' }, about(topic))));
    return [head('Log', h('span', { class: 'quiet' }, 'what every other page is made from')), panel('Topics', table([{ title: 'Topic' }, { title: 'What it holds' }], rows, 'Log topics'))];
}

/** @param {string} topic  @param {import('../types.js').TopicsPage} page */
function partitionsPart(topic, page) {
    const at = routeNow().query.get('at');
    const rows = page.partitions.map((one) => h('tr', {}, h('th', { scope: 'row' }, link(address(['log', topic, String(one.partition)], { at }), `partition ${one.partition}`)),
        h('td', { class: 'num' }, count(one.start)), h('td', { class: 'num' }, count(one.end)), h('td', { class: 'num' }, count(one.end - one.start))));
    return [trail([{ text: 'Log', href: '#/log' }, { text: topic }]),
        head(topic, h('span', { class: 'quiet' }, about(topic))),
        at ? h('p', { class: 'notice' }, `Choose a partition: its records from ${time(Number(at))} on are shown.`) : null,
        panel('Partitions', table([{ title: 'Partition' }, { title: 'Begins at', class: 'num' }, { title: 'Ends at', class: 'num' }, { title: 'Offsets', class: 'num' }], rows, `Partitions of ${topic}`, 'This topic has no partition yet.'))];
}

/** @param {string} topic  @param {number} partition  @param {LogRecord} one */
const place = (topic, partition, one) => address(['log', topic, String(partition), String(one.offset)]);

/** @param {LogRecord} one */
const kind = (one) => one.type.replace(/^beckon\./, '').replace(/\.v\d+$/, '') || (one.key.startsWith('!') ? one.key.split('/')[0] : '–');

/** @param {RecordsPage} page */
function recordRows(page) {
    return page.records.map((one) => h('tr', {}, h('th', { scope: 'row', class: 'num' }, link(place(page.topic, page.partition, one), count(one.offset))), h('td', {}, time(one.time)), h('td', {}, kind(one)),
        h('td', { class: 'num' }, one.bytes === null ? 'none' : count(one.bytes)), h('td', { class: 'wide' }, one.words || h('span', { class: 'mono' }, one.key))));
}

/** @param {string} topic  @param {string} partition */
function jumps(topic, partition) {
    const { query } = routeNow();
    const to = (/** @type {Record<string, string|number>} */ where) => go(address(['log', topic, partition], where));
    const offset = /** @type {HTMLInputElement} */ (h('input', { name: 'offset', type: 'number', min: 0, 'data-key': 'offset', value: query.get('from') ?? '' }));
    const at = /** @type {HTMLInputElement} */ (h('input', { name: 'at', type: 'datetime-local', step: 1, 'data-key': 'at' }));
    const submit = (/** @type {Event} */ event, /** @type {() => void} */ then) => {
        event.preventDefault();
        then();
    };
    return h('div', { class: 'bar jumps' },
        h('form', { class: 'bar', onsubmit: (/** @type {Event} */ event) => submit(event, () => offset.value !== '' && to({ from: offset.value })) }, h('label', { class: 'field' }, 'Go to offset', offset), h('button', { 'data-key': 'to-offset' }, 'Go')),
        h('form', { class: 'bar', onsubmit: (/** @type {Event} */ event) => submit(event, () => at.value !== '' && to({ at: new Date(at.value).getTime() })) }, h('label', { class: 'field' }, 'Go to time (yours)', at), h('button', { 'data-key': 'to-time' }, 'Go')));
}

/** @param {string} topic  @param {string} partition  @param {() => void} again */
function recordsPart(topic, partition, again) {
    const { query } = routeNow();
    const where = ['from', 'before', 'at'].flatMap((name) => (query.get(name) ? [[name, String(query.get(name))]] : []));
    const { answer, problem } = /** @type {import('../asked.js').Asked<RecordsPage>} */ (asked(`/api/records?${new URLSearchParams([['topic', topic], ['partition', partition], ...where])}`, again));
    const way = trail([{ text: 'Log', href: '#/log' }, { text: topic, href: address(['log', topic]) }, { text: `partition ${partition}` }]);
    const title = head(`${topic}, partition ${partition}`, h('span', { class: 'quiet' }, about(topic)));
    if (!answer) return [way, title, unanswered(problem, 'Reading the log …'), jumps(topic, partition)];
    const first = answer.records[0];
    const last = answer.records[answer.records.length - 1];
    const old = first && first.time < answer.history_begins;
    const turn = (/** @type {Record<string, string|number>} */ to, /** @type {string} */ text, /** @type {boolean} */ possible) => (possible ? link(address(['log', topic, partition], to), text) : h('span', { class: 'quiet' }, text));
    return only([
        way, title,
        tiles(['Begins at', count(answer.start), 'offset'], ['Ends at', count(answer.end), 'offset of the next record'], ['Shown', count(answer.records.length), first ? `${count(first.offset)} to ${count(last.offset)}` : 'no record']),
        jumps(topic, partition),
        old ? h('p', { class: 'notice' }, `Before ${time(answer.history_begins)} (history_window) compaction has removed records that newer ones replaced.`) : null,
        panel('Records', table([{ title: 'Offset', class: 'num' }, { title: 'Written' }, { title: 'Kind' }, { title: 'Bytes', class: 'num' }, { title: 'What it says' }], recordRows(answer), `Records of ${topic}, partition ${partition}`, 'No record stands here.'),
        h('div', { class: 'bar pages', role: 'group', 'aria-label': 'Pages' },
            turn({ from: answer.start }, 'First', !!first && first.offset > answer.start), turn({ before: first?.offset ?? answer.end }, 'Earlier', first ? first.offset > answer.start : answer.end > answer.start),
            turn({ from: answer.next }, 'Later', answer.next < answer.end), turn({}, 'Newest', answer.next < answer.end || where.length > 0))),
    ]);
}

/** @param {string} hex */
const hexLines = (hex) => (hex.match(new RegExp(`.{1,${2 * HEX_LINE}}`, 'g')) ?? []).map((line, i) => `${(i * HEX_LINE).toString(16).padStart(4, '0')}  ${line.replace(/../g, '$& ').trim()}`).join('\n');

/** @param {import('../types.js').RecordAnswer} answer */
function valueParts(answer) {
    if (answer.withheld) return [h('p', { class: 'quiet' }, `The value is not shown. ${answer.withheld}`)];
    if (answer.record.bytes === null) return [h('p', { class: 'quiet' }, 'The record has no value: it is a tombstone or a read barrier.')];
    const cut = answer.shown < answer.record.bytes ? h('p', { class: 'quiet' }, `The first ${count(answer.shown)} of ${count(answer.record.bytes)} bytes.`) : null;
    return only([cut, answer.text === null ? null : pre(answer.text, 'The value as text'), pre(hexLines(answer.hex), 'The value in hexadecimal')]);
}

/** @param {string} topic  @param {string} partition  @param {string} offset  @param {() => void} again */
function recordPart(topic, partition, offset, again) {
    const base = { topic, partition };
    const here = /** @type {import('../asked.js').Asked<RecordsPage>} */ (asked(`/api/records?${new URLSearchParams({ ...base, from: offset })}`, again));
    const way = trail([{ text: 'Log', href: '#/log' }, { text: topic, href: address(['log', topic]) }, { text: `partition ${partition}`, href: address(['log', topic, partition], { from: offset }) }, { text: `offset ${offset}` }]);
    if (!here.answer) return [way, head(`Record ${offset}`), unanswered(here.problem, 'Reading the log …')];
    const before = /** @type {import('../asked.js').Asked<RecordsPage>} */ (asked(`/api/records?${new URLSearchParams({ ...base, before: offset })}`, again));
    const number = Number(partition);
    const one = here.answer.records[0];
    const there = one && String(one.offset) === offset;
    const next = there ? here.answer.records[1] : one;
    const previous = before.answer?.records[before.answer.records.length - 1];
    const neighbours = h('div', { class: 'bar pages', role: 'group', 'aria-label': 'Neighbours' },
        previous ? link(place(topic, number, previous), `Previous: ${count(previous.offset)}, ${kind(previous)}`) : h('span', { class: 'quiet' }, before.busy ? 'Previous …' : 'No earlier record'),
        next ? link(place(topic, number, next), `Next: ${count(next.offset)}, ${kind(next)}`) : h('span', { class: 'quiet' }, 'No later record'));
    if (!there) return [way, head(`Record ${offset}`), h('p', { class: 'notice' }, `The log has no record at offset ${offset}: compaction has removed it since, or it has not been written.`), neighbours];
    const path = `/api/record?${new URLSearchParams({ ...base, offset })}`;
    const shown = withValue.has(path);
    const value = shown ? /** @type {import('../asked.js').Asked<import('../types.js').RecordAnswer>} */ (asked(path, again)) : null;
    const show = () => {
        withValue.add(path);
        again();
    };
    /** @type {[string, import('../dom.js').Child][]} */
    const facts = [
        ['written', time(one.time)], ['kind', one.type || kind(one)], ['key', h('span', { class: 'mono' }, one.key)], ['value', one.bytes === null ? 'none' : `${count(one.bytes)} bytes`],
        ...one.headers.map((header) => /** @type {[string, import('../dom.js').Child]} */ ([header.name, h('span', { class: 'mono' }, header.value)])),
    ];
    return only([way, head(`Record ${count(one.offset)}`, h('span', { class: 'mono quiet' }, `${topic}/${partition}@${one.offset}`)),
        one.words ? h('p', { class: 'verdict' }, one.words) : null,
        one.message || one.client ? h('div', { class: 'bar' }, one.message ? link(findAt(topic, number, one.offset, false), 'The life of this message') : null, link(findAt(topic, number, one.offset, true), 'Its client')) : null,
        neighbours,
        panel('Decoded', factList(facts)),
        panel('Raw', ...(value?.answer ? valueParts(value.answer) : [h('div', { class: 'bar' }, value ? h('span', { class: value.problem ? 'warn' : 'quiet' }, value.problem || 'Reading the log …') : h('button', { type: 'button', 'data-key': 'value', onclick: show }, 'Show the value'))]))]);
}

/** @type {import('../types.js').Page} */
export const logPage = {
    name: 'log',
    title: 'Log',
    show(_, again) {
        const [topic, partition, offset] = routeNow().parts;
        if (offset !== undefined) return recordPart(topic, partition, offset, again);
        if (partition !== undefined) return recordsPart(topic, partition, again);
        const { answer, problem } = /** @type {import('../asked.js').Asked<import('../types.js').TopicsPage>} */ (asked(`/api/log${topic ? `?topic=${encodeURIComponent(topic)}` : ''}`, again));
        if (!answer) return [head('Log'), unanswered(problem, 'Asking the log …')];
        return only(topic ? partitionsPart(topic, answer) : topicsPart(answer));
    },
};
