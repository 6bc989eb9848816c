import { guardFailures, guardMs } from "../../src/core/extras/limits/breaker.ts";
import type { TaskRecord } from "../../src/core/model/record.ts";
import { type PauseTarget, pauseName } from "../../src/core/model/wait-queue.ts";
import { byItself } from "../../src/core/ports/audit.ts";
import type { FlowSetting } from "../../src/core/ports/flow.ts";
import type { Lives } from "./lives.ts";

export type TypePause = PauseTarget & { scope: "type" };

/** The type that operators pause and resume in worlds of resumes. */
export const resumedType = "soon";

/**
 * A tenant's attempts that may fail in a row after a resume: the type stops at the counted ones, and some more run then.
 */
const mostInARow = guardFailures + 25;

/** Attempts of a tenant since the last resume that concerns it. */
interface Row {
  resumedMs: number;
  failures: number;
  /** True when one has completed. */
  mixed: boolean;
}

/** The promises of a resume: what fails again stops itself, and nothing else does. */
export class ResumeLaws {
  readonly #lives: Lives;
  readonly #now: () => number;
  readonly #isPrompt: () => boolean;
  readonly #rows = new Map<string, Row>();

  /** @param isPrompt True in a world without trouble: calls that are repeated count twice. */
  constructor(lives: Lives, now: () => number, isPrompt: () => boolean) {
    this.#lives = lives;
    this.#now = now;
    this.#isPrompt = isPrompt;
  }

  resuming({ tenantId }: TypePause): void {
    for (const tenant of tenantId === undefined ? ["acme", "globex"] : [tenantId])
      this.#rows.set(tenant, { resumedMs: this.#now(), failures: 0, mixed: false });
  }

  /** An attempt has ended. */
  ended(
    { type, tenant_id: tenantId, task_id: taskId }: TaskRecord,
    claimedMs: number,
    outcome: string | undefined,
  ): void {
    const row = this.#rows.get(tenantId);
    if (row === undefined || type !== resumedType || claimedMs < row.resumedMs) return;
    if (outcome === "completed") Object.assign(row, { failures: 0, mixed: true });
    if (outcome !== "failed" && outcome !== "retried") return;
    row.failures += 1;
    if (row.failures > mostInARow && this.#now() < row.resumedMs + guardMs)
      this.#lives.violated(`${row.failures} attempts in a row fail after a resume, and nothing stops them`, taskId);
  }

  /** A setting is written. */
  put(setting: FlowSetting): void {
    if (setting.kind !== "pause" || setting.by !== byItself) return;
    const tenant = setting.name.slice(`${pauseName({ scope: "type", type: resumedType })}/`.length);
    if (tenant === "") this.#lives.violated("two tenants fail, and a type pauses itself for all");
    const row = this.#rows.get(tenant);
    if (row === undefined || row.mixed || row.failures >= guardFailures || !this.#isPrompt()) return;
    this.#lives.violated(`a type pauses itself for ${tenant} after ${row.failures} failures`);
  }
}
