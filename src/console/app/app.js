// The console: which page is shown, for whom, and how it looks.
import { endAsking } from './asked.js';
import { h, head, replace } from './dom.js';
import { endCharts, repaintCharts } from './chart.js';
import { follow } from './live.js';
import { routeNow } from './route.js';
import { canary } from './pages/canary.js';
import { dead } from './pages/dead.js';
import { find } from './pages/find.js';
import { lag } from './pages/lag.js';
import { logPage } from './pages/log.js';
import { milestones } from './pages/milestones.js';
import { nodes } from './pages/nodes.js';
import { overview } from './pages/overview.js';
import { senders } from './pages/senders.js';
import { tiers } from './pages/tiers.js';
import { webhooks } from './pages/webhooks.js';

/** @type {import('./types.js').Page[]} */
const PAGES = [overview, nodes, lag, tiers, webhooks, dead, senders, find, logPage, milestones, canary];
/** Former names of pages, which old addresses still have. */
const FORMER = new Map([['cluster', 'nodes']]);
const THEMES = ['system', 'light', 'dark'];
const WORDS = { live: 'live', asking: 'asking every 5 s', lost: 'connection lost' };

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const content = byId('content');
let unfollow = () => {};
/** A server that has values sends them well within this. */
const LATE_MS = 2000;
/** @type {ReturnType<typeof setTimeout>|undefined} */
let late;
/**
 * Is everything all right?
 * @type {import('./types.js').StatusPage|null}
 */
let status = null;
/** @type {import('./types.js').Page} */
let shown = overview;

function pageNow() {
    const name = routeNow().page;
    return PAGES.find((page) => page.name === (FORMER.get(name) ?? name)) ?? PAGES[0];
}

/** @param {import('./types.js').Page} current */
function showNavigation(current) {
    shown = current;
    showBadges();
    byId('nav').querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }); // on a phone
}

/** The links to the pages, with a sign where something is wrong, and the same in the tab's title and icon. */
function showBadges() {
    const badges = status?.badges ?? {};
    replace(byId('nav'), PAGES.map((page) => {
        const level = badges[page.name];
        return h('a', { href: `#/${page.name}`, 'aria-current': page === shown ? 'page' : null, 'data-key': page.name }, page.title,
            level ? h('span', { class: 'badge', 'data-level': level }, h('span', { class: 'spoken' }, level === 'bad' ? ' (something is wrong)' : ' (a warning)')) : null);
    }));
    const wrong = status?.findings.length ?? 0;
    document.title = `${wrong ? `(${wrong}) ` : ''}${shown.title} · Beckon console`;
    showIcon(status?.level ?? 'ok');
}

/**
 * The icon of the page with a dot where something is wrong.
 * @param {string} level
 */
function showIcon(level) {
    const link = /** @type {HTMLLinkElement} */ (document.querySelector('link[rel=icon]'));
    if (link.dataset.level === level) return;
    link.dataset.plain ??= link.href;
    link.dataset.level = level;
    const dot = level === 'bad' ? '%23d0393b' : '%23e39b1f';
    link.href = level === 'ok' ? link.dataset.plain : link.dataset.plain.replace('%3C/svg%3E', `%3Ccircle cx='25' cy='7' r='7' fill='${dot}'/%3E%3C/svg%3E`);
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
    endAsking();
    const page = pageNow();
    showNavigation(page);
    const pages = page.follows ? [page.follows, ...(page.also ?? [])] : [];
    /** @type {Record<string, any>} */
    const data = {};
    const draw = () => replace(content, () => page.show(page.follows ? data[page.follows] : null, draw, { ...data, status }));
    byId('live').hidden = false;
    const away = (/** @type {string} */ text) => replace(content, [head(page.title), h('p', { class: 'notice', role: 'status' }, text)]);
    clearTimeout(late);
    if (page.follows) {
        replace(content, [head(page.title), h('p', { class: 'quiet' }, 'Waiting for the first values …')]);
        late = setTimeout(() => data[String(page.follows)] === undefined && away(page.missing ?? 'There are no values yet.'), LATE_MS);
    } else {
        draw();
    }
    unfollow = follow([...new Set([...pages, 'status'])], (name, news, change) => {
        if (name === 'status') {
            status = news;
            showBadges();
            if (!page.also?.includes('status')) return;
        } else {
            data[name] = change && page.merge && name === page.follows ? page.merge(data[name], news) : news;
        }
        if (page.follows && data[page.follows] !== undefined) draw();
    }, showState, showLogin, (name, why) => {
        if (name !== page.follows || data[name] !== undefined) return;
        clearTimeout(late);
        away(`${page.missing ?? 'There are no values yet.'} The console says: ${why}.`);
    });
}

/** @param {string} problem */
function showLogin(problem = '') {
    unfollow();
    clearTimeout(late);
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
// A page that a browser keeps for "back" keeps its stream too, and a browser has six connections for each origin.
window.addEventListener('pagehide', () => unfollow());
window.addEventListener('pageshow', (event) => event.persisted && !document.querySelector('form.login') && showPage());
window.addEventListener('hashchange', () => {
    showPage();
    content.focus({ preventScroll: true });
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaintCharts);
useTheme(THEMES.includes(localStorage.getItem('theme') ?? '') ? String(localStorage.getItem('theme')) : 'system');
showNavigation(pageNow());
enter(document.documentElement.dataset.session);
