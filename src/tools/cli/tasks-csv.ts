import { Operations, ProblemError, type TaskView } from "../../client/index.ts";
import { controlCharacters, escapeOf } from "../../util/control-characters.ts";
import { inLanes } from "../../util/in-lanes.ts";
import { type Connection, connectionOf } from "./connection.ts";

const fields = [
  ...(["tenant_id", "task_id", "type", "status", "priority", "attempts", "created_at", "finished_at"] as const),
  ...(["requested_by", "correlation_id", "tags", "error_type", "error"] as const),
] as const satisfies readonly (keyof TaskView)[];

/** Inputs that are read at the same time. */
const lanes = 5;

/**
 * Formats tasks as CSV (RFC 4180), each with its input: to tell customers which of their tasks are concerned. Reads
 * each input by itself. Control characters are escaped; on a screen also line breaks, which could forge a row.
 */
export async function tasksCsv(
  tasks: readonly TaskView[],
  options: Connection,
  { onScreen }: { onScreen: boolean },
): Promise<string> {
  const inputs = await inLanes(tasks, lanes, (task) => inputOf(task, options));
  const rows = tasks.map((task, index) => [...fields.map((field) => task[field]), inputs[index]]);
  return [[...fields, "input"], ...rows].map((row) => row.map((value) => cell(value, onScreen)).join(",")).join("\r\n");
}

/** Undefined: the input is not kept, or this key may not see it. */
async function inputOf({ task_id, tenant_id }: TaskView, options: Connection): Promise<unknown> {
  const connection = connectionOf(options);
  const ofTask = connection.tenant === "*" ? { ...connection, tenant: tenant_id } : connection;
  try {
    return await new Operations(ofTask).input(task_id);
  } catch (error) {
    if (error instanceof ProblemError && (error.status === 404 || error.status === 403)) return undefined;
    throw error;
  }
}

/**
 * A spreadsheet takes a text that begins like this as a formula, also where its separator is the semicolon or the tab:
 * what a client has sent must not become one.
 */
const formula = /(^|[;\uff1b\t\r\n])([\p{Z}\p{Cf}\s"]*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])/gu;

const lineParts: ReadonlySet<string> = new Set(["\t", "\r", "\n"]);

function cell(value: unknown, onScreen: boolean): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const isKept = (char: string) => !onScreen && lineParts.has(char);
  const shown = text.replaceAll(controlCharacters, (char) => (isKept(char) ? char : escapeOf(char)));
  const harmless = typeof value === "number" ? shown : shown.replaceAll(formula, "$1$2'");
  return /[",;\t\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
