// Nodes: every process by name, those that are gone too, and the home of each partition.
import { h, head, only, panel, table, tiles, word } from '../dom.js';
import { bytes, count, seconds, sum } from '../format.js';
import { link, logIsSilent } from '../parts.js';
import { address } from '../route.js';

/** @typedef {import('../types.js').ClusterRole} ClusterRole */
/** @typedef {import('../types.js').ProcessNode} ProcessNode */
/** @typedef {(id: string) => string} NameOf  a node's name for people, by its id in `ownership` */

const ORDER = ['standalone', 'edge', 'endpoint', 'retry', 'reliability', 'console'];

/**
 * What a role reads, for links to the records of a partition.
 * @type {Record<string, string>}
 */
const TOPICS = { edge: 'notifications', reliability: 'reliability', retry: 'events' };

/**
 * The role retry keeps no copies: a new home reads what it needs from the log in a moment.
 * @param {ClusterRole} role
 */
const hasStandbys = (role) => role.name !== 'retry';

/** @type {Record<string, string>} */
const ROLES = {
    edge: 'Edges hold the connections of clients; a client belongs to a partition.',
    reliability: 'It counts what becomes of tracked messages.',
    retry: 'It calls webhooks, again and again until they accept.',
};

/** @param {ProcessNode} one  @param {boolean} silent  no broker answers, so no report comes */
function state(one, silent) {
    if (silent) return word('unknown');
    if (one.gone) return word('gone');
    return one.ready ? word('ready') : word('not ready');
}

/**
 * The remarks about a process, for a person.
 * @param {ProcessNode} one
 */
function remarks(one) {
    const taken = one.taken_over.map(({ node, partitions }) => `${node} (${count(partitions)})`);
    const clock = one.clock_off_seconds ?? 0;
    /** @type {(string|false)[]} */
    const lines = [
        one.gone && `last seen ${seconds(one.silent_seconds)} ago`,
        one.gone && taken.length > 0 && `partitions taken over by ${taken.join(', ')}`,
        ...(one.gone ? [] : one.faults),
        ...(one.gone ? [] : one.warnings.map((warning) => `warning: ${warning}`)),
        !one.gone && one.disk !== 'ok' && `its disk is ${one.disk === 'bad' ? 'full' : 'filling'}: ${bytes(one.gauges.disk_free)} of ${bytes(one.gauges.disk_size)} are free`,
        !one.gone && Math.abs(clock) >= 30 && `its clock is ${seconds(Math.abs(clock))} ${clock < 0 ? 'behind' : 'ahead'}`,
        !one.gone && one.certificate_seconds !== null && one.certificate_seconds < 14 * 86400 && (one.certificate_seconds > 0 ? `its certificate expires in ${seconds(one.certificate_seconds)}` : 'its certificate has expired'),
    ];
    const kept = lines.filter((line) => line !== false);
    return kept.length ? h('div', {}, ...kept.map((line) => h('small', {}, line))) : '–';
}

/** @param {ProcessNode[]} processes  @param {boolean} silent */
function processTable(processes, silent) {
    const columns = [{ title: 'Node' }, { title: 'State' }, { title: 'Role', optional: true }, { title: 'What to know' }, { title: 'Uptime', class: 'num', optional: true }, { title: 'Clients', class: 'num', optional: true },
        { title: 'Lag, records', class: 'num', optional: true }, { title: 'Links', class: 'num', optional: true }, { title: 'Memory', class: 'num', optional: true }, { title: 'Disk free', class: 'num', optional: true }, { title: 'Version', optional: true }];
    const text = (/** @type {number|undefined} */ value, /** @type {(value: number) => string} */ show) => (value === undefined ? '–' : show(value));
    /** The last numbers of one that is gone say nothing of now. */
    const known = processes.map((one) => (one.gone ? { ...one, gauges: /** @type {Record<string, number>} */ ({}) } : one));
    const rows = known.map((one) => h('tr', {},
        h('th', { scope: 'row', title: one.id }, one.name, h('small', { class: 'narrow' }, one.role)), h('td', {}, state(one, silent)), h('td', { class: 'optional' }, one.role), h('td', { class: 'wide' }, remarks(one)),
        h('td', { class: 'num optional' }, one.gone ? '–' : seconds(one.uptime_seconds)), h('td', { class: 'num optional' }, text(one.gauges.clients, count)),
        h('td', { class: 'num optional' }, text(one.gauges.lag_records, count)), h('td', { class: 'num optional' }, one.role === 'edge' ? text(one.gauges.links, count) : '–'),
        h('td', { class: 'num optional' }, text(one.gauges.memory, bytes)),
        h('td', { class: 'num optional' }, one.gauges.disk_size ? `${Math.floor((one.gauges.disk_free / one.gauges.disk_size) * 100)} %` : '–'),
        h('td', { class: 'optional' }, one.version.split(' ')[0])));
    return panel('Processes', table(columns, rows, 'Processes', 'No process has reported yet: each one does so every 10 s, if it may write the log topic ownership.'));
}

/**
 * False for what a process was before it was started again, until the controller has removed that.
 * @param {ClusterRole} role  @param {import('../types.js').ClusterNode} node
 */
function isPresent(role, node) {
    return node.homes + node.standbys > 0 || !role.nodes.some((one) => one !== node && one.name && one.name === node.name && one.homes + one.standbys > 0);
}

/**
 * A node's links in words, with the nodes that it has no link to.
 * @param {ClusterRole} role  @param {import('../types.js').ClusterNode} node  @param {NameOf} nameOf */
function linkLine(role, node, nameOf) {
    const others = role.nodes.filter((one) => one.id !== node.id && one.link && one.alive && isPresent(role, one));
    if (!node.link || !others.length) return null;
    const missing = others.filter((one) => !node.links.includes(one.id)).map((one) => nameOf(one.id));
    return h('span', { class: missing.length ? 'warn' : 'quiet' }, `links up: ${count(others.length - missing.length)} of ${count(others.length)}`,
        missing.length ? `, none to ${missing.join(', ')}` : '');
}

/** @param {ClusterRole} role  @param {import('../types.js').ClusterNode} node  @param {NameOf} nameOf */
function nodeCard(role, node, nameOf) {
    const homes = role.partitions.filter((one) => one.home === node.id && one.state !== 'unplaced');
    const standbys = role.partitions.filter((one) => one.standbys.includes(node.id));
    return h('article', { class: 'card' },
        h('div', { class: 'head' }, h('strong', { title: node.id }, nameOf(node.id)), !node.alive ? word('gone') : node.controller ? h('span', { class: 'quiet' }, 'controller') : null),
        node.link ? h('span', { class: 'quiet mono' }, `link ${node.link}`) : null,
        !node.alive ? null : linkLine(role, node, nameOf),
        h('div', { class: 'cells', role: 'img', 'aria-label': `home of ${homes.length} partitions, standby of ${standbys.length}` },
            ...homes.map((one) => h('span', { class: one.moving ? 'cell moving' : 'cell' }, one.partition)),
            ...standbys.map((one) => h('span', { class: 'cell standby' }, one.partition))),
        h('span', { class: 'quiet' }, `home of ${count(homes.length)}${hasStandbys(role) ? `, standby of ${count(standbys.length)}` : ''}`),
        node.clients === null ? null : h('span', { class: 'clients' }, `${count(node.clients)} ${node.clients === 1 ? 'client' : 'clients'}`));
}

/** @param {import('../types.js').Placed} one  @param {NameOf} nameOf */
function placedWord(one, nameOf) {
    if (one.state === 'unplaced') return word('nobody', 'no living node has this partition');
    if (one.state === 'moving') return word('moving', `${nameOf(one.home)} takes it over from ${nameOf(one.from)}`);
    return one.state === 'restoring' ? word('restoring', 'its home does not serve it yet') : word('serving');
}

/** @param {ClusterRole[]} roles  @param {NameOf} nameOf */
function handOvers(roles, nameOf) {
    const under = roles.flatMap((role) => role.partitions.filter((one) => one.moving).map((one) => ({ role, one })));
    const columns = [{ title: 'Role' }, { title: 'Partition' }, { title: 'From' }, { title: 'To' }, { title: 'What it waits for' }];
    const rows = under.map(({ role, one }) => h('tr', {},
        h('td', {}, role.name), h('th', { scope: 'row' }, one.partition), h('td', {}, one.from ? nameOf(one.from) : '–'), h('td', {}, nameOf(one.home)),
        h('td', {}, one.state === 'moving' ? 'the new home has not claimed it yet' : 'its home restores it from the log')));
    return panel('Hand-overs under way', table(columns, rows, 'Hand-overs under way', 'None: every partition that has a home is served there.'));
}

/**
 * What to do about partitions that are hot.
 * @param {ClusterRole} role
 */
function hotLine(role) {
    const hot = role.partitions.filter((one) => one.hot).map((one) => one.partition);
    if (!hot.length) return null;
    return h('p', {}, `${hot.length === 1 ? 'Partition' : 'Partitions'} ${hot.join(', ')}: several times the records of the others, most often for one client. The newest records of its log name the client: limit its sender. More partitions do not divide one client; more edges leave its home less other work.`);
}

/** @param {ClusterRole} role  @param {NameOf} nameOf */
function roleParts(role, nameOf) {
    const columns = [{ title: 'Partition' }, { title: 'State' }, { title: 'Home' }, ...(hasStandbys(role) ? [{ title: 'Standbys' }] : []), { title: 'Records per second', class: 'num' }, { title: 'Lease epoch', class: 'num' }];
    const dead = new Set(role.nodes.filter((node) => !node.alive).map((node) => node.id));
    const rows = role.partitions.map((one) => h('tr', {},
        h('th', { scope: 'row' }, TOPICS[role.name] ? link(address(['log', TOPICS[role.name], String(one.partition)]), one.partition, 'its records') : one.partition),
        h('td', {}, placedWord(one, nameOf)),
        h('td', {}, one.home ? `${nameOf(one.home)}${one.state === 'unplaced' ? ', gone' : ''}` : '–'),
        hasStandbys(role) && h('td', {}, one.standbys.map((node) => `${nameOf(node)}${one.ready.includes(node) ? '' : dead.has(node) ? ' (gone)' : ' (warming up)'}`).join(', ') || '–'),
        h('td', { class: 'num' }, one.load === null ? '–' : count(one.load), ...(one.hot ? [' ', word('hot', 'several times the records of the others: see below')] : [])),
        h('td', { class: 'num' }, count(one.epoch))));
    return [h('h2', {}, `Role ${role.name}`),
        h('p', { class: 'quiet' }, ROLES[role.name] ?? null, ` The home of a partition serves it${hasStandbys(role) ? '; a standby keeps a copy and takes it over when the home dies' : ', and another process takes it over when the home dies'}. The lease epoch rises with every change of home.`),
        h('div', { class: 'grid' }, ...role.nodes.filter((node) => isPresent(role, node)).map((node) => nodeCard(role, node, nameOf))),
        panel(`Partitions of ${role.name}`, table(columns, rows, `Partitions of ${role.name}`), hotLine(role))];
}

/**
 * In standalone every partition is served here, or is restored.
 * @param {ClusterRole[]} roles
 */
function standaloneParts(roles) {
    const all = roles.flatMap((role) => role.partitions);
    const serving = all.filter((one) => one.state === 'serving');
    if (!all.length) return [panel('Partitions', h('p', { class: 'quiet' }, 'None is known yet.'))];
    return [panel('Partitions', h('p', { class: 'quiet' }, serving.length === all.length
        ? `This process serves all of them: ${roles.map((role) => `${count(role.partitions.length)} of ${role.name}`).join(', ')}.`
        : `This process serves ${count(serving.length)} of ${count(all.length)}; the others are being restored.`))];
}

/** @type {import('../types.js').Page} */
export const nodes = {
    name: 'nodes',
    title: 'Nodes',
    follows: 'nodes',
    also: ['cluster', 'status'],
    show(/** @type {import('../types.js').NodesPage} */ page, _, others) {
        /** @type {ClusterRole[]} */
        const roles = others.cluster?.roles ?? [];
        const names = new Map(roles.flatMap((role) => role.nodes.map((node) => [node.id, page.processes.find((one) => one.id === node.name)?.name ?? node.id])));
        const nameOf = (/** @type {string} */ id) => names.get(id) ?? id;
        const silent = logIsSilent(others.status);
        const partitions = roles.flatMap((role) => role.partitions);
        const processes = [...page.processes].sort((a, b) => Number(b.gone) - Number(a.gone) || Number(a.ready) - Number(b.ready) || ORDER.indexOf(a.role) - ORDER.indexOf(b.role) || a.name.localeCompare(b.name));
        const alive = processes.filter((one) => !one.gone);
        const clients = sum(alive, (one) => one.gauges.clients ?? 0);
        return only([
            head('Nodes', h('span', { class: 'quiet' }, page.complete || silent ? 'the processes of this installation, as they report themselves every 10 s' : 'still reading the log topic ownership')),
            silent ? h('p', { class: 'notice bad', role: 'alert' }, 'The brokers do not answer the console, so it does not know which processes live. Below are their last reports.') : null,
            page.standalone || silent ? null : tiles(['Alive', `${count(alive.length)} of ${count(processes.length)}`, 'of all that were seen in the history window and not stopped'],
                ['Not ready', count(alive.filter((one) => !one.ready).length)],
                ['Clients', count(clients)],
                ['Partitions placed', count(partitions.filter((one) => one.state !== 'unplaced').length), `of ${count(partitions.length)}, all roles together`],
                ['Moving', count(partitions.filter((one) => one.moving).length), 'handed over or restoring'],
                ['Without a standby', count(roles.filter(hasStandbys).flatMap((role) => role.partitions).filter((one) => one.state !== 'unplaced' && !one.standbys.length).length), 'no node could take over at once']),
            processTable(processes, silent),
            ...(page.standalone ? standaloneParts(roles) : [handOvers(roles, nameOf), ...roles.flatMap((role) => roleParts(role, nameOf))]),
        ]);
    },
};
