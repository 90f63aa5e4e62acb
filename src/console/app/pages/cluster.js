// Cluster: who serves which partition, of every role.
import { h, head, panel, table, tiles, word } from '../dom.js';
import { count } from '../format.js';

/** @typedef {import('../types.js').ClusterRole} ClusterRole */

/** @param {ClusterRole} role  @param {import('../types.js').ClusterNode} node */
function nodeCard(role, node) {
    const homes = role.partitions.filter((one) => one.home === node.id);
    const standbys = role.partitions.filter((one) => one.standbys.includes(node.id));
    return h('article', { class: 'card' },
        h('div', { class: 'head' }, h('strong', { class: 'mono', title: node.id }, node.id), node.controller ? h('span', { class: 'quiet' }, 'controller') : null),
        h('span', { class: 'quiet mono' }, node.link ? `link ${node.link}` : 'no link'),
        h('div', { class: 'cells', role: 'img', 'aria-label': `home of ${homes.length} partitions, standby of ${standbys.length}` },
            ...homes.map((one) => h('span', { class: one.moving ? 'cell moving' : 'cell' }, one.partition)),
            ...standbys.map((one) => h('span', { class: 'cell standby' }, one.partition))),
        h('span', { class: 'quiet' }, `home of ${count(homes.length)}, standby of ${count(standbys.length)}`));
}

/** @param {import('../types.js').Placed} one */
function stateOf(one) {
    if (!one.home) return word('nobody', 'no node has this partition');
    return one.moving ? word('moving', 'its home does not serve it yet') : word('serving');
}

/** @param {ClusterRole} role */
function roleParts(role) {
    const columns = [{ title: 'Partition' }, { title: 'State' }, { title: 'Home' }, { title: 'Standbys' }, { title: 'Lease epoch', class: 'num' }];
    const rows = role.partitions.map((one) => h('tr', {},
        h('th', { scope: 'row' }, one.partition),
        h('td', {}, stateOf(one)),
        h('td', { class: 'mono' }, one.home || '–'),
        h('td', { class: 'mono' }, one.standbys.join(', ') || '–'),
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
        const nodes = new Set(page.roles.flatMap((role) => role.nodes.map((node) => node.id)));
        return [
            head('Cluster', h('span', { class: 'quiet' }, page.complete ? 'as the log topic ownership has it' : 'still reading the log topic ownership')),
            tiles(['Nodes', count(nodes.size), page.roles.map((role) => `${role.nodes.length} ${role.name}`).join(', ')],
                ['Partitions placed', count(partitions.filter((one) => one.home).length), `of ${count(partitions.length)}, all roles together`],
                ['Moving', count(partitions.filter((one) => one.moving).length), 'their home does not serve them yet'],
                ['Without a standby', count(partitions.filter((one) => one.home && !one.standbys.length).length), 'nobody could take over at once']),
            ...(page.roles.length ? page.roles.flatMap(roleParts) : [h('p', { class: 'quiet' }, 'No role has announced a node yet.')]),
        ];
    },
};
