// Milestones: the way of tracked messages, stage by stage: the share of what entered, what is lost, and how long it takes.
import { h, head, panel, table, tiles } from '../dom.js';
import { count, milliseconds, sum } from '../format.js';
import { shareBar } from '../parts.js';
import { address, go, routeNow } from '../route.js';

/** @typedef {import('../types.js').MilestonesPage} MilestonesPage */

/**
 * In the order of the journey.
 * @type {{title: string, what: string, of: string[]}[]}
 */
const STAGES = [
    { title: 'Received', what: 'the endpoint has checked the request', of: ['received'] },
    { title: 'In the log', what: 'on its way to its home, kept for later, or taken by a bridge', of: ['int_transmitted', 'stored', 'bridge_transmitted'] },
    { title: 'At its home', what: 'the home delivers it at once, or reads what it kept', of: ['int_accepted', 'retrieved'] },
    { title: 'Sent', what: 'handed to the connection; messages from the store are acknowledged without this step', of: ['transmitted'] },
    { title: 'On the connection', what: 'the connection has its frame', of: ['accepted'] },
    { title: 'Acknowledged', what: 'the client has it', of: ['delivered'] },
];
const LOSSES = ['expired', 'errored', 'decryption_error', 'not_delivered'];
const WITHDRAWN = ['replaced', 'deleted'];
/** @type {Record<string, string>} */
const WORDS = {
    received: 'received', transmitted: 'sent', accepted: 'on the connection', delivered: 'acknowledged',
    int_transmitted: 'to its home', stored: 'kept for later', bridge_transmitted: 'taken by a bridge', int_accepted: 'delivered at once', retrieved: 'read from the store',
    expired: 'TTL over', errored: 'failed for good', decryption_error: 'not decrypted', not_delivered: 'refused by the client', replaced: 'replaced by a newer one', deleted: 'deleted by the sender',
};

/** @param {string} name */
const words = (name) => WORDS[name] ?? name.replaceAll('_', ' ');

/** @param {number} part  @param {number} whole */
const percent = (part, whole) => {
    if (!whole) return '–';
    const share = (part / whole) * 100;
    if (share > 0 && share < 0.1) return '<0.1 %';
    return share < 100 && share > 99.9 ? '>99.9 %' : `${share.toFixed(part === whole ? 0 : 1)} %`;
};

/**
 * The numbers of a day, in one form for live counts and reports.
 * @typedef {{entered: number, reached: (name: string) => number, lost: (from: string) => number, times: (name: string) => string[]}} Flow
 */

/**
 * The last day, from the steps between milestones.
 * @param {MilestonesPage} page
 * @returns {Flow}
 */
function flowOfLastDay(page) {
    const into = (/** @type {string} */ name) => sum(page.steps.filter((step) => step.to === name), (step) => step.count);
    const outOf = (/** @type {string} */ name) => page.steps.filter((step) => step.from === name);
    const entered = sum(outOf('received'), (step) => step.count) + (page.counts.received ?? 0);
    return {
        entered,
        reached: (name) => (name === 'received' ? entered : into(name)),
        lost: (from) => sum(outOf(from).filter((step) => LOSSES.includes(step.to)), (step) => step.count),
        times: (name) => outOf(name).filter((step) => step.count && !LOSSES.includes(step.to)).map((step) => `→ ${words(step.to)}: p50 ${milliseconds(step.p50_ms)}, p99 ${milliseconds(step.p99_ms)} (${count(step.count)})`),
    };
}

/** @param {import('../types.js').MilestoneDay} day @returns {Flow} */
function flowOfDay(day) {
    const reached = (/** @type {string} */ name) => day.milestones[name]?.count ?? 0;
    return {
        entered: day.total,
        reached: (name) => (name === 'received' ? day.total : reached(name)),
        lost: () => 0,
        times: (name) => (day.milestones[name] && name !== 'delivered' ? [`${milliseconds(day.milestones[name].mean_ms)} on average until the next`] : []),
    };
}

/** @param {Flow} flow  @param {{title: string, what: string, of: string[]}} stage */
function stageItem(flow, stage) {
    const reached = sum(stage.of, flow.reached);
    const lost = sum(stage.of, flow.lost);
    const split = stage.of.length > 1 ? stage.of.filter((name) => flow.reached(name)).map((name) => `${count(flow.reached(name))} ${words(name)}`).join(', ') : '';
    const left = lost ? `${count(lost)} lost from here` : '';
    const times = stage.of.flatMap(flow.times);
    return h('li', {},
        h('div', { class: 'milestone' }, h('strong', {}, stage.title), h('span', { class: 'quiet' }, stage.what)),
        h('div', { class: 'measure' }, shareBar(flow.entered ? (reached - lost) / flow.entered : 0, flow.entered ? lost / flow.entered : 0, `${stage.title}: ${count(reached)}, ${percent(reached, flow.entered)} of what entered`),
            h('div', { class: 'figures' }, h('strong', {}, count(reached)), h('span', {}, percent(reached, flow.entered)), split ? h('span', { class: 'quiet' }, split) : null, left ? h('span', { class: 'warn' }, left) : null),
            ...times.map((line) => h('small', { class: 'quiet' }, line))));
}

/** @param {Flow} flow  @param {string[]} names  @param {string} title */
function endsPanel(flow, names, title, bad = true) {
    const rows = names.filter((name) => flow.reached(name)).map((name) => h('tr', {}, h('th', { scope: 'row' }, words(name)), h('td', { class: 'num' }, h('span', { class: bad ? 'warn' : null }, count(flow.reached(name)))), h('td', { class: 'num' }, percent(flow.reached(name), flow.entered)),
        bad ? h('td', { class: 'wide' }, shareBar(0, flow.entered ? flow.reached(name) / flow.entered : 0, `${percent(flow.reached(name), flow.entered)} of what entered`)) : null));
    return panel(title, table([{ title: 'End' }, { title: 'Messages', class: 'num' }, { title: 'Of what entered', class: 'num' }, ...(bad ? [{ title: 'Share' }] : [])], rows, title, 'None.'));
}

/** @param {MilestonesPage} page  @param {string} chosen */
function chooser(page, chosen) {
    const days = [...page.days].reverse();
    return h('label', { class: 'field' }, 'Messages that ended on', h('select', { name: 'day', 'data-key': 'day', onchange: (/** @type {Event} */ event) => go(address(['milestones'], { day: /** @type {HTMLSelectElement} */ (event.target).value })) },
        h('option', { value: '', selected: chosen === '' }, 'about the last day, step by step'), ...days.map((one) => h('option', { value: one.day, selected: one.day === chosen }, `${one.day} (UTC)`))));
}

/** @param {MilestonesPage} page */
function daysPanel(page) {
    const rows = [...page.days].reverse().map((one) => h('tr', {}, h('th', { scope: 'row' }, h('a', { href: address(['milestones'], { day: one.day }), 'data-key': one.day }, one.day)), h('td', { class: 'num' }, count(one.total)), h('td', { class: 'num' }, count(one.success)),
        h('td', { class: 'num' }, h('span', { class: one.fail ? 'warn' : null }, count(one.fail))), h('td', { class: 'num' }, count(one.withdrawn)), h('td', { class: 'wide' }, shareBar(one.total ? one.success / one.total : 0, one.total ? one.fail / one.total : 0, `${percent(one.success, one.total)} delivered, ${percent(one.fail, one.total)} lost`))));
    return panel('By day', table([{ title: 'Day, UTC' }, { title: 'Ended', class: 'num' }, { title: 'Delivered', class: 'num' }, { title: 'Lost', class: 'num' }, { title: 'Withdrawn', class: 'num' }, { title: 'Share' }], rows, 'Reports by day', 'No day has a report yet: they are made of messages that have ended.'));
}

/** @param {MilestonesPage} page */
function nowPanel(page) {
    const order = [...STAGES.flatMap((stage) => stage.of)].filter((name) => name !== 'delivered');
    const rows = order.filter((name) => page.counts[name]).map((name) => h('tr', {}, h('th', { scope: 'row' }, words(name)), h('td', { class: 'num' }, count(page.counts[name]))));
    return panel('Under way now', table([{ title: 'Milestone' }, { title: 'Messages', class: 'num' }], rows, 'Messages that have not ended, by milestone', 'Every tracked message has ended.'));
}

/** @type {import('../types.js').Page} */
export const milestones = {
    name: 'milestones',
    title: 'Milestones',
    follows: 'milestones',
    missing: 'Nothing is counted yet: no message was tracked, or the role reliability has not run.',
    show(/** @type {MilestonesPage} */ page) {
        const chosen = page.days.find((one) => one.day === routeNow().query.get('day'));
        const flow = chosen ? flowOfDay(chosen) : flowOfLastDay(page);
        const lost = sum(LOSSES, flow.reached);
        const refused = page.refused.map((step) => h('tr', {}, h('th', { scope: 'row' }, `${words(step.from)} → ${words(step.to)}`), h('td', { class: 'num' }, count(step.count))));
        return [
            head('Milestones', h('span', { class: 'quiet' }, 'how far tracked messages come, from the endpoint to the acknowledgement by the client')),
            h('div', { class: 'bar' }, chooser(page, chosen?.day ?? '')),
            tiles(['Entered', count(flow.entered), 'tracked messages'], ['Acknowledged', percent(flow.reached('delivered'), flow.entered), `${count(flow.reached('delivered'))} messages`],
                ['Lost', h('span', { class: lost ? 'warn' : null }, count(lost)), lost ? `${percent(lost, flow.entered)} of what entered` : 'none'],
                ['Withdrawn', count(sum(WITHDRAWN, flow.reached)), 'replaced or deleted: no loss']),
            panel('The way of a message', flow.entered ? h('ol', { class: 'flow' }, ...STAGES.map((stage) => stageItem(flow, stage))) : h('p', { class: 'quiet' }, 'No tracked message entered in this time. The endpoint tracks messages that are signed with a VAPID key of endpoint.tracking_keys.')),
            endsPanel(flow, LOSSES, 'Lost'),
            endsPanel(flow, WITHDRAWN, 'Withdrawn', false),
            nowPanel(page),
            daysPanel(page),
            ...(refused.length ? [panel('Steps that the diagram does not allow', table([{ title: 'Step' }, { title: 'Count', class: 'num' }], refused, 'Refused steps'))] : []),
        ];
    },
};
