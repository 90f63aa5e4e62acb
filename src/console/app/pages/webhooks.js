// Webhooks, and whether their receivers accept events. The filter stands in the address.
import { cardTable, h, head, only, panel, tiles, word } from '../dom.js';
import { count, time } from '../format.js';
import { link, outcomeWord, whyDisabled } from '../parts.js';
import { address, go, routeNow } from '../route.js';
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

const COLUMNS = [{ title: 'Webhook' }, { title: 'State' }, { title: 'Receiver' }, { title: 'Accepted', class: 'num' }, { title: 'Last attempt' }, { title: 'Events' }, { title: 'Owner', optional: true }];
const FIELDS = ['search', 'owner', 'state'];
const STATES = ['', 'OK', 'failing', 'disabled'];
const PAGE = 50;

/** @param {import('../types.js').WebhookRow} one */
function row(one) {
    return h('tr', {},
        h('th', { scope: 'row', class: 'wide' }, h('a', { class: 'mono', href: address(['webhooks', one.id]), title: one.id, 'data-key': one.id }, one.id.slice(0, 12)), one.description ? ` ${one.description}` : ''),
        h('td', {}, stateOf(one), h('small', {}, whyOf(one))), h('td', { class: 'wide' }, one.origin),
        h('td', { class: 'num' }, successRate(one.attempts)), h('td', { class: 'wide' }, lastAttempt(one.attempts)),
        h('td', { class: 'wide' }, (one.types.join(', ') || 'all') + (one.filtered ? ', filtered' : '') + (one.ordered ? ', in order' : '')),
        h('td', { class: 'optional' }, one.owner));
}

/**
 * The filter of the address.
 * @returns {Record<string, string>}
 */
function wanted() {
    const { query } = routeNow();
    return Object.fromEntries(FIELDS.flatMap((name) => (query.get(name) ? [[name, String(query.get(name))]] : [])));
}

/** @param {import('../types.js').WebhookRow} one  @param {Record<string, string>} chosen */
function isWanted(one, { search = '', owner = '', state = '' }) {
    const text = [one.origin, one.description, one.id, ...one.types].join('\n').toLowerCase();
    return text.includes(search.toLowerCase()) && one.owner.includes(owner) && (state === '' || stateOf(one).dataset.word === state);
}

/**
 * The form of the filter. It stays the same element while the page is drawn anew, so that nothing is lost of what is being typed.
 * @type {HTMLFormElement|null}
 */
let form = null;

/** The values of the form, as they are typed. */
const typed = () => Object.fromEntries([...new FormData(/** @type {HTMLFormElement} */ (form))].map(([name, value]) => [name, String(value).trim()]));

function filterForm() {
    const chosen = wanted();
    form ??= /** @type {HTMLFormElement} */ (h('form', { class: 'filter', role: 'search', 'aria-label': 'Filter', onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        go(address(['webhooks'], typed()));
    }, onchange: () => go(address(['webhooks'], typed())) },
    h('label', { class: 'field' }, 'Text in receiver, description, id or event types', h('input', { type: 'search', name: 'search', 'data-key': 'filter-search', autocomplete: 'off', spellcheck: 'false' })),
    h('label', { class: 'field' }, 'Owner', h('input', { type: 'search', name: 'owner', 'data-key': 'filter-owner', autocomplete: 'off', spellcheck: 'false' })),
    h('label', { class: 'field' }, 'State', h('select', { name: 'state', 'data-key': 'filter-state' }, ...STATES.map((state) => h('option', { value: state }, state || 'any')))),
    h('button', { 'data-key': 'show' }, 'Show')));
    for (const name of FIELDS) {
        const input = /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
        if (input !== document.activeElement) input.value = chosen[name] ?? '';
    }
    return form;
}

/**
 * One page of the webhooks that are wanted.
 * @param {import('../types.js').WebhookRow[]} all
 */
function list(all) {
    const chosen = wanted();
    const found = all.filter((one) => isWanted(one, chosen));
    const last = Math.max(1, Math.ceil(found.length / PAGE));
    const at = Math.min(last, Math.max(1, Math.floor(Number(routeNow().query.get('page') ?? 1)) || 1));
    const to = (/** @type {number} */ page) => address(['webhooks'], { ...chosen, page: page > 1 ? page : null });
    const narrowed = Object.keys(chosen).length > 0;
    const none = all.length ? 'None of them matches the filter.' : 'There is none. `beckon webhooks create URL` makes one.';
    return panel(narrowed ? `${count(found.length)} of ${count(all.length)} webhooks` : 'All webhooks',
        cardTable(COLUMNS, found.slice((at - 1) * PAGE, at * PAGE).map(row), 'Webhooks', none),
        last > 1 || narrowed ? h('div', { class: 'bar' },
            at > 1 ? link(to(at - 1), `The ${count(PAGE)} before`) : null,
            last > 1 ? h('span', { class: 'quiet' }, `page ${count(at)} of ${count(last)}`) : null,
            at < last ? link(to(at + 1), `The next ${count(Math.min(PAGE, found.length - at * PAGE))}`) : null,
            narrowed ? link('#/webhooks', 'Clear the filter') : null) : null);
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
        return only([
            head('Webhooks', h('span', { class: 'quiet' }, 'URLs that get events as HTTP requests, and whether their receivers accept them')),
            tiles(['Webhooks', count(page.webhooks.length)], ['Failing', count(page.webhooks.filter((one) => failure(one) !== null).length)],
                ['Disabled', count(page.webhooks.filter((one) => !one.enabled).length)]),
            page.webhooks.length && page.webhooks.every((one) => one.attempts === null)
                ? h('p', { class: 'quiet' }, 'No process with the role retry has reported its attempts (console.retry_urls).') : null,
            page.webhooks.length ? filterForm() : null,
            list(page.webhooks),
        ]);
    },
};
