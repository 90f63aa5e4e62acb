// Delay tiers: the deliveries that wait for their next attempt, and whether they are attempted in
// time.
import { h, head, panel, table, tiles, word } from '../dom.js';
import { count, seconds, sum } from '../format.js';
import { link } from '../parts.js';
import { address } from '../route.js';

/** An attempt that is late by more than this is late. */
const LATE_S = 5;

/** @param {import('../types.js').TierState} state */
function stateWord(state) {
    if (state.overdue_seconds > LATE_S) return word('SLOW', 'what is due is not tried in time');
    return word('OK');
}

/** @param {import('../types.js').TierState} state  @param {import('../dom.js').Child} name  @param {string} delay  @param {boolean} part */
function line(state, name, delay, part) {
    return h('tr', { class: part ? 'part' : null },
        h('th', { scope: 'row' }, name), h('td', {}, stateWord(state)), h('td', { class: 'num' }, delay),
        h('td', { class: 'num' }, count(state.waiting)), h('td', { class: 'num' }, count(state.due)),
        h('td', { class: 'num' }, state.overdue_seconds ? seconds(state.overdue_seconds) : '–'),
        h('td', { class: 'num' }, state.waiting ? seconds(state.next_due_seconds) : '–'));
}

/** @type {import('../types.js').Page} */
export const tiers = {
    name: 'tiers',
    title: 'Delay tiers',
    follows: 'tiers',
    missing: 'Nothing is known of the delay tiers yet.',
    show(/** @type {import('../types.js').TiersPage} */ page) {
        const overdue = Math.max(0, ...page.tiers.map((one) => one.overdue_seconds));
        const columns = [{ title: 'Topic' }, { title: 'Status' }, { title: 'Delay', class: 'num' }, { title: 'Waiting', class: 'num' },
            { title: 'Due', class: 'num' }, { title: 'Overdue', class: 'num' }, { title: 'Next due', class: 'num' }];
        const rows = page.tiers.flatMap((one) => [line(one, link(address(['log', one.topic]), one.topic), seconds(one.delay_seconds), false),
            ...one.partitions.map((part) => line(part, link(address(['log', one.topic, String(part.partition)]), `partition ${part.partition}`), '', true))]);
        return [
            head('Delay tiers', h('span', { class: 'quiet' }, 'deliveries to webhooks that failed, and wait for their next attempt; the longer they fail, the longer the delay')),
            tiles(['Waiting', count(sum(page.tiers, (one) => one.waiting))], ['Due now', count(sum(page.tiers, (one) => one.due))],
                ['Most overdue', overdue ? seconds(overdue) : '–'], ['Given up', page.dead === null ? '–' : count(page.dead), h('a', { href: '#/dead', 'data-key': 'dead' }, 'dead letters')]),
            panel('Tiers', table(columns, rows, 'Delay tiers', 'This installation has no delay tier.')),
        ];
    },
};
