#pragma once

#include <string_view>

/// Every metric that Beckon exports, in one list.
namespace beckon::ops::metric {

// --- build
inline constexpr std::string_view kBuildInfo = "beckon_build_info";

// --- readiness; written by the ops port itself
inline constexpr std::string_view kReady = "beckon_ready";
inline constexpr std::string_view kFailedRequests = "beckon_failed_requests_total";

// --- the process; looked up when somebody asks
inline constexpr std::string_view kProcessCpu = "process_cpu_seconds_total";
inline constexpr std::string_view kProcessResident = "process_resident_memory_bytes";
inline constexpr std::string_view kProcessOpenFds = "process_open_fds";
inline constexpr std::string_view kProcessMaxFds = "process_max_fds";
inline constexpr std::string_view kProcessThreads = "process_threads";
inline constexpr std::string_view kProcessStart = "process_start_time_seconds";
inline constexpr std::string_view kDataFree = "beckon_data_free_bytes";
inline constexpr std::string_view kDataDisk = "beckon_data_disk_bytes";
inline constexpr std::string_view kDataSize = "beckon_data_bytes";
inline constexpr std::string_view kClockAhead = "beckon_clock_ahead_seconds";
inline constexpr std::string_view kLogWrongTopics = "beckon_log_wrong_topics";
inline constexpr std::string_view kCertificateExpiry = "beckon_certificate_expiry_time_seconds";

// --- ingest
inline constexpr std::string_view kIngestRequests = "beckon_ingest_requests_total";
inline constexpr std::string_view kIngestRequestSeconds = "beckon_ingest_request_seconds";
inline constexpr std::string_view kIngestRefused = "beckon_ingest_refused_total";
inline constexpr std::string_view kIngestVapid = "beckon_ingest_vapid_total";
inline constexpr std::string_view kIngestVapidCached = "beckon_ingest_vapid_cached_tokens";
inline constexpr std::string_view kIngestConnections = "beckon_ingest_open_connections";
inline constexpr std::string_view kIngestClosed = "beckon_ingest_closed_total";
inline constexpr std::string_view kIngestAcceptPauses = "beckon_ingest_accept_pauses_total";
inline constexpr std::string_view kIngestPublishWaiting = "beckon_ingest_publish_waiting_messages";
inline constexpr std::string_view kIngestPublishWaitingBytes =
    "beckon_ingest_publish_waiting_bytes";
inline constexpr std::string_view kIngestPublishSeconds = "beckon_ingest_publish_seconds";
inline constexpr std::string_view kIngestReadBarriers = "beckon_ingest_read_barriers_total";
inline constexpr std::string_view kIngestReadBarrierSeconds = "beckon_ingest_read_barrier_seconds";
inline constexpr std::string_view kIngestViewLag = "beckon_ingest_view_lag_records";
inline constexpr std::string_view kIngestViewLagSeconds = "beckon_ingest_view_lag_seconds";
inline constexpr std::string_view kIngestViewOffset = "beckon_ingest_view_offset";
inline constexpr std::string_view kIngestViewStuck = "beckon_ingest_view_stuck_partitions";
inline constexpr std::string_view kIngestViewFolded = "beckon_ingest_view_folded_total";
inline constexpr std::string_view kIngestViewUnknown = "beckon_ingest_view_unknown_total";

// --- edge: sockets and fronts
inline constexpr std::string_view kEdgeConnections = "beckon_edge_open_connections";
inline constexpr std::string_view kEdgeClients = "beckon_edge_clients";
inline constexpr std::string_view kEdgeReattached = "beckon_edge_reattached_total";
inline constexpr std::string_view kEdgeHomeless = "beckon_edge_homeless_clients";
inline constexpr std::string_view kEdgeFrames = "beckon_edge_frames_total";
inline constexpr std::string_view kEdgeClosed = "beckon_edge_closed_total";
inline constexpr std::string_view kEdgeRefused = "beckon_edge_refused_total";
inline constexpr std::string_view kEdgeAcceptPauses = "beckon_edge_accept_pauses_total";

// --- edge: broadcasts
inline constexpr std::string_view kEdgeBroadcasts = "beckon_edge_broadcasts";
inline constexpr std::string_view kEdgeBroadcastsSent = "beckon_edge_broadcasts_sent_total";
inline constexpr std::string_view kEdgeBroadcastPolls = "beckon_edge_broadcast_polls_total";

// --- edge: links to other edges
inline constexpr std::string_view kEdgeLinks = "beckon_edge_links";
inline constexpr std::string_view kEdgeLinkMessages = "beckon_edge_link_messages_total";
inline constexpr std::string_view kEdgeLinkRefused = "beckon_edge_link_refused_total";
inline constexpr std::string_view kEdgeLinkLost = "beckon_edge_link_lost_total";
inline constexpr std::string_view kEdgeLinkWaitingBytes = "beckon_edge_link_waiting_bytes";
inline constexpr std::string_view kEdgeSuspicions = "beckon_edge_suspicions_total";
inline constexpr std::string_view kEdgeWrongSuspicions = "beckon_edge_wrong_suspicions_total";
inline constexpr std::string_view kEdgeFailoverSeconds = "beckon_edge_failover_seconds";

// --- edge: homes
inline constexpr std::string_view kEdgePartitions = "beckon_edge_partitions";
inline constexpr std::string_view kEdgeSessions = "beckon_edge_sessions";
inline constexpr std::string_view kEdgePendingTombstones = "beckon_edge_pending_tombstones";
inline constexpr std::string_view kEdgeWaiting = "beckon_edge_waiting_messages";
inline constexpr std::string_view kEdgeWaitingOldest = "beckon_edge_waiting_oldest_seconds";
inline constexpr std::string_view kEdgeDelivered = "beckon_edge_delivered_total";
inline constexpr std::string_view kEdgeAcked = "beckon_edge_acked_total";
inline constexpr std::string_view kEdgeFinished = "beckon_edge_finished_total";
inline constexpr std::string_view kEdgeAnswers = "beckon_edge_answers_total";
inline constexpr std::string_view kEdgeClientsRemoved = "beckon_edge_clients_removed_total";
inline constexpr std::string_view kEdgeDeliverSeconds = "beckon_edge_deliver_seconds";
inline constexpr std::string_view kEdgeAckSeconds = "beckon_edge_ack_seconds";
inline constexpr std::string_view kEdgeLag = "beckon_edge_lag_records";
inline constexpr std::string_view kEdgeLagSeconds = "beckon_edge_lag_seconds";
inline constexpr std::string_view kEdgeRestoredRatio = "beckon_edge_restored_ratio";
inline constexpr std::string_view kEdgeUnknownRecords = "beckon_edge_unknown_records_total";
inline constexpr std::string_view kEdgeCommands = "beckon_edge_commands_total";
inline constexpr std::string_view kEdgeRefusedFrames = "beckon_edge_refused_frames_total";

// --- reliability
inline constexpr std::string_view kReliabilityRecorded = "beckon_reliability_recorded_total";
inline constexpr std::string_view kReliabilityDropped = "beckon_reliability_dropped_total";
inline constexpr std::string_view kReliabilityWaiting = "beckon_reliability_waiting_messages";
inline constexpr std::string_view kReliabilityMessages = "beckon_reliability_messages";
inline constexpr std::string_view kReliabilityFolded = "beckon_reliability_folded_milestones";
inline constexpr std::string_view kReliabilityPartitions = "beckon_reliability_partitions";
inline constexpr std::string_view kReliabilityLag = "beckon_reliability_lag_records";

// --- retry
inline constexpr std::string_view kRetryBridgeAttempts = "beckon_retry_bridge_attempts_total";
inline constexpr std::string_view kRetryBridgeSeconds = "beckon_retry_bridge_attempt_seconds";
inline constexpr std::string_view kRetryBridgeTokens = "beckon_retry_bridge_tokens_total";
inline constexpr std::string_view kRetryBridgeMessages = "beckon_retry_bridge_messages_total";
inline constexpr std::string_view kRetryBridgeWaiting = "beckon_retry_bridge_waiting_messages";
inline constexpr std::string_view kRetryBridgeUnderWay = "beckon_retry_bridge_under_way_attempts";
inline constexpr std::string_view kRetryBridgeFaults = "beckon_retry_bridge_faulty_apps";
inline constexpr std::string_view kRetryPartitions = "beckon_retry_partitions";
inline constexpr std::string_view kRetryWebhooks = "beckon_retry_webhooks";
inline constexpr std::string_view kRetryDeadUnlisted = "beckon_retry_unlisted_dead_letters";
inline constexpr std::string_view kRetryDisabled = "beckon_retry_disabled_webhooks";
inline constexpr std::string_view kRetryTierWaiting = "beckon_retry_tier_waiting_deliveries";
inline constexpr std::string_view kRetryTierOldest = "beckon_retry_tier_oldest_seconds";
inline constexpr std::string_view kRetryTierOverdue = "beckon_retry_tier_overdue_seconds";
inline constexpr std::string_view kRetryWaiting = "beckon_retry_waiting_deliveries";
inline constexpr std::string_view kRetryUnderWay = "beckon_retry_under_way_attempts";
inline constexpr std::string_view kRetryAttempts = "beckon_retry_attempts_total";
inline constexpr std::string_view kRetryOwnerSeconds = "beckon_retry_owner_attempt_seconds_total";
inline constexpr std::string_view kRetryOwnerBytes = "beckon_retry_owner_sent_bytes_total";
inline constexpr std::string_view kRetryOwnerRequeued = "beckon_retry_owner_requeued_total";
inline constexpr std::string_view kRetryDeliveries = "beckon_retry_deliveries_total";
inline constexpr std::string_view kRetryEvents = "beckon_retry_events_total";
inline constexpr std::string_view kRetryFilterSteps = "beckon_retry_filter_steps_total";
inline constexpr std::string_view kRetryLongestTurn = "beckon_retry_longest_turn_seconds";
inline constexpr std::string_view kRetryReplies = "beckon_retry_replies_total";
inline constexpr std::string_view kRetryConnections = "beckon_retry_open_connections";
inline constexpr std::string_view kRetryClosed = "beckon_retry_closed_total";
inline constexpr std::string_view kRetryAcceptPauses = "beckon_retry_accept_pauses_total";

// --- console: the lag of all consumer groups, under the names of kafka_exporter and KMinion
inline constexpr std::string_view kGroupLag = "kafka_consumergroup_lag";
inline constexpr std::string_view kGroupLagSeconds = "kafka_consumergroup_lag_seconds";
inline constexpr std::string_view kGroupLagSum = "kafka_consumergroup_lag_sum";
inline constexpr std::string_view kGroupOffset = "kafka_consumergroup_current_offset";
inline constexpr std::string_view kTopicEnd = "kafka_topic_partition_current_offset";
inline constexpr std::string_view kTopicStart = "kafka_topic_partition_oldest_offset";
inline constexpr std::string_view kKminionLag = "kminion_kafka_consumer_group_topic_partition_lag";
inline constexpr std::string_view kKminionTopicLag = "kminion_kafka_consumer_group_topic_lag";
inline constexpr std::string_view kGroupStatus = "beckon_console_group_status";

// --- console: the canary
inline constexpr std::string_view kCanarySuccess = "beckon_canary_success";
inline constexpr std::string_view kCanaryPushes = "beckon_canary_pushes_total";
inline constexpr std::string_view kCanarySeconds = "beckon_canary_push_seconds";

}  // namespace beckon::ops::metric
