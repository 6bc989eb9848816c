import { type Redact, redacted } from "../core/task/handler-log.ts";

/** A line in CloudWatch's embedded metric format: `_aws` names the members that are metrics and dimensions. */
interface MetricLine extends Record<string, unknown> {
  _aws: { CloudWatchMetrics: unknown[] };
}

/**
 * Returns the line for CloudWatch of a text in the embedded metric format: the text itself, in one line. CloudWatch
 * finds no metrics below the root, so the line gets no ids. That of a sensitive type keeps its metrics and dimensions,
 * without texts of the input. Undefined: the text is another one, or it names another task.
 */
export function metricLineOf(
  text: string,
  task: { taskId: string; tenantId: string },
  redact?: Redact,
): string | undefined {
  const line = parsed(text);
  if (line === undefined || !names(line, task)) return undefined;
  if (redact !== undefined) return JSON.stringify(withoutSecrets(line, redact));
  return text.includes("\n") || text.includes("\r") ? JSON.stringify(line) : text;
}

function parsed(text: string): MetricLine | undefined {
  if (!text.includes('"_aws"')) return undefined;
  try {
    const value = JSON.parse(text) as Partial<MetricLine> | null;
    return Array.isArray(value?._aws?.CloudWatchMetrics) ? (value as MetricLine) : undefined;
  } catch {
    return undefined;
  }
}

/** A handler that writes its input must not be able to put a line into the log of another task. */
const names = (line: MetricLine, { taskId, tenantId }: { taskId: string; tenantId: string }): boolean =>
  [undefined, taskId].includes(line.task_id as string) && [undefined, tenantId].includes(line.tenant_id as string);

/** Metrics keep their numbers, and dimensions what is no text of the input. Every other member loses its value. */
function withoutSecrets(line: MetricLine, redact: Redact): Record<string, unknown> {
  const dimensions = new Set(directivesOf(line).flatMap(({ Dimensions }) => listOf(Dimensions).flatMap(listOf)));
  const metrics = new Set(
    directivesOf(line).flatMap(({ Metrics }) => listOf(Metrics).map((one) => (one as { Name?: unknown } | null)?.Name)),
  );
  const kept = ([name, value]: [string, unknown]): unknown => {
    if (name === "_aws") return withoutTexts(value, redact);
    if (metrics.has(name)) return isNumeric(value) ? value : redacted;
    return dimensions.has(name) ? redact(String(value)) : redacted;
  };
  return Object.fromEntries(Object.entries(line).map((member) => [redact(member[0]), kept(member)]));
}

const directivesOf = ({ _aws }: MetricLine) =>
  _aws.CloudWatchMetrics.filter((one) => typeof one === "object" && one !== null) as {
    Dimensions?: unknown;
    Metrics?: unknown;
  }[];

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const isNumeric = (value: unknown): boolean => [value].flat().every((one) => typeof one === "number");

function withoutTexts(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (Array.isArray(value)) return value.map((one) => withoutTexts(one, redact));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [redact(name), withoutTexts(member, redact)]),
  );
}
