import { DynamoCatalog } from "../aws/catalog-store.ts";
import { createLog } from "../aws/log.ts";
import { createMetrics, type StoredMetrics } from "../aws/metrics.ts";
import { submitPorts, submitSettings } from "../aws/submit-ports.ts";
import { createTracing } from "../aws/tracing.ts";
import type { AnyTasks } from "../client/definitions.ts";
import { isUsualBody } from "../core/pipeline/submit/usual-body.ts";
import type { Log } from "../core/ports/tasks.ts";
import { fromEnv } from "../settings/config.ts";
import { DirectClient } from "./client.ts";
import { currentTypes } from "./current-types.ts";

export interface DirectOptions {
  /** Tenant of the tasks. Nothing checks it: a program with the AWS permissions may name any tenant. */
  tenant: string;
  /** The submitter's name in records and logs. Idempotency keys of different principals never meet. */
  principal: string;
  /**
   * Start of the variables' names, as `grantSubmit` was given it, for a program that submits to several deployments.
   * Default: none.
   */
  prefix?: string;
  /** `pipeline.submitSettings`. Default: the environment variables of these names, which `grantSubmit` sets. */
  settings?: Readonly<Record<string, string>>;
  /** False: no log lines and no metrics on the standard output. Default: true. */
  log?: boolean;
}

/**
 * Creates a client that submits with this process's AWS credentials, without HTTP. `Tasks` is a module or record of
 * task types, as for `createClient`. Create it once, outside of the handler: it keeps connections and what it has read.
 * @throws TypeError when an option is not valid; Error that names each missing setting
 * @example
 * import type * as tasks from "../tasks/index.ts";
 * const offload = createDirectClient<typeof tasks>({ tenant: "acme", principal: "shop-api" });
 * const { task_id } = await offload.submit("invoice.generate", order, { idempotencyKey: order.id });
 */
export function createDirectClient<Tasks = AnyTasks>(options: DirectOptions): DirectClient<Tasks> {
  const { tenant, principal, prefix = "", settings = process.env, log: logs = true } = options;
  const config = fromEnv(withoutPrefix(settings, prefix), [...submitSettings, "deployment"]);
  const log = logs ? createLog("direct") : silentLog;
  const metrics = logs ? createMetrics(process.env, config.deployment) : silentMetrics;
  const ports = submitPorts(config, log, metrics);
  let tracing: ReturnType<typeof createTracing> | undefined;
  return new DirectClient(
    { tenantId: tenant, principal },
    {
      ...ports,
      isUsualBody,
      types: currentTypes(new DynamoCatalog(ports.table), ports.clock),
      flush: () => metrics.flush(),
      tracing: () => {
        tracing ??= createTracing();
        return tracing;
      },
    },
  );
}

/** The variables whose names start with a prefix, without it. */
function withoutPrefix(settings: NodeJS.ProcessEnv, prefix: string): NodeJS.ProcessEnv {
  if (prefix === "") return settings;
  const own = Object.entries(settings).filter(([name]) => name.startsWith(prefix));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(prefix.length), value]));
}

const none = () => {};
const silentLog: Log = { debug: none, info: none, warn: none, error: none, with: () => silentLog };
const silentMetrics: StoredMetrics = { add: none, flush: none };

export type { AnyTasks, TaskInput, TaskName, TaskResult } from "../client/definitions.ts";
export { CallTimeout, OffloadError, ProblemError } from "../client/errors.ts";
export type { SubmitOptions, UniqueOptions } from "../client/submit-options.ts";
export type { SubmittedTask, TaskRef } from "../client/task-ref.ts";
export type { InputError, ProblemCode } from "../core/model/problem.ts";
export type { DirectClient, DirectSubmitOptions } from "./client.ts";
