import { fence } from "../../model/change.ts";
import { AttemptCrashed } from "../../model/errors.ts";
import { newEntryPurgeAt } from "../../pipeline/send/keep-entries.ts";
import type { CallCounts, StoredEntry } from "../../ports/steps.ts";
import { parsedValue, valueText } from "../../task/json-value.ts";
import { dataOf, type Parsed, parseBy } from "../../task/parsed-input.ts";
import type { Caused, StepTools } from "./step-tools.ts";

/** The state of a checkpoint, and what the handler had numbered then. */
export interface StoredState extends CallCounts {
  value: unknown;
}

/** The states that one attempt stores, and the state that it starts with. */
export class Checkpoints {
  readonly #steps: StepTools;
  readonly #caused: Caused;
  #flagged: boolean;
  #saving: Promise<void> = Promise.resolve();
  /** The newest state that this attempt has stored. */
  saved: StoredEntry | undefined;
  #states = 0;

  constructor(steps: StepTools, caused: Caused) {
    this.#steps = steps;
    this.#caused = caused;
    this.#flagged = steps.record.checkpointed === true;
  }

  /**
   * Reads the state of the last checkpoint. Undefined: there is none. Only a record with `checkpointed` has one.
   * @throws InvalidInput when it does not fit the type's schema any more
   */
  async state(): Promise<StoredState | undefined> {
    const { value: text, spawned = 0, submitted = 0 } = (await this.#steps.stored()).get("state:") ?? {};
    if (text === undefined) return undefined;
    return { value: dataOf(await this.#check(parsedValue(text))), spawned, submitted };
  }

  #check(state: unknown): Parsed | Promise<Parsed> {
    const { state: schema } = this.#steps.type;
    return schema === undefined ? { data: state } : parseBy(schema, state, "state");
  }

  /** Stores the state that the next attempt starts with. States are stored in the order of the calls. */
  async checkpoint(state: unknown): Promise<void> {
    const checked = this.#check(state);
    if (!(checked instanceof Promise)) dataOf(checked);
    const value = valueText(state ?? null, "the state of task.checkpoint", "state") ?? "null";
    const { rest } = this.#steps;
    rest.begin(false);
    const counts = this.#caused.counts();
    const saved = this.#saving.then(async () => {
      if (checked instanceof Promise) dataOf(await checked);
      await this.#saveState(value, counts);
    });
    this.#saving = saved.catch(() => {});
    return saved.finally(async () => {
      await rest.ready();
      rest.end(false);
    });
  }

  async #saveState(value: string, counts: CallCounts): Promise<void> {
    await this.#caused.keepAll();
    const { ports, record } = this.#steps;
    const { attempts_total: attempt } = record;
    if (!this.#flagged) {
      // Before the state, so that no later attempt misses it.
      const changed = await ports.records.change(record, { when: fence(record), set: { checkpointed: true } });
      if (!changed.done) throw lostLease();
      this.#flagged = true;
    }
    this.#states += 1;
    const state = { attempt, order: this.#states, value, ...counts };
    const purgeAt = newEntryPurgeAt(ports.clock, record);
    if (!(await ports.steps.saveState(record, state, purgeAt))) throw lostLease();
    this.saved = { kind: "state", name: "", purge_at: purgeAt };
  }
}

const lostLease = () => new AttemptCrashed("the attempt lost its lease before it could store its state");
