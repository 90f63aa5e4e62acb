// Dead letters: deliveries that were given up, and their redrive: first a dry run, then a button.
import { h, head, only, panel, table } from '../dom.js';
import { count } from '../format.js';

/** @typedef {import('../types.js').DeadLetter} DeadLetter */

const REASONS = ['', 'gone', 'refused', 'throttled', 'timed_out', 'unreachable', 'forbidden', 'too_large', 'undeliverable', 'expired', 'filter_too_costly', 'crashed'];
const COLUMNS = [{ title: 'Died' }, { title: 'Webhook' }, { title: 'Event' }, { title: 'Reason' }, { title: 'Attempts', class: 'num' }, { title: 'Redriven', class: 'num', optional: true }, { title: 'Delivery', optional: true }];

/** @type {Record<string, string>} */
const filter = { webhook: '', type: '', reason: '', since: '', before: '' };
/** @type {DeadLetter[]} */
let letters = [];
/** @type {string|null} */
let next = null;
let passedOver = 0;
let problem = '';
let notice = '';
/** @type {{confirmation: string|null, plan: {matched: number, disabled: number, would_settle: number, sample: DeadLetter[]}}|null} */
let plan = null;
let asked = false;

/** The filter in the form of the API. */
function wanted() {
    return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''));
}

/** @param {Response} reply */
async function answered(reply) {
    const body = await reply.json();
    problem = reply.ok ? '' : body.error;
    return reply.ok ? body : null;
}

/** @param {string} path  @param {object} body */
const post = (path, body) => fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

/** @param {boolean} more */
async function list(more) {
    const query = new URLSearchParams({ ...wanted(), limit: '100', ...(more && next ? { after: next } : {}) });
    const body = await answered(await fetch(`/api/dead?${query}`));
    if (!body) return;
    letters = more ? [...letters, ...body.letters] : body.letters;
    next = body.next;
    passedOver = body.passed_over;
}

async function dryRun() {
    notice = '';
    plan = await answered(await post('/api/acts/redrive/check', wanted()));
}

/**
 * In steps of one request each, until nothing of the plan is left.
 * @param {() => void} again
 */
async function redrive(again) {
    const confirmation = plan?.confirmation;
    plan = null;
    let settled = 0;
    for (;;) {
        const body = await answered(await post('/api/acts/redrive', { confirmation }));
        if (!body) break;
        settled += body.settled;
        notice = `${count(settled)} sent on their way again.`;
        if (body.failed) problem = `the log did not take ${count(body.failed)} of them: they are there still`;
        if (body.failed || !body.left || body.settled + body.gone === 0) break;
        again();
    }
    await list(false);
}

/**
 * Runs an act, and shows its outcome.
 * @param {() => Promise<void>} what  @param {() => void} again
 */
async function act(what, again) {
    try {
        await what();
    } catch {
        problem = 'the console does not answer';
    }
    again();
}

/** @param {DeadLetter} one */
function row(one) {
    return h('tr', {}, h('th', { scope: 'row' }, one.died.replace('T', ' ').slice(0, 19)), h('td', { class: 'mono' }, one.webhook.slice(0, 12)), h('td', {}, one.type), h('td', {}, one.reason),
        h('td', { class: 'num' }, count(one.attempts)), h('td', { class: 'num optional' }, count(one.redriven)), h('td', { class: 'mono optional' }, one.delivery.slice(0, 16)));
}

/** @param {string} name  @param {string} title  @param {Record<string, unknown>} more */
function field(name, title, more = {}) {
    return h('label', { class: 'field' }, title, h('input', { name, 'data-key': `filter-${name}`, value: filter[name], autocomplete: 'off', spellcheck: 'false',
        oninput: (/** @type {Event} */ event) => (filter[name] = /** @type {HTMLInputElement} */ (event.target).value.trim()), ...more }));
}

/** @param {() => void} again */
function filterForm(again) {
    const submit = (/** @type {Event} */ event) => {
        event.preventDefault();
        plan = null;
        notice = '';
        act(() => list(false), again);
    };
    const reasons = h('select', { name: 'reason', 'data-key': 'filter-reason', onchange: (/** @type {Event} */ event) => (filter.reason = /** @type {HTMLSelectElement} */ (event.target).value) },
        ...REASONS.map((reason) => h('option', { value: reason, selected: reason === filter.reason }, reason || 'any')));
    return h('form', { class: 'filter', 'aria-label': 'Filter', onsubmit: submit },
        field('webhook', 'Webhook id'), field('type', 'Event type, or order.*'), h('label', { class: 'field' }, 'Reason', reasons),
        field('since', 'Died since', { placeholder: '2026-11-20' }), field('before', 'Died before', { placeholder: '2026-11-20T08:30:00Z' }),
        h('div', { class: 'bar' }, h('button', { 'data-key': 'show' }, 'Show'),
            h('button', { type: 'button', class: 'main', 'data-key': 'dry', onclick: () => act(dryRun, again) }, 'Redrive: dry run')));
}

/** @param {() => void} again */
function planPart(again) {
    if (!plan) return null;
    const { matched, disabled, would_settle: would, sample } = plan.plan;
    const all = matched - disabled;
    const words = `${count(matched)} dead letters match`
        + (disabled ? `; ${count(disabled)} of them are of webhooks that are disabled, and stay` : '')
        + (all > would ? `. They go ${count(would)} at a time.` : '.') + ' Nothing was changed.';
    return panel('Dry run', h('p', { role: 'status' }, words),
        sample.length ? table(COLUMNS, sample.map(row), `A sample of ${sample.length}`) : null,
        plan.confirmation ? h('div', { class: 'bar' },
            h('button', { class: 'main', 'data-key': 'redrive', onclick: () => act(() => redrive(again), again) }, `Redrive ${count(all)} now`),
            h('button', { 'data-key': 'leave', onclick: () => { plan = null; again(); } }, 'Leave them')) : null);
}

/** @type {import('../types.js').Page} */
export const dead = {
    name: 'dead',
    title: 'Dead letters',
    show(_, again) {
        if (!asked) {
            asked = true;
            act(() => list(false), again);
        }
        return only([
            head('Dead letters', h('span', { class: 'quiet' }, 'deliveries to webhooks that were given up')),
            filterForm(again),
            h('div', { role: 'status' },
                problem ? h('p', { class: 'notice' }, problem) : null,
                notice ? h('p', {}, notice) : null,
                passedOver ? h('p', { class: 'quiet' }, `${count(passedOver)} older ones are too many to be listed.`) : null),
            planPart(again),
            panel('Letters', letters.length ? table(COLUMNS, letters.map(row), 'Dead letters') : h('p', { class: 'quiet' }, 'None.'),
                next ? h('button', { 'data-key': 'more', onclick: () => act(() => list(true), again) }, 'More') : null),
        ]);
    },
};
