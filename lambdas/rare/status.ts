import { auditReads } from "../../src/api/http/audit.ts";
import { deadLetterReads } from "../../src/api/http/dead-letters.ts";
import { deliveryReads } from "../../src/api/http/deliveries.ts";
import { deploymentReads } from "../../src/api/http/deployments.ts";
import { logReads } from "../../src/api/http/logs.ts";
import { receiverReads } from "../../src/api/http/receiver-routes.ts";
import { scheduleReads } from "../../src/api/http/schedule-routes.ts";
import type { StatusPorts } from "../../src/api/http/status.ts";
import { tenantReads } from "../../src/api/http/tenant-routes.ts";
import { DynamoAppScheduleStates } from "../../src/aws/app-schedule-states.ts";
import { appSchedules } from "../../src/aws/app-schedules.ts";
import { DynamoAuditLog } from "../../src/aws/audit-log.ts";
import { DynamoDeliveries } from "../../src/aws/deliveries-store.ts";
import { DynamoDeployments } from "../../src/aws/deployments.ts";
import type { DynamoTable } from "../../src/aws/dynamo-table.ts";
import { DynamoFlowSettings } from "../../src/aws/flow-settings.ts";
import { DynamoKeyStore } from "../../src/aws/key-store.ts";
import { DynamoReceivers } from "../../src/aws/receivers.ts";
import { DynamoSchedules } from "../../src/aws/schedules.ts";
import { CloudWatchTaskLogs, cloudWatchLogsClient, logGroupsOf } from "../../src/aws/task-logs.ts";
import { fromEnv } from "../../src/settings/config.ts";

/** Routes of status that few requests need: most are polls. This file loads with the first of them. */
export const rareRoutes = (ports: StatusPorts, table: DynamoTable) => ({
  ...auditReads({ ...ports, audit: new DynamoAuditLog(table) }),
  ...tenantReads({ ...ports, flowSettings: new DynamoFlowSettings(table), keys: new DynamoKeyStore(table) }),
  ...deploymentReads({ deployments: new DynamoDeployments(table) }),
  ...logReads({
    ...ports,
    logs: new CloudWatchTaskLogs(cloudWatchLogsClient(), logGroupsOf(fromEnv(process.env, ["logGroups"]).logGroups)),
  }),
  ...deadLetterReads(ports),
  ...deliveryReads({ ...ports, deliveries: new DynamoDeliveries(table) }),
  ...receiverReads({ ...ports, receivers: new DynamoReceivers(table), deliveries: new DynamoDeliveries(table) }),
  ...scheduleReads({
    ...ports,
    schedules: new DynamoSchedules(table),
    appSchedules: appSchedules(process.env),
    appStates: new DynamoAppScheduleStates(table),
  }),
});
