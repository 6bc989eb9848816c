import { PermanentError, TaskError } from "../model/errors.ts";
import { taskIdOf, wellFormed } from "../model/idempotency.ts";
import type { TaskRecord } from "../model/record.ts";
import type { Clock, OnceDone, OnceStore } from "../ports/tasks.ts";
import { mustNotBeWithin, runWithin } from "./ambient.ts";
import type { TaskLog } from "./context.ts";
import { type Kept, keptIn, keptText, mustBeKept } from "./json-value.ts";

/** Retention of an outcome, in seconds: longer than any record's. */
export const onceRetentionSeconds = 60 * 86_400;

/** The longest key, in characters. */
const longestKey = 256;

/** Another attempt is running the same side effect. The attempt is retried. */
export class OnceBusy extends TaskError {
  static override readonly name: string = "OnceBusy";
  readonly kind = "transient";
}

/** Names the side effect for the other service: always the same UUID for a tenant's key. */
const idempotencyKeyOf = (tenantId: string, key: string): string => taskIdOf(tenantId, "once", key);

/** The attempt that runs a side effect. */
export interface OnceCaller {
  tenantId: string;
  /** Unique to one attempt: see `onceOwner`. */
  owner: string;
  /** End of the reservation in epoch milliseconds: later than any possible end of the attempt. */
  untilMs: number;
  /** The log of the task. Default: nothing is logged. */
  log?: Pick<TaskLog, "info">;
}

/** The owner of a key while an attempt of a task runs its effect. */
export const onceOwner = ({ task_id, attempts_total }: Pick<TaskRecord, "task_id" | "attempts_total">): string =>
  `${task_id}.${attempts_total}`;

const taskOf = (owner: string): string => owner.slice(0, owner.lastIndexOf("."));

/** A task that gets the value of another one has not done the effect, which its author may not expect. */
function logOtherTask({ owner, log }: OnceCaller, what: string, { owner: by, purgeAt }: OnceDone): void {
  if (taskOf(by) === taskOf(owner)) return;
  const at = new Date((purgeAt - onceRetentionSeconds) * 1000).toISOString().replace(".000Z", "Z");
  log?.info(
    `${what}: task ${taskOf(by)} did this effect at ${at}, so this task has not: a key of task.once counts for all ` +
      "tasks of the tenant. For an effect of each task use task.step",
  );
}

/** @throws PermanentError for a key that no well-formed text of 1 to 256 characters is */
export function checkedOnceKey(key: unknown): string {
  if (typeof key === "string" && key !== "" && key.length <= longestKey) return wellFormed("once", key);
  const given =
    typeof key === "string" ? `one of ${key.length}` : `${typeof key === "object" ? "an object" : typeof key}`;
  throw new PermanentError(`once: the key must have 1 to ${longestKey} characters; got ${given}`);
}

/**
 * Runs `effect` unless its outcome is stored, and stores it. After a crash between the effect and the store, the key
 * stays reserved until the attempt has certainly ended; the next attempt then runs the effect again. An effect whose
 * outcome cannot be stored is stored as done, and is not done again.
 * @throws OnceBusy while another attempt holds the key; PermanentError for an outcome that cannot be stored
 */
export async function runOnce<T>(
  ports: { clock: Clock; once: OnceStore },
  caller: OnceCaller,
  key: string,
  effect: (idempotencyKey: string) => Promise<T> | T,
): Promise<T> {
  const { tenantId, owner } = caller;
  const what = inWords(checkedOnceKey(key));
  mustNotBeWithin({ kind: "once", name: key });
  const now = ports.clock.now();
  const purgeAt = Math.ceil(now / 1000) + onceRetentionSeconds;
  const nowIso = new Date(now).toISOString();
  const untilIso = new Date(caller.untilMs).toISOString();
  const begun = await ports.once.begin({ tenantId, key, owner, nowIso, untilIso, purgeAt });
  if (begun.state === "done") {
    logOtherTask(caller, what, begun);
    return mustBeKept(begun, what) as T;
  }
  if (begun.state === "busy") {
    throw new OnceBusy(
      `the side effect ${JSON.stringify(key)} is running in another attempt, of this task or of another one with the same key`,
    );
  }
  let kept: Kept;
  try {
    const outcome = await runWithin({ kind: "once", name: key }, () => effect(idempotencyKeyOf(tenantId, key)));
    const { text, fault } = keptText(outcome, what);
    kept = keptIn({ ...(text !== undefined && { value: text }), ...(fault !== undefined && { fault }) });
  } catch (error) {
    // A key that cannot be released now is free after its reservation. The effect's own error matters more.
    await ports.once.release({ tenantId, key, owner }).catch(() => {});
    throw error;
  }
  const stored = await ports.once.finish({ tenantId, key, owner, ...kept, purgeAt });
  if (!stored) throw new OnceBusy(`the side effect ${JSON.stringify(key)} was taken over by another attempt`);
  return mustBeKept(kept, what) as T;
}

const inWords = (key: string): string => `once ${JSON.stringify(key)}`;
