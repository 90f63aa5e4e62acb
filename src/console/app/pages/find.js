// Find: the meaning of an id or a URL, its life across the log topics, and its client at any time of the history
// window. The address contains the search.
import { actButtons, actPanel } from '../acts.js';
import { askAnew, asked } from '../asked.js';
import { h, head, only, panel, table, tiles, word } from '../dom.js';
import { count, moment, time } from '../format.js';
import { findAt, link, recordLink } from '../parts.js';
import { address, go, routeNow } from '../route.js';
import { stepsLine } from '../timeline.js';
import { clientAt } from './client_at.js';

/** @typedef {import('../types.js').Found} Found */
/** @typedef {import('../types.js').Step} Step */

const MESSAGES = 100;

/**
 * The parts of an answer are made once, so that the slider stays the same element.
 * @type {WeakMap<Found, HTMLElement[]>}
 */
const made = new WeakMap();

/** @param {string} kind */
const article = (kind) => (/^[aeio]/.test(kind) ? 'an' : 'a');

/** @param {Found} found */
const isClient = (found) => found.kind !== 'message';

/** @param {Step} step */
function stepItem(step) {
    const there = step.offset !== null;
    return h('li', { 'data-topic': step.topic, 'data-what': step.reason ?? step.what },
        h('div', { class: 'when' }, h('time', { datetime: step.time }, moment(step.at)),
            there ? recordLink(step.topic, step.partition, Number(step.offset)) : h('span', { class: 'quiet' }, 'it has no record of its own')),
        h('div', {}, word(step.what === 'finished' ? step.reason ?? 'finished' : step.what), ' ', h('span', {}, step.why)));
}

/** @param {Found} answer */
function timeLine(answer) {
    if (!answer.trace) return panel('Time line', h('p', { class: 'warn' }, `The log was not read: ${answer.problem}.`));
    const { steps, verdict, cut } = answer.trace;
    return panel('Time line',
        verdict ? h('p', { class: 'verdict' }, verdict) : null,
        steps.length > 1 ? stepsLine(steps) : null,
        cut ? h('p', { class: 'quiet' }, 'There are more steps than these: the oldest are left out.') : null,
        steps.length ? h('ol', { class: 'steps', 'aria-label': 'Steps in order of time' }, ...steps.map(stepItem))
            : h('p', { class: 'quiet' }, 'The log has no step of it.'));
}

/**
 * The messages of a client, the newest first.
 * @param {Step[]} steps
 */
function messagesOf(steps) {
    /** @type {Map<string, {put?: Step, end?: Step}>} */
    const messages = new Map();
    for (const step of steps) {
        if (!step.message) continue;
        const one = messages.get(step.message) ?? {};
        if (step.what === 'accepted') one.put = step;
        else one.end = step;
        messages.set(step.message, one);
    }
    return [...messages].reverse();
}

/** @param {Step[]} steps */
function messagesPanel(steps) {
    const all = messagesOf(steps);
    const rows = all.slice(0, MESSAGES).map(([key, { put, end }]) => {
        const at = put ?? end;
        const name = at && at.offset !== null ? link(findAt(at.topic, at.partition, Number(at.offset), false), key) : key;
        const state = end ? (end.what === 'finished' ? end.reason ?? 'finished' : end.what) : 'waiting';
        return h('tr', {}, h('th', { scope: 'row', class: 'mono' }, name), h('td', {}, word(state)), h('td', {}, put ? time(put.at) : 'before this list'), h('td', {}, end ? time(end.at) : '–'));
    });
    return panel('Messages', table([{ title: 'Message' }, { title: 'State' }, { title: 'Accepted' }, { title: 'Ended' }], rows, 'Messages of this client, the newest first', 'The log has no message for this client in the history window.'),
        all.length > MESSAGES ? h('p', { class: 'quiet' }, `${count(all.length - MESSAGES)} older ones are left out; the time line has them.`) : null);
}

/**
 * @param {import('../types.js').Connection|undefined} connection
 * @returns {[string, import('../dom.js').Child, string][]}
 */
function connectionTile(connection) {
    if (!connection) return [];
    const { connected, since, edge, unanswered, problem } = connection;
    if (problem) return [['Connected', 'not known', problem]];
    if (!connected) return [['Connected', 'no', 'messages wait for it']];
    return [['Connected', 'yes', `${since ? `at its home since ${time(since)}` : ''}${edge ? `, at ${edge}` : ''}${unanswered ? `; ${count(unanswered)} sent and not answered` : ''}`]];
}

/** @param {Found} found */
function clientTiles(found) {
    const steps = found.trace?.steps ?? [];
    const messages = messagesOf(steps).map(([, one]) => one);
    const ended = (/** @type {string} */ how) => messages.filter(({ end }) => (end?.reason ?? end?.what) === how).length;
    const acked = messages.flatMap(({ end }) => (end?.reason === 'acked' ? [end.at] : []));
    return tiles(...connectionTile(found.connection), ['Messages', count(messages.length), 'of the history window'],
        ['Acknowledged', count(ended('acked')), acked.length ? `the last at ${time(Math.max(...acked))}` : 'none'],
        ['Waiting', count(messages.filter(({ end }) => !end).length), 'not acknowledged, TTL not over'],
        ['Expired', count(ended('expired')), 'TTL over before it acknowledged']);
}

/**
 * The POSTs to an endpoint URL that endpoints refused of late, with the sentence that the sender got.
 * @param {import('../types.js').Refused[]|undefined} refused
 */
function refusedPanel(refused) {
    if (!refused) return null;
    const rows = refused.map((one) => h('tr', {}, h('td', {}, time(one.at)), h('th', { scope: 'row' }, `${one.status} ${one.problem}`), h('td', { class: 'wide' }, one.message), h('td', { class: 'num' }, count(one.count)), h('td', {}, one.by)));
    return panel('Refused POSTs of the last hour', table([{ title: 'Last at' }, { title: 'Answer' }, { title: 'What its sender got to read' }, { title: 'Times', class: 'num' }, { title: 'Endpoint' }], rows, 'Refused POSTs to this endpoint URL', 'None is known. Each endpoint keeps a sample, by sender.'));
}

/** @param {Found} answer */
function clientLink(answer) {
    const step = answer.trace?.steps.find((one) => one.offset !== null && ['notifications', 'subscriptions'].includes(one.topic) && one.what !== 'home');
    return step ? h('div', { class: 'bar' }, link(findAt(step.topic, step.partition, Number(step.offset), true), 'Its client: channels, messages, time line')) : null;
}

/** @param {string} sought  @param {Found} answer */
function parts(sought, answer) {
    const facts = panel(`This is ${article(answer.kind)} ${answer.kind}`,
        h('dl', { class: 'facts' }, ...answer.facts.flatMap((fact) => [h('dt', {}, fact.name), h('dd', { class: 'mono' }, fact.name === 'partition' ? link(address(['log', 'notifications', fact.value]), fact.value) : fact.value)])),
        isClient(answer) ? null : clientLink(answer));
    if (!isClient(answer)) return [facts, timeLine(answer), clientAt(sought, answer)];
    return [facts, ...only([refusedPanel(answer.refused)]), ...(answer.trace ? [clientTiles(answer), messagesPanel(answer.trace.steps)] : []), clientAt(sought, answer), timeLine(answer)];
}

/** @type {import('../types.js').Page} */
export const find = {
    name: 'find',
    title: 'Find',
    show(_, again) {
        const sought = routeNow().parts.join('/');
        const input = /** @type {HTMLInputElement} */ (h('input', { type: 'search', name: 'q', 'data-key': 'q', value: sought, required: true, autocomplete: 'off', spellcheck: 'false' }));
        const submit = (/** @type {Event} */ event) => {
            event.preventDefault();
            go(address(['find', input.value.trim()]));
        };
        const one = /** @type {import('../asked.js').Asked<Found>|null} */ (sought ? asked(`/api/find?q=${encodeURIComponent(sought)}`, again) : null);
        const found = one?.answer ?? null;
        if (found && !made.has(found)) made.set(found, parts(sought, found));
        return [
            head('Find'),
            h('form', { class: 'find', onsubmit: submit }, h('label', { class: 'field' }, 'Message id, URL or name in log lines, reliability id, endpoint URL, UAID, or a place in the log', input), h('button', { class: 'main', 'data-key': 'go' }, 'Find')),
            h('div', { role: 'status' },
                one?.busy ? h('p', { class: 'quiet' }, 'Reading the log …') : null,
                one?.problem ? h('p', { class: 'notice' }, one.problem) : null,
                one ? null : h('p', { class: 'quiet' }, 'A sender has the address of a message in the header Location of its 201, and its endpoint URL. Log lines and pages name a message by 32 hex digits. A place is what steps show, for example notifications/3@17. The address of this page keeps what you seek, so you can share it.'),
                found ? h('p', { class: 'quiet' }, `Found ${article(found.kind)} ${found.kind}, ${found.trace?.steps.length ?? 0} steps.`) : null),
            ...(found && isClient(found) ? only([
                actButtons(sought, [{ name: 'remove', title: 'Remove this client' }], { q: sought }, again),
                actPanel(sought, again, () => askAnew(`/api/find?q=${encodeURIComponent(sought)}`, again)),
            ]) : []),
            ...(found ? made.get(found) ?? [] : []),
        ];
    },
};
