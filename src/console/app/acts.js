// Acts: the console says what an act will do, and does it when somebody confirms.
import { h, only, panel } from './dom.js';
import { post } from './asked.js';

/**
 * @typedef {object} ActState
 * @property {string} key  what the act is about; another one has another state
 * @property {string} name  '' : none is planned
 * @property {string} title
 * @property {{does: string[], possible: boolean}|null} plan
 * @property {string|null} confirmation
 * @property {{done: string, secret?: string, delivery?: string}|null} done
 * @property {string} problem
 * @property {boolean} busy
 */

/** @type {ActState} */
let state = { key: '', name: '', title: '', plan: null, confirmation: null, done: null, problem: '', busy: false };

/**
 * Asks for the plan of an act.
 * @param {string} key
 * @param {{name: string, title: string}} act
 * @param {object} wanted  of /api/acts/NAME/check
 * @param {() => void} again
 */
async function check(key, act, wanted, again) {
    state = { key, name: act.name, title: act.title, plan: null, confirmation: null, done: null, problem: '', busy: true };
    again();
    const mine = state;
    const reply = await post(`/api/acts/${act.name}/check`, wanted);
    mine.busy = false;
    mine.problem = reply.ok ? '' : reply.body.error;
    if (reply.ok) {
        mine.plan = reply.body.plan;
        mine.confirmation = reply.body.confirmation;
    }
    if (mine === state) again();
}

/** @param {() => void} again  @param {() => void} over */
async function confirm(again, over) {
    const mine = state;
    const { confirmation } = mine;
    mine.confirmation = null; // an order is executed once
    mine.busy = true;
    again();
    const reply = await post(`/api/acts/${mine.name}`, { confirmation });
    mine.busy = false;
    mine.problem = reply.ok ? '' : reply.body.error;
    mine.done = reply.ok ? reply.body : null;
    mine.plan = null;
    over();
    if (mine === state) again();
}

/** @param {() => void} again */
function leave(again) {
    state = { ...state, name: '', plan: null, confirmation: null, done: null, problem: '' };
    again();
}

/**
 * The buttons of some acts.
 * @param {string} key
 * @param {{name: string, title: string}[]} acts
 * @param {object} wanted
 * @param {() => void} again
 */
export function actButtons(key, acts, wanted, again) {
    return h('div', { class: 'bar acts' }, ...acts.map((act) => h('button', { type: 'button', 'data-key': `act ${act.name}`, onclick: () => check(key, act, wanted, again) }, act.title)));
}

/**
 * The panel of the act that was chosen last: its plan or its outcome; null: none was chosen.
 * @param {string} key
 * @param {() => void} again
 * @param {() => void} over  it was done
 */
export function actPanel(key, again, over) {
    if (state.key !== key || !state.name) return null;
    const { plan, done, problem, busy, confirmation, title } = state;
    return panel(done ? `${title}: done` : title, h('div', { class: 'plan', role: 'status' }, ...only([
        busy ? h('p', { class: 'quiet' }, 'One moment …') : null,
        problem ? h('p', { class: 'warn' }, `It was not done: ${problem}`) : null,
        plan ? h('ul', {}, ...plan.does.map((line) => h('li', {}, line))) : null,
        plan && !confirmation && !busy ? h('p', { class: 'quiet' }, 'There is nothing to confirm.') : null,
        done ? h('p', {}, done.done) : null,
        done?.secret ? h('p', {}, 'The new secret, shown this once: ', h('code', { class: 'secret' }, done.secret)) : null,
        done?.delivery ? h('p', {}, 'Its id is ', h('code', {}, done.delivery), '; the attempt appears below in a moment.') : null,
    ])), h('div', { class: 'bar' }, ...only([
        confirmation ? h('button', { class: 'main', type: 'button', 'data-key': 'confirm', onclick: () => confirm(again, over) }, `Confirm: ${title.toLowerCase()}`) : null,
        busy ? null : h('button', { type: 'button', 'data-key': 'leave', onclick: () => leave(again) }, confirmation ? 'Leave it' : 'Close'),
    ])));
}
