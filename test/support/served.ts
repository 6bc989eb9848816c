import { randomBytes } from "node:crypto";
import { files as acts } from "../../src/api/acts/index.ts";
import type { KeyPorts } from "../../src/api/acts/key-acts.ts";
import type { QueuePorts } from "../../src/api/acts/queue-acts.ts";
import type { TenantLimitPorts } from "../../src/api/acts/tenant-acts.ts";
import { handlersOf } from "../../src/api/http/act-handlers.ts";
import { type ApiPorts, apiOf } from "../../src/api/http/api.ts";
import { type AuditPorts, audited, auditReads } from "../../src/api/http/audit.ts";
import { operationStarts } from "../../src/api/http/bulk.ts";
import { bulkTasks } from "../../src/api/http/bulk-tasks.ts";
import { channelStarts } from "../../src/api/http/channels.ts";
import { type ConsolePorts, consoleApi } from "../../src/api/http/console.ts";
import { Cursors } from "../../src/api/http/cursor.ts";
import { deadLetterReads } from "../../src/api/http/dead-letters.ts";
import { type DeliveryReadPorts, deliveryReads } from "../../src/api/http/deliveries.ts";
import { deploymentReads } from "../../src/api/http/deployments.ts";
import type { AuthorizerContext } from "../../src/api/http/event.ts";
import { type LogPorts, logReads } from "../../src/api/http/logs.ts";
import { metricReads } from "../../src/api/http/metrics.ts";
import { type ReceiverReadPorts, receiverReads, receiverReplays } from "../../src/api/http/receiver-routes.ts";
import type { Router } from "../../src/api/http/router.ts";
import { scheduleReads, scheduleStarts } from "../../src/api/http/schedule-routes.ts";
import { type SignalRoutePorts, signalLinks, signalTask } from "../../src/api/http/signals.ts";
import { type StatusPorts, taskReads } from "../../src/api/http/status.ts";
import { submitApi } from "../../src/api/http/submit.ts";
import type { SubmitApiPorts } from "../../src/api/http/submit-ports.ts";
import { type TenantReadPorts, tenantReads } from "../../src/api/http/tenant-routes.ts";
import { openApiDocument } from "../../src/api/openapi/document.ts";
import type { AcknowledgePorts } from "../../src/core/control/acknowledge.ts";
import type { MetricHistory } from "../../src/core/control/metric-history.ts";
import { PlaceBook } from "../../src/core/extras/limits/place-book.ts";
import { followers } from "../../src/core/extras/list.ts";
import type { LinkPorts } from "../../src/core/extras/steps/signal.ts";
import { noLimits } from "../../src/core/limits/limits.ts";
import type { TaskRecord } from "../../src/core/model/record.ts";
import type { Role } from "../../src/core/model/words.ts";
import { callbackFault } from "../../src/core/notify/callback-url.ts";
import type { ReceiverPorts } from "../../src/core/notify/manage-receivers.ts";
import type { OpenChannelPorts } from "../../src/core/notify/open-channel.ts";
import { fixedWebhookKey, type SecretPorts } from "../../src/core/notify/secret.ts";
import type { EntryPorts } from "../../src/core/pipeline/send/keep-entries.ts";
import type { SubmitPorts } from "../../src/core/pipeline/submit/submit-ports.ts";
import type { EndPorts } from "../../src/core/ports/extra.ts";
import type { FlowSettings, WaitQueues } from "../../src/core/ports/flow.ts";
import type { Tracing } from "../../src/core/ports/tasks.ts";
import type { AppSchedulePorts } from "../../src/core/schedules/manage-app-schedules.ts";
import type { ScheduleWritePorts } from "../../src/core/schedules/manage-schedules.ts";
import type { Deployments } from "../../src/core/schedules/ports.ts";
import { internalTypes } from "../../src/core/task/internal-types.ts";
import type { TaskType } from "../../src/core/task/task.ts";
import { MemoryAuditLog } from "../../src/memory/audit.ts";
import { MemoryDeliveries } from "../../src/memory/deliveries.ts";
import { MemoryDeployments } from "../../src/memory/deployments.ts";
import { MemoryFamilies } from "../../src/memory/families.ts";
import { MemoryFlowSettings } from "../../src/memory/flow-settings.ts";
import { MemoryKeys } from "../../src/memory/keys.ts";
import { MemoryLimits } from "../../src/memory/limits.ts";
import { MemoryChannels } from "../../src/memory/push.ts";
import type { MemoryQueues } from "../../src/memory/queues.ts";
import { MemoryReceivers } from "../../src/memory/receivers.ts";
import {
  MemoryAppScheduleStates,
  MemoryRuleChecks,
  MemoryRules,
  MemorySchedules,
  MemoryTenants,
} from "../../src/memory/schedules.ts";
import { MemorySecretVersions } from "../../src/memory/secret-versions.ts";
import { MemorySignalLinks } from "../../src/memory/signal-links.ts";
import { MemoryStepStore } from "../../src/memory/steps.ts";
import { MemoryTaskLogs } from "../../src/memory/task-logs.ts";
import { MemoryWaitQueues } from "../../src/memory/wait-queues.ts";
import { MemoryWaits } from "../../src/memory/waits.ts";
import { Documented } from "./documented.ts";
import { inRole } from "./in-role.ts";
import { pipelineWith } from "./memory-pipeline.ts";
import { allParts } from "./parts/all.ts";
import { requestTo } from "./request-to.ts";
import { echo } from "./task-types.ts";

/** Who asks, as the authorizer says it. */
export const caller = (tenant_id: string, principal: string, role: Role): AuthorizerContext => ({
  tenant_id,
  principal,
  role,
});

export const olga = caller("acme", "olga", "operator");
export const otto = caller("acme", "otto", "operator");
export const gina = caller("globex", "gina", "operator");
export const sam = caller("acme", "sam", "submitter");
export const sue = caller("acme", "sue", "submitter");
export const ada = caller("acme", "ada", "admin");

/** A request without its path. */
export interface Ask {
  method?: string;
  /** Default: an operator. `{}` is nobody. */
  as?: AuthorizerContext;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is, in place of `json`. */
  raw?: string | Uint8Array<ArrayBuffer>;
}

/** Asks an app as the gateway would, without a port. Default: GET, or POST where there is a body. */
export async function ask(api: Router, path: string, { as = olga, headers = {}, json, raw, ...rest }: Ask = {}) {
  const body = raw ?? (json === undefined ? undefined : JSON.stringify(json));
  const type: Record<string, string> = json === undefined ? {} : { "content-type": "application/json" };
  const method = rest.method ?? (body === undefined ? "GET" : "POST");
  const init = {
    method,
    headers: { ...type, ...headers },
    ...(body === undefined ? {} : { body }),
  };
  const response = await requestTo(api, path, init, as);
  const text = await response.text();
  const { status, headers: answered } = response;
  const fault = documentedApps.has(api)
    ? documented.faultOf({ method: init.method, path, status, headers: answered, text })
    : undefined;
  if (fault !== undefined) throw new Error(`${init.method} ${path} is not answered as documented: ${fault}`);
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json(): Record<string, unknown> {
      return JSON.parse(text);
    },
  };
}

/** The document of these apps. Answers do not depend on its task types. */
const document = openApiDocument([], "1.2.3");
const documentText = JSON.stringify(document);
const documented = new Documented(document);

/** The apps whose answers must be as documented. */
const documentedApps = new WeakSet<Router>();

/** A console with one file beside its page. */
export const aConsole: Omit<ConsolePorts, keyof ApiPorts> = {
  files: new Map([
    ["index.html", "<!doctype html><title>Offload</title>"],
    ["app.js", "document.title;"],
  ]),
  version: "1.2.3",
  name: "Offload-test",
  local: false,
  socketUrl: () => "wss://push.example.com/v1",
  signIn: undefined,
};

/** Ports of every function that answers requests. */
type AppPorts = Omit<SubmitApiPorts, "batch"> &
  Pick<SignalRoutePorts, "countRequest"> &
  Pick<LinkPorts, "links"> &
  Omit<StatusPorts, "lines"> &
  QueuePorts &
  ScheduleWritePorts &
  AppSchedulePorts &
  LogPorts &
  OpenChannelPorts &
  DeliveryReadPorts &
  ReceiverReadPorts &
  ReceiverPorts &
  Pick<AcknowledgePorts, "forgetResult"> &
  SecretPorts &
  KeyPorts &
  TenantReadPorts &
  TenantLimitPorts & { history: MetricHistory } & AuditPorts & {
    lines: WaitQueues;
    flowSettings: FlowSettings;
    deployments: Deployments;
  } & EntryPorts &
  EndPorts;

/** The apps of submit, status, control and the console over the ports of a pipeline in memory, with defaults for what that leaves out. */
export function appsOf(given: SubmitPorts & { queues: MemoryQueues; tracing: Tracing } & Partial<AppPorts>) {
  let ids = 0;
  const { steps = new MemoryStepStore() } = given;
  const ports: AppPorts = {
    links: new MemorySignalLinks(),
    newCorrelationId: () => `new-${++ids}`,
    cursors: new Cursors("a key that nobody can guess"),
    health: { version: "1.2.3" },
    openApi: () => documentText,
    depths: given.queues,
    retries: { ofTiers: async () => ({ critical: 0, high: 0, normal: 0, low: 0 }) },
    ages: { ofTiers: async () => ({}) },
    schedules: new MemorySchedules(),
    appSchedules: new Map(),
    appStates: new MemoryAppScheduleStates(),
    rules: new MemoryRules(),
    checks: new MemoryRuleChecks(),
    channels: new MemoryChannels(),
    deliveries: new MemoryDeliveries(),
    deployments: new MemoryDeployments(),
    receivers: new MemoryReceivers(),
    urlFault: (url) => callbackFault(url, []),
    audit: new MemoryAuditLog(),
    keys: new MemoryKeys(),
    randomBytes,
    tenants: new MemoryTenants(),
    limits: new MemoryLimits(),
    configuredLimits: noLimits,
    history: { series: async () => [], alarms: async () => [] },
    forgetResult: async () => {},
    key: fixedWebhookKey(Buffer.alloc(32, 7).toString("base64")),
    versions: new MemorySecretVersions(),
    waits: new MemoryWaits(10),
    lines: new MemoryWaitQueues(),
    flowSettings: new MemoryFlowSettings(),
    steps,
    extras: followers(steps),
    families: new MemoryFamilies(),
    logs: new MemoryTaskLogs(),
    callTime: { within: (_, work) => work(), apart: (work) => work() },
    newTicket: () => `ticket-${++ids}`,
    socketUrl: "wss://push.example.com/v1",
    ...given,
  };
  const status = inRole("status", ports);
  const control = inRole("control", ports);
  const withInternal = { ...control, types: new Map([...ports.types, ...internalTypes]) };
  const places = new PlaceBook(ports.clock, {
    orders: (...query) => ports.lines.orders(...query),
    isSharded: async (line) => (await ports.lines.state(line)).sharded === true,
    holderOf: async (line) => [...(await ports.lines.state(line)).permits.keys()][0],
    startsOf: async (line) => (await ports.lines.state(line)).starts,
  });
  const apps = {
    submit: submitApi(inRole("submit", ports)),
    status: apiOf("status", status, {
      ...taskReads({ ...status, lines: places }),
      ...deadLetterReads({ ...status, lines: places }),
      ...deliveryReads(status),
      ...receiverReads(status),
      ...scheduleReads(status),
      ...auditReads(status),
      ...tenantReads(status),
      ...deploymentReads(status),
      ...logReads(status),
    }),
    control: apiOf(
      "control",
      control,
      audited("control", control, {
        ...handlersOf(withInternal, acts.tasks.acts()),
        ...handlersOf(withInternal, acts.rareTasks.acts()),
        ...handlersOf(withInternal, acts.running.acts()),
        ...handlersOf(control, acts.webhooks.acts()),
        ...handlersOf(control, acts.queues.acts()),
        ...handlersOf(control, acts.types.acts()),
        ...handlersOf(control, acts.tenants.acts()),
        ...handlersOf(control, acts.keys.acts()),
        ...handlersOf(control, acts.schedules.acts()),
        ...operationStarts(withInternal),
        ...bulkTasks(withInternal),
        ...scheduleStarts(control),
        ...channelStarts(control),
        ...signalTask(control),
        ...signalLinks(control),
        ...receiverReplays(control),
        ...metricReads(control),
      }),
    ),
  };
  for (const app of Object.values(apps)) documentedApps.add(app);
  return { ...apps, console: consoleApi({ ...ports, ...aConsole }) };
}

/** The apps of submit, status, control and the console over one pipeline in memory. */
export function served(types: readonly TaskType[] = [echo], more: Partial<Omit<LogPorts, "uniqueKeys">> = {}) {
  const pipeline = pipelineWith(...allParts)(types);
  const apps = appsOf({ ...pipeline.ports, ...more });

  /** Submits by HTTP, and gives the record. */
  const accepted = async (json: Record<string, unknown> = {}, more: Ask = {}): Promise<TaskRecord> => {
    const body = { type: types[0]?.name, input: types[0] === echo ? { value: null } : null, ...json };
    const answer = await ask(apps.submit, "/tasks", { json: body, ...more });
    if (answer.status !== 202) throw new Error(answer.text);
    const tenant_id = more.as?.tenant_id ?? "acme";
    return pipeline.recordOf({ tenant_id, task_id: String(answer.json.task_id) });
  };

  return { ...pipeline, ...apps, accepted };
}

/** What every problem of this status and code has. */
export const problem = (status: number, code: string) => ({
  status,
  json: { type: `urn:offload:error:${code}`, code, status },
});
