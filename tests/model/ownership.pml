/* The ownership of a partition, as a model for Spin (docs/design.md, "Leases" and "Late writes").
 *
 * One partition, one client with one registration, NODES nodes that may take the partition, pause at
 * any step, crash at any step and lose records on their way, or append them late. A node may claim the partition at any
 * step, whoever serves it: as after a wrong suspicion, and with two controllers. The log is
 * compacted at any step. What is modelled are the rules, not the code: leases, read barriers, records with
 * (epoch, seq), and the home that publishes the stored value again.
 *
 * Checked:
 *   one_home        an epoch has at most one home
 *   no_false_answer a node never answers "unknown" for a registration that was answered 200
 *   nothing_lost    a restore from the compacted log gives what the client was answered, once all is quiet
 *
 * RULES that can be switched off, to see that the model finds the fault that each prevents:
 *   -DNO_BARRIER        an unknown client is answered without a read barrier
 *   -DNO_STAMP       folds take records in the order of the log, whatever their epoch
 *   -DNO_REPAIR       a home does not publish the stored value again after a late write
 *   -DNO_WAIT        a home publishes the stored value while a change is under way
 *   -DNO_READ_BACK   a register is answered at its delivery report, not when it is read back
 */

#ifndef LENGTH
#define LENGTH 8
#endif
#define NODES 2
#define CRASHES 1
#define NOBODY 255
#ifdef NO_WAIT
#define MAY_WRITE_OVER(n) true
#else
#define MAY_WRITE_OVER(n) !nodes[n].changing
#endif
#ifdef NO_REPAIR
#define HAS_REPAIR_DUE(n) false
#else
#define HAS_REPAIR_DUE(n) nodes[n].stale_write
#endif
#ifdef NO_STAMP
#define COUNTS(n, r) true
#else
#define COUNTS(n, r) (r.epoch > nodes[n].known_epoch || (r.epoch == nodes[n].known_epoch && r.seq >= nodes[n].known_seq))
#endif
#ifdef NO_READ_BACK
#define IS_DONE(n) nodes[n].reported > 0
#else
#define IS_DONE(n) (nodes[n].reported > 0 && nodes[n].position >= nodes[n].reported)
#endif

mtype = { none, lease, value, barrier }

/* A record; `live` is false once compaction has removed it. */
typedef Record {
    mtype kind;
    byte node;          /* of a lease */
    byte epoch;
    byte seq;
    bit registered;
    bit live
}
Record log[LENGTH];
byte end = 0; byte crashes = 0;

typedef Node {
    byte position;      /* everything below is folded */
    byte highest;       /* epoch of a lease that was read */
    byte epoch;         /* of the own claim; 0: none */
    bit serving;
    byte seq;
    /* the fold of the client's record */
    byte known_epoch;
    byte known_seq;
    bit registered;
    bit stale_write;      /* a record that lost stands behind the one that counts */
    /* one record on its way to the log, which a crash does not call back */
    Record pending;
    /* the client's request */
    bit changing;       /* a register or unregister without an answer */
    bit wanted;         /* what it asks for */
    byte reported;      /* offset + 1 of its record; 0: not reported */
    bit asked;          /* "do you know me?" without an answer */
    byte barrier_at        /* offset + 1 of the read barrier of that query; 0: not reported */
}
Node nodes[NODES];

byte home_of[LENGTH];   /* by epoch: who has served in it */

/* The last answer to the client: 200 for a register or for an unregister; or that an answer is
 * outstanding, and then either is right. */
bit answered_registered = 0; bit uncertain = 0;

inline publish(n, what, its_epoch, its_seq, yes) {
    nodes[n].pending.kind = what; nodes[n].pending.epoch = its_epoch;
    nodes[n].pending.seq = its_seq; nodes[n].pending.registered = yes
}

/* The log takes the record that is on its way. */
inline append(n) {
    log[end].kind = nodes[n].pending.kind; log[end].node = (nodes[n].pending.kind == lease -> n : 0);
    log[end].epoch = nodes[n].pending.epoch; log[end].seq = nodes[n].pending.seq;
    log[end].registered = nodes[n].pending.registered; log[end].live = 1;
    end++;
    forget_pending(n);
    if
    :: log[end - 1].kind == barrier && nodes[n].asked && nodes[n].barrier_at == 0 -> nodes[n].barrier_at = end
    :: log[end - 1].kind == value && nodes[n].changing && nodes[n].reported == 0 -> nodes[n].reported = end
    :: else
    fi
}

inline forget_change(n) { nodes[n].changing = 0; nodes[n].wanted = 0; nodes[n].reported = 0 }

inline forget_query(n) { nodes[n].asked = 0; nodes[n].barrier_at = 0 }

inline forget_pending(n) {
    nodes[n].pending.kind = none; nodes[n].pending.epoch = 0; nodes[n].pending.seq = 0; nodes[n].pending.registered = 0
}

inline stop_serving(n) {
    nodes[n].serving = 0; nodes[n].epoch = 0; nodes[n].seq = 0;
    forget_change(n);           /* the client is asked to try again */
    forget_query(n)
}

/* Folds the record at the node's position. */
inline fold(n, at) {
    if
    :: !log[at].live || log[at].kind == barrier -> skip
    :: log[at].live && log[at].kind == lease ->
        if
        :: log[at].epoch > nodes[n].highest ->
            /* The first of an epoch wins. */
            nodes[n].highest = log[at].epoch;
            if
            :: log[at].node == n && log[at].epoch == nodes[n].epoch ->
                nodes[n].serving = 1; nodes[n].seq = 0;
                assert(home_of[log[at].epoch] == NOBODY || home_of[log[at].epoch] == n);    /* one_home */
                home_of[log[at].epoch] = n
            :: else -> stop_serving(n)
            fi
        :: else ->
            if
            :: log[at].node == n && log[at].epoch == nodes[n].epoch && !nodes[n].serving -> nodes[n].epoch = 0
            :: else                         /* the claim was lost */
            fi
        fi
    :: log[at].live && log[at].kind == value ->
        if
        :: COUNTS(n, log[at]) ->
            nodes[n].known_epoch = log[at].epoch; nodes[n].known_seq = log[at].seq;
            nodes[n].registered = log[at].registered; nodes[n].stale_write = 0
        :: else -> nodes[n].stale_write = 1       /* compaction would keep this one */
        fi
    fi
}

/* The client has one connection: an answer that it waits for elsewhere does not reach it. */
inline ask_here() {
    for (other : 0 .. NODES - 1) { forget_change(other); forget_query(other) }
}

/* The client gets the answer that it asked for. */
inline answer_change(n) {
    answered_registered = nodes[n].wanted; uncertain = 0;
    forget_change(n)
}

proctype Run(byte n) {
    byte other;
    do
    /* A claim follows a caught-up fold; the controller may place the partition anywhere, any time. */
    :: atomic { nodes[n].epoch == 0 && nodes[n].pending.kind == none && nodes[n].position == end &&
                end < LENGTH - 3 ->
        nodes[n].epoch = nodes[n].highest + 1;
        publish(n, lease, nodes[n].epoch, 0, 0) }

    :: atomic { nodes[n].pending.kind != none && end < LENGTH -> append(n) }

    /* One record; a node that has a record of its own under way may fold meanwhile, but what a fold
     * publishes needs the place, so it waits for it. */
    :: atomic { nodes[n].position < end && nodes[n].pending.kind == none ->
        fold(n, nodes[n].position);
        nodes[n].position++ }

    /* The client registers or unregisters at a node that believes that it serves. */
    :: atomic { nodes[n].serving && !nodes[n].changing && nodes[n].pending.kind == none &&
                end < LENGTH - 2 ->
        ask_here(); nodes[n].changing = 1; uncertain = 1;
        if
        :: nodes[n].wanted = 1
        :: nodes[n].wanted = 0
        fi;
        nodes[n].seq++;
        publish(n, value, nodes[n].epoch, nodes[n].seq, nodes[n].wanted) }

    :: atomic { nodes[n].serving && nodes[n].changing && IS_DONE(n) -> answer_change(n) }

    /* A late write of a former home stands last in the log: the home writes the stored value again,
     * also if it read the late write before it served. */
    :: atomic { nodes[n].serving && HAS_REPAIR_DUE(n) && nodes[n].pending.kind == none &&
                end < LENGTH - 1 && MAY_WRITE_OVER(n) ->
        nodes[n].stale_write = 0; nodes[n].seq++;
        publish(n, value, nodes[n].epoch, nodes[n].seq, nodes[n].registered) }

    /* The client says hello with its id. */
    :: atomic { nodes[n].serving && !nodes[n].asked && !nodes[n].registered &&
                nodes[n].pending.kind == none && end < LENGTH - 2 ->
#ifdef NO_BARRIER
        assert(uncertain || !answered_registered)   /* no_false_answer */
#else
        ask_here(); nodes[n].asked = 1;
        publish(n, barrier, 0, 0, 0)
#endif
      }
    :: atomic { nodes[n].serving && nodes[n].asked && nodes[n].barrier_at > 0 &&
                nodes[n].position >= nodes[n].barrier_at ->
        assert(nodes[n].registered || uncertain || !answered_registered);   /* no_false_answer */
        forget_query(n) }

    /* A crash: the store is lost too; what was on its way may be lost or arrive later. */
    :: atomic { nodes[n].position > 0 && crashes < CRASHES ->
        stop_serving(n);
        nodes[n].position = 0; nodes[n].highest = 0; nodes[n].known_epoch = 0; nodes[n].known_seq = 0;
        nodes[n].registered = 0; nodes[n].stale_write = 0;
        crashes++;
        if
        :: forget_pending(n)
        :: skip
        fi }
    od
}

/* Keeps the last record of the client's key. Nothing younger than the compaction lag is touched, and
 * that is far longer than a home needs to take over, to read, and to write the stored value again. */
proctype Compact() {
    byte at; byte i; byte read;
    do
    :: atomic {
        read = 0;
        for (i : 0 .. NODES - 1) {
            if
            :: nodes[i].serving && nodes[i].epoch == nodes[i].highest && !HAS_REPAIR_DUE(i) &&
               nodes[i].pending.kind == none && nodes[i].position == end -> read = end
            :: else
            fi
        }
        at = 0;
        do
        :: at < read ->
            if
            :: log[at].kind == value ->
                byte later = at + 1;
                do
                :: later < read && log[later].kind == value -> log[at].live = 0;
                   log[at].epoch = 0; log[at].seq = 0; log[at].registered = 0; break
                :: later < read && log[later].kind != value -> later++
                :: else -> break
                od
            :: else
            fi;
            at++
        :: else -> break
        od }
    od
}

/* Once nothing is under way and a home has read all, a restore says what the client was answered. */
proctype Judge() {
    byte n; byte at; byte epoch; byte seq; bit registered; bit quiet;
    do
    :: atomic {
        quiet = 0;
        for (n : 0 .. NODES - 1) {
            quiet = quiet || (nodes[n].serving && nodes[n].position == end && nodes[n].epoch == nodes[n].highest)
        }
        for (n : 0 .. NODES - 1) { quiet = quiet && nodes[n].pending.kind == none }
        if
        :: quiet && !uncertain ->
            epoch = 0; seq = 0; registered = 0;
            for (at : 0 .. LENGTH - 1) {
                if
                :: at < end && log[at].live && log[at].kind == value &&
                   (log[at].epoch > epoch || (log[at].epoch == epoch && log[at].seq >= seq)) ->
                    epoch = log[at].epoch; seq = log[at].seq; registered = log[at].registered
                :: else
                fi
            }
            assert(registered == answered_registered)       /* nothing_lost */
        :: else
        fi }
    od
}

init {
    byte i;
    atomic {
        for (i : 0 .. LENGTH - 1) { home_of[i] = NOBODY; log[i].kind = none }
        for (i : 0 .. NODES - 1) { nodes[i].pending.kind = none; run Run(i) }
        run Compact(); run Judge()
    }
}
