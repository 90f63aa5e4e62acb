// One webhook: is its receiver well, what waits for it, what was tried, and what can be done about it.
import { actButtons, actPanel } from '../acts.js';
import { askAnew, asked } from '../asked.js';
import { factList, h, head, only, panel, table, tiles, word } from '../dom.js';
import { count, milliseconds, seconds, sum, time } from '../format.js';
import { hourBars, link, outcomeWord, pre, recordLink, trail, whyDisabled } from '../parts.js';
import { address } from '../route.js';

/** @typedef {import('../types.js').WebhookRow} WebhookRow */
/** @typedef {import('../types.js').WebhookAttempt} WebhookAttempt */

const EVERY_MS = 5000;
const HOUR_MS = 3600000;
const HOURS = 24;
const LETTERS = 10;
const ATTEMPTS = 25;
const FEW = 3;

/**
 * The meaning of an outcome, and the person who must act.
 * @type {Record<string, string>}
 */
const ADVICE = {
    timed_out: 'The receiver does not answer in time. Its owner must look at it. Deliveries wait in the delay tiers meanwhile; none is lost until they become dead letters after the last tier.',
    unreachable: 'No connection to the receiver. Its owner must look at it.',
    refused: 'The receiver answers, but does not accept. Its own log says why; the first bytes of its answer are below.',
    throttled: 'The receiver asks for fewer requests (429, 502, 504 or Retry-After). Beckon waits as long as it says. Lower at_a_time if this goes on.',
    gone: 'The receiver answered 410, which means that it wants no more events: the webhook was disabled. Enable it only after its owner says so.',
    forbidden: 'The URL leads to an address that is not allowed (retry.allowed_addresses). Change the URL or the setting.',
    too_large: 'The receiver answers with more than an answer may have. Its owner must shorten it.',
    crashed: 'Two processes of Beckon ended at this delivery. It is set aside; please report it.',
};

/** Attempts whose answer is unfolded. */
const unfolded = new Set();
let allAttempts = false;

/** @param {WebhookRow} one  @param {WebhookAttempt[]|null} attempts */
function verdict(one, attempts) {
    const last = attempts?.[0];
    if (!one.enabled) return { bad: true, text: `It is disabled (${whyDisabled(one.reason) || 'no reason is known'}): new events are not kept for it and cannot be redriven. Only deliveries that already wait become dead letters. Enable it, then redrive those.` };
    if (!attempts) return { bad: false, text: 'Its attempts are not known at present.' };
    if (!last) return { bad: false, text: 'No attempt was made since the process that serves it has started.' };
    // An attempt from before says nothing of the receiver as it is now.
    if (one.enabled_at && Date.parse(last.at) < one.enabled_at) return { bad: false, text: `It was enabled at ${time(one.enabled_at)}. No attempt was made since then.` };
    if (last.outcome === 'delivered') return { bad: false, text: `Its receiver accepted the last event at ${time(Date.parse(last.at))}.` };
    const since = one.failing_since ? `Failing since ${time(one.failing_since)}. ` : '';
    const reason = last.why ? ` The reason: ${last.why}.` : '';
    return { bad: true, text: since + (ADVICE[last.outcome] ?? `The last attempt ended with ${last.outcome}.`) + reason };
}

/** @param {WebhookAttempt} one  @param {() => void} again */
function attemptRows(one, again) {
    const key = `${one.delivery} ${one.number} ${one.at}`;
    const shown = unfolded.has(key);
    const toggle = () => {
        if (shown) unfolded.delete(key);
        else unfolded.add(key);
        again();
    };
    const row = h('tr', {}, h('th', { scope: 'row' }, time(Date.parse(one.at))), h('td', {}, outcomeWord(one.outcome, one.status)), h('td', { class: 'num' }, milliseconds(one.took_ms)),
        h('td', { class: 'num' }, count(one.number + 1)), h('td', { class: 'wide' }, one.why || '–'),
        h('td', {}, one.answer ? h('button', { type: 'button', class: 'fold', 'aria-expanded': String(shown), 'data-key': `answer ${key}`, onclick: toggle }, `answer, ${count(one.answer.length)} characters`) : '–'),
        h('td', { class: 'mono optional' }, one.delivery));
    if (!shown) return [row];
    return [row, h('tr', { class: 'more' }, h('td', { colspan: '7' }, pre(one.answer, 'The first kilobyte of the answer')))];
}

/** @param {WebhookAttempt[]} attempts  @param {() => void} again */
function attemptsPanel(attempts, again) {
    const columns = [{ title: 'When' }, { title: 'Outcome' }, { title: 'Took', class: 'num' }, { title: 'Attempt', class: 'num' }, { title: 'Reason' }, { title: 'It answered' }, { title: 'Delivery', optional: true }];
    const some = allAttempts ? attempts : attempts.slice(0, ATTEMPTS);
    const more = () => {
        allAttempts = true;
        again();
    };
    return panel('Attempts', table(columns, some.flatMap((one) => attemptRows(one, again)), 'Attempts, the newest first', 'None yet.'),
        attempts.length > some.length ? h('button', { type: 'button', 'data-key': 'attempts', onclick: more }, `Show all ${count(attempts.length)} that are kept`) : null);
}

/** @param {import('../types.js').AttemptHour[]} hours */
function hoursPanel(hours) {
    const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
    const known = new Map(hours.map((one) => [Date.parse(one.begins), one]));
    const all = Array.from({ length: HOURS }, (_, i) => {
        const at = now - (HOURS - 1 - i) * HOUR_MS;
        const one = known.get(at);
        const good = one?.delivered ?? 0;
        const bad = (one?.attempts ?? 0) - good;
        return { at, good, bad, label: `${time(at)}: ${count(good)} accepted, ${count(bad)} not` };
    });
    const good = sum(all, (one) => one.good);
    const bad = sum(all, (one) => one.bad);
    const words = `${count(good)} accepted and ${count(bad)} not in the last day`;
    return panel('Success by hour',
        h('div', { class: 'hours' }, hourBars(all, words)),
        h('div', { class: 'axis' }, h('span', {}, time(all[0].at)), h('span', {}, 'this hour')),
        h('ul', { class: 'legend' }, h('li', {}, h('span', { class: 'key ink-first' }), `${count(good)} accepted`), h('li', {}, h('span', { class: 'key ink-bad' }), `${count(bad)} not accepted`), h('li', {}, 'counted since the process that serves it took its partition over')));
}

/** @param {string} id  @param {import('../asked.js').Asked<import('../types.js').WaitingPage>} waiting */
function waitingPanel(id, waiting) {
    const { answer, problem } = waiting;
    if (!answer) return panel('What waits', h('p', { class: problem ? 'warn' : 'quiet' }, problem || 'Reading the delay topics …'));
    const rows = answer.tiers.map((tier) => h('tr', {}, h('th', { scope: 'row', class: 'mono' }, tier.topic), h('td', { class: 'num' }, seconds(tier.delay_seconds)), h('td', { class: 'num' }, count(tier.waiting)),
        h('td', { class: 'num' }, dueIn(tier.first[0]?.due)), h('td', { class: 'wide' }, ...tier.first.slice(0, FEW).flatMap((one, i) => [i ? ', ' : '', recordLink(tier.topic, answer.partition, one.offset)]))));
    return panel('What waits',
        table([{ title: 'Tier' }, { title: 'Delay', class: 'num' }, { title: 'Waiting', class: 'num' }, { title: 'Next due', class: 'num' }, { title: 'The next ones' }], rows, 'Deliveries that wait, by delay tier', 'No delivery waits for this webhook.'),
        answer.complete ? null : h('p', { class: 'quiet' }, 'There are more records than are read at once: these counts are too low.'));
}

/** @param {number|undefined} due */
function dueIn(due) {
    if (due === undefined) return '–';
    const left = (due - Date.now()) / 1000;
    return left > 0 ? `in ${seconds(left)}` : 'now';
}

/** @param {import('../types.js').WebhookSettings} one */
function settingsPanel(one) {
    /** @type {[string, import('../dom.js').Child][]} */
    const facts = [
        ['id', h('span', { class: 'mono' }, one.id)], ['receiver', one.origin], ['event types', one.types.join(', ') || 'all'],
        ['request', `${one.method}, ${one.encoding}, ${one.mode}`], ['order', one.ordered ? 'one at a time, in order' : `at most ${count(one.at_a_time)} at a time`],
        ['time-out', seconds(one.timeout_s)], ['headers of its own', one.headers.join(', ') || 'none'],
        ['attachments', Object.keys(one.attachments).join(', ') || 'none'],
        ['signed with', one.shared_key ? `a shared key (${one.shared_key.id})` : `${count(one.secrets)} ${one.secrets === 1 ? 'secret' : 'secrets, the newest first'}`],
        ['made', time(Date.parse(one.created))],
    ];
    return panel('Filter and events',
        factList(facts),
        one.filter === null ? h('p', { class: 'quiet' }, 'It has no filter: every event of these types is delivered.') : pre(JSON.stringify(one.filter, null, 2), 'The filter'),
        one.filter_too_costly ? h('p', { class: 'warn' }, `The filter took too many steps for the event ${one.filter_too_costly.id} of ${one.filter_too_costly.source}.`) : null);
}

/** @param {string} id  @param {() => void} again */
function deadPanel(id, again) {
    const { answer, problem } = asked(`/api/dead?webhook=${id}&limit=${LETTERS}`, again, EVERY_MS);
    const letters = /** @type {import('../types.js').DeadLetter[]} */ (answer?.letters ?? []);
    const rows = letters.map((one) => h('tr', {}, h('th', { scope: 'row' }, time(Date.parse(one.died))), h('td', {}, one.type), h('td', {}, one.reason), h('td', { class: 'num' }, count(one.attempts)),
        h('td', { class: 'mono' }, link(address(['dead', one.delivery], { webhook: id }), one.delivery))));
    return panel('Dead letters',
        rows.length ? table([{ title: 'Died' }, { title: 'Event' }, { title: 'Reason' }, { title: 'Attempts', class: 'num' }, { title: 'Delivery' }], rows, 'Dead letters of this webhook, the oldest first')
            : h('p', { class: problem ? 'warn' : 'quiet' }, problem || (answer ? 'None.' : 'Reading …')),
        rows.length ? h('p', {}, link(address(['dead'], { webhook: id }), answer.next ? 'All of them, and their redrive' : 'To their redrive')) : null);
}

/** @param {WebhookRow} one */
function acts(one) {
    return one.enabled ? [{ name: 'test', title: 'Send a test' }, { name: 'rotate', title: 'Rotate the secret' }, { name: 'disable', title: 'Disable' }]
        : [{ name: 'enable', title: 'Enable' }, { name: 'rotate', title: 'Rotate the secret' }];
}

/**
 * @param {string} id
 * @param {import('../types.js').WebhooksPage} page
 * @param {() => void} again
 */
export function webhookPage(id, page, again) {
    const way = trail([{ text: 'Webhooks', href: '#/webhooks' }, { text: id }]);
    const one = page.webhooks.find((row) => row.id === id);
    if (!one) return [way, head('Webhook'), h('p', { class: 'notice' }, 'There is no webhook with this id: it was deleted, or another installation has it.')];
    const path = `/api/webhook?id=${id}&owner=${one.owner}`;
    const { answer, problem } = /** @type {import('../asked.js').Asked<import('../types.js').WebhookAnswer>} */ (asked(path, again, EVERY_MS));
    const waiting = asked(`/api/waiting?id=${id}`, again, EVERY_MS);
    const attempts = answer?.attempts ?? null;
    const good = attempts?.filter((attempt) => attempt.outcome === 'delivered').length ?? 0;
    const { bad, text } = verdict(one, answer ? attempts : []);
    const waits = waiting.answer?.tiers.reduce((/** @type {number} */ sum, /** @type {{waiting: number}} */ tier) => sum + tier.waiting, 0) ?? null;
    const due = Math.min(...(waiting.answer?.tiers ?? []).map((/** @type {{first: {due: number}[]}} */ tier) => tier.first[0]?.due ?? Infinity));
    const over = () => {
        askAnew(path, again);
        askAnew(`/api/waiting?id=${id}`, again);
    };
    return only([
        way,
        head(one.description || `Webhook ${id.slice(0, 12)}`, h('span', { class: 'quiet' }, word(!one.enabled ? 'disabled' : bad ? 'failing' : 'OK'), ` owner ${one.owner}, receiver ${one.origin}`)),
        answer || problem ? h('p', { class: bad ? 'notice bad' : 'notice good', role: 'status' }, problem && !answer ? `Its attempts and settings are not known: ${problem}.` : text) : h('p', { class: 'quiet', role: 'status' }, 'Asking the process that serves it …'),
        answer?.problem ? h('p', { class: 'notice' }, `Its attempts are not known: ${answer.problem}.`) : null,
        tiles(['Accepted', attempts?.length ? `${Math.floor((good / attempts.length) * 100)} %` : '–', attempts?.length ? `of the last ${count(attempts.length)} attempts` : 'no attempt yet'],
            ['Last attempt took', attempts?.[0] ? milliseconds(attempts[0].took_ms) : '–', attempts?.[0] ? attempts[0].outcome.replaceAll('_', ' ') : ''],
            ['Waiting', waits === null ? '–' : count(waits), 'deliveries in the delay tiers'],
            ['Next due', waits ? dueIn(due) : '–', waits && Number.isFinite(due) ? time(due) : '']),
        actButtons(id, acts(one), { webhook: id, owner: one.owner }, again),
        actPanel(id, again, over),
        answer?.hours ? hoursPanel(answer.hours) : null,
        attempts ? attemptsPanel(attempts, again) : null,
        waitingPanel(id, waiting),
        deadPanel(id, again),
        answer ? settingsPanel(answer.webhook) : null,
    ]);
}
