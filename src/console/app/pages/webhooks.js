// Webhooks, and whether their receivers accept events.
import { h, head, only, panel, table, tiles, word } from '../dom.js';
import { count, time } from '../format.js';
import { outcomeWord, whyDisabled } from '../parts.js';
import { address, routeNow } from '../route.js';
import { webhookPage } from './webhook.js';

/**
 * The failure of a webhook; null: none. The role retry reports "failing since" of a receiver that has failed for a while; the
 * last attempt shows it at once.
 * @param {import('../types.js').WebhookRow} one
 */
function failure(one) {
    if (!one.enabled) return null;
    if (one.failing_since) return `since ${time(one.failing_since)}`;
    if (one.attempts?.at && one.enabled_at && Date.parse(one.attempts.at) < one.enabled_at) return null; // it says nothing of now
    return one.attempts?.at && one.attempts.outcome !== 'delivered' ? 'its last attempt failed' : null;
}

/** @param {import('../types.js').WebhookRow} one */
function stateOf(one) {
    if (!one.enabled) return word('disabled', one.reason);
    return failure(one) === null ? word('OK') : word('failing');
}

/** @param {import('../types.js').WebhookRow} one */
const whyOf = (one) => (one.enabled ? failure(one) ?? '' : whyDisabled(one.reason));

/** @param {import('../types.js').WebhookAttempts|null} made */
function successRate(made) {
    if (!made || !made.count) return '–';
    return h('span', { class: made.delivered < made.count ? 'warn' : null }, `${Math.floor((made.delivered / made.count) * 100)} % of ${count(made.count)}`);
}

/** @param {import('../types.js').WebhookAttempts|null} made */
function lastAttempt(made) {
    if (!made || !made.at) return '–';
    const reasons = [made.why, made.answer && `it answered: ${made.answer.slice(0, 200)}`].filter(Boolean);
    return h('span', { title: made.answer || null }, `${time(Date.parse(made.at))} `, outcomeWord(made.outcome, made.status), ...reasons.map((line) => h('small', {}, line)));
}

/** @type {import('../types.js').Page} */
export const webhooks = {
    name: 'webhooks',
    title: 'Webhooks',
    follows: 'webhooks',
    missing: 'The webhooks are still being read.',
    show(/** @type {import('../types.js').WebhooksPage} */ page, again) {
        const [id] = routeNow().parts;
        if (id) return webhookPage(id, page, again);
        const columns = [{ title: 'Webhook' }, { title: 'State' }, { title: 'Receiver' }, { title: 'Accepted', class: 'num' }, { title: 'Last attempt' }, { title: 'Events' }, { title: 'Owner', optional: true }];
        const rows = page.webhooks.map((one) => h('tr', {},
            h('th', { scope: 'row', class: 'wide' }, h('a', { class: 'mono', href: address(['webhooks', one.id]), title: one.id, 'data-key': one.id }, one.id.slice(0, 12)), one.description ? ` ${one.description}` : ''),
            h('td', {}, stateOf(one), h('small', {}, whyOf(one))), h('td', { class: 'wide' }, one.origin),
            h('td', { class: 'num' }, successRate(one.attempts)), h('td', { class: 'wide' }, lastAttempt(one.attempts)),
            h('td', { class: 'wide' }, (one.types.join(', ') || 'all') + (one.filtered ? ', filtered' : '') + (one.ordered ? ', in order' : '')),
            h('td', { class: 'optional' }, one.owner)));
        return only([
            head('Webhooks', h('span', { class: 'quiet' }, 'URLs that get events as HTTP requests, and whether their receivers accept them')),
            tiles(['Webhooks', count(page.webhooks.length)], ['Failing', count(page.webhooks.filter((one) => failure(one) !== null).length)],
                ['Disabled', count(page.webhooks.filter((one) => !one.enabled).length)]),
            page.webhooks.length && page.webhooks.every((one) => one.attempts === null)
                ? h('p', { class: 'quiet' }, 'No process with the role retry has reported its attempts (console.retry_urls).') : null,
            panel('All webhooks', table(columns, rows, 'Webhooks', 'There is none. `beckon webhooks create URL` makes one.')),
        ]);
    },
};
