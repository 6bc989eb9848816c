import type { TaskRecord } from "../../src/core/model/record.ts";
import { breakerName } from "../../src/core/model/wait-queue.ts";
import type { Breaker } from "../../src/core/ports/flow.ts";
import type { Lives, Watched } from "./lives.ts";

/** The type whose keys have a breaker each. */
export const shopType = "shops";

/** By this time, in milliseconds, every process has read the settings, also one that stood still. */
const slackMs = 60_000;

/** The same where no process stands still. */
const promptMs = 8_000;

/** A time in which a breaker was open. In epoch milliseconds. */
interface Opening {
  fromMs: number;
  /** Absent: it is open. */
  toMs?: number;
}

/** The promises of breakers with keys: none stops another key, and an open one lets one task try at a time. */
export class BreakerLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;
  readonly #isPrompt: () => boolean;
  readonly #openings = new Map<string, Opening>();
  /** Tasks that an open breaker made wait. */
  stopped = 0;

  constructor(watched: Watched, lives: Lives, isPrompt: () => boolean) {
    this.#watched = watched;
    this.#lives = lives;
    this.#isPrompt = isPrompt;
  }

  /** A setting of a breaker has changed. Undefined: it was removed. */
  changed(name: string, breaker: Breaker | undefined): void {
    const { now } = this.#watched.time;
    const opening = this.#openings.get(name);
    const isOpen = breaker?.openUntilMs !== undefined;
    const wasOpen = opening !== undefined && opening.toMs === undefined;
    if (isOpen && !wasOpen) this.#openings.set(name, { fromMs: now });
    if (!isOpen && wasOpen) this.#openings.set(name, { ...opening, toMs: now });
  }

  /** A task is put into a line. */
  parked(line: string, { tenant_id, task_id, type }: Pick<TaskRecord, "tenant_id" | "task_id" | "type">): void {
    if (type !== shopType || !line.startsWith("breaker/")) return;
    this.stopped += 1;
    const opening = this.#openings.get(this.#nameOf(task_id, tenant_id));
    const { now } = this.#watched.time;
    const wasOpen = opening !== undefined && (opening.toMs ?? now) >= now - slackMs;
    if (!wasOpen) this.#lives.violated(`it waits in ${line}, and the breaker of its key is closed`, task_id);
  }

  claimed({ type, tenant_id, task_id }: TaskRecord): void {
    if (type !== shopType || !this.#isPrompt()) return;
    const { time, table, core } = this.#watched;
    const name = this.#nameOf(task_id, tenant_id);
    const { fromMs = time.now, toMs } = this.#openings.get(name) ?? {};
    if (toMs !== undefined || fromMs > time.now - promptMs) return;
    const nowIso = core.record.iso(time.now);
    const running = [...this.#lives.lives.values()]
      .filter(({ tenantId, taskId }) => tenantId === tenant_id && this.#nameOf(taskId, tenantId) === name)
      .map(({ tenantId, taskId }) => table.read({ tenant_id: tenantId, task_id: taskId }))
      .filter((one) => one?.type === shopType && one.status === "processing" && (one.lease_until ?? "") > nowIso);
    if (running.length > 1)
      this.#lives.violated(`${running.length} tasks of a key run, while its breaker is open`, task_id);
  }

  #nameOf(taskId: string, tenantId: string): string {
    return breakerName(shopType, tenantId, keyIn(this.#lives.life(taskId)?.input));
  }
}

/** The key in a task's input. */
export const keyIn = (input: string | undefined): string => String(inputIn(input).key);

/** The key and the size in a task's input. */
export function inputIn(input: string | undefined): { key?: string; size?: number } {
  try {
    return JSON.parse(input ?? "{}") as { key?: string; size?: number };
  } catch {
    return { key: "" };
  }
}
