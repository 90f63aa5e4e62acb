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
// Records of `ownership`, in the order of the log:
//   joined       {node, name}                           a process of that name has started
//   placed       {partition, home}
// Acts of the test:
//   ended        {name}                                 the process of that name is dead
//   disturbing, calm {what}                             a process hangs or is cut off: no bound counts meanwhile
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
        this.nodes = new Map(); // name → the node of its newest process
        this.dead = new Set(); // nodes
        this.homes = new Map(); // partition → {home, moves: how often it has moved for the death `of`, causes}
        this.causes = 0; // events that may move partitions
        this.moved = 0; // moves for a death
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

    joined({ node, name }) {
        if (this.nodes.get(name) === node) return;
        this.nodes.set(name, node);
        ++this.causes;
    }

    ended({ name }) {
        if (!this.nodes.has(name)) return;
        this.dead.add(this.nodes.get(name));
        ++this.causes;
    }

    /** A death moves a partition once; after that only another event may move it from a home that lives. */
    placed(event) {
        const { partition, home } = event;
        const before = this.homes.get(partition);
        if (before?.home === home) return;
        const forDeath = before !== undefined && this.dead.has(before.home);
        if (forDeath) ++this.moved;
        if (!forDeath && before?.of && before.causes === this.causes) {
            this.fault(event, `partition ${partition} moved twice for the death of node ${before.of}: to ${before.home}, then to ${home}`);
        }
        this.homes.set(partition, { home, of: forDeath ? before.home : null, causes: this.causes });
    }

    // --- what the test did

    disturbing({ what, at }) {
        ++this.causes;
        this.disturbances.begin(what, at);
    }

    calm({ what, at }) {
        ++this.causes;
        this.disturbances.end(what, at);
    }
}
