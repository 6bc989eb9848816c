import type { Change, Changed } from "../../src/core/model/change.ts";
import type { DeadLetterMessage } from "../../src/core/model/envelope.ts";
import { isInternal, systemTenant } from "../../src/core/model/internal-names.ts";
import type { TaskKey, TaskRecord } from "../../src/core/model/record.ts";
import { deadLetterSeconds } from "../../src/core/pipeline/send/retention.ts";
import { beginSeconds } from "../../src/core/pipeline/work/batch-plan.ts";
import { SeenFeatures } from "./features.ts";
import { FlowLaws } from "./flow-laws.ts";
import { InterruptLaws } from "./interrupts.ts";
import type { Invocation } from "./invocation.ts";
import { KeyLaws } from "./key-laws.ts";
import { brokenLaws, isSuspended } from "./laws.ts";
import { ListLaws } from "./list-laws.ts";
import { type Life, Lives, type Watched } from "./lives.ts";
import { LostLetters } from "./lost-letters.ts";
import { ResumeLaws } from "./resume-laws.ts";
import { Runs } from "./runs.ts";
import { newStepFacts } from "./step-facts.ts";
import { StepLaws } from "./step-laws.ts";
import { Told } from "./told.ts";
import { TurnLaws } from "./turn-laws.ts";
import { UniqueLaws } from "./unique-laws.ts";
import type { Theme } from "./weather.ts";

/** Sees every change as it is made, and says at once when a promise is broken. */
export class Witness extends Lives {
  readonly runs: Runs;
  readonly told: Told;
  readonly #interrupts: InterruptLaws;
  readonly #onOrphan: () => void;
  readonly steps: StepLaws;
  readonly flow: FlowLaws;
  readonly turns: TurnLaws;
  readonly resumes: ResumeLaws;
  readonly unique: UniqueLaws;
  readonly keys: KeyLaws;
  readonly lists: ListLaws;
  readonly features = new SeenFeatures();
  /** Keys of objects that the list of stored objects has had. */
  readonly listed = new Set<string>();
  readonly letters = new LostLetters();
  /** Number of dead letters that were sent. */
  deadLettered = 0;
  /** How many messages that nobody can read were put into tiers. */
  garbage = 0;

  /**
   * @param mustTell True for a task whose end has a subscriber.
   * @param hasReceivers True: the tenants have receivers of webhooks.
   * @param hasMessage True for a task with a message, or a line with a check, that a worker can receive now.
   * @param onOrphan Called at the death of a process that has created a child.
   * @param isPrompt True in a world in which nothing delays a task for long, as long as no worker dies. Its theme is a usual one, or the given one.
   */
  constructor(
    watched: Watched,
    mustTell: (record: TaskRecord) => boolean,
    hasReceivers: boolean,
    isPrompt: (also?: Theme) => boolean,
    hasMessage: (name: string) => boolean,
    onOrphan: () => void,
  ) {
    super(watched);
    this.#onOrphan = onOrphan;
    this.told = new Told(mustTell, hasReceivers);
    this.#interrupts = new InterruptLaws(watched, this);
    this.keys = new KeyLaws(watched, this);
    this.lists = new ListLaws(watched, this);
    this.unique = new UniqueLaws(watched, this, isPrompt);
    this.runs = new Runs(watched, this, this.unique);
    const flows = () => (isPrompt("flow") || isPrompt("behind")) && this.costs.deaths === 0;
    this.flow = new FlowLaws(watched, this, flows, hasMessage);
    this.turns = new TurnLaws(watched, this, () => isPrompt("flow") && this.costs.deaths === 0);
    this.resumes = new ResumeLaws(
      this,
      () => watched.time.now,
      () => isPrompt("resumes"),
    );
    this.steps = new StepLaws(watched, this, () => isPrompt() && this.costs.deaths === 0, hasMessage);
  }

  /** Somebody asks for a record or for what belongs to it: only ever in its own tenant. */
  touched(from: Invocation, key: TaskKey): void {
    // Offload's own tasks, which functions of any tenant submit.
    if (key.tenant_id === systemTenant) return;
    const tenantId = this.lives.get(key.task_id)?.tenantId ?? from.tenantId;
    if (tenantId !== undefined && key.tenant_id !== tenantId) {
      this.violated(`promise 6: ${from.name} asked for it in the tenant ${key.tenant_id}`, key.task_id);
    }
    if (from.tenantId !== undefined && key.tenant_id !== from.tenantId) {
      this.violated(
        `promise 6: ${from.name} serves the tenant ${from.tenantId} and asked for ${key.tenant_id}`,
        key.task_id,
      );
    }
  }

  /** Whatever dies then, the purge finds the object. */
  stored(key: string): void {
    if (!this.listed.has(key)) this.violated("an object is stored that no list has");
  }

  /** The table has lost a dead letter's record. What comes back has no history: only its letter is judged from now on. */
  lost(record: TaskRecord): void {
    const life = this.lives.get(record.task_id);
    if (life !== undefined) {
      life.purged = true;
      // The letter does not tell how long its task is kept.
      life.keptUntil = 0;
    }
    this.told.lost(record.task_id);
    this.letters.add(record);
  }

  created(record: TaskRecord, from: Invocation): void {
    const changed = this.letters.back(record);
    if (changed !== undefined) {
      if (changed.length > 0)
        this.violated(`a lost dead letter came back with another ${changed.join(", ")}`, record.task_id);
      this.#cameBack(record);
      return;
    }
    if (this.#isOfOldLetter(record)) {
      this.told.lost(record.task_id);
      this.#cameBack(record);
      return;
    }
    if (record.status !== "pending" || record.attempts_total !== 0) this.violated("it was born old", record.task_id);
    this.touched(from, record);
    this.told.gone(record.task_id);
    this.costs.begin(record.task_id);
    this.unique.created(record, from);
    this.features.note(record, from);
    if (record.family_leaf !== undefined) from.process.onDeath(this.#onOrphan);
    this.lives.set(record.task_id, {
      tenantId: record.tenant_id,
      taskId: record.task_id,
      bornAt: this.watched.time.now,
      createdAt: record.created_at,
      by: from,
      steps: newStepFacts(),
      // Offload's own tasks have inputs of their own.
      input: isInternal(record) ? undefined : (from.input ?? from.inputs?.get(record.request_hash ?? "")),
      accepted: false,
      claims: [],
      children: new Map(),
      stacks: new Map(),
      // A letter of an earlier task with this id may still be on its way: what it says was true.
      deaths: new Set(this.lives.get(record.task_id)?.deaths),
      discarded: false,
      cancelled: false,
      cancelling: new Set(),
      keptUntil: 0,
      purged: false,
    });
  }

  /** A letter does not say when its task was created. The steps of the next attempts belong to the record that the task has now. */
  #cameBack(record: TaskRecord): void {
    const life = this.lives.get(record.task_id);
    if (life === undefined) return;
    // A step's idempotency key is made of that time, too.
    if (life.createdAt !== record.created_at) life.steps.keys.clear();
    life.createdAt = record.created_at;
  }

  /** The table has deleted the record with its retention, and a sweep has found a letter of it that no sweep had deleted in 14 days. */
  #isOfOldLetter({ task_id, status, dead_letter_at: diedAt = "" }: TaskRecord): boolean {
    const life = this.lives.get(task_id);
    const isFresh = this.watched.time.now - Date.parse(diedAt) < deadLetterSeconds * 1000 + 1000;
    return status === "failed" && life?.purged === true && life.deaths.has(diedAt) && isFresh;
  }

  changed(before: TaskRecord, after: TaskRecord, from: Invocation, issuedAt: number): void {
    const life = this.lives.get(after.task_id);
    if (life === undefined) throw new Error("a record changed that nobody created");
    const seen = { before, after, from, issuedAt, nowMs: this.watched.time.now, holder: life.claims.at(-1)?.by };
    this.told.changed(before, after);
    this.features.note(after, from);
    if (before.priority !== after.priority) this.costs.moved(after.task_id);
    this.unique.changed(before, after, from);
    // Of two retries at once, only the one that starts the round gives the task its input.
    if (from.kind === "control" && after.input_part !== before.input_part) life.input = from.input ?? life.input;
    for (const broken of brokenLaws(this.watched.core, seen)) this.violated(broken, after.task_id);
    if (after.attempts_total > before.attempts_total) {
      const { round, attempts: number, attempts_total: total, lease_until: leaseUntil = "" } = after;
      const alone = before.error_kind === "crashed";
      const at = this.watched.time.now;
      const fresh = { known: false, started: false, readFirst: false, settled: false, suspended: false };
      life.claims.push({ round, number, total, at, by: from, leaseUntil, alone, ...fresh });
      if (life.cancelled) this.violated("a cancelled task was claimed", after.task_id);
      this.flow.claimed(after);
      this.turns.claimed(after);
    }
    this.turns.changed(before, after);
    this.#settled(life, before, after, from);
    if (after.round > before.round) life.cancelled = false;
    // A signal to a task that waits in a line changes its record, too.
    if (after.line !== undefined && from.kind === "worker") {
      this.costs.parked(after.task_id);
      this.steps.waitsInLine(from, after);
    }
    if (after.dead_letter_at !== undefined) life.deaths.add(after.dead_letter_at);
    life.discarded = after.status === "failed" && after.dead_letter_at === undefined;
    this.#cancelAsked(before, after);
  }

  #cancelAsked(before: TaskRecord, { task_id, attempts_total, status, cancel_requested_at, cancel_now }: TaskRecord) {
    if (cancel_requested_at !== undefined && before.cancel_requested_at === undefined) {
      this.runs.cancelAsked(task_id, attempts_total);
    }
    if (cancel_now !== before.cancel_now && status === "processing") this.runs.cancelledNow(task_id, attempts_total);
  }

  #settled(life: Life, before: TaskRecord, after: TaskRecord, from: Invocation): void {
    const claim = life.claims.at(-1);
    const waits = after.family_state === "waiting" && before.family_state !== "waiting";
    if (claim === undefined || before.status !== "processing") return;
    if (after.status === "processing" && !waits) return;
    const [entry] = after.history.slice(before.history.length);
    if (entry?.stack !== undefined) life.stacks.set(`${entry.round}/${entry.number}`, entry.stack);
    if (entry !== undefined) this.#interrupts.ended(after.task_id, claim, entry);
    if (claim.by === from) {
      this.resumes.ended(after, claim.at, entry?.outcome);
      if (entry !== undefined) this.runs.failed(after.task_id, claim.total, entry);
      claim.settled = true;
      this.runs.settled(after.task_id, claim.total);
    }
    if (after.error?.includes("of the handler is") && after.error !== before.error)
      this.violated(`a handler whose calls never change failed: ${after.error}`, after.task_id);
    if (!isSuspended(before, after)) return;
    claim.suspended = true;
    this.steps.suspended(life, after.waiting_for);
    const run = this.runs.of(after.task_id, claim.total);
    if (run !== undefined && !run.from.interrupted && claim.by === from) this.steps.mayRest(run);
  }

  /** Somebody looks at a task whose worker stands still: the worst moment for that one to go on is about now. */
  wakeHolder(taskId: string): void {
    const { time, dice } = this.watched;
    const process = this.lives.get(taskId)?.claims.at(-1)?.by.process;
    if (process?.stands && dice.chance(0.8)) {
      // Sometimes the next attempt has done some work by then.
      time.after(dice.chance(0.7) ? dice.int(0, 6) : dice.spread(10, 20_000), () => process.wake());
    }
  }

  /** The answer to a change, as its message's work got it: also a refusal shows a claim the lease that it has. A later answer is not waited for. */
  answered(from: Invocation, key: TaskKey, { set }: Change, changed: Changed, tookMs: number): void {
    const { record } = changed;
    const mayStart = set?.status === "processing" && record?.status === "pending";
    if (!changed.done && mayStart && record.line !== undefined) this.steps.waitsInLine(from, record);
    const claim = this.lives.get(key.task_id)?.claims.at(-1);
    const shown = record?.status === "processing" && record.attempts_total === claim?.total && claim.by === from;
    // A batch may have two messages of one task, with a token each.
    const own = shown && record.lease_token === set?.lease_token && tookMs < beginSeconds * 1000;
    if (own && claim !== undefined) claim.known = true;
  }

  /** A worker reads an object: an attempt that has not started may need it. */
  readsInput(from: Invocation): void {
    for (const { claims } of this.lives.values()) {
      for (const claim of claims) if (claim.by === from && !claim.started) claim.readFirst = true;
    }
  }

  /** Records that the table has deleted. */
  purged(records: readonly TaskRecord[]): void {
    for (const { task_id } of records) this.told.gone(task_id);
    for (const record of records) {
      const life = this.lives.get(record.task_id);
      if (life === undefined) continue;
      life.purged = true;
      const nowIso = this.watched.core.record.iso(this.watched.time.now);
      if (life.accepted && !this.watched.core.status.isTerminal(this.watched.core.record.statusAt(record, nowIso))) {
        this.violated(`promise 1: it was deleted while ${record.status}`, record.task_id);
      }
      const keptUntil = Math.max(life.keptUntil, letterUntil(record));
      if (this.watched.time.now < keptUntil) this.violated("it was deleted before its time", record.task_id);
    }
  }

  /** A letter may only say what is, or was, true: that a round of the task failed then. */
  burying(letter: DeadLetterMessage, tenantId: string | undefined): void {
    this.deadLettered += 1;
    const { original_message: original, last_failed_at: failedAt } = letter;
    if (typeof original === "string") return;
    const life = this.lives.get(original.task_id);
    if (!life?.deaths.has(failedAt))
      this.violated("a dead letter is sent of a task that has not failed", original.task_id);
    if (tenantId !== original.tenant_id)
      this.violated("promise 6: a dead letter is sent for another tenant", original.task_id);
  }

  /** @param mayJoin True for a submit that may join an earlier task. */
  childAccepted(parent: TaskRecord, taskId: string, mayJoin = false): void {
    const life = this.lives.get(taskId);
    if (life === undefined) this.violated("promise 1: a child was accepted, and there is no record", taskId);
    else life.accepted = true;
    if (life !== undefined && !mayJoin && life.bornAt < (this.lives.get(parent.task_id)?.bornAt ?? 0)) {
      this.violated("a handler was given the child of an earlier task", taskId);
    }
    if (life?.tenantId !== parent.tenant_id) this.violated("promise 6: a child of another tenant", taskId);
  }

  onceTouched(from: Invocation, { tenantId, owner }: { tenantId: string; owner: string }): void {
    const taskId = owner.split(".")[0] ?? "";
    this.touched(from, { tenant_id: tenantId, task_id: taskId });
  }
}

/** A dead letter is kept for 14 days, until a new round begins or somebody discards it. */
const letterUntil = ({ dead_letter_at: diedAt }: TaskRecord): number =>
  diedAt === undefined ? 0 : Date.parse(diedAt) + deadLetterSeconds * 1000;
