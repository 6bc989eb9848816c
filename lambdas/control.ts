import { DynamoAuditLog } from "../src/aws/audit-log.ts";
import { answersWithin, apiMs } from "../src/aws/call-times.ts";
import { queueClient } from "../src/aws/clients.ts";
import { newCorrelationId, newId, randomBytes } from "../src/aws/ids.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { SqsRuleChecks } from "../src/aws/rule-checks.ts";
import { SchedulerRules } from "../src/aws/rules.ts";
import { DynamoSchedules } from "../src/aws/schedules.ts";
import { DynamoStepStore } from "../src/aws/step-store.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { catalogTypes, dispatchPorts, dispatchSettings, gateOf, gateSettings } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import type { TaskKey } from "../src/core/model/record.ts";
import { internalTypes } from "../src/core/task/internal-types.ts";
import { apiOf, withLazy } from "../src/http/api.ts";
import { audited } from "../src/http/audit.ts";
import { taskChanges } from "../src/http/control.ts";
import { operationStarts } from "../src/http/operations.ts";
import { scheduleWrites } from "../src/http/schedules.ts";
import { serve } from "../src/http/serve.ts";

const config = fromEnv(process.env, [...dispatchSettings, ...gateSettings, "firingsUrl"]);
const base = dispatchPorts(config, createLog("control"));
const queues = queueClient();
const types = catalogTypes(process.env);
const ports = {
  ...base,
  newId,
  newCorrelationId,
  audit: new DynamoAuditLog(base.table),
  steps: new DynamoStepStore(base.table),
  types: new Map([...types, ...internalTypes]),
  tracing: await createTracing(),
  /** Few tasks have webhooks with results. */
  forgetResult: async (key: TaskKey) => {
    const [{ forgetResult }, { DynamoDeliveries }] = await Promise.all([
      import("../src/core/notify/forget-result.ts"),
      import("../src/aws/deliveries-store.ts"),
    ]);
    await forgetResult(new DynamoDeliveries(base.table), key);
  },
};
const schedulePorts = {
  ...ports,
  types,
  gate: gateOf(config, base),
  schedules: new DynamoSchedules(base.table),
  rules: new SchedulerRules(base.scheduler, config),
  checks: new SqsRuleChecks(queues, config.firingsUrl),
};
const usual = {
  ...taskChanges(ports),
  ...operationStarts(ports),
  ...scheduleWrites(schedulePorts),
};

/** Code of rare requests, which loads with the first of them. */
const handlers = withLazy("control", usual, async () => {
  const [
    { signalTask },
    { priorityChanges },
    { taskOperations },
    { taskParts },
    { channelStarts },
    { DynamoChannels, newTicket },
    webhooks,
    flow,
    admin,
  ] = await Promise.all([
    import("../src/http/signals.ts"),
    import("../src/http/priority.ts"),
    import("../src/http/task-operations.ts"),
    import("../src/http/task-parts.ts"),
    import("../src/http/channels.ts"),
    import("../src/aws/channels.ts"),
    webhookRoutes(),
    flowRoutes(),
    adminRoutes(),
  ]);
  // The local server knows the URL when it has started.
  const { socketUrl } = fromEnv(process.env, ["socketUrl"]);
  const channels = new DynamoChannels(base.table);
  const pushed = channelStarts({ ...ports, channels, newTicket, socketUrl });
  return {
    ...signalTask(ports),
    ...priorityChanges(ports),
    ...taskOperations(ports),
    ...taskParts(ports),
    ...pushed,
    ...webhooks,
    ...flow,
    ...admin,
  };
});

async function flowRoutes() {
  const [{ flowWrites }, { queueReads }, { typeReads }, { DynamoFlowSettings }, { DynamoLines }] = await Promise.all([
    import("../src/http/flow.ts"),
    import("../src/http/queues.ts"),
    import("../src/http/types.ts"),
    import("../src/aws/flow-settings.ts"),
    import("../src/aws/lines.ts"),
  ]);
  const [{ CloudWatchQueueAges }, { SqsQueueDepths }, { cloudWatchClient }, { metricReads }, { CloudWatchHistory }] =
    await Promise.all([
      import("../src/aws/queue-ages.ts"),
      import("../src/aws/queue-depths.ts"),
      import("../src/aws/cloudwatch-client.ts"),
      import("../src/http/metrics.ts"),
      import("../src/aws/metric-history.ts"),
    ]);
  const { table, clock } = base;
  const cloudWatch = cloudWatchClient();
  const history = new CloudWatchHistory(cloudWatch, process.env.POWERTOOLS_SERVICE_NAME ?? "");
  const flowPorts = {
    ...ports,
    types,
    flowSettings: new DynamoFlowSettings(table),
    lines: new DynamoLines(table, clock.now),
    ages: new CloudWatchQueueAges(cloudWatch, clock, config.queueUrls, config.containerQueueUrls),
    depths: new SqsQueueDepths(queues, config.queueUrls, config.dlqUrls, config.containerQueueUrls),
  };
  return {
    ...flowWrites(flowPorts),
    ...queueReads(flowPorts),
    ...typeReads(flowPorts),
    ...metricReads({ clock, history }),
  };
}

/** Keys, and limits of tenants. */
async function adminRoutes() {
  const [{ keyWrites }, { DynamoKeyStore }, { tenantLimits }, { DynamoLimitEditor }, { parseLimits }] =
    await Promise.all([
      import("../src/http/keys.ts"),
      import("../src/aws/key-store.ts"),
      import("../src/http/tenants.ts"),
      import("../src/aws/limit-editor.ts"),
      import("../src/core/limits/limits.ts"),
    ]);
  const { table } = base;
  const limits = new DynamoLimitEditor(table);
  return {
    ...keyWrites({ ...ports, keys: new DynamoKeyStore(table), randomBytes }),
    ...tenantLimits({ limits, configuredLimits: parseLimits(config.limits) }),
  };
}

async function webhookRoutes() {
  const [{ redeliveries }, { webhookSecretRoutes }, { DynamoDeliveries }, { DynamoSecretVersions }, key] =
    await Promise.all([
      import("../src/http/deliveries.ts"),
      import("../src/http/webhooks.ts"),
      import("../src/aws/deliveries-store.ts"),
      import("../src/aws/secret-versions.ts"),
      import("../src/aws/webhook-key.ts"),
    ]);
  const { table, clock } = base;
  const versions = new DynamoSecretVersions(table);
  return {
    ...redeliveries({ ...ports, deliveries: new DynamoDeliveries(table) }),
    ...webhookSecretRoutes({
      clock,
      versions,
      key: key.webhookKeyOf(fromEnv(process.env, key.webhookKeySettings), clock),
    }),
  };
}

export const handler = answersWithin(
  apiMs,
  observed(ports, serve(apiOf("control", ports, audited("control", ports, handlers)))),
);
