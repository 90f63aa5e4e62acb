// Dead letters: deliveries that were given up, and their redrive: first a dry run, then a button. The filter stands in
// the address.
import { asked, askAnew, post } from '../asked.js';
import { factList, h, head, only, panel, table, unanswered } from '../dom.js';
import { count, time } from '../format.js';
import { link, pre, trail, webhookLink } from '../parts.js';
import { address, go, routeNow } from '../route.js';

/** @typedef {import('../types.js').DeadLetter} DeadLetter */

const REASONS = ['', 'gone', 'refused', 'throttled', 'timed_out', 'unreachable', 'forbidden', 'too_large', 'undeliverable', 'webhook_disabled', 'expired', 'filter_too_costly', 'crashed', 'event_gone'];
const FIELDS = ['webhook', 'type', 'reason', 'since', 'before'];
const COLUMNS = [{ title: 'Died' }, { title: 'Webhook' }, { title: 'Event' }, { title: 'Reason' }, { title: 'Attempts', class: 'num' }, { title: 'Redriven', class: 'num', optional: true }, { title: 'Delivery' }];
const PAGE = 100;

let notice = '';
let problem = '';
let busy = false;
/** @type {{hash: string, confirmation: string|null, plan: {matched: number, disabled: number, would_settle: number, sample: DeadLetter[]}}|null} */
let plan = null;

/**
 * The filter of the address, in the form of the API.
 * @returns {Record<string, string>}
 */
function wanted() {
    const { query } = routeNow();
    return Object.fromEntries(FIELDS.flatMap((name) => (query.get(name) ? [[name, String(query.get(name))]] : [])));
}

/** @param {Record<string, string>} more  of the filter */
const narrowed = (more) => address(['dead'], { ...wanted(), ...more });

const listPath = () => `/api/dead?${new URLSearchParams({ ...wanted(), limit: String(PAGE), ...(routeNow().query.get('after') ? { after: String(routeNow().query.get('after')) } : {}) })}`;

/** @param {() => void} again */
async function dryRun(again) {
    notice = '';
    busy = true;
    again();
    const reply = await post('/api/acts/redrive/check', wanted());
    busy = false;
    problem = reply.ok ? '' : reply.body.error;
    plan = reply.ok ? { hash: location.hash, ...reply.body } : null;
    again();
}

/**
 * In steps of one request each, until nothing of the plan is left.
 * @param {() => void} again
 */
async function redrive(again) {
    const confirmation = plan?.confirmation;
    plan = null;
    busy = true;
    let settled = 0;
    for (;;) {
        const { ok, body } = await post('/api/acts/redrive', { confirmation });
        problem = ok ? '' : body.error;
        if (!ok) break;
        settled += body.settled;
        notice = `${count(settled)} sent on their way again.`;
        if (body.failed) problem = `the log did not take ${count(body.failed)} of them: they are there still`;
        if (body.failed || !body.left || body.settled + body.gone === 0) break;
        again();
    }
    busy = false;
    askAnew(listPath(), again);
    again();
}

/** @param {DeadLetter} one */
function row(one) {
    return h('tr', {}, h('th', { scope: 'row' }, time(Date.parse(one.died))), h('td', {}, webhookLink(one.webhook)),
        h('td', { class: 'wide' }, link(narrowed({ type: one.type }), one.type, 'only letters of this type')),
        h('td', {}, link(narrowed({ reason: one.reason }), one.reason.replaceAll('_', ' '), 'only letters with this reason')),
        h('td', { class: 'num' }, count(one.attempts)), h('td', { class: 'num optional' }, count(one.redriven)),
        h('td', { class: 'mono' }, link(address(['dead', one.delivery], { ...wanted(), webhook: one.webhook }), one.delivery)));
}

/** @param {string} name  @param {string} title  @param {Record<string, unknown>} more */
function field(name, title, more = {}) {
    return h('label', { class: 'field' }, title, h('input', { name, 'data-key': `filter-${name}`, value: wanted()[name] ?? '', autocomplete: 'off', spellcheck: 'false', ...more }));
}

/** @param {() => void} again */
function filterForm(again) {
    const chosen = wanted();
    const form = h('form', { class: 'filter', 'aria-label': 'Filter' },
        field('webhook', 'Webhook id'), field('type', 'Event type, or order.*'),
        h('label', { class: 'field' }, 'Reason', h('select', { name: 'reason', 'data-key': 'filter-reason' }, ...REASONS.map((reason) => h('option', { value: reason, selected: reason === (chosen.reason ?? '') }, reason.replaceAll('_', ' ') || 'any')))),
        field('since', 'Died since', { placeholder: '2026-11-20' }), field('before', 'Died before', { placeholder: '2026-11-20T08:30:00Z' }),
        h('div', { class: 'bar' }, h('button', { 'data-key': 'show' }, 'Show'),
            h('button', { type: 'button', class: 'main', 'data-key': 'dry', onclick: () => take(true) }, 'Redrive: dry run'),
            Object.keys(chosen).length ? link('#/dead', 'Clear the filter') : null));
    /**
     * Puts what was typed into the address.
     * @param {boolean} run
     */
    const take = (run) => {
        const typed = Object.fromEntries([...new FormData(/** @type {HTMLFormElement} */ (form))].map(([name, value]) => [name, String(value).trim()]));
        plan = null;
        notice = '';
        problem = '';
        const to = address(['dead'], typed);
        const same = to === address(['dead'], wanted());
        if (!run) return go(to);
        if (same) return void dryRun(again);
        window.addEventListener('hashchange', () => dryRun(draw), { once: true });
        return go(to);
    };
    form.addEventListener('submit', (event) => {
        event.preventDefault();
        take(false);
    });
    return form;
}

/** The drawing of the page as it is shown now. */
let draw = () => {};

/** @param {() => void} again */
function planPart(again) {
    if (!plan || plan.hash !== location.hash) return null;
    const { matched, disabled, would_settle: would, sample } = plan.plan;
    const all = matched - disabled;
    const words = `${count(matched)} dead letters match`
        + (disabled ? `; ${count(disabled)} of them are of webhooks that are disabled, and stay` : '')
        + (all > would ? `. They go ${count(would)} at a time.` : '.') + ' Nothing was changed.';
    return panel('Dry run', h('p', { role: 'status' }, words),
        plan.confirmation ? h('p', { class: 'quiet' }, 'Each goes to its receiver again under its old id, with all attempts ahead of it, and is a dead letter no more.') : null,
        sample.length ? table(COLUMNS, sample.map(row), `A sample of ${sample.length}`) : null,
        plan.confirmation ? h('div', { class: 'bar' },
            h('button', { class: 'main', 'data-key': 'redrive', onclick: () => redrive(again) }, `Redrive ${count(all)} now`),
            h('button', { 'data-key': 'leave', onclick: () => { plan = null; again(); } }, 'Leave them')) : null);
}

/** @param {string} delivery  @param {() => void} again */
function letterPage(delivery, again) {
    const webhook = routeNow().query.get('webhook') ?? '';
    const known = asked('/api/pages/webhooks', again);
    const owner = known.answer?.webhooks.find((/** @type {{id: string}} */ one) => one.id === webhook)?.owner;
    const way = trail([{ text: 'Dead letters', href: narrowed({ webhook: '' }) }, { text: delivery }]);
    if (!known.answer) return [way, head('Dead letter'), unanswered(known.problem, 'Reading …')];
    if (!owner) return [way, head('Dead letter'), h('p', { class: 'notice' }, 'The address names no webhook of this installation.')];
    const { answer, problem: why } = asked(`/api/letter?delivery=${encodeURIComponent(delivery)}&owner=${owner}`, again);
    if (!answer) return [way, head('Dead letter'), unanswered(why && `It is not there: ${why}. It may have been redriven or dropped.`, 'Asking the role retry …')];
    const letter = /** @type {import('../types.js').LetterAnswer} */ (answer);
    const event = /** @type {Record<string, unknown>} */ (letter.event ?? {});
    const history = [...letter.history, { died: letter.died, reason: letter.reason, attempts: letter.attempts }].map((one) => h('tr', {}, h('th', { scope: 'row' }, time(Date.parse(one.died))), h('td', {}, one.reason), h('td', { class: 'num' }, count(one.attempts))));
    /** @type {[string, import('../dom.js').Child][]} */
    const facts = [
        ['delivery', h('span', { class: 'mono' }, letter.delivery)], ['webhook', link(address(['webhooks', letter.webhook]), letter.webhook)], ['event type', letter.type],
        ['event id', h('span', { class: 'mono' }, String(event.id ?? '–'))], ['event source', String(event.source ?? '–')],
        ['accepted', h('span', {}, time(Date.parse(letter.accepted)), ' · ', link(address(['log', 'events'], { at: Date.parse(letter.accepted) }), 'the log at that time'))],
        ['died', time(Date.parse(letter.died))], ['reason', letter.reason], ['redriven before', count(letter.redriven)],
    ];
    return [way, head('Dead letter'),
        panel('What it is', factList(facts)),
        panel('History: each time that it was given up', table([{ title: 'Given up' }, { title: 'Reason' }, { title: 'Attempts until then', class: 'num' }], history, 'History of attempts')),
        panel('The event as it was posted', letter.event === null ? h('p', { class: 'notice' }, `There is nothing to show: ${letter.why_no_event}.`) : pre(JSON.stringify(letter.event, null, 2), 'The event')),
        panel('What to do', h('p', {}, 'Mend the receiver first, then redrive: ', link(address(['dead'], { webhook: letter.webhook, reason: letter.reason }), 'letters like this one'), '.'))];
}

/** @param {number} passedOver */
const none = (passedOver) => (passedOver ? 'None of the listed ones.' : 'None. Deliveries come here when all their attempts have failed.');

/** @type {import('../types.js').Page} */
export const dead = {
    name: 'dead',
    title: 'Dead letters',
    show(_, again) {
        draw = again;
        const { parts, query } = routeNow();
        if (parts[0]) return letterPage(parts[0], again);
        const list = asked(listPath(), again);
        const letters = /** @type {DeadLetter[]} */ (list.answer?.letters ?? []);
        const passedOver = list.answer?.passed_over ?? 0;
        const why = problem || list.problem;
        return only([
            head('Dead letters', h('span', { class: 'quiet' }, 'deliveries to webhooks that were given up, the oldest first')),
            filterForm(again),
            h('div', { role: 'status' },
                busy || (list.busy && !list.answer) ? h('p', { class: 'quiet' }, 'One moment …') : null,
                why ? h('p', { class: 'notice' }, why) : null,
                notice ? h('p', {}, notice) : null,
                passedOver ? h('p', { class: 'warn' }, `${count(passedOver)} older ones are too many to be listed. They are kept in the log, and are listed once half of the listed ones are redriven or dropped.`) : null),
            planPart(again),
            panel('Letters', table(COLUMNS, letters.map(row), 'Dead letters', list.answer ? none(passedOver) : 'Reading …'),
                list.answer?.next || query.get('after') ? h('div', { class: 'bar' },
                    query.get('after') ? link(address(['dead'], wanted()), 'From the oldest') : null,
                    list.answer?.next ? link(address(['dead'], { ...wanted(), after: list.answer.next }), `The next ${count(PAGE)}`) : null) : null),
        ]);
    },
};
