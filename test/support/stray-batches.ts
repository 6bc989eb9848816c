import { readdirSync, readFileSync } from "node:fs";
import { culprits, leftSeconds, strayText } from "./culprits.ts";

/** Number of tasks that the suites of stray errors run, each tenth of which strays. */
export const strayCount = Number(process.env.OFFLOAD_STRAY_TASKS ?? 10 * culprits.length);

/** One of ten tasks. */
const place = 7;

const types = { during: "stray.work", late: "stray.work", timedOut: "stray.soon", keyed: "stray.keyed" } as const;

export type Culprit = (typeof culprits)[number];

interface Planned {
  culprit: Culprit | undefined;
  /** The task's submit. */
  body: { type: string; input: unknown; max_attempts?: number };
}

/** Plans tasks, each tenth of which does what another culprit does. `where` is the end of their types' names. */
export const plannedStrays = (count: number, where = ""): Planned[] =>
  Array.from({ length: count }, (_, index) => {
    const culprit = index % 10 === place ? culprits[Math.floor(index / 10) % culprits.length] : undefined;
    if (culprit === undefined) return { culprit, body: { type: types.during + where, input: {} } };
    const input = { culprit: culprit.name };
    return { culprit, body: { type: types[culprit.kind] + where, input, max_attempts: 1 } };
  });

/** What a suite knows of a task that has ended. */
interface Ended {
  status: string;
  attempts: number;
  error: string | null;
  error_kind: string | null;
}

const expectedStatus = { during: "failed", keyed: "failed", timedOut: "failed", late: "completed" } as const;

/**
 * Compares the end of a task with its plan.
 * @param logged The lines of the log that name the task.
 */
export function strayFaults(culprit: Culprit | undefined, taskId: string, ended: Ended, logged = ""): string[] {
  const faults: string[] = [];
  const { status, attempts, error, error_kind } = ended;
  const expected = culprit === undefined ? "completed" : expectedStatus[culprit.kind];
  if (status !== expected || attempts !== 1) faults.push(`${status} after ${attempts} attempts: ${error}`);
  if (culprit?.kind === "timedOut" && error_kind !== "timed_out") faults.push(`it is ${error_kind}`);
  if (culprit !== undefined && !toldBy(culprit, taskId, ended, logged)) faults.push(`its error is ${error}: ${logged}`);
  return faults.map((fault) => `${culprit?.name ?? "innocent"} ${taskId}: ${fault}`);
}

/** True where the task tells the culprit's error: its record, or the log where its attempt had ended. */
function toldBy({ kind, tells }: Culprit, taskId: string, { error }: Ended, logged: string): boolean {
  const pattern = tells ?? new RegExp(strayText(taskId));
  if (kind === "during" || kind === "keyed") return pattern.test(error ?? "");
  return logged.includes("was not awaited") && pattern.test(logged);
}

/** The lines of a log by the ids of the tasks that they name. */
export function linesByTask(output: string, idOf: RegExp): Map<string, string> {
  const lines = new Map<string, string>();
  for (const line of output.split("\n")) {
    const [, id] = idOf.exec(line) ?? [];
    if (id !== undefined) lines.set(id, `${lines.get(id) ?? ""}${line}\n`);
  }
  return lines;
}

/** Ids of the programs that culprits left and that still run. Reads /proc, so it needs Linux. */
export const leftPrograms = (): string[] =>
  readdirSync("/proc").filter((name) => /^\d+$/.test(name) && commandOf(name).includes(leftSeconds));

/** True while a worker process has this id. Another program may get the id later. */
export const isWorker = (pid: number): boolean => /(worker|container)-process/.test(commandOf(String(pid)));

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
