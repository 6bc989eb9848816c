import * as keys from "../../src/api/acts/key-acts.ts";
import * as running from "../../src/api/acts/operation-acts.ts";
import * as queues from "../../src/api/acts/queue-acts.ts";
import * as rareTasks from "../../src/api/acts/rare-task-acts.ts";
import * as schedules from "../../src/api/acts/schedule-acts.ts";
import * as tenants from "../../src/api/acts/tenant-acts.ts";
import * as types from "../../src/api/acts/type-acts.ts";
import * as webhooks from "../../src/api/acts/webhook-acts.ts";
import { handlersOf } from "../../src/api/http/act-handlers.ts";
import { bulkTasks } from "../../src/api/http/bulk-tasks.ts";
import { channelStarts } from "../../src/api/http/channels.ts";
import { metricReads } from "../../src/api/http/metrics.ts";
import { receiverReplays } from "../../src/api/http/receiver-routes.ts";
import { scheduleStarts } from "../../src/api/http/schedule-routes.ts";
import { signalLinks, signalTask } from "../../src/api/http/signals.ts";
import { DynamoAppScheduleStates } from "../../src/aws/app-schedule-states.ts";
import { appSchedules } from "../../src/aws/app-schedules.ts";
import { DynamoChannels, newTicket } from "../../src/aws/channels.ts";
import { queueClient } from "../../src/aws/clients.ts";
import { cloudWatchClient } from "../../src/aws/cloudwatch-client.ts";
import { DynamoDeliveries } from "../../src/aws/deliveries-store.ts";
import { DynamoFlowSettings } from "../../src/aws/flow-settings.ts";
import { gateOf } from "../../src/aws/gate.ts";
import { type newCorrelationId, type newId, randomBytes } from "../../src/aws/ids.ts";
import { DynamoKeyStore } from "../../src/aws/key-store.ts";
import { DynamoLimitEditor } from "../../src/aws/limit-editor.ts";
import { CloudWatchHistory } from "../../src/aws/metric-history.ts";
import type { SentTracing } from "../../src/aws/observed.ts";
import { CloudWatchQueueAges } from "../../src/aws/queue-ages.ts";
import { SqsQueueDepths } from "../../src/aws/queue-depths.ts";
import { DynamoReceivers } from "../../src/aws/receivers.ts";
import { DynamoRetryCounts } from "../../src/aws/retry-counts.ts";
import { SqsRuleChecks } from "../../src/aws/rule-checks.ts";
import { SchedulerRules } from "../../src/aws/rules.ts";
import { DynamoSchedules } from "../../src/aws/schedules.ts";
import { DynamoSecretVersions } from "../../src/aws/secret-versions.ts";
import { DynamoSignalLinks } from "../../src/aws/signal-links.ts";
import { DynamoWaitQueues } from "../../src/aws/wait-queues.ts";
import { webhookKeyOf, webhookKeySettings } from "../../src/aws/webhook-key.ts";
import type { dispatchPorts, dispatchSettings, gateSettings } from "../../src/aws/wiring.ts";
import type { AcknowledgePorts } from "../../src/core/control/acknowledge.ts";
import type { CountRequest, Gate } from "../../src/core/limits/gate.ts";
import { parseLimits } from "../../src/core/limits/parse-limits.ts";
import { callbackFault } from "../../src/core/notify/callback-url.ts";
import type { AuditLog } from "../../src/core/ports/audit.ts";
import type { EndPorts } from "../../src/core/ports/extra.ts";
import type { StepStore } from "../../src/core/ports/steps.ts";
import type { Tenants } from "../../src/core/schedules/ports.ts";
import { tenantNoter } from "../../src/core/schedules/tenants.ts";
import type { KnownType } from "../../src/core/task/catalog.ts";
import { type Config, fromEnv } from "../../src/settings/config.ts";

/** The ports of the function control. */
export interface ControlPorts
  extends ReturnType<typeof dispatchPorts>,
    Pick<EndPorts, "families" | "extras">,
    Pick<AcknowledgePorts, "forgetResult"> {
  config: Config<(typeof dispatchSettings)[number] | (typeof gateSettings)[number] | "firingsUrl">;
  newId: typeof newId;
  newCorrelationId: typeof newCorrelationId;
  audit: AuditLog;
  countRequest: CountRequest;
  steps: StepStore;
  tenants: Tenants;
  /** The types of the catalogue, and Offload's own. */
  types: ReadonlyMap<string, KnownType>;
  /** The types of the catalogue. */
  ownTypes: ReadonlyMap<string, KnownType>;
  tracing: SentTracing;
}

/** Routes of control that few requests need. This file loads with the first of them. */
export function rareRoutes(ports: ControlPorts) {
  // The local server knows the URL when it has started.
  const { socketUrl } = fromEnv(process.env, ["socketUrl"]);
  const gate = gateOf(ports.config, ports);
  return {
    ...signalTask(ports),
    ...signalLinks({ ...ports, links: new DynamoSignalLinks(ports.table) }),
    ...handlersOf(taskPorts(ports), rareTasks.acts()),
    ...handlersOf(ports, running.acts()),
    ...bulkTasks(ports),
    ...channelStarts({ ...ports, channels: new DynamoChannels(ports.table), newTicket, socketUrl }),
    ...flowRoutes(ports),
    ...handlersOf({ ...ports, keys: new DynamoKeyStore(ports.table), randomBytes }, keys.acts()),
    ...webhookRoutes(ports),
    ...scheduleRoutes(ports, gate),
  };
}

const taskPorts = (ports: ControlPorts) => ({
  ...ports,
  lines: new DynamoWaitQueues(ports.table, ports.clock.now),
  deliveries: new DynamoDeliveries(ports.table),
  receivers: new DynamoReceivers(ports.table),
});

function scheduleRoutes(ports: ControlPorts, gate: Gate) {
  const { table, config } = ports;
  const schedulePorts = {
    ...ports,
    noteTenant: tenantNoter(ports.tenants, ports.log),
    types: ports.ownTypes,
    gate,
    schedules: new DynamoSchedules(table),
    appSchedules: appSchedules(process.env),
    appStates: new DynamoAppScheduleStates(table),
    rules: new SchedulerRules(ports.scheduler, config),
    checks: new SqsRuleChecks(queueClient(), config.firingsUrl),
  };
  return { ...handlersOf(schedulePorts, schedules.acts()), ...scheduleStarts(schedulePorts) };
}

function flowRoutes(ports: ControlPorts) {
  const { table, clock, config } = ports;
  const cloudWatch = cloudWatchClient();
  const history = new CloudWatchHistory(cloudWatch, process.env.POWERTOOLS_SERVICE_NAME ?? "");
  const flowPorts = {
    ...ports,
    types: ports.ownTypes,
    flowSettings: new DynamoFlowSettings(table),
    lines: new DynamoWaitQueues(table, clock.now),
    ages: new CloudWatchQueueAges(cloudWatch, clock, config.queueUrls, config.containerQueueUrls),
    retries: new DynamoRetryCounts(table),
    depths: new SqsQueueDepths(queueClient(), config.queueUrls, config.dlqUrls, config.containerQueueUrls),
  };
  const limitPorts = { limits: new DynamoLimitEditor(table), configuredLimits: parseLimits(config.limits) };
  return {
    ...handlersOf(flowPorts, queues.acts()),
    ...handlersOf(flowPorts, types.acts()),
    ...handlersOf({ ...flowPorts, ...limitPorts }, tenants.acts()),
    ...metricReads({ clock, history }),
  };
}

function webhookRoutes(ports: ControlPorts) {
  const { table, clock } = ports;
  const { callbackHosts, ...keySettings } = fromEnv(process.env, [...webhookKeySettings, "callbackHosts"]);
  const key = webhookKeyOf(keySettings, clock);
  const deliveries = new DynamoDeliveries(table);
  const receivers = new DynamoReceivers(table);
  const receiverPorts = {
    ...{ ...ports, types: ports.ownTypes, deliveries, key, receivers, versions: new DynamoSecretVersions(table) },
    flowSettings: new DynamoFlowSettings(table),
    urlFault: (url: string) => callbackFault(url, callbackHosts),
  };
  return {
    ...handlersOf(receiverPorts, webhooks.acts()),
    ...receiverReplays(receiverPorts),
  };
}
