// Webhooks: who wants events, and whether they take them.
import { h, head, panel, table, tiles, word } from '../dom.js';
import { count, time } from '../format.js';

/** @param {import('../types.js').WebhookRow} one */
function stateOf(one) {
    if (!one.enabled) return word('disabled', one.reason);
    return one.failing_since ? word('failing', `since ${time(one.failing_since)}`) : word('OK');
}

/** @type {import('../types.js').Page} */
export const webhooks = {
    name: 'webhooks',
    title: 'Webhooks',
    follows: 'webhooks',
    missing: 'The webhooks are still being read.',
    show(/** @type {import('../types.js').WebhooksPage} */ page) {
        const columns = [{ title: 'Webhook' }, { title: 'State' }, { title: 'Receiver' }, { title: 'Events' }, { title: 'Owner', optional: true }, { title: 'Made', optional: true }, { title: 'Why' }];
        const rows = page.webhooks.map((one) => h('tr', {},
            h('th', { scope: 'row' }, h('span', { class: 'mono', title: one.id }, one.id.slice(0, 12)), one.description ? ` ${one.description}` : ''),
            h('td', {}, stateOf(one)), h('td', {}, one.origin),
            h('td', { class: 'wide' }, (one.types.join(', ') || 'all') + (one.filtered ? ', filtered' : '') + (one.ordered ? ', in order' : '')),
            h('td', { class: 'optional' }, one.owner), h('td', { class: 'optional' }, time(one.created)),
            h('td', {}, one.enabled ? (one.failing_since ? `since ${time(one.failing_since)}` : '') : one.reason)));
        return [
            head('Webhooks', h('span', { class: 'quiet' }, 'as the log topic webhooks has them')),
            tiles(['Webhooks', count(page.webhooks.length)], ['Failing', count(page.webhooks.filter((one) => one.enabled && one.failing_since).length)],
                ['Disabled', count(page.webhooks.filter((one) => !one.enabled).length)]),
            panel('Subscriptions', rows.length ? table(columns, rows, 'Webhooks') : h('p', { class: 'quiet' }, 'There is none. `beckon webhooks create URL` makes one.')),
        ];
    },
};
