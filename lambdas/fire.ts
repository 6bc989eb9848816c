import type { Context } from "aws-lambda";
import { appSchedules } from "../src/aws/app-schedules.ts";
import { appTriggers } from "../src/aws/app-triggers.ts";
import { endsInTime } from "../src/aws/call-times.ts";
import { catalogTypes } from "../src/aws/catalog-types.ts";
import { endingPorts } from "../src/aws/ending-ports.ts";
import { firingsOf } from "../src/aws/firings.ts";
import { newId } from "../src/aws/ids.ts";
import { lazyPort } from "../src/aws/lazy-port.ts";
import { lazyReconcile } from "../src/aws/lazy-reconcile.ts";
import { createLog } from "../src/aws/log.ts";
import { observed } from "../src/aws/observed.ts";
import { SqsRefusedEvents } from "../src/aws/refused-events.ts";
import { SchedulerRules } from "../src/aws/rules.ts";
import { DynamoSchedules } from "../src/aws/schedules.ts";
import { DynamoFirings, DynamoTenants } from "../src/aws/tenants.ts";
import { dispatchPorts, dispatchSettings, gateSettings } from "../src/aws/wiring.ts";
import type { SubmitGate } from "../src/core/limits/gate.ts";
import { fireArrived } from "../src/core/schedules/fire.ts";
import type { FireEventPorts } from "../src/core/schedules/fire-event.ts";
import type { AppScheduleStates, Deployments } from "../src/core/schedules/ports.ts";
import { tenantNoter } from "../src/core/schedules/tenants.ts";
import { fromEnv } from "../src/settings/config.ts";

const config = fromEnv(process.env, [...dispatchSettings, ...gateSettings, "firingsDlqUrl"]);
const dispatching = dispatchPorts(config, createLog("fire"));
const dispatch = { ...dispatching, ...endingPorts(dispatching.table) };
const { table, scheduler, ...base } = dispatch;
const tenants = new DynamoTenants(table);
const types = catalogTypes(process.env);
const refusedEvents = new SqsRefusedEvents(config.firingsDlqUrl);
const ports = {
  ...base,
  newId,
  types,
  appSchedules: appSchedules(process.env),
  appStates: lazyPort<AppScheduleStates>(
    async () => new (await import("../src/aws/app-schedule-states.ts")).DynamoAppScheduleStates(table),
  ),
  schedules: new DynamoSchedules(table),
  rules: new SchedulerRules(scheduler, config),
  tenants,
  firings: new DynamoFirings(table),
  triggers: appTriggers(process.env),
  refusedEvents,
  actOnEvent: async (...given: Parameters<FireEventPorts["actOnEvent"]>) =>
    (await import("../src/aws/act-on-event.ts")).actOnEventWith({ ...dispatch, newId, types, refusedEvents }, ...given),
  scheduleGate: lazyPort<SubmitGate>(async () => (await import("../src/aws/gate.ts")).scheduleGateOf(config, dispatch)),
  ...lazyReconcile(config, dispatch),
  deployments: lazyPort<Deployments>(
    async () => new (await import("../src/aws/deployments.ts")).DynamoDeployments(table),
  ),
  noteTenantOfEvent: tenantNoter(tenants, base.log),
};

/**
 * EventBridge Scheduler calls it with a schedule's input, EventBridge with an event for a trigger, and SQS with inputs
 * that failed before. An error leads to a retry: Lambda tries twice more, then sends the input to that queue.
 */
export const handler = endsInTime(
  observed(base, async (event: unknown, context: Context): Promise<void> => {
    const deadlineMs = Date.now() + context.getRemainingTimeInMillis();
    // The event source has a batch size of 1, so an error affects only one message.
    for (const arrived of firingsOf(event)) await fireArrived(ports, arrived, deadlineMs);
  }),
);
