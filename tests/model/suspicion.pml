/* Nodes that find each other dead, as a model for Spin (docs/decisions/0222).
 *
 * NODES nodes of one role, one partition, and the log topic `ownership`. Nodes die, and calls between nodes that live are
 * refused for a while, as by a firewall. Each node reads the log at its own pace, and judges by what it has read: so for a
 * while they disagree about who is gone and who is the controller, and two of them place the partition. The group has not
 * missed anybody yet: its first member is FIRST. An objection may come too late: a node may be taken for gone at any moment
 * from its suspicion on.
 *
 * Checked:
 *   one_move      the partition moves at most once for each death and for each wrong suspicion
 * and, once nobody has anything left to do:
 *   controlled    every living node knows the same controller, which lives
 *   served        every living node knows the same home of the partition, which lives
 *   gone          who is dead and was home or controller is gone for every living node; who lives is gone for nobody
 *
 * RULES that can be switched off, to see that the model finds the fault that each prevents:
 *   -DNO_INCARNATION  any record of a suspect that comes after the suspicion is an objection
 *   -DNO_OBJECTION    a suspect that lives says nothing, nor do its accusers take their suspicion back
 */
#define NODES 3
#define LENGTH 24
#define NOBODY 9
#ifndef KILLS
#define KILLS 1
#endif
#ifndef REFUSALS
#define REFUSALS 0
#endif
#ifndef REPORTS
#define REPORTS 1           /* records of nodes that have nothing to say of others */
#endif
#ifndef FIRST
#define FIRST 0             /* of the group */
#endif
#define WITNESSES 2

mtype = { none, node, claim, placement };

typedef Record {
    mtype kind;
    byte by;                /* who wrote it */
    byte incarnation;       /* of a node */
    byte suspects[NODES];   /* of a node: incarnation + 1 by suspect; 0: not suspected */
    byte epoch;             /* of a controller */
    byte home               /* of a placement */
}
Record log[LENGTH];
byte end = 0;

typedef Node {
    bit dead;
    byte position;          /* everything below is read */
    byte incarnation;
    byte suspects[NODES];
    bit refused[NODES];     /* calls to that node are refused though it lives */
    bit accused[NODES];     /* enough nodes have found that one dead, as far as this one has read */
    bit gone[NODES];        /* taken for gone: accused, and no objection has come in time */
    bit has_to_lead;
    bit dirty;              /* its record differs from what it last published */
    bit published;          /* until its record is read back */
    Record own;             /* its record on the way to the log, which a death does not call back */
    Record act;             /* its claim or placement on the way */
    bit acting;             /* until that is read back */
    bit acts_first          /* of both, the log takes that one first */
}
Node nodes[NODES];
byte kills = KILLS; byte refusals = REFUSALS; byte reports = REPORTS;
byte causes = 0;            /* deaths, and lives (incarnations) that were taken for gone, so far */
bit counted[NODES * 8];     /* by node and incarnation */
byte moves = 0;
byte home_now = 0; byte epoch_now = 1;      /* by the whole log */

/* What a node has read: filled by view(), and no part of the state. */
hidden byte incarnations[NODES]; hidden byte said[9];   /* by accuser * NODES + suspect */
hidden byte controller; hidden byte controller_epoch; hidden byte home;
hidden byte i; hidden byte j; hidden byte at; hidden byte accusers; hidden byte witnesses; hidden byte suspected; hidden byte leads;

inline view(n) {
    for (i : 0 .. NODES - 1) { incarnations[i] = 0; for (j : 0 .. NODES - 1) { said[i * NODES + j] = 0 } }
    controller = FIRST; controller_epoch = 1; home = 0; at = 0;
    do
    :: at < nodes[n].position ->
        if
        :: log[at].kind == node ->
            incarnations[log[at].by] = log[at].incarnation;
            for (j : 0 .. NODES - 1) {
                said[log[at].by * NODES + j] = log[at].suspects[j]
#ifdef NO_INCARNATION
                ; said[j * NODES + log[at].by] = 0
#endif
            }
        :: log[at].kind == claim && log[at].epoch > controller_epoch ->
            controller_epoch = log[at].epoch; controller = log[at].by
        :: log[at].kind == placement && log[at].epoch >= controller_epoch -> home = log[at].home
        :: else
        fi;
        at++
    :: else -> break
    od
}

/* A suspicion stands until its suspect has a higher incarnation. */
#ifdef NO_INCARNATION
#define STANDS(a, b) (said[(a) * NODES + (b)] > 0)
#else
#define STANDS(a, b) (said[(a) * NODES + (b)] > incarnations[b])
#endif
#define IS_SUSPECTED(b) (STANDS(0, b) || STANDS(1, b) || STANDS(2, b))

/* Whether enough nodes have found `b` dead. */
inline judge(b) {
    accusers = 0; witnesses = 0;
    for (j : 0 .. NODES - 1) {
        if
        :: j != b && STANDS(j, b) -> accusers++
        :: else
        fi;
        if
        :: j != b && !IS_SUSPECTED(j) -> witnesses++
        :: else
        fi
    }
    witnesses = (witnesses < 1 -> 1 : (witnesses > WITNESSES -> WITNESSES : witnesses));
    suspected = (accusers >= witnesses)
}

/* Whether the node is to be the controller (the group's first member; if the controller is gone, the first that is not),
 * and has something to do. */
inline look(n) {
    leads = (n == FIRST || controller == n ||
             (nodes[n].gone[controller] && (n < 1 || nodes[n].gone[0]) && (n < 2 || nodes[n].gone[1])));
    leads = leads && !nodes[n].gone[n];
    nodes[n].has_to_lead = leads && (controller != n || nodes[n].gone[home])
}

inline clear(r) {
    r.kind = none; r.by = 0; r.incarnation = 0; r.epoch = 0; r.home = 0;
    r.suspects[0] = 0; r.suspects[1] = 0; r.suspects[2] = 0
}

inline append(r) {
    assert(end < LENGTH);
    log[end].kind = r.kind; log[end].by = r.by; log[end].incarnation = r.incarnation; log[end].epoch = r.epoch; log[end].home = r.home;
    for (i : 0 .. NODES - 1) { log[end].suspects[i] = r.suspects[i] }
    if
    :: r.kind == claim && r.epoch > epoch_now -> epoch_now = r.epoch
    :: r.kind == placement && r.epoch >= epoch_now && r.home != home_now ->
        home_now = r.home; moves++;
        assert(moves <= causes)                                                     /* one_move */
    :: else
    fi;
    end++;
    clear(r)
}

/* Reads a record, answers suspicions of itself, and takes back its own where the suspect has answered. */
inline read(n) {
    if
    :: log[nodes[n].position].by == n && log[nodes[n].position].kind != node -> nodes[n].acting = 0
    :: log[nodes[n].position].by == n && log[nodes[n].position].kind == node -> nodes[n].published = 0
    :: else
    fi;
    nodes[n].position++;
    view(n);
    for (i : 0 .. NODES - 1) {
        judge(i);
        nodes[n].accused[i] = suspected;
        nodes[n].gone[i] = nodes[n].gone[i] && suspected;
        /* It is suspected again only after a while: when its calls are no longer refused, if it lives. */
        if
        :: nodes[n].suspects[i] > 0 && incarnations[i] >= nodes[n].suspects[i] ->
            nodes[n].suspects[i] = 0; nodes[n].refused[i] = 0; nodes[n].dirty = 1
        :: else
        fi
#ifndef NO_OBJECTION
        ;
        if
        :: i != n && said[i * NODES + n] > nodes[n].incarnation -> nodes[n].incarnation = said[i * NODES + n]; nodes[n].dirty = 1
        :: else
        fi
#endif
    }
    look(n)
}

inline find_dead(n, m) {
    view(n);
    nodes[n].suspects[m] = incarnations[m] + 1; nodes[n].dirty = 1
}

inline take_for_gone(n, m) {
    view(n);
    nodes[n].gone[m] = 1;
    look(n);
    if
    :: !nodes[m].dead && !counted[m * 8 + incarnations[m]] -> counted[m * 8 + incarnations[m]] = 1; causes++
    :: else
    fi
}

inline lead(n) {
    view(n); look(n);
    if
    :: nodes[n].has_to_lead ->
        nodes[n].act.by = n; nodes[n].acting = 1; nodes[n].acts_first = (nodes[n].own.kind == none);
        if
        :: controller != n -> nodes[n].act.kind = claim; nodes[n].act.epoch = controller_epoch + 1
        :: else ->
            nodes[n].act.kind = placement; nodes[n].act.epoch = controller_epoch;
            nodes[n].act.home = (!nodes[n].gone[1] -> 1 : (!nodes[n].gone[2] -> 2 : 0))
        fi
    :: else
    fi;
    nodes[n].has_to_lead = 0
}

inline die(n) {
    kills--; causes++;
    nodes[n].dead = 1;
    nodes[n].position = 0; nodes[n].incarnation = 0; nodes[n].dirty = 0; nodes[n].published = 0; nodes[n].acting = 0; nodes[n].has_to_lead = 0;
    for (i : 0 .. NODES - 1) {
        nodes[n].suspects[i] = 0; nodes[n].refused[i] = 0; nodes[n].accused[i] = 0; nodes[n].gone[i] = 0
    }
}

#define LIVES(n) (!nodes[n].dead)
#define MAY_FIND_DEAD(n, m) (LIVES(n) && n != m && nodes[n].suspects[m] == 0 && (nodes[m].dead || nodes[n].refused[m]))
#define MAY_TAKE_FOR_GONE(n, m) (LIVES(n) && nodes[n].accused[m] && !nodes[n].gone[m])

proctype Run(byte n) {
    do
    :: d_step { nodes[n].own.kind != none && (nodes[n].act.kind == none || !nodes[n].acts_first) ->
        append(nodes[n].own); nodes[n].acts_first = (nodes[n].act.kind != none) }
    :: d_step { nodes[n].act.kind != none && (nodes[n].own.kind == none || nodes[n].acts_first) ->
        append(nodes[n].act); nodes[n].acts_first = 0 }
    :: d_step { LIVES(n) && nodes[n].position < end -> read(n) }
    :: d_step { LIVES(n) && reports > 0 && !nodes[n].dirty -> reports--; nodes[n].dirty = 1 }
    :: d_step { LIVES(n) && nodes[n].dirty && !nodes[n].published ->
        nodes[n].own.kind = node; nodes[n].own.by = n; nodes[n].own.incarnation = nodes[n].incarnation;
        for (i : 0 .. NODES - 1) { nodes[n].own.suspects[i] = nodes[n].suspects[i] }
        nodes[n].dirty = 0; nodes[n].published = 1 }
    /* What it has to say of itself goes first. */
    :: d_step { LIVES(n) && nodes[n].has_to_lead && !nodes[n].acting && (!nodes[n].dirty || nodes[n].published) -> lead(n) }
    :: d_step { MAY_FIND_DEAD(n, 0) -> find_dead(n, 0) }
    :: d_step { MAY_FIND_DEAD(n, 1) -> find_dead(n, 1) }
    :: d_step { MAY_FIND_DEAD(n, 2) -> find_dead(n, 2) }
    :: d_step { MAY_TAKE_FOR_GONE(n, 0) -> take_for_gone(n, 0) }
    :: d_step { MAY_TAKE_FOR_GONE(n, 1) -> take_for_gone(n, 1) }
    :: d_step { MAY_TAKE_FOR_GONE(n, 2) -> take_for_gone(n, 2) }

    :: d_step { LIVES(n) && kills > 0 -> die(n); skip }
    /* The same, and what was on its way is lost. */
    :: d_step { LIVES(n) && kills > 0 && (nodes[n].own.kind != none || nodes[n].act.kind != none) ->
        die(n); clear(nodes[n].own); clear(nodes[n].act) }
    od
}

/* Calls of `n` to `m`, which lives, are refused, until a link between them is there again. */
proctype Refuse(byte n; byte m) {
    do
    :: d_step { refusals > 0 && LIVES(n) && LIVES(m) && !nodes[n].refused[m] -> refusals--; nodes[n].refused[m] = 1 }
    :: d_step { nodes[n].refused[m] ->
        nodes[n].refused[m] = 0;
#ifndef NO_OBJECTION
        if
        :: nodes[n].suspects[m] > 0 && LIVES(m) -> nodes[n].suspects[m] = 0; nodes[n].dirty = 1
        :: else
        fi
#endif
      }
    od
}

/* Nobody can do anything any more. */
proctype Judge() {
    byte n; byte m;
    timeout ->
    atomic {
        for (n : 0 .. NODES - 1) {
            if
            :: LIVES(n) ->
                view(n);
                assert(LIVES(controller));                                          /* controlled */
                assert(LIVES(home) && home == home_now);                            /* served */
                for (m : 0 .. NODES - 1) { assert(nodes[n].gone[m] == nodes[m].dead) }  /* gone */
            :: else
            fi
        }
    }
}

init {
    atomic {
        nodes[0].own.kind = none; nodes[1].own.kind = none; nodes[2].own.kind = none;
        nodes[0].act.kind = none; nodes[1].act.kind = none; nodes[2].act.kind = none;
        run Run(0); run Run(1); run Run(2);
#if REFUSALS > 0
        run Refuse(0, 1); run Refuse(0, 2); run Refuse(1, 0); run Refuse(1, 2); run Refuse(2, 0); run Refuse(2, 1);
#endif
        run Judge()
    }
}
