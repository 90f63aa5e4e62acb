// Cluster: the home of each partition of every role.
import { h, head, panel, table, tiles, word } from '../dom.js';
import { count } from '../format.js';

/** @typedef {import('../types.js').ClusterRole} ClusterRole */

/** A node's links in words, with the nodes that it has no link to.
 * @param {ClusterRole} role  @param {import('../types.js').ClusterNode} node */
function linkLine(role, node) {
    const others = role.nodes.filter((one) => one.id !== node.id && one.link);
    if (!node.link || !others.length) return null;
    const missing = others.filter((one) => !node.links.includes(one.id)).map((one) => one.id);
    return h('span', { class: missing.length ? 'warn' : 'quiet' }, `links up: ${count(others.length - missing.length)} of ${count(others.length)}`,
        missing.length ? `, none to ${missing.join(', ')}` : '');
}

/** @param {ClusterRole} role  @param {import('../types.js').ClusterNode} node */
function nodeCard(role, node) {
    const homes = role.partitions.filter((one) => one.home === node.id);
    const standbys = role.partitions.filter((one) => one.standbys.includes(node.id));
    return h('article', { class: 'card' },
        h('div', { class: 'head' }, h('strong', { class: 'mono', title: node.id }, node.id), node.controller ? h('span', { class: 'quiet' }, 'controller') : null),
        h('span', { class: 'quiet mono' }, node.link ? `link ${node.link}` : 'no link'),
        linkLine(role, node),
        h('div', { class: 'cells', role: 'img', 'aria-label': `home of ${homes.length} partitions, standby of ${standbys.length}` },
            ...homes.map((one) => h('span', { class: one.moving ? 'cell moving' : 'cell' }, one.partition)),
            ...standbys.map((one) => h('span', { class: 'cell standby' }, one.partition))),
        h('span', { class: 'quiet' }, `home of ${count(homes.length)}, standby of ${count(standbys.length)}`),
        node.clients === null ? null : h('span', { class: 'clients' }, `${count(node.clients)} ${node.clients === 1 ? 'client' : 'clients'}`));
}

const STATES = {
    unplaced: () => word('nobody', 'no node has this partition'),
    moving: (/** @type {import('../types.js').Placed} */ one) => word('moving', `${one.home} takes it over from ${one.from}`),
    restoring: () => word('restoring', 'its home does not serve it yet'),
    serving: () => word('serving'),
};

/** @param {ClusterRole[]} roles */
function handOvers(roles) {
    const under = roles.flatMap((role) => role.partitions.filter((one) => one.moving).map((one) => ({ role, one })));
    const columns = [{ title: 'Role' }, { title: 'Partition' }, { title: 'From' }, { title: 'To' }, { title: 'What it waits for' }];
    const rows = under.map(({ role, one }) => h('tr', {},
        h('td', {}, role.name), h('th', { scope: 'row' }, one.partition), h('td', { class: 'mono' }, one.from || '–'), h('td', { class: 'mono' }, one.home),
        h('td', {}, one.state === 'moving' ? 'the new home has not claimed it yet' : 'its home restores it from the log')));
    return panel('Hand-overs under way', rows.length ? table(columns, rows, 'Hand-overs under way') : h('p', { class: 'quiet' }, 'None: every partition that has a home is served there.'));
}

/** @param {ClusterRole} role */
function roleParts(role) {
    const columns = [{ title: 'Partition' }, { title: 'State' }, { title: 'Home' }, { title: 'Standbys' }, { title: 'Lease epoch', class: 'num' }];
    const rows = role.partitions.map((one) => h('tr', {},
        h('th', { scope: 'row' }, one.partition),
        h('td', {}, STATES[one.state](one)),
        h('td', { class: 'mono' }, one.home || '–'),
        h('td', { class: 'mono' }, one.standbys.map((node) => (one.ready.includes(node) ? node : `${node} (warming up)`)).join(', ') || '–'),
        h('td', { class: 'num' }, count(one.epoch))));
    return [h('h2', {}, `Role ${role.name}`),
        h('div', { class: 'grid' }, ...role.nodes.map((node) => nodeCard(role, node))),
        panel(`Partitions of ${role.name}`, table(columns, rows, `Partitions of ${role.name}`))];
}

/** @type {import('../types.js').Page} */
export const cluster = {
    name: 'cluster',
    title: 'Cluster',
    follows: 'cluster',
    show(/** @type {import('../types.js').ClusterPage} */ page) {
        const partitions = page.roles.flatMap((role) => role.partitions);
        const clients = page.roles.flatMap((role) => role.nodes).reduce((sum, node) => sum + (node.clients ?? 0), 0);
        const nodes = new Set(page.roles.flatMap((role) => role.nodes.map((node) => node.id)));
        return [
            head('Cluster', h('span', { class: 'quiet' }, page.complete ? 'as the log topic ownership has it' : 'still reading the log topic ownership')),
            tiles(['Nodes', count(nodes.size), page.roles.map((role) => `${role.nodes.length} ${role.name}`).join(', ')],
                ['Partitions placed', count(partitions.filter((one) => one.home).length), `of ${count(partitions.length)}, all roles together`],
                ['Clients', count(clients), 'connected, as the edges said a moment ago'],
                ['Moving', count(partitions.filter((one) => one.moving).length), 'handed over or restoring'],
                ['Without a standby', count(partitions.filter((one) => one.home && !one.standbys.length).length), 'nobody could take over at once']),
            handOvers(page.roles),
            ...(page.roles.length ? page.roles.flatMap(roleParts) : [h('p', { class: 'quiet' }, 'No role has announced a node yet.')]),
        ];
    },
};
