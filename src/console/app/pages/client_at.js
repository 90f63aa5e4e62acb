// The state of a client at a moment: a slider over the history window, and the folded state there.
import { h, only, panel, table } from '../dom.js';
import { count, moment, time } from '../format.js';

/** Until a slider stops moving. */
const STILL_MS = 250;
const STEPS = 1000;

/** @typedef {import('../types.js').ClientState} ClientState */

/** @param {ClientState} state */
function stateParts(state) {
    if (!state.known) return [h('p', { class: 'quiet' }, 'The client was not known: not recorded yet, or removed.')];
    const channels = state.channels.map((one) => h('tr', {}, h('th', { scope: 'row', class: 'mono' }, one.channel), h('td', {}, time(one.created)), h('td', {}, one.bound_to_vapid_key ? 'yes' : 'no')));
    const waiting = state.waiting.map((one) => h('tr', {}, h('th', { scope: 'row', class: 'mono' }, one.message), h('td', { class: 'mono' }, one.channel),
        h('td', {}, time(one.appended)), h('td', {}, time(one.expires)), h('td', {}, one.topic || '–'), h('td', { class: 'num' }, count(one.bytes))));
    return only([
        h('p', {}, `Recorded ${time(state.known.created)}, last seen ${time(state.known.last_seen)}. Channels: ${count(state.channels.length)}. Messages that waited: ${count(state.waiting.length)}.`),
        channels.length ? table([{ title: 'Channel' }, { title: 'Made' }, { title: 'Bound to a VAPID key' }], channels, 'Channels at that moment') : null,
        waiting.length ? table([{ title: 'Message' }, { title: 'Channel' }, { title: 'Accepted' }, { title: 'Expires' }, { title: 'Topic' }, { title: 'Bytes', class: 'num' }], waiting, 'Messages that waited at that moment') : null,
    ]);
}

/** @param {string} asked  @param {number} at */
async function ask(asked, at) {
    try {
        const reply = await fetch(`/api/state?q=${encodeURIComponent(asked)}&at=${at}`);
        const answer = await reply.json();
        return reply.ok ? stateParts(answer) : [h('p', { class: 'warn' }, answer.error)];
    } catch {
        return [h('p', { class: 'warn' }, 'the console does not answer')];
    }
}

/**
 * The panel with the slider. It is made once for each search and changes by itself.
 * @param {string} asked  @param {import('../types.js').Found} found
 */
export function clientAt(asked, found) {
    const { from, until } = found;
    const moments = (found.trace?.steps ?? []).map((step) => step.at).filter((at) => at >= from && at <= until);
    const slider = /** @type {HTMLInputElement} */ (h('input', { type: 'range', id: 'moment', name: 'moment', min: from, max: until, step: Math.max(1, Math.floor((until - from) / STEPS)), value: until }));
    const shown = h('output', { for: 'moment', class: 'mono' });
    const state = h('div', { class: 'state', role: 'status', 'aria-label': 'The client at that moment' });
    let at = until;
    let turn = 0;
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    let timer;

    /** @param {number} to  @param {number} wait */
    const move = (to, wait) => {
        at = Math.min(Math.max(to, from), until);
        slider.value = String(at);
        slider.setAttribute('aria-valuetext', moment(at));
        shown.textContent = moment(at);
        state.setAttribute('aria-busy', 'true');
        clearTimeout(timer);
        const mine = ++turn;
        timer = setTimeout(async () => {
            const parts = await ask(asked, at);
            if (mine !== turn) return; // it has moved on
            state.replaceChildren(...parts);
            state.removeAttribute('aria-busy');
        }, wait);
    };
    const before = () => Math.max(...moments.filter((one) => one < at), from);
    const after = () => Math.min(...moments.filter((one) => one > at), until);
    slider.addEventListener('input', () => move(Number(slider.value), STILL_MS));
    move(until, 0);
    return panel('The client at a moment',
        h('label', { class: 'field', for: 'moment' }, 'Moment of the history window'),
        h('div', { class: 'slider' },
            h('button', { type: 'button', onclick: () => move(before(), 0) }, 'Step before'), slider,
            h('button', { type: 'button', onclick: () => move(after(), 0) }, 'Step after')),
        h('div', { class: 'axis' }, h('span', {}, moment(from)), shown, h('span', {}, 'now')), state,
        h('p', { class: 'quiet' }, 'Folded from the log up to that moment. What compaction has removed since is not seen: before the history window only what was still so at its beginning is certain.'));
}
