// The console: which page is shown, for whom, and how it looks.
import { h, replace } from './dom.js';
import { endCharts, repaintCharts } from './chart.js';
import { follow } from './live.js';
import { canary } from './pages/canary.js';
import { cluster } from './pages/cluster.js';
import { dead } from './pages/dead.js';
import { find } from './pages/find.js';
import { lag } from './pages/lag.js';
import { milestones } from './pages/milestones.js';
import { tiers } from './pages/tiers.js';
import { webhooks } from './pages/webhooks.js';

/** @type {import('./types.js').Page[]} */
const PAGES = [lag, tiers, dead, cluster, find, milestones, webhooks, canary];
const THEMES = ['system', 'light', 'dark'];
const WORDS = { live: 'live', asking: 'asking every 5 s', lost: 'connection lost' };

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const content = byId('content');
let unfollow = () => {};

function pageNow() {
    const name = location.hash.replace(/^#\/?/, '').split('?')[0];
    return PAGES.find((page) => page.name === name) ?? PAGES[0];
}

/** @param {import('./types.js').Page} current */
function showNavigation(current) {
    replace(byId('nav'), PAGES.map((page) => h('a', { href: `#/${page.name}`, 'aria-current': page === current ? 'page' : null, 'data-key': page.name }, page.title)));
    byId('nav').querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }); // on a phone
    document.title = `${current.title} · Beckon console`;
}

/** @param {import('./live.js').State} state */
function showState(state) {
    const live = byId('live');
    if (live.dataset.state === state) return;
    live.dataset.state = state;
    live.textContent = WORDS[state];
}

function showPage() {
    unfollow();
    endCharts();
    const page = pageNow();
    showNavigation(page);
    /** @type {any} */
    let data = null;
    const draw = () => replace(content, page.show(data, draw));
    if (!page.follows) {
        unfollow = () => {};
        byId('live').hidden = true;
        return draw();
    }
    byId('live').hidden = false;
    replace(content, [h('div', { class: 'head' }, h('h1', {}, page.title)), h('p', { class: 'quiet' }, page.missing ?? 'Waiting for the first values …')]);
    unfollow = follow(page.follows, (news) => {
        data = news;
        draw();
    }, page.merge ?? ((_, change) => change), showState, showLogin);
}

/** @param {string} problem */
function showLogin(problem = '') {
    unfollow();
    endCharts();
    byId('live').hidden = true;
    byId('logout').hidden = true;
    const input = /** @type {HTMLInputElement} */ (h('input', { type: 'password', name: 'token', autocomplete: 'current-password', required: true }));
    const submit = async (/** @type {Event} */ event) => {
        event.preventDefault();
        const reply = await fetch('/login', { method: 'POST', body: JSON.stringify({ token: input.value }) });
        if (reply.ok) enter('in');
        else showLogin((await reply.json()).error);
    };
    replace(content, [h('form', { class: 'panel login', onsubmit: submit },
        h('h1', {}, 'Log in'),
        h('p', { class: 'quiet' }, 'The token stands in the file that console.token_file names.'),
        h('label', { class: 'field' }, 'Token', input),
        problem ? h('p', { class: 'warn', role: 'alert' }, problem) : null,
        h('button', { class: 'main' }, 'Log in'))]);
    input.focus();
}

/** @param {string} theme */
function useTheme(theme) {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    byId('theme').textContent = `Theme: ${theme}`;
    localStorage.setItem('theme', theme);
    repaintCharts();
}

/** @param {string|undefined} session  open: without a login, in, or out */
function enter(session) {
    byId('logout').hidden = session !== 'in';
    if (session === 'out') showLogin();
    else showPage();
}

byId('theme').addEventListener('click', () => {
    const now = localStorage.getItem('theme') ?? 'system';
    useTheme(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length]);
});
byId('logout').addEventListener('click', async () => {
    await fetch('/logout', { method: 'POST' });
    showLogin();
});
document.querySelector('.skip')?.addEventListener('click', (event) => {
    event.preventDefault(); // the address names the page
    content.focus();
});
window.addEventListener('hashchange', () => {
    showPage();
    content.focus({ preventScroll: true });
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaintCharts);
useTheme(THEMES.includes(localStorage.getItem('theme') ?? '') ? String(localStorage.getItem('theme')) : 'system');
showNavigation(pageNow());
enter(document.documentElement.dataset.session);
