// Judges a history of a cluster's answers and of the messages that arrived. It knows nothing of processes, sockets or
// clocks: every event carries its time (`at`, in ms), and a fault is a sentence in `faults`.
//
// Observations of clients and senders:
//   seeking      {client}                               it wants to be connected and is not
//   greeted      {client, connection, uaid}             its hello was answered
//   requested, replied {client, connection, what}      a frame that is to be answered, and its answer
//   left         {client, connection}                   that connection is over
//   registering, registered    {client, channel, endpoint}   `registered` is a status of 200
//   unregistering, unregistered {client, channel}
//   sending      {n, client, channel, ttl, topic}       a POST begins; `n` names it and is in its body
//   answered     {n, status}                            0: no answer
//   deleting, deleted {n}                               a DELETE begins; it was answered 204
//   arrived      {n, client, connection}
//   acked        {n, client, connection}
//   confirmed    {ns}                                   their tombstones are in the log
// Records of `ownership`, in the order of the log, each with the time at which it was written (`written`, as `at`; `at` if it is missing):
//   joined       {node, name, joining}                  a process of that name lives; `joining`: the group has not taken it yet
//   placed       {partition, home}
// Acts of the test:
//   ending       {name}                                 the process of that name is being killed or stopped
//   disturbing, calm {what, name}                       a process hangs or is cut off: no bound counts meanwhile. `name`: the node
//                                                       that this concerns, if it is only one
//   stable      {}                                     all clients are attached, and there was time for everything
//   checked      {}                                     a moment like any other, at which bounds are checked

const NO_ANSWER = [0, 503];
const GONE = [404, 410];

export const BOUNDS = {
    connectMs: 45000, // two session time-outs, a restore, and a machine that is busy
    answerMs: 25000, // after 15 s the front has closed clients without a home
    lagMs: 5000, // a home may not know a record of the log for so long
    tailMs: 3000, // a process that hung takes this long until all is as before
    unknownMs: 15000, // a POST without an answer may be appended so much later
    regroupMs: 12000, // the group takes so long to know who lives after a disturbance: two session time-outs
};

/** Knows how much of a span was disturbed. */
class Disturbances {
    constructor(tailMs) {
        this.tailMs = tailMs;
        this.spans = []; // in the order of their starts, without overlaps
        this.open = new Map(); // what → since
        this.since = null;
    }

    begin(what, at) {
        if (this.open.size === 0) this.since = at;
        this.open.set(what, at);
    }

    end(what, at) {
        if (!this.open.delete(what) || this.open.size > 0) return;
        const last = this.spans.at(-1);
        if (last && last.to >= this.since) last.to = at + this.tailMs;
        else this.spans.push({ from: this.since, to: at + this.tailMs });
    }

    within(from, to) {
        let sum = 0;
        if (this.open.size > 0) sum += Math.max(0, to - Math.max(from, this.since));
        const end = this.open.size > 0 ? Math.min(to, this.since) : to;
        for (let i = this.spans.length - 1; i >= 0 && this.spans[i].to > from; --i) {
            sum += Math.max(0, Math.min(end, this.spans[i].to) - Math.max(from, this.spans[i].from));
        }
        return sum;
    }
}

export class Checker {
    constructor(bounds = {}) {
        this.bounds = { ...BOUNDS, ...bounds };
        this.faults = [];
        this.messages = new Map(); // n → message
        this.wanted = new Set(); // messages that are still to arrive
        this.clients = new Map();
        this.channels = new Map(); // "client channel" → channel
        // "client channel topic" → {newest: time of the newest POST, acked: the same of acked ones, underWay: how many POSTs
        // have no answer, stable: when the log had surely decided on all that were answered}
        this.topics = new Map();
        this.disturbances = new Disturbances(this.bounds.tailMs);
        this.connecting = []; // ms, without disturbances
        // node → {name, joining, ended: when it was killed or stopped, settled: since when it has had its share of partitions}
        this.nodes = new Map();
        this.endings = new Map(); // name → when its newest process was killed or stopped
        this.disturbed = new Map(); // name of a node, undefined for all → {open, until: the time of the last calm}
        // partition → {home, death: {node, at, alone} for which it came there}; `alone`: no other dead node was a home then
        this.homes = new Map();
        this.moved = 0; // moves for a death
        this.again = 0; // moves after these, each for a cause of its own
    }

    note(event) {
        this[event.kind](event);
    }

    fault(event, text) {
        this.faults.push(`${Math.round(event.at)} ms: ${text}`);
    }

    calmBetween(from, to) {
        return to - from - this.disturbances.within(from, to);
    }

    client(name) {
        if (!this.clients.has(name)) this.clients.set(name, { name, requested: new Map(), connection: 0 });
        return this.clients.get(name);
    }

    channel({ client, channel }) {
        const key = `${client} ${channel}`;
        if (!this.channels.has(key)) this.channels.set(key, { live: null, left: 0 });
        return this.channels.get(key);
    }

    topic({ client, channel, topic }) {
        const key = `${client} ${channel} ${topic}`;
        if (!this.topics.has(key)) this.topics.set(key, { newest: -1, acked: -1, underWay: 0, stable: -1 });
        return this.topics.get(key);
    }

    // --- connections

    seeking({ client, at }) {
        this.client(client).seeking ??= at;
    }

    greeted(event) {
        const client = this.client(event.client);
        this.connectedInTime(client, event);
        client.seeking = null;
        client.connection = event.connection;
        if (client.persisted && event.uaid !== client.uaid) {
            this.fault(event, `${client.name}: the UAID ${client.uaid} became ${event.uaid}`);
        }
        client.uaid = event.uaid;
    }

    connectedInTime(client, event) {
        if (client.seeking === null || client.seeking === undefined) return;
        const took = this.calmBetween(client.seeking, event.at);
        this.connecting.push(took);
        if (took > this.bounds.connectMs) this.fault(event, `${client.name} could not connect for ${Math.round(took)} ms`);
    }

    requested({ client, connection, what, at }) {
        this.client(client).requested.set(`${connection} ${what}`, at);
    }

    replied({ client, connection, what }) {
        this.client(client).requested.delete(`${connection} ${what}`);
    }

    left({ client, connection }) {
        const { requested } = this.client(client);
        for (const key of requested.keys()) if (key.startsWith(`${connection} `)) requested.delete(key);
    }

    checked(event) {
        for (const client of this.clients.values()) {
            if (client.seeking && this.calmBetween(client.seeking, event.at) > this.bounds.connectMs) {
                this.connectedInTime(client, event);
                client.seeking = null;
            }
            for (const [what, since] of client.requested) {
                if (this.calmBetween(since, event.at) <= this.bounds.answerMs) continue;
                client.requested.delete(what);
                this.fault(event, `${client.name}: no answer on an open connection: ${what}`);
            }
        }
    }

    // --- registrations

    registering() {}

    registered(event) {
        const channel = this.channel(event);
        channel.live ??= event.at;
        if (channel.endpoint && channel.endpoint !== event.endpoint) {
            this.fault(event, `${event.client}: the endpoint of channel ${event.channel} changed`);
        }
        channel.endpoint = event.endpoint;
        this.client(event.client).persisted = true;
    }

    unregistering(event) {
        const channel = this.channel(event);
        channel.live = null;
        channel.left = event.at;
    }

    unregistered(event) {
        this.channel(event).left = event.at;
    }

    /** Whether the channel was there from the start of the POST until now. */
    wasLive(message) {
        const { live, left } = this.channel(message);
        return live !== null && live <= message.sending && left <= message.sending;
    }

    // --- messages

    sending({ n, at, ...message }) {
        const topic = message.topic && this.topic(message);
        // The log may order this one before another whose POST runs beside it: the other replaces it then.
        const isUnordered = Boolean(topic) && (topic.underWay > 0 || at < topic.stable);
        this.messages.set(n, { n, ...message, sending: at, deleting: false, arrivals: 0, isUnordered });
        if (!topic) return;
        topic.newest = at;
        ++topic.underWay;
    }

    topicAnswered(message) {
        const topic = this.topic(message);
        --topic.underWay;
        const later = NO_ANSWER.includes(message.status) ? this.bounds.unknownMs : 0;
        topic.stable = Math.max(topic.stable, message.answered + later);
    }

    answered(event) {
        const message = this.messages.get(event.n);
        message.answered = event.at;
        message.status = event.status;
        if (message.topic) this.topicAnswered(message);
        if (event.status === 201) {
            if (message.ttl > 0 && message.arrivals === 0 && this.wasLive(message)) this.wanted.add(message);
        } else if (GONE.includes(event.status)) {
            if (this.wasLive(message)) this.fault(event, `${event.status} for the live channel ${message.channel} of ${message.client}`);
        } else if (!NO_ANSWER.includes(event.status)) {
            this.fault(event, `a POST was answered ${event.status}`);
        }
    }

    deleting({ n }) {
        this.messages.get(n).deleting = true;
    }

    deleted({ n, at }) {
        this.messages.get(n).deleted ??= at;
    }

    expiry(message) {
        const until = message.status === 201 ? message.answered : (message.answered ?? message.sending) + this.bounds.unknownMs;
        return until + message.ttl * 1000;
    }

    arrived(event) {
        const message = this.messages.get(event.n);
        if (!message || message.client !== event.client) {
            return this.fault(event, `${event.client} got message ${event.n}, which was not sent to it`);
        }
        ++message.arrivals;
        message.arrival = event.at;
        this.wanted.delete(message);
        // A message that a former connection still received proves nothing.
        if (event.connection !== this.client(event.client).connection) return;
        const what = `message ${message.n} to ${message.client}`;
        if (message.confirmed) this.fault(event, `${what} came after its confirmed ack`);
        if (message.deleted && this.calmBetween(message.deleted, event.at) > this.bounds.lagMs) {
            this.fault(event, `${what} came ${Math.round(event.at - message.deleted)} ms after its DELETE was answered`);
        }
        const over = this.expiry(message);
        if (event.at > over && this.calmBetween(over, event.at) > this.bounds.lagMs + (message.ttl === 0 ? 5000 : 0)) {
            this.fault(event, `${what} with TTL ${message.ttl} came ${Math.round(event.at - over)} ms after its expiry`);
        }
        if (message.topic && message.status === 201 && message.answered < this.topic(message).acked) {
            this.fault(event, `${what} came after a newer one of its Topic was acknowledged`);
        }
    }

    acked({ n, client, at }) {
        const message = this.messages.get(n);
        if (!message || message.client !== client) return;
        message.ack = at;
        if (message.topic) {
            const topic = this.topic(message);
            topic.acked = Math.max(topic.acked, message.sending);
        }
    }

    confirmed({ ns }) {
        for (const n of ns) this.messages.get(n).confirmed = true;
    }

    /** Whether this message, answered 201, must arrive at a client that is there. */
    isDue(message, at) {
        if (message.deleting || !this.wasLive(message)) return false;
        if (message.isUnordered || (message.topic && this.topic(message).newest > message.sending)) return false;
        return at < message.answered + message.ttl * 1000;
    }

    /** Messages that must still arrive; the others are forgotten. */
    missing(at) {
        for (const message of this.wanted) if (!this.isDue(message, at)) this.wanted.delete(message);
        return [...this.wanted];
    }

    stable(event) {
        for (const message of this.missing(event.at)) {
            if (event.except?.includes(message.client)) continue;
            this.wanted.delete(message);
            this.fault(event, `message ${message.n} to ${message.client} was answered 201 and never came`);
        }
    }

    // --- placement

    joined({ node, name, joining, at, written = at }) {
        if (!this.nodes.has(node)) {
            for (const other of this.nodes.values()) if (other.name === name) other.ended ??= written;
            const ending = this.endings.get(name);
            this.nodes.set(node, { name, ended: ending > written ? ending : undefined });
        }
        this.nodes.get(node).joining = joining === true;
        this.settle(written);
    }

    ending({ name, at }) {
        this.endings.set(name, at);
        for (const node of this.nodes.values()) if (node.name === name) node.ended ??= at;
        this.settle(at);
    }

    /** The node of the newest process of a name. */
    newest(name) {
        return [...this.nodes].findLast(([, node]) => node.name === name)?.[0];
    }

    lives(node) {
        return this.nodes.has(node) && this.nodes.get(node).ended === undefined;
    }

    /** Notes which nodes have their share by now: partitions come to the others for that reason alone. */
    settle(at) {
        const living = [...this.nodes].filter(([node]) => this.lives(node));
        const share = Math.max(1, Math.floor(this.homes.size / living.length));
        for (const [id, node] of living) {
            if (node.settled === undefined && this.partitionsOf(id).length >= share) node.settled = at;
        }
    }

    partitionsOf(node) {
        return [...this.homes].filter(([, { home }]) => home === node).map(([partition]) => partition);
    }

    /** A death moves a partition once; after that it moves only from a home that dies too, or for another cause. */
    placed({ partition, home, at, written = at }) {
        const before = this.homes.get(partition);
        if (before?.home === home) return;
        const death = before && this.deathOf(before.home, written);
        if (death) {
            ++this.moved;
        } else if (before?.death) {
            if (this.hasOtherCause(before, home)) {
                ++this.again;
            } else {
                this.fault({ at }, `partition ${partition} moved twice for the death of node ${before.death.node}: to ${before.home}, then to ${home}`);
            }
        }
        this.homes.set(partition, { home, death });
        this.settle(written);
    }

    deathOf(node, written) {
        const { ended } = this.nodes.get(node) ?? {};
        if (ended === undefined || ended > written) return undefined;
        const alone = [...this.homes.values()].every((other) => other.home === node || this.lives(other.home));
        return { node, at: ended, alone };
    }

    /** Why a partition that came to `before.home` for a death may move on from there, though that lives. */
    hasOtherCause({ home: from, death }, to) {
        const nodes = [death.node, from, to].map((node) => this.nodes.get(node) ?? { joining: true });
        const [, source, target] = nodes;
        // The target has started, and gets its share now; or the group has not taken one of them yet.
        if (!(target.settled < death.at) || source.joining || target.joining) return true;
        // Another node has died meanwhile, or its partitions were not placed anew yet.
        if (!death.alone || [...this.endings.values()].some((at) => at > death.at)) return true;
        // The source had nothing else to give.
        if (this.partitionsOf(from).every((other) => this.homes.get(other).death)) return true;
        const since = death.at - this.bounds.regroupMs;
        return [undefined, ...nodes.map(({ name }) => name)].some((name) => this.wasDisturbed(name, since));
    }

    wasDisturbed(name, since) {
        const disturbed = this.disturbed.get(name);
        return disturbed !== undefined && (disturbed.open > 0 || disturbed.until > since);
    }

    // --- what the test did

    disturbing({ what, name, at }) {
        this.disturbances.begin(what, at);
        const disturbed = this.disturbed.get(name) ?? { open: 0, until: -Infinity };
        ++disturbed.open;
        this.disturbed.set(name, disturbed);
    }

    calm({ what, name, at }) {
        this.disturbances.end(what, at);
        const disturbed = this.disturbed.get(name);
        --disturbed.open;
        disturbed.until = at;
    }
}
