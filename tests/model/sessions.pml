/* A client and its message while the partition moves, as a model for Spin (docs/design.md, "Placement",
 * "Sessions survive their home", "Read barriers").
 *
 * One partition with a controller and NODES nodes that fold it, as home or standby; one client with one
 * registration, whose first connection may be half-open when it opens another; the fronts of both; an endpoint, and
 * one message. Each of them pauses at any step. Nodes crash, the partition moves, links break, controllers change, a living
 * home is taken for gone, the client is removed, its message is deleted or expires. Leases, late writes and compaction are in ownership.pml: here
 * both log topics are one, a read barrier is the log's end when it was written, and records of clients count in log order.
 *
 * Checked:
 *   delivered        a 201 with TTL left, of a client that is there, is delivered once all is quiet
 *   not_again        nothing comes after its tombstone (ack, DELETE) or its expiry stood in the log when the home took
 *                    the partition that the client is attached to
 *   no_false_denial  neither 410 nor "I do not know you" for a registration that was answered 200
 *   not_forgotten    a registration answered 200 stands, or the client was notified that it was removed
 *   answered         a register is answered, whatever happens to the home that it was sent to
 *   not_pushed_out   an older connection does not close the client's own
 *   warm             a partition leaves a living home only for a node that has said that it is ready
 *   served           the node where the partition is placed serves it in the end
 *
 * RULES that can be switched off: see the macros below, and run.sh.
 */
#ifndef SUSPICIONS
#define SUSPICIONS 0
#endif
#define NODES 2
#define NOBODY 9
#define LENGTH 14
#define CAPACITY 3
#define QUEUE(n, c) ((n) * 2 + (c))
#define HAS_CAPACITY(n) (len(to_front[QUEUE(n, 0)]) < CAPACITY - 1 && len(to_front[QUEUE(n, 1)]) < CAPACITY - 1)

mtype = { none, lease, registration, removal, put, tombstone };              /* records */
mtype = { attach, detach, ask, ack };                                        /* front to home */
mtype = { attached, answer, message, replaced, removed, released };          /* home to front */

typedef Record {
    mtype kind;
    byte node;          /* who wrote it */
    byte epoch;         /* of a lease */
    bit late            /* its append time is past the message's expiry */
}
Record log[LENGTH];
byte end = 0;

typedef Node {
    bit dead;
    bit home;           /* by the placement as it has read it; else standby */
    bit ready;          /* it has said so */
    byte position;      /* everything below is folded */
    byte highest;       /* epoch of a lease that was read */
    byte epoch;         /* of the own claim; 0: none */
    bit serving;
    bit registered;     /* the fold of the client */
    bit waits;          /* the message is pending */
    bit finished;
    bit over;           /* log time is past the message's expiry */
    mtype writes;       /* one record on its way to the log, which a crash does not call back */
    byte writes_epoch;
    byte who;           /* the connection of the session */
    byte session;
    byte stamp;
    byte hellos;
    bit asked;          /* a register that is not read back */
    bit sent;           /* the message, on this session */
    bit acked;
    byte barrier[2]        /* of a client that is not known, by connection: offset + 1 */
}
Node nodes[NODES];
byte leased_at[8];      /* by epoch: the offset of its lease, and whether that was late */
bit leased_late[8];

chan to_home[4] = [CAPACITY] of { mtype, byte, byte, bit };          /* session, stamp, persisted */
chan to_front[4] = [CAPACITY] of { mtype, byte, byte, byte, bit };   /* session, epoch, stamp, persisted */

/* The controller. */
byte placed = 0;
byte decided = NOBODY;  /* a placement on its way to `ownership` */
byte outdated = NOBODY; /* one of a former controller */
bit reads_old = 0;
bit taken_for_gone[NODES];

/* The client, by connection, as its front has it. */
bit open[2];
byte route[2];          /* the placement as it has read it */
byte at[2];             /* where it is attached; NOBODY: nowhere */
byte session[2];
byte stamp[2];          /* 0: the hello has no answer */
byte received[2];          /* the epoch that answered in this session; 0: none */
bit persisted[2];
bit repeated[2];        /* the register went out in this session */
byte live = 0;          /* the connection at whose other end the client is */
bit reported = 0;           /* its registration was answered 200 */
bit received_removed = 0;
bit delivered = 0;

bit accepted = 0;       /* 201 */
bit is_removed = 0;     /* what stands in the log */
bit over = 0;
byte finished_at = 0;   /* offset + 1 of the first tombstone */

/* What happens in this run: chosen once. */
byte moves; byte crashes; byte breaks; byte successions; byte suspicions; bit reconnects; bit removes; bit deletes; bit expires; bit nothing;

inline append(what, n, its_epoch) {
    assert(end < LENGTH);
    log[end].kind = what;
    log[end].node = n;
    log[end].epoch = its_epoch;
    log[end].late = over;
    if
    :: what == tombstone && finished_at == 0 -> finished_at = end + 1
    :: what == removal -> is_removed = 1
    :: else
    fi;
    end++
}


/* --- home */

inline send_frame(n, what, to) { to_front[QUEUE(n, to)]!what(nodes[n].session, nodes[n].epoch, nodes[n].stamp, nodes[n].registered) }

inline forget_session(n) {
    nodes[n].who = NOBODY; nodes[n].session = 0; nodes[n].stamp = 0; nodes[n].asked = 0; nodes[n].sent = 0
}

inline end_session(n, why) {
    if
    :: nodes[n].who != NOBODY -> send_frame(n, why, nodes[n].who); forget_session(n)
    :: else
    fi
}

inline stop_serving(n) {
    end_session(n, released);
    nodes[n].serving = 0; nodes[n].epoch = 0; nodes[n].hellos = 0; nodes[n].acked = 0; nodes[n].home = 0;
    nodes[n].barrier[0] = 0; nodes[n].barrier[1] = 0
}

/* Folds the record at the node's position. */
inline fold(n, r) {
    nodes[n].over = nodes[n].over || r.late;
    if
    :: r.kind == lease && r.epoch > nodes[n].highest ->      /* the first of an epoch wins */
        nodes[n].highest = r.epoch;
        if
        :: r.node == n && r.epoch == nodes[n].epoch ->
            nodes[n].serving = 1;
            leased_at[r.epoch] = nodes[n].position + 1;
            leased_late[r.epoch] = r.late
        :: else -> stop_serving(n)
        fi
    :: r.kind == lease && r.epoch <= nodes[n].highest ->
        if
        :: r.node == n && !nodes[n].serving && r.epoch == nodes[n].epoch -> nodes[n].epoch = 0
        :: else
        fi
    :: r.kind == registration ->
        nodes[n].registered = 1;
        if
        :: nodes[n].asked && r.node == n -> send_frame(n, answer, nodes[n].who); nodes[n].asked = 0
        :: else
        fi
    :: r.kind == removal -> nodes[n].registered = 0; end_session(n, removed)
    :: r.kind == put -> nodes[n].waits = !nodes[n].finished
    :: r.kind == tombstone -> nodes[n].finished = 1; nodes[n].waits = 0; nodes[n].acked = 0
    fi;
    nodes[n].position++
}

/* The client shall be attached here. */
inline take_in(n, c, its_session, its_stamp, was_persisted) {
    if
#ifndef ADOPTS_ALL
    :: was_persisted && !nodes[n].registered ->
        assert(is_removed);                                 /* no_false_denial */
        to_front[QUEUE(n, c)]!removed(its_session, nodes[n].epoch, 0, 0)
#endif
#ifndef NO_STAMP
    :: (!was_persisted || nodes[n].registered) && nodes[n].who != NOBODY && its_stamp != 0 && its_stamp < nodes[n].stamp ->
        to_front[QUEUE(n, c)]!replaced(its_session, nodes[n].epoch, 0, 0)
#endif
    :: else ->
        end_session(n, replaced);                           /* the later hello wins */
        nodes[n].who = c;
        nodes[n].session = its_session;
        if
        :: its_stamp == 0 -> nodes[n].hellos++; nodes[n].stamp = nodes[n].epoch * 4 + nodes[n].hellos
        :: else -> nodes[n].stamp = its_stamp
        fi;
        send_frame(n, attached, c)
    fi;
    nodes[n].barrier[c] = 0
}

#define IS_HERE(n, c, s) (nodes[n].who == c && nodes[n].session == s)
#define IS_UNKNOWN(n, c) (nodes[n].serving && !nodes[n].registered && to_home[QUEUE(n, c)]?[attach, _, _, 1])
#ifdef NO_HELLO_BARRIER
#define MUST_WAIT(n, c) false
#else
#define MUST_WAIT(n, c) (IS_UNKNOWN(n, c) && (nodes[n].barrier[c] == 0 || nodes[n].position + 1 < nodes[n].barrier[c]))
#endif
/* A home that does not serve yet lets clients wait. */
#define LISTENS(n, c) (nodes[n].writes == none && HAS_CAPACITY(n) && nempty(to_home[QUEUE(n, c)]) && \
                       (nodes[n].serving || !nodes[n].home) && !MUST_WAIT(n, c))

inline listen(n, c) {
    to_home[QUEUE(n, c)]?kind, its_session, its_stamp, was_persisted;
    if
    :: kind == attach && nodes[n].serving -> take_in(n, c, its_session, its_stamp, was_persisted)
    :: kind == attach && !nodes[n].serving -> to_front[QUEUE(n, c)]!released(its_session, 0, 0, 0)
    :: kind == detach && IS_HERE(n, c, its_session) -> forget_session(n)
    :: kind == ask && IS_HERE(n, c, its_session) -> nodes[n].asked = 1; nodes[n].writes = registration
    :: kind == ack && IS_HERE(n, c, its_session) -> nodes[n].acked = nodes[n].waits
    :: else
    fi;
    kind = none; its_session = 0; its_stamp = 0; was_persisted = 0
}

inline lose_link(n, c) {
    do
    :: len(to_home[QUEUE(n, c)]) > 0 -> to_home[QUEUE(n, c)]?_, _, _, _
    :: len(to_front[QUEUE(n, c)]) > 0 -> to_front[QUEUE(n, c)]?_, _, _, _, _
    :: len(to_home[QUEUE(n, c)]) == 0 && len(to_front[QUEUE(n, c)]) == 0 -> break
    od;
    if
    :: nodes[n].who == c -> forget_session(n)
    :: else
    fi;
    nodes[n].barrier[c] = 0;
    if
    :: at[c] == n -> leave_home(c)
    :: else
    fi
}

/* Frames of the former home belong to the former session. */
inline leave_home(c) {
    at[c] = NOBODY; session[c]++; received[c] = 0;
#ifndef NO_REPEAT
    repeated[c] = 0
#endif
}

#define CAUGHT_UP(n) (nodes[n].writes == none && nodes[n].position == end)
#define FOLLOWS(n) (!nodes[n].dead && nodes[n].writes == none && nodes[n].epoch == 0)
#ifdef NO_LOG_TIME
#define IS_OVER(n) false
#else
#define IS_OVER(n) nodes[n].over
#endif

inline catch_up(n) {
    do
    :: nodes[n].position < end -> fold(n, log[nodes[n].position])
    :: else -> break
    od
}

proctype Run(byte n) {
    mtype kind = none; byte its_session; byte its_stamp; bit was_persisted;
    do
    :: atomic { !nodes[n].dead && nodes[n].home != (placed == n) && !(nodes[n].home && nodes[n].serving) ->
        nodes[n].home = (placed == n) }
    /* The reads of a standby, and their time, show in nothing else. */
    :: atomic { FOLLOWS(n) && !nodes[n].ready -> catch_up(n); nodes[n].ready = 1 }
    :: atomic { FOLLOWS(n) && nodes[n].home && HAS_CAPACITY(n) ->
        catch_up(n);
        nodes[n].epoch = nodes[n].highest + 1; nodes[n].writes_epoch = nodes[n].epoch; nodes[n].writes = lease }
    :: atomic { nodes[n].writes != none ->
        append(nodes[n].writes, n, nodes[n].writes_epoch); nodes[n].writes = none; nodes[n].writes_epoch = 0 }
    :: atomic { nodes[n].epoch != 0 && nodes[n].position < end && HAS_CAPACITY(n) -> fold(n, log[nodes[n].position]) }
    :: atomic { IS_UNKNOWN(n, 0) && nodes[n].barrier[0] == 0 -> nodes[n].barrier[0] = end + 1 }
    :: atomic { IS_UNKNOWN(n, 1) && nodes[n].barrier[1] == 0 -> nodes[n].barrier[1] = end + 1 }
    :: atomic { !nodes[n].dead && LISTENS(n, 0) -> listen(n, 0) }
    :: atomic { !nodes[n].dead && LISTENS(n, 1) -> listen(n, 1) }
    :: atomic { nodes[n].serving && nodes[n].who != NOBODY && nodes[n].waits && !nodes[n].sent && !nodes[n].acked &&
                !IS_OVER(n) && HAS_CAPACITY(n) -> send_frame(n, message, nodes[n].who); nodes[n].sent = 1 }
    :: atomic { nodes[n].serving && CAUGHT_UP(n) && nodes[n].waits && (nodes[n].acked || IS_OVER(n)) ->
        nodes[n].writes = tombstone }
    :: atomic { removes && nodes[n].serving && CAUGHT_UP(n) && nodes[n].registered ->
        removes = 0; nodes[n].writes = removal }
    /* Its store is lost too; its process starts again. */
    :: atomic { crashes > 0 && !nodes[n].dead ->
        crashes--;
        lose_link(n, 0); lose_link(n, 1); forget_session(n);
        nodes[n].dead = 1; nodes[n].ready = 0; nodes[n].home = 0; nodes[n].position = 0; nodes[n].highest = 0;
        nodes[n].epoch = 0; nodes[n].serving = 0; nodes[n].registered = 0; nodes[n].waits = 0; nodes[n].finished = 0;
        nodes[n].over = 0; nodes[n].hellos = 0; nodes[n].acked = 0;
        if
        :: nodes[n].writes = none; nodes[n].writes_epoch = 0
        :: skip
        fi }
    :: atomic { nodes[n].dead && nodes[n].writes == none -> nodes[n].dead = 0 }
    od
}

/* --- controller */

inline place(at_node) {
    assert(at_node == placed || nodes[placed].dead || taken_for_gone[placed] || nodes[at_node].ready);     /* warm */
    placed = at_node
}

#ifdef NO_READY
#define IS_READY(n) true
#else
#define IS_READY(n) nodes[n].ready
#endif

proctype Controller() {
    do
    :: atomic { decided == NOBODY && nodes[placed].dead && !nodes[1 - placed].dead -> decided = 1 - placed }
    /* Its peers have found a living home dead, and it did not object in time: it is treated as if it were, though it serves
     * on and its links stand. It objects later. */
    :: atomic { decided == NOBODY && suspicions > 0 && !nodes[placed].dead && !nodes[1 - placed].dead ->
        suspicions--; taken_for_gone[placed] = 1; decided = 1 - placed }
    :: atomic { taken_for_gone[0] && decided == NOBODY -> taken_for_gone[0] = 0 }
    :: atomic { taken_for_gone[1] && decided == NOBODY -> taken_for_gone[1] = 0 }
    :: atomic { decided == NOBODY && moves > 0 && !nodes[placed].dead && !nodes[1 - placed].dead &&
                IS_READY(1 - placed) -> moves--; decided = 1 - placed }
    /* The controller sees changes since its decision before it writes. */
    :: atomic { decided != NOBODY ->
        if
        :: nodes[placed].dead || taken_for_gone[placed] || IS_READY(decided) -> place(decided)
        :: else
        fi;
        decided = NOBODY }
    :: atomic { successions > 0 && decided != NOBODY -> successions--; outdated = decided; decided = NOBODY }
    /* It has a lower controller epoch: every node ignores it. */
    :: atomic { outdated != NOBODY ->
#ifdef NO_CONTROL_EPOCH
        place(outdated);
#endif
        outdated = NOBODY }
    od
}

/* --- front and client */

inline receive(n, c) {
    to_front[QUEUE(n, c)]?kind, its_session, its_epoch, its_stamp, is_known;
    if
#ifndef NO_SESSION
    :: its_session != session[c] -> skip
    :: its_session == session[c] && kind == attached ->
#else
    :: kind == attached ->
#endif
        received[c] = its_epoch; stamp[c] = its_stamp; persisted[c] = persisted[c] || is_known
    :: else -> 
        if
        :: kind == answer && c == live -> reported = 1; persisted[c] = 1
        :: kind == message && c == live && at[c] != NOBODY ->
            assert(finished_at == 0 || received[c] == 0 || leased_at[received[c]] < finished_at);     /* not_again */
            assert(received[c] == 0 || !leased_late[received[c]]);                                     /* not_again */
            delivered = 1;
            to_home[QUEUE(at[c], c)]!ack(session[c], 0, 0)
        :: kind == released -> leave_home(c)
        :: kind == removed -> open[c] = 0; received_removed = received_removed || c == live
        :: kind == replaced && c != live -> open[c] = 0
        :: kind == replaced && c == live ->
            /* Its hello was answered by a home that had lost the partition already: it connects again. */
            assert(stamp[c] / 4 < stamp[1 - c] / 4);                                             /* not_pushed_out */
            leave_home(c); stamp[c] = 0
        :: else
        fi
    fi;
    kind = none; its_session = 0; its_epoch = 0; its_stamp = 0; is_known = 0
}

#define FREE(n, c) nfull(to_home[QUEUE(n, c)])
#define TALKS(n, c) (nempty(to_front[QUEUE(n, c)]) && (at[c] == NOBODY || FREE(at[c], c)))

proctype Front(byte c) {
    mtype kind = none; byte its_session; byte its_epoch; byte its_stamp; bit is_known;
    do
    :: atomic { open[c] && route[c] != placed -> route[c] = placed }
    :: atomic { open[c] && at[c] == NOBODY && nodes[route[c]].home && FREE(route[c], c) ->
        at[c] = route[c];
        to_home[QUEUE(at[c], c)]!attach(session[c], stamp[c], persisted[c]) }
    /* Its home has said nothing for a while, and the partition is placed elsewhere. */
    :: atomic { open[c] && at[c] != NOBODY && at[c] != route[c] && FREE(at[c], c) ->
        to_home[QUEUE(at[c], c)]!detach(session[c], 0, 0);
        leave_home(c) }
    :: atomic { TALKS(0, c) -> receive(0, c) }
    :: atomic { TALKS(1, c) -> receive(1, c) }
    :: atomic { open[c] && c == live && received[c] != 0 && at[c] != NOBODY && !reported && !repeated[c] && FREE(at[c], c) ->
        repeated[c] = 1;
        to_home[QUEUE(at[c], c)]!ask(session[c], 0, 0) }
    :: atomic { breaks > 0 && open[c] && at[c] != NOBODY -> breaks--; lose_link(at[c], c) }
    :: atomic { c == 1 && reconnects && stamp[0] != 0 && open[0] ->
        reconnects = 0; open[1] = 1; live = 1; persisted[1] = reported; route[1] = route[0] }
    od
}

/* --- endpoint */

/* Whether the client is registered by what stands below an offset. */
inline look_up(below) {
    known = 0;
    for (offset : 0 .. below - 1) {
        known = (log[offset].kind == registration || (known && log[offset].kind != removal))
    }
}

proctype Endpoint() {
    byte offset; byte seen; bit known = 0; bit done = 0;
    do
    /* Its view may be any older state; before 410 a read barrier shows it all. */
    :: atomic { reported && !done ->
        select(seen : 1 .. end);
        look_up(seen);
#ifndef NO_410_BARRIER
        if
        :: !known -> look_up(end)
        :: else
        fi;
#endif
        if
        :: known -> append(put, NOBODY, 0); accepted = 1
        :: else -> assert(is_removed)                       /* no_false_denial */
        fi;
        done = 1; known = 0; offset = 0; seen = 0 }
    :: atomic { accepted && deletes -> deletes = 0; append(tombstone, NOBODY, 0) }
    :: atomic { accepted && expires -> expires = 0; over = 1 }
    od
}

/* Nobody can do anything any more. */
proctype Judge() {
    timeout ->
    assert(nodes[placed].serving);                                                       /* served */
    assert(received_removed || reported);                                                       /* answered */
    assert(received_removed || nodes[placed].registered);                                   /* not_forgotten */
    assert(!accepted || delivered || received_removed || is_removed || over || finished_at) /* delivered */
}

#ifdef FAULT             /* all of the faults in each run, and this */
inline perhaps(what, most) { what = most }
#else
inline perhaps(what, most) { select(choice : 0 .. most); what = choice }
#endif

init {
    byte choice;
    atomic {
        nodes[0].who = NOBODY; nodes[1].who = NOBODY; nodes[0].writes = none; nodes[1].writes = none;
        at[0] = NOBODY; at[1] = NOBODY; open[0] = 1;
        perhaps(moves, MOVES); perhaps(crashes, CRASHES); perhaps(breaks, BREAKS); perhaps(reconnects, RECONNECTS);
        perhaps(successions, SUCCESSIONS); perhaps(suspicions, SUSPICIONS);
#ifdef FAULT
        FAULT = 1;
#else
        if
        :: removes = 1
        :: deletes = 1
        :: expires = 1
        :: skip
        fi;
#endif
        run Run(0); run Run(1); run Controller(); run Front(0); run Front(1); run Endpoint(); run Judge()
    }
}
