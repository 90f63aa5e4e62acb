#!/usr/bin/env python3
"""The dashboards of this folder. `boards.py` writes them into dashboards/, `boards.py --check` says whether they are what it
would write. Each panel has a description, a unit, and thresholds where a value can be bad."""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = {"type": "prometheus", "uid": "beckon"}
GREEN, YELLOW, RED = "green", "orange", "red"


def metric(name: str, *matchers: str) -> str:
    """The series of the chosen processes."""
    return name + "{" + ",".join((*matchers, 'role=~"$role"', 'instance=~"$instance"')) + "}"


def rate(name: str, *matchers: str) -> str:
    return f"rate({metric(name, *matchers)}[5m])"


def quantile(q: float, name: str) -> str:
    return f"histogram_quantile({q}, sum by (le) ({rate(name + '_bucket')}))"


def p50_p99(name: str) -> list:
    return [(quantile(0.5, name), "p50"), (quantile(0.99, name), "p99")]


def steps(bad, worse=None, below=False) -> dict:
    """Green up to `bad`, then orange (or red), red from `worse` on; `below`: the other way round."""
    if below:
        marks = [(None, RED), (worse, YELLOW), (bad, GREEN)] if worse is not None else [(None, RED), (bad, GREEN)]
    else:
        marks = [(None, GREEN), (bad, YELLOW if worse is not None else RED)]
        marks += [(worse, RED)] if worse is not None else []
    return {"mode": "absolute", "steps": [{"color": color, "value": value} for value, color in marks]}


class Board:
    def __init__(self, uid: str, title: str, extra_variables=()):
        self.uid, self.title, self.panels = uid, title, []
        self.x = self.y = self.row_height = 0
        self.variables = [
            self.variable("role", "Role", "label_values(beckon_build_info, role)"),
            self.variable("instance", "Process", "label_values(beckon_build_info, instance)"),
            *(self.variable(*one) for one in extra_variables),
        ]

    @staticmethod
    def variable(name: str, label: str, query: str) -> dict:
        return {
            "name": name, "label": label, "type": "query", "datasource": SOURCE, "query": {"query": query, "refId": name},
            "refresh": 2, "includeAll": True, "multi": True, "allValue": ".*", "current": {"text": "All", "value": "$__all"},
        }

    def place(self, width: int, height: int) -> dict:
        if self.x + width > 24:
            self.x, self.y, self.row_height = 0, self.y + self.row_height, 0
        at = {"x": self.x, "y": self.y, "w": width, "h": height}
        self.x, self.row_height = self.x + width, max(self.row_height, height)
        return at

    def panel(self, kind, title, about, targets, unit, width, height, thresholds, options, custom=None, minimum=0):
        defaults = {"unit": unit}
        if minimum is not None:
            defaults["min"] = minimum
        if thresholds:
            defaults |= {"thresholds": thresholds, "color": {"mode": "thresholds" if kind == "stat" else "palette-classic"}}
        if custom:
            defaults["custom"] = custom
        self.panels.append({
            "id": len(self.panels) + 1, "title": title, "type": kind, "datasource": SOURCE, "description": about,
            "gridPos": self.place(width, height), "fieldConfig": {"defaults": defaults, "overrides": []},
            "targets": [{"refId": chr(ord("A") + i), "datasource": SOURCE, "expr": expr, "legendFormat": legend}
                        for i, (expr, legend) in enumerate(targets)],
            "options": options,
        })

    def stat(self, title, about, expr, unit="short", thresholds=None, width=4, minimum=0):
        options = {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background" if thresholds else "value", "graphMode": "area"}
        self.panel("stat", title, about, [(expr, title)], unit, width, 4, thresholds or {"mode": "absolute", "steps": [{"color": GREEN, "value": None}]}, options, minimum=minimum)

    def lines(self, title, about, targets, unit="short", thresholds=None, width=12, height=7, minimum=0):
        custom = {"thresholdsStyle": {"mode": "dashed"}} if thresholds else None
        options = {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []}, "tooltip": {"mode": "multi", "sort": "desc"}}
        self.panel("timeseries", title, about, targets, unit, width, height, thresholds, options, custom, minimum)

    def text(self) -> str:
        return json.dumps({
            "uid": self.uid, "title": self.title, "tags": ["beckon"], "schemaVersion": 39, "version": 1, "editable": True,
            "refresh": "10s", "time": {"from": "now-1h", "to": "now"}, "timezone": "utc",
            "links": [{"title": "Beckon", "type": "dashboards", "tags": ["beckon"], "asDropdown": True, "icon": "external link",
                       "targetBlank": False, "includeVars": True, "keepTime": True, "tooltip": "", "url": ""}],
            "templating": {"list": self.variables}, "panels": self.panels,
        }, indent=2, ensure_ascii=False) + "\n"


def or_zero(expr: str) -> str:
    return f"({expr}) or vector(0)"


def operator() -> Board:
    """One page at 3 a.m.: is push working, how fast, what waits, what fails, what is full."""
    b = Board("beckon-operator", "Beckon: is push working?")
    b.stat("Canary", "1: the last push of the console's canary through each edge arrived; 0: push does not work through at least one.",
           "min(beckon_canary_success)", thresholds=steps(1, below=True))
    b.stat("Alerts", "Alerts of beckon.rules.yml that fire now; docs/operations/monitoring.md#alerts says what to do about each.",
           or_zero('count(ALERTS{alertname=~"Beckon.*",alertstate="firing"})'), thresholds=steps(1), width=4)
    b.stat("Processes that do not answer", "Of all that Prometheus knows: their ops port is not reached.",
           or_zero('count(up{job=~".*beckon.*",role=~"$role",instance=~"$instance"} == 0)'), thresholds=steps(1), width=3)
    b.stat("Parts that are not ready", "/ready of the process says why.", or_zero(f"count({metric('beckon_ready')} == 0)"), thresholds=steps(1), width=3)
    b.stat("Requests answered 5xx", "Share of all requests of senders within five minutes: the log did not answer in time.",
           f"""(sum({rate('beckon_ingest_requests_total', 'status=~"5.."')}) or vector(0)) / sum({rate('beckon_ingest_requests_total')})""",
           "percentunit", steps(0.001, 0.02), width=3)
    b.stat("Delivery, p99", "From a message's append to the log to its frame, for clients that are connected.",
           quantile(0.99, "beckon_edge_deliver_seconds"), "s", steps(1, 5), width=3)
    b.stat("Groups that do not read", "Consumer groups with a partition that is STALLED or STOPPED, as the console sees them.",
           or_zero("count(max by (consumergroup) (beckon_console_group_status) >= 3)"), thresholds=steps(1))
    b.lines("Is push working: messages a second", "Accepted from senders, sent to clients, acknowledged by clients. Lines that part for long are messages that wait.",
            [("sum(" + rate('beckon_ingest_requests_total', 'route="send"', 'status="201"') + ")", "accepted"),
             (f"sum({rate('beckon_edge_delivered_total')})", "sent"), (f"sum({rate('beckon_edge_acked_total')})", "acknowledged")], "cps", width=8)
    b.lines("How fast", "Delivery: from the log to the frame. Publishing: from the sender's request to the log's report, which is before the 201.",
            [(quantile(0.5, "beckon_edge_deliver_seconds"), "delivery p50"), (quantile(0.99, "beckon_edge_deliver_seconds"), "delivery p99"),
             (quantile(0.99, "beckon_ingest_publish_seconds"), "publishing p99"),
             ("histogram_quantile(0.9, sum by (le) (rate(beckon_canary_push_seconds_bucket[5m])))", "canary p90")], "s", steps(5), width=8)
    b.lines("Clients", "Connected clients; and those that have no home at present and get nothing.",
            [(f"sum({metric('beckon_edge_clients')})", "connected"), (f"sum({metric('beckon_edge_homeless_clients')})", "without a home")], width=8)
    b.lines("What waits", "Messages for clients that are away, webhook deliveries in all delay tiers, and messages that wait for the log's report.",
            [(f"sum({metric('beckon_edge_waiting_messages')})", "messages for clients"), (f"sum({metric('beckon_retry_tier_waiting_deliveries')})", "deliveries to webhooks"),
             (f"sum({metric('beckon_ingest_publish_waiting_messages')})", "publishes")], width=8)
    b.lines("What is behind", "Folds of the log, of homes and of endpoints; deliveries to webhooks that are due and not done.",
            [(f"max({metric('beckon_edge_lag_seconds')})", "homes"), (f"max({metric('beckon_ingest_view_lag_seconds')})", "endpoints"),
             (f"max({metric('beckon_retry_tier_overdue_seconds')})", "webhooks overdue")], "s", steps(60), width=8)
    b.lines("What fails", "Requests answered 5xx, connections of clients that were lost, dead letters, requests that failed in Beckon's own code.",
            [(f"""sum({rate('beckon_ingest_requests_total', 'status=~"5.."')}) or vector(0)""", "5xx"),
             ("sum(" + rate('beckon_edge_closed_total', 'reason=~"lost|pong_timeout"') + ")", "connections lost"),
             ("sum(" + rate('beckon_retry_deliveries_total', 'outcome="dead"') + ")", "dead letters"),
             (f"sum({rate('beckon_failed_requests_total')}) or vector(0)", "faults of Beckon")], "cps", width=8)
    b.lines("What is full: free disk", "Of each data directory. A full disk stops acceptance (standalone) or delivery (an edge).",
            [(metric("beckon_data_free_bytes"), "{{instance}}"), (metric("beckon_data_disk_bytes"), "{{instance}}: size")], "bytes", width=8)
    b.lines("What is full: open files", "Share of the limit; a client is one.",
            [(f"{metric('process_open_fds')} / {metric('process_max_fds')}", "{{instance}}")], "percentunit", steps(0.9), width=8)
    b.lines("What is full: memory", "Resident memory of each process.", [(metric("process_resident_memory_bytes"), "{{instance}}")], "bytes", width=8)
    return b


def processes() -> Board:
    b = Board("beckon-overview", "Beckon: processes and requests")
    b.stat("Processes that are ready", "Of all that answer at their ops port.", f"sum(min by (instance) ({metric('beckon_ready')}))")
    b.stat("Clients", "Connected, and through with their hello.", f"sum({metric('beckon_edge_clients')})")
    b.stat("Accepted requests", "Answered 2xx, a second.", "sum(" + rate('beckon_ingest_requests_total', 'status=~"2.."') + ")", "reqps")
    b.stat("First certificate expires in", "Of Beckon's ports with TLS, and of its client certificates; no value: there is none.",
           f"min({metric('beckon_certificate_expiry_time_seconds')} - time())", "s", steps(14 * 86400, 3 * 86400, below=True), minimum=None)
    b.stat("Largest difference of clocks", "Between a host's clock and the log's time. VAPID tokens are judged by the host's clock.",
           f"max(abs({metric('beckon_clock_ahead_seconds')}))", "s", steps(30, 60))
    b.stat("Log topics that are wrong", "Deleted, or set so that messages are lost; beckon topics describe names them.",
           f"max({metric('beckon_log_wrong_topics')}) or vector(0)", thresholds=steps(1))
    b.stat("Restarts in a day", "Starts of processes that Prometheus knew before.", f"sum(changes({metric('process_start_time_seconds')}[1d]))", thresholds=steps(10, 50))
    b.lines("Requests by status", "Of the HTTP API, a second.", [(f"sum by (status) ({rate('beckon_ingest_requests_total')})", "{{status}}")], "reqps")
    b.lines("Time of a request", "From the complete request to its reply.", p50_p99("beckon_ingest_request_seconds"), "s", steps(1))
    b.lines("Refused requests, by problem", "docs/protocol/errors.md#http-errors explains each.", [(f"sum by (problem) ({rate('beckon_ingest_refused_total')})", "{{problem}}")], "reqps")
    b.lines("Read barriers before a negative answer", "While they fail, senders get 503 in place of 410.",
            [(f"sum by (outcome) ({rate('beckon_ingest_read_barriers_total')})", "{{outcome}}")], "cps")
    b.lines("Fold of the endpoints", "Age of the oldest record that the view has not folded, and partitions that it cannot fold.",
            [(f"max by (instance) ({metric('beckon_ingest_view_lag_seconds')})", "{{instance}}: behind"),
             (f"max by (instance) ({metric('beckon_ingest_view_stuck_partitions')})", "{{instance}}: stuck partitions")], "s", steps(60))
    b.lines("Requests that failed in Beckon's own code", "Each is a fault of Beckon: the log line request_failed says why. Without a line there is none.",
            [(f"sum by (instance, place) ({rate('beckon_failed_requests_total')}) or vector(0)", "{{instance}} {{place}}")], "cps", steps(0.001))
    b.lines("Cores in use", "CPU time a second.", [(f"sum by (instance) ({rate('process_cpu_seconds_total')})", "{{instance}}")])
    b.lines("Resident memory", "Of each process.", [(metric("process_resident_memory_bytes"), "{{instance}}")], "bytes")
    b.lines("Disk", "Bytes of the data directory, by part.", [(metric("beckon_data_bytes"), "{{instance}} {{part}}")], "bytes")
    b.lines("Clock of the host, ahead of the log's time", "Negative: behind. Zero where nothing shows a difference.",
            [(metric("beckon_clock_ahead_seconds"), "{{instance}}")], "s", minimum=None)
    return b


def delivery() -> Board:
    b = Board("beckon-delivery", "Beckon: delivery")
    b.lines("From the log to the client's socket", "From a message's append to its frame, for clients that are connected. On Kafka two clocks are compared.",
            p50_p99("beckon_edge_deliver_seconds"), "s", steps(5))
    b.lines("From the frame to the client's ack", "The client's own time and its network.", p50_p99("beckon_edge_ack_seconds"), "s")
    b.lines("Delivered and acknowledged", "Notification frames, repeated ones included, and acknowledged messages, a second.",
            [(f"sum({rate('beckon_edge_delivered_total')})", "delivered"), (f"sum({rate('beckon_edge_acked_total')})", "acknowledged")], "cps")
    b.lines("Finished, by reason", "Messages that ended, a second.", [(f"sum by (reason) ({rate('beckon_edge_finished_total')})", "{{reason}}")], "cps")
    b.lines("Connections that were closed, by reason", "docs/protocol/errors.md#close-codes explains each.",
            [(f"sum by (reason) ({rate('beckon_edge_closed_total')})", "{{reason}}")], "cps")
    b.lines("Pending tombstones", "Finished messages whose tombstone the log does not have yet. It grows: the log is slow; nothing is lost.",
            [(f"sum by (instance) ({metric('beckon_edge_pending_tombstones')})", "{{instance}}")])
    b.lines("Partitions that an edge serves", "Homes, by edge; together they are all partitions.",
            [(f"""sum by (instance) ({metric('beckon_edge_partitions', 'state="serving"')})""", "{{instance}}")])
    b.lines("Partitions by state of their home", "Of all edges. Other states than serving and standby are moments of a move.",
            [(f"sum by (state) ({metric('beckon_edge_partitions')})", "{{state}}")])
    b.lines("Clients by edge", "Connected, and those that wait for a home.",
            [(f"sum by (instance) ({metric('beckon_edge_clients')})", "{{instance}}"),
             (f"sum by (instance) ({metric('beckon_edge_homeless_clients')})", "{{instance}}: without a home")])
    b.lines("Links between edges", "Fewer than the number of other edges: clients there wait for homes elsewhere.",
            [(metric("beckon_edge_links"), "{{instance}}")])
    b.lines("Fold of the homes", "Age of the oldest record that a shard has not folded.",
            [(f"max by (instance) ({metric('beckon_edge_lag_seconds')})", "{{instance}}")], "s", steps(60))
    b.lines("Publishing to the log", "From publishing a message to the log's report.", p50_p99("beckon_ingest_publish_seconds"), "s", steps(1))
    b.lines("Tracked messages by milestone", "Of the senders in endpoint.tracking_keys.", [(f"sum by (milestone) ({metric('beckon_reliability_messages')})", "{{milestone}}")])
    b.lines("Milestones that were dropped", "The counts are too low by them.",
            [(f"sum by (instance) ({rate('beckon_reliability_dropped_total')})", "{{instance}}")], "cps", steps(0.001))
    return b


def lag_and_tiers() -> Board:
    b = Board("beckon-lag", "Beckon: lag, webhooks and delay tiers", [("group", "Group", "label_values(kafka_consumergroup_lag, consumergroup)")])
    of_group = '{consumergroup=~"$group"}'
    b.stat("Oldest record that waits", "Over all groups, the delay tiers included, where records wait on purpose.",
           f"max(kafka_consumergroup_lag_seconds{of_group})", "s", width=6)
    b.stat("Groups that are STALLED or STOPPED", "They do not read at least one of their partitions.",
           or_zero(f"count(max by (consumergroup) (beckon_console_group_status{of_group}) >= 3)"), thresholds=steps(1), width=6)
    b.stat("Partitions that are not OK", "Of all groups together.", or_zero(f"count(beckon_console_group_status{of_group} > 0)"), thresholds=steps(1, 10), width=6)
    b.stat("Deliveries overdue", "How long the first delivery to a webhook has been due.",
           f"max({metric('beckon_retry_tier_overdue_seconds')})", "s", steps(60, 300), width=6)
    b.lines("Behind, time", "Age of the oldest record that a group has not read.",
            [(f"max by (consumergroup, topic) (kafka_consumergroup_lag_seconds{of_group})", "{{consumergroup}} {{topic}}")], "s")
    b.lines("Behind, records", "Records that a group has not read.", [(f"kafka_consumergroup_lag_sum{of_group}", "{{consumergroup}} {{topic}}")])
    b.lines("Read", "Records a second.", [(f"sum by (consumergroup, topic) (rate(kafka_consumergroup_current_offset{of_group}[5m]))", "{{consumergroup}} {{topic}}")], "cps")
    b.lines("Written", "Records a second.", [("sum by (topic) (rate(kafka_topic_partition_current_offset[5m]))", "{{topic}}")], "cps")
    b.lines("Deliveries that wait, by delay tier", "Tier 0 are new ones; each failed attempt is one tier later (docs/webhooks.md).",
            [(f"sum by (tier) ({metric('beckon_retry_tier_waiting_deliveries')})", "retry.{{tier}}")])
    b.lines("Oldest delivery, by delay tier", "How long it has waited; the delay of the tier is part of it.",
            [(f"max by (tier) ({metric('beckon_retry_tier_oldest_seconds')})", "retry.{{tier}}")], "s")
    b.lines("Overdue, by delay tier", "How long the first delivery that is due has been due.",
            [(f"max by (tier) ({metric('beckon_retry_tier_overdue_seconds')})", "retry.{{tier}}")], "s", steps(300))
    b.lines("Attempts by outcome", "Requests to receivers, a second.", [(f"sum by (outcome) ({rate('beckon_retry_attempts_total')})", "{{outcome}}")], "cps")
    b.lines("Attempts under way, and deliveries that wait for one", "At one for each 128 KiB of cache_bytes for long: raise that, or add a process.",
            [(f"sum by (instance) ({metric('beckon_retry_under_way_attempts')})", "{{instance}}: under way"),
             (f"sum by (instance) ({metric('beckon_retry_waiting_deliveries')})", "{{instance}}: waiting")])
    b.lines("Deliveries by outcome", "dead, lost and broken are for a person.", [(f"sum by (outcome) ({rate('beckon_retry_deliveries_total')})", "{{outcome}}")], "cps")
    b.lines("Events by outcome", "broken: it is kept in retry.dead.", [(f"sum by (outcome) ({rate('beckon_retry_events_total')})", "{{outcome}}")], "cps")
    b.lines("Webhooks", "All, and those that were disabled since their receivers fail.",
            [(f"max({metric('beckon_retry_webhooks')})", "all"), (f"max({metric('beckon_retry_disabled_webhooks')})", "disabled by failure")])
    b.lines("Apps of bridges that need a person", "Their credentials are refused, or are missing.",
            [(f"max by (bridge) ({metric('beckon_retry_bridge_faulty_apps')})", "{{bridge}}")], thresholds=steps(1))
    b.lines("Seconds of attempts, by owner", "One owner's grows by much more than a second in a second: its receivers are slow.",
            [(f"sum by (owner) ({rate('beckon_retry_owner_attempt_seconds_total')})", "{{owner}}")])
    return b


BOARDS = {"operator.json": operator, "overview.json": processes, "delivery.json": delivery, "lag-and-tiers.json": lag_and_tiers}


def main() -> int:
    folder = HERE / "dashboards"
    texts = {name: make().text() for name, make in BOARDS.items()}
    if "--check" not in sys.argv:
        for name, text in texts.items():
            (folder / name).write_text(text)
        return 0
    written = {path.name: path.read_text() for path in folder.glob("*.json")}
    if written != texts:
        print("dashboards/ is not what boards.py writes: run packaging/grafana/boards.py")
    return 0 if written == texts else 1


if __name__ == "__main__":
    sys.exit(main())
