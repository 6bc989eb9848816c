import type { LogLine, LogSource, LogSpan, TaskLogs } from "../core/control/task-log.ts";
import type { TaskKey } from "../core/model/record.ts";
import type { Tier } from "../core/model/words.ts";
import type { Page } from "../core/ports/tasks.ts";
import { boundedCalls } from "./call-times.ts";
import { viaPort } from "./errors.ts";
import { boundedTries } from "./http-handler.ts";
import { CloudWatchLogsClient, FilterLogEventsCommand } from "./lean/client-cloudwatch-logs.ts";
import { localConfig, localCredentials } from "./local-services.ts";

/** Names of the log groups of the submit function, of each tier's workers, and of the container workers. */
export type LogGroups = Readonly<Record<"submit" | Tier, string>> & { readonly container?: string };

/** Lines can be searched some seconds after they were written. */
const cloudWatchLateMs = 5_000;

/** Names that a line has for itself. */
const own = new Set([
  ...["level", "message", "timestamp", "service", "sampling_rate", "xray_trace_id"],
  ...["task_id", "tenant_id", "attempt"],
]);

/** The client for logs. The local server plays their service, too. */
export function cloudWatchLogsClient(env: NodeJS.ProcessEnv = process.env): CloudWatchLogsClient {
  const { endpoint } = localConfig("cloudwatch", env) as { endpoint?: string };
  return boundedCalls(new CloudWatchLogsClient(boundedTries(), endpoint === undefined ? env : localEnv(endpoint)));
}

const localEnv = (endpoint: string): NodeJS.ProcessEnv => ({
  ...{ AWS_REGION: "us-east-1", AWS_ENDPOINT_URL: endpoint },
  ...{ AWS_ACCESS_KEY_ID: localCredentials.accessKeyId, AWS_SECRET_ACCESS_KEY: localCredentials.secretAccessKey },
});

/** Reads the names of the log groups. Undefined: this is the local server. */
export const logGroupsOf = (text: string | undefined): LogGroups | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as LogGroups);

/**
 * The lines of tasks in CloudWatch Logs, by FilterLogEvents: it costs nothing, answers at once and in the order of
 * time. It reads all lines of a group within the span, so the spans are those of attempts. An account has 5 to 25 such
 * calls per second in a Region.
 */
export class CloudWatchTaskLogs implements TaskLogs {
  readonly sources: readonly LogSource[];
  readonly byTier: boolean;
  readonly lateMs: number;
  readonly #client: CloudWatchLogsClient;
  readonly #groups: LogGroups;

  /** @param groups Undefined: the local server, whose lines can be read at once. */
  constructor(client: CloudWatchLogsClient, groups: LogGroups | undefined) {
    this.#client = client;
    this.#groups = groups ?? localGroups;
    this.byTier = groups !== undefined;
    this.lateMs = groups === undefined ? 0 : cloudWatchLateMs;
    this.sources = ["submit", "worker", ...(this.#groups.container === undefined ? [] : (["container"] as const))];
  }

  async page(
    { task_id, tenant_id, tier }: TaskKey & { tier: Tier },
    { source, fromMs, untilMs }: LogSpan,
    { limit, from }: { limit: number; from?: string | undefined },
  ): Promise<Page<LogLine> & { bytes: number }> {
    const command = new FilterLogEventsCommand({
      logGroupName: this.#groups[source === "worker" ? tier : source],
      // Ids of tasks and tenants have no quotes.
      filterPattern: `{ ($.task_id = "${task_id}") && ($.tenant_id = "${tenant_id}") }`,
      startTime: fromMs,
      endTime: untilMs,
      limit,
      ...(from !== undefined && { nextToken: from }),
    });
    const answer = await viaPort("CloudWatch Logs", this.#client.send(command));
    const events = (answer.events ?? []) as { message?: string }[];
    const texts = events.map(({ message = "" }) => message);
    return {
      // A service that does not know the filter returns all lines: those of others must not pass.
      items: texts.flatMap((text) => lineOf(text, { task_id, tenant_id }) ?? []),
      next: answer.nextToken as string | undefined,
      bytes: texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0),
    };
  }
}

/** The local server's lines are in one file, with the names of the functions that wrote them. */
const localGroups: LogGroups = {
  ...{ submit: "submit", critical: "worker", high: "worker", normal: "worker", low: "worker", container: "work" },
};

/** Reads a task's line of JSON. Undefined: another program wrote it, or it is of another task. */
function lineOf(text: string, { task_id, tenant_id }: TaskKey): LogLine | undefined {
  const line = parsed(text);
  if (line.task_id !== task_id || line.tenant_id !== tenant_id) return undefined;
  if (typeof line.message !== "string" || typeof line.timestamp !== "string") return undefined;
  const level = String(line.level).toLowerCase();
  return {
    at: line.timestamp,
    level: level === "debug" || level === "warn" || level === "error" ? level : "info",
    message: line.message,
    attempt: typeof line.attempt === "number" ? line.attempt : null,
    fields: Object.fromEntries(Object.entries(line).filter(([name]) => !own.has(name))),
  };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
