// The JSON of /api/pages/<name>, as the console's C++ writes it; types only.

/**
 * @typedef {object} LagRow
 * @property {string} group
 * @property {boolean} own  of Beckon; the groups of others count for nothing
 * @property {string} topic
 * @property {number} partition
 * @property {string} status
 * @property {string} why
 * @property {string} owner
 * @property {number} position  the offset that the group reads next
 * @property {number} lag
 * @property {number} delay_seconds  how long the topic's records wait on purpose; 0: they do not
 * @property {number|null} lag_seconds
 * @property {number} read_rate
 * @property {number} append_rate
 * @property {number|null} drain_seconds
 * @property {'none'|'near'|'now'} loss
 * @property {number|null} left_seconds
 * @property {number[]} history  lags, the newest last; empty: nothing waited of late
 *
 * @typedef {{at: number, took_ms: number, problems: string[], rows: LagRow[]}} LagPage
 *
 * @typedef {{at: number[], groups: {group: string, topic: string, records: (number|null)[]}[]}} LagHour
 *
 * @typedef {{id: string, name: string, link: string, alive: boolean, links: string[], clients: number|null, homes: number, standbys: number, controller: boolean}} ClusterNode
 * @typedef {'unplaced'|'moving'|'restoring'|'serving'} PlacedState
 * @typedef {{partition: number, state: PlacedState, home: string, from: string, standbys: string[], ready: string[], epoch: number, lag: number|null, load: number|null, hot: boolean, moving: boolean}} Placed
 *   `lag`: of `beckon cluster --json` alone; `load`: records per second, null: its home does not report it; `hot`: several times that of the others
 * @typedef {{name: string, controller_epoch: number, nodes: ClusterNode[], partitions: Placed[]}} ClusterRole
 * @typedef {{complete: boolean, roles: ClusterRole[]}} ClusterPage
 *
 * @typedef {{waiting: number, due: number, overdue_seconds: number, next_due_seconds: number|null}} TierState
 * @typedef {TierState & {topic: string, delay_seconds: number, partitions: (TierState & {partition: number})[]}} Tier
 * @typedef {{tiers: Tier[], dead: number|null}} TiersPage  `dead`: dead letters; null: not known yet
 *
 * @typedef {{from: string, to: string, count: number, mean_ms: number, p50_ms: number, p99_ms: number}} FlowStep
 * @typedef {{counts: Record<string, number>, refused: {from: string, to: string, count: number}[], steps: FlowStep[], days: MilestoneDay[]}} MilestonesPage
 *
 * @typedef {{blocked: {kind: string, name: string, since: number, why: string}[], limits: {vapid: number, subscription: number}, busiest: {name: string, per_second: number}[]}} SendersPage
 *
 * @typedef {object} WebhookRow
 * @property {string} id
 * @property {string} owner
 * @property {string} origin
 * @property {string[]} types
 * @property {boolean} filtered
 * @property {boolean} ordered
 * @property {string} description
 * @property {number} created
 * @property {boolean} enabled
 * @property {string} reason
 * @property {number|null} failing_since
 * @property {number|null} enabled_at  when it was enabled again
 * @property {WebhookAttempts|null} attempts  null: no process has reported it
 *
 * @typedef {{count: number, delivered: number, at: string, outcome: string, status: number, why: string, answer: string}} WebhookAttempts
 * @typedef {{webhooks: WebhookRow[]}} WebhooksPage
 *
 * @typedef {{at: number, ms: number|null, why: string}} CanaryPush
 * @typedef {{edge: string, state: string, p50_ms: number|null, p99_ms: number|null, sent: number, failed: number, last_failure: string, pushes: CanaryPush[]}} CanaryEdge
 * @typedef {{every_seconds: number, untried: number, edges: CanaryEdge[]}} CanaryPage
 *
 * @typedef {{at: number, time: string, topic: string, partition: number, offset: number|null, what: string, why: string, message?: string, reason?: string}} Step
 * @typedef {{steps: Step[], verdict?: string, cut?: boolean}} Trace
 * @typedef {{kind: string, facts: {name: string, value: string}[], trace: Trace|null, problem: string, from: number, until: number, connection?: Connection, refused?: Refused[]}} Found
 * @typedef {{at: number, status: number, problem: string, message: string, count: number, by: string}} Refused
 * @typedef {{connected: boolean, since: number|null, edge: string, unanswered: number, problem: string}} Connection
 *
 * @typedef {{message: string, channel: string, appended: number, expires: number, topic: string, bytes: number}} WaitingMessage
 * @typedef {{channel: string, created: number, bound_to_vapid_key: boolean}} StateChannel
 * @typedef {{at: number, known: {created: number, last_seen: number}|null, channels: StateChannel[], waiting: WaitingMessage[]}} ClientState
 *
 * @typedef {{delivery: string, webhook: string, type: string, reason: string, attempts: number, accepted: string, died: string, redriven: number}} DeadLetter
 *
 * @typedef {'ok'|'warning'|'bad'} Level
 * @typedef {{level: Level, what: string, todo: string, section: string, page: string}} Finding
 * @typedef {{level: Level, sentence: string, findings: Finding[], badges: Record<string, Level>}} StatusPage
 *
 * @typedef {Record<string, (number|null)[]> & {at: number[]}} Series
 * @typedef {object} OverviewNow
 * @property {boolean} standalone
 * @property {{role: string, alive: number, all: number}[]} roles
 * @property {{edges: number, well: number, failing: number, ms: number|null, p50_ms: number|null, p99_ms: number|null}|null} canary
 * @property {{total: number, failing: number, disabled: number}} [webhooks]
 * @property {{letters: number, hour: number}} [dead]
 * @property {{waiting: number, due: number, overdue_seconds: number}} [tiers]
 * @property {{name: string, free: number, size: number, level: Level}} [disk]
 * @property {{name: string, seconds: number}} [certificate]
 *
 * @typedef {{now: OverviewNow, history: Series}} OverviewPage
 *
 * @typedef {object} ProcessNode
 * @property {string} role
 * @property {string} name
 * @property {string} id
 * @property {string} version
 * @property {boolean} gone
 * @property {boolean} ready
 * @property {number} silent_seconds
 * @property {number} uptime_seconds
 * @property {string[]} faults
 * @property {string[]} warnings
 * @property {number|null} clock_off_seconds
 * @property {number|null} certificate_seconds
 * @property {Level} disk  bad: it is full
 * @property {Record<string, number>} gauges
 * @property {Record<string, number>} rates
 * @property {{node: string, partitions: number}[]} taken_over
 *
 * @typedef {{complete: boolean, standalone: boolean, processes: ProcessNode[]}} NodesPage
 *
 * @typedef {{delivery: string, number: number, at: string, took_ms: number, outcome: string, status: number, why: string, answer: string}} WebhookAttempt
 * @typedef {{begins: string, attempts: number, delivered: number}} AttemptHour
 * @typedef {{id: string, origin: string, types: string[], filter: unknown, attachments: Record<string, string>, method: string, encoding: string, mode: string, headers: string[], ordered: boolean, at_a_time: number, timeout_s: number, created: string, secrets: number, shared_key: {id: string}|null, filter_too_costly: {at: string, source: string, id: string}|null}} WebhookSettings
 * @typedef {{webhook: WebhookSettings, attempts: WebhookAttempt[]|null, hours: AttemptHour[]|null, problem: string}} WebhookAnswer
 * @typedef {{delivery: string, offset: number, attempts: number, last: string|null, due: number}} WaitingDelivery
 * @typedef {{partition: number, complete: boolean, tiers: {topic: string, delay_seconds: number, waiting: number, first: WaitingDelivery[]}[]}} WaitingPage
 * @typedef {DeadLetter & {history: {died: string, reason: string, attempts: number}[], event: unknown, why_no_event?: string}} LetterAnswer
 *
 * @typedef {{offset: number, time: number, type: string, key: string, bytes: number|null, headers: {name: string, value: string}[], words: string, message: boolean, client: boolean}} LogRecord
 * @typedef {{topic: string, partition: number, start: number, end: number, history_begins: number, records: LogRecord[], next: number}} RecordsPage
 * @typedef {{record: LogRecord, shown: number, text: string|null, hex: string, withheld: string}} RecordAnswer
 * @typedef {{topics: string[], partitions: {partition: number, start: number, end: number}[], history_begins: number}} TopicsPage
 *
 * @typedef {{day: string, total: number, success: number, fail: number, withdrawn: number, milestones: Record<string, {count: number, mean_ms: number}>}} MilestoneDay
 *
 * A page of the app: its name, the data that it follows, and how it shows them.
 * @typedef {object} Page
 * @property {string} name
 * @property {string} title
 * @property {string} [follows]  a page of /api; none: it asks by itself
 * @property {string[]} [also]  further pages of /api, for show()'s `others`; with 'status' it is shown anew at its changes
 * @property {string} [missing]  the text while there are no data
 * @property {(data: any, change: any) => any} [merge]  for pages that are sent as changes
 * @property {(data: any, again: () => void, others: Record<string, any>) => HTMLElement[]} show
 */

export {};
