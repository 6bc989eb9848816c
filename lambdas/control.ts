import { answersWithin, apiMs } from "../src/aws/call-times.ts";
import { queueClient } from "../src/aws/clients.ts";
import { cloudWatchClient } from "../src/aws/cloudwatch-client.ts";
import { newCorrelationId, newId } from "../src/aws/ids.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { CloudWatchQueueAges } from "../src/aws/queue-ages.ts";
import { SqsQueueDepths } from "../src/aws/queue-depths.ts";
import { SqsRuleChecks } from "../src/aws/rule-checks.ts";
import { SchedulerRules } from "../src/aws/rules.ts";
import { DynamoSchedules } from "../src/aws/schedules.ts";
import { DynamoStepStore } from "../src/aws/step-store.ts";
import { createTracing } from "../src/aws/tracing.ts";
import { catalogTypes, dispatchPorts, dispatchSettings, gateOf, gateSettings } from "../src/aws/wiring.ts";
import { fromEnv } from "../src/config.ts";
import { internalTypes } from "../src/core/internal-types.ts";
import type { TaskKey } from "../src/core/record.ts";
import { apiOf, withLazy } from "../src/http/api.ts";
import { taskChanges } from "../src/http/control.ts";
import { operationStarts } from "../src/http/operations.ts";
import { queueReads } from "../src/http/queues.ts";
import { scheduleWrites } from "../src/http/schedules.ts";
import { serve } from "../src/http/serve.ts";
import { typeReads } from "../src/http/types.ts";

const config = fromEnv(process.env, [...dispatchSettings, ...gateSettings, "firingsUrl"]);
const base = dispatchPorts(config, createLog("control"));
const queues = queueClient();
const types = catalogTypes(process.env);
const ports = {
  ...base,
  ages: new CloudWatchQueueAges(cloudWatchClient(), base.clock, config.queueUrls, config.containerQueueUrls),
  depths: new SqsQueueDepths(queues, config.queueUrls, config.dlqUrls, config.containerQueueUrls),
  newId,
  newCorrelationId,
  steps: new DynamoStepStore(base.documents, config.table),
  types: new Map([...types, ...internalTypes]),
  tracing: await createTracing(),
  /** Few tasks have webhooks with results. */
  forgetResult: async (key: TaskKey) => {
    const [{ forgetResult }, { DynamoDeliveries }] = await Promise.all([
      import("../src/core/webhooks/forget-result.ts"),
      import("../src/aws/deliveries-store.ts"),
    ]);
    await forgetResult(new DynamoDeliveries(base.documents, config.table), key);
  },
};
const schedulePorts = {
  ...ports,
  types,
  gate: gateOf(config, base),
  schedules: new DynamoSchedules(base.documents, config.table),
  rules: new SchedulerRules(base.scheduler, config),
  checks: new SqsRuleChecks(queues, config.firingsUrl),
};
const usual = {
  ...taskChanges(ports),
  ...operationStarts(ports),
  ...queueReads(ports),
  ...typeReads({ ...ports, types }),
  ...scheduleWrites(schedulePorts),
};

/** Code of rare requests, which loads with the first of them. */
const handlers = withLazy("control", usual, async () => {
  const [{ signalTask }, { priorityChanges }, { channelStarts }, { DynamoChannels, newTicket }, webhooks] =
    await Promise.all([
      import("../src/http/signals.ts"),
      import("../src/http/priority.ts"),
      import("../src/http/channels.ts"),
      import("../src/aws/channels.ts"),
      webhookRoutes(),
    ]);
  // The local server knows the URL when it has started.
  const { socketUrl } = fromEnv(process.env, ["socketUrl"]);
  const channels = new DynamoChannels(base.documents, config.table);
  const pushed = channelStarts({ ...ports, channels, newTicket, socketUrl });
  return { ...signalTask(ports), ...priorityChanges(ports), ...pushed, ...webhooks };
});

async function webhookRoutes() {
  const [{ redeliveries }, { webhookSecretRoutes }, { DynamoDeliveries }, { DynamoSecretVersions }, key] =
    await Promise.all([
      import("../src/http/deliveries.ts"),
      import("../src/http/webhooks.ts"),
      import("../src/aws/deliveries-store.ts"),
      import("../src/aws/secret-versions.ts"),
      import("../src/aws/webhook-key.ts"),
    ]);
  const { documents, clock } = base;
  const versions = new DynamoSecretVersions(documents, config.table);
  return {
    ...redeliveries({ ...ports, deliveries: new DynamoDeliveries(documents, config.table) }),
    ...webhookSecretRoutes({
      clock,
      versions,
      key: key.webhookKeyOf(fromEnv(process.env, key.webhookKeySettings), clock),
    }),
  };
}

export const handler = answersWithin(apiMs, observed(ports, serve(apiOf("control", ports, handlers))));
