import type { TaskContext } from "../../src/core/task/context.ts";
import { jobChildType, jobSignal, jobType } from "./job-plans.ts";
import type { Life, Lives } from "./lives.ts";
import type { Run } from "./runs.ts";
import type { Table } from "./table.ts";

/** What is known of one task of the type. */
interface Facts {
  /** What each call of `run` returned, by its key and, where the child failed, by the round. */
  ends: Map<string, string>;
  /** The bodies that were read, by the number of the call. Null: the call timed out. */
  bodies: Map<number, string | null>;
}

/** Laws of `task.run`, `nextSignal`, `onFailed` and families that stop. */
export class JobLaws {
  /** For the test that the worlds are not empty. */
  readonly counts = { runs: 0, failures: 0, bodies: 0, handled: 0, stopped: 0 };
  readonly #world: { witness: Lives; table: Table };
  readonly #facts = new Map<Life, Facts>();
  /** The tasks of `onFailed` whose handler has returned, by the task and its round. */
  readonly #handled = new Map<string, Set<string>>();

  constructor(world: { witness: Lives; table: Table }) {
    this.#world = world;
  }

  #factsOf(life: Life): Facts {
    const facts = this.#facts.get(life) ?? { ends: new Map(), bodies: new Map() };
    this.#facts.set(life, facts);
    return facts;
  }

  #broken(text: string, taskId: string): void {
    this.#world.witness.violated(text, taskId);
  }

  /** An attempt that is over may be told anything. */
  #isOver({ life, task }: Run): boolean {
    return life === undefined || task.signal.aborted;
  }

  /** A call of `run` returned or threw: with the end of its child, and with the same end in each attempt of the round. */
  runReturned(run: Run, key: string, end: string, failed: boolean): void {
    const { life, round, task } = run;
    if (life === undefined || this.#isOver(run)) return;
    this.counts[failed ? "failures" : "runs"] += 1;
    const { ends } = this.#factsOf(life);
    const name = failed ? `${round}:${key}` : key;
    const earlier = ends.get(name);
    if (earlier !== undefined && earlier !== end)
      this.#broken(`the run ${key} ended with ${end}, and with ${earlier} before`, task.taskId);
    if (failed && ends.has(key)) this.#broken(`the run ${key} failed after it had completed`, task.taskId);
    ends.set(name, end);
  }

  /** A call of `nextSignal` returned: the body of that number, and the same in each attempt. */
  bodyRead(run: Run, number: number, body: unknown): void {
    const { life, task } = run;
    if (life === undefined || this.#isOver(run)) return;
    const { bodies } = this.#factsOf(life);
    const text = body === undefined ? null : JSON.stringify(body);
    const before = bodies.get(number);
    if (before !== undefined && before !== text)
      this.#broken(`call ${number} of nextSignal gave ${text}, and ${before} before`, task.taskId);
    bodies.set(number, text);
    if (text === null) return;
    this.counts.bodies += 1;
    const name = number === 1 ? jobSignal : `${jobSignal} #${number}`;
    const stored = life.steps.stored.get(`signal:${name}`)?.entry.value;
    if (stored !== text)
      this.#broken(`call ${number} of nextSignal gave ${text}, and ${stored} came then`, task.taskId);
    for (const [other, one] of bodies)
      if (other !== number && one === text) this.#broken(`nextSignal gave ${text} twice`, task.taskId);
  }

  /** The code of `onFailed` has returned for a failed round. */
  handled(task: TaskContext, failed: { taskId: string; failedAt: string }): void {
    this.counts.handled += 1;
    const key = `${failed.taskId} ${failed.failedAt}`;
    const by = this.#handled.get(key) ?? new Set();
    this.#handled.set(key, by.add(task.taskId));
    if (by.size > 1) this.#broken("onFailed: one round has two tasks", failed.taskId);
    const life = this.#world.witness.life(failed.taskId);
    if (life?.deaths.has(failed.failedAt) !== true) this.#broken("onFailed: its task has not failed", failed.taskId);
  }

  /** At rest. */
  judge(): void {
    for (const life of this.#world.witness.lives.values()) {
      const record = this.#world.table.read({ tenant_id: life.tenantId, task_id: life.taskId });
      if (record?.type !== jobType || life.purged) continue;
      for (const failedAt of life.deaths) {
        if (this.#handled.get(`${life.taskId} ${failedAt}`) === undefined)
          this.#broken(`onFailed: it did not run for the failure of ${failedAt}`, life.taskId);
      }
      this.#judgeChildren(life.taskId);
      this.#judgeStop(life.taskId);
    }
  }

  /** The children of a task, as they are now. */
  #childrenOf(taskId: string) {
    const { witness, table } = this.#world;
    const records = [...witness.lives.values()].map(({ tenantId, taskId: id }) =>
      table.read({ tenant_id: tenantId, task_id: id }),
    );
    return records.flatMap((one) => (one?.type === jobChildType && one.parent_id === taskId ? one : []));
  }

  /** One child for each place, so one for each key. */
  #judgeChildren(taskId: string): void {
    const places = this.#childrenOf(taskId).map(({ family_leaf, family_place }) => `${family_leaf} ${family_place}`);
    if (new Set(places).size < places.length) this.#broken("two children have one place", taskId);
    const keys = this.#childrenOf(taskId).map(({ kept_input = "", shown_input = kept_input }) => shown_input);
    const named = keys.flatMap((text) => /"key":"[^"]*"/.exec(text) ?? []);
    if (new Set(named).size < named.length) this.#broken("two children have one key", taskId);
  }

  /** Nothing is cancelled in a family that completes, and a family that is full ends by its threshold. */
  #judgeStop(taskId: string): void {
    const { witness, table } = this.#world;
    const life = witness.life(taskId);
    const record = life && table.read({ tenant_id: life.tenantId, task_id: taskId });
    const counts = record?.family_counts;
    if (record === undefined || counts === undefined) return;
    const { completed, failed, cancelled, expired } = counts;
    if (record.family_stop === "requested") this.counts.stopped += 1;
    const total = completed + failed + cancelled + expired - (record.family_caught ?? 0);
    const reached = completed >= Math.ceil(0.6 * total - 1e-9);
    if (record.status === "completed" && !reached) this.#broken("it completed below its threshold", taskId);
    if (record.status === "completed" && cancelled > 0)
      this.#broken("children of a whole family are cancelled", taskId);
    if (record.error_kind === "children_failed" && reached) this.#broken("it failed above its threshold", taskId);
  }
}
