// Senders: which are blocked, and how many messages a second the others may send.
import { h, head, panel, table, tiles } from '../dom.js';
import { count, rate, time } from '../format.js';

/** @type {Record<string, string>} */
const KINDS = { vapid: 'VAPID key', subscription: 'subscription', owner: 'owner of events' };

/** @param {number} limit  messages a second; 0: none */
const limitText = (limit) => (limit ? `${count(limit)}/s` : 'no limit');

/** @param {import('../types.js').SendersPage} page */
function blockedPanel(page) {
    const rows = page.blocked.map((one) => h('tr', {}, h('th', { scope: 'row' }, KINDS[one.kind] ?? one.kind), h('td', { class: 'mono wide' }, one.name), h('td', {}, time(one.since)), h('td', { class: 'wide' }, one.why || '–')));
    return panel('Blocked senders', table([{ title: 'Kind' }, { title: 'Name' }, { title: 'Since' }, { title: 'Why' }], rows, 'Senders that are blocked', 'None is blocked.'),
        h('p', { class: 'quiet' }, 'They get 403. `beckon senders block` and `beckon senders unblock` change the list; a VAPID key and a subscription are named by their SHA-256.'));
}

/** @param {import('../types.js').SendersPage} page */
function busiestPanel(page) {
    const rows = page.busiest.map((one) => h('tr', {}, h('th', { scope: 'row', class: 'mono wide' }, one.name), h('td', { class: 'num' }, rate(one.per_second))));
    return panel('VAPID keys that send most', table([{ title: 'SHA-256 of the key' }, { title: 'Messages', class: 'num' }], rows, 'VAPID keys that send most', 'No message was signed of late.'),
        h('p', { class: 'quiet' }, 'Of all endpoints, in the last ten seconds: every key with a sixteenth of the signed messages of the last minutes. `beckon senders block --vapid` takes this name.'));
}

/** @type {import('../types.js').Page} */
export const senders = {
    name: 'senders',
    title: 'Senders',
    follows: 'senders',
    missing: 'Nothing is known of the senders yet.',
    show(/** @type {import('../types.js').SendersPage} */ page) {
        return [
            head('Senders'),
            tiles(['Blocked', count(page.blocked.length), page.blocked.length ? 'what they send is refused with 403' : 'none'],
                ['Each VAPID key', limitText(page.limits.vapid), 'at each endpoint; more get 429'],
                ['Each subscription', limitText(page.limits.subscription), 'at each endpoint; more get 429']),
            busiestPanel(page),
            blockedPanel(page),
        ];
    },
};
