import type { TaskRecord } from "../../src/core/model/record.ts";
import type { StepEntry, StepOwner } from "../../src/core/ports/steps.ts";
import type { TaskContext } from "../../src/core/task/context.ts";
import type { OwnedEntry } from "./entries.ts";
import { entryKeyOf } from "./entries.ts";
import type { Invocation } from "./invocation.ts";
import type { Life, Lives, Watched } from "./lives.ts";
import type { Run } from "./runs.ts";
import { newRequests, type Requests } from "./step-facts.ts";

/** By how much two processes' clocks may differ, in milliseconds. */
const skewMs = 400;

/** In a world without faults, a sleep or a signal is noticed within this time, in milliseconds: other tasks may be ahead. */
const promptMs = 1_800_000;

/** More than the states of one task. */
const mostStates = 10_000;

/** A due message is received within this time, in milliseconds, or waits for a free worker. */
const receivedMs = 60_000;

/** A task whose message waits for a free worker then is judged again after this time, in milliseconds. */
const againMs = 60_000;

const textOf = (value: unknown): string => JSON.stringify(value) ?? "undefined";

/** Laws of steps, sleeps, waits, signals and checkpoints. */
export class StepLaws {
  /** Calls that returned, by kind, for the test that the worlds are not empty. */
  readonly counts = { step: 0, nap: 0, wait: 0, answered: 0, state: 0, suspended: 0, act: 0, try: 0, failed: 0 };
  /** What the code of an attempt does, and has done since it began to wait last. */
  readonly #works = new WeakMap<TaskContext, { underWay: number; done: number }>();
  readonly #watched: Watched;
  readonly #lives: Lives;
  readonly #isFaultless: () => boolean;
  readonly #hasMessage: (taskId: string) => boolean;

  /**
   * @param isFaultless True in a world in which nothing delays a task for long.
   * @param hasMessage True for a task with a message that a worker can receive now.
   */
  constructor(watched: Watched, lives: Lives, isFaultless: () => boolean, hasMessage: (taskId: string) => boolean) {
    this.#hasMessage = hasMessage;
    this.#watched = watched;
    this.#lives = lives;
    this.#isFaultless = isFaultless;
  }

  /** A handler starts with the newest state that an earlier one knows to be stored, or with one that was stored after it. */
  started({ life, task, claimedAt }: Run): void {
    if (life === undefined) return;
    const { states, acknowledged } = life.steps;
    const least = Math.max(-1, ...acknowledged.filter(({ atMs }) => atMs < claimedAt).map(({ rank }) => rank));
    const rank = states.get(textOf(task.state)) ?? -1;
    if (task.state !== undefined && rank < 0) this.#broken(life, "it starts with a state that no attempt stored");
    else if (rank < least)
      this.#broken(life, `it starts with the state ${textOf(task.state)}, and a later one was stored`);
  }

  /** Does the effect of a step. Returns a value that tells this execution from others. */
  effect(run: Run, name: string, key: string): string {
    const { life, task } = run;
    if (life === undefined) return "";
    const { effects, stored, keys } = life.steps;
    const done = effects.get(name) ?? [];
    const hasTries = this.#triesOf(life, name).length > 0;
    if (done.includes(task.attemptOverall) && !hasTries)
      this.#broken(life, `one attempt did the effect of the step ${name} twice`);
    const before = stored.get(`step:${name}`);
    if (before !== undefined && before.atMs < run.claimedAt)
      this.#broken(life, `the effect of the step ${name} is repeated, although its result was stored`);
    if ((keys.get(name) ?? key) !== key) this.#broken(life, `the step ${name} has another idempotency key`);
    for (const [other, text] of keys) {
      if (other !== name && text === key) this.#broken(life, `the steps ${name} and ${other} have one idempotency key`);
    }
    keys.set(name, key);
    effects.set(name, [...done, task.attemptOverall]);
    return `${name} by ${task.attemptOverall}`;
  }

  /** The stored ends of a step's tries, in their order over all rounds. */
  #triesOf(life: Life, name: string) {
    const tries: { atMs: number; entry: StepEntry }[] = [];
    for (;;) {
      const next = life.steps.stored.get(`try:${name} #${tries.length + 1}`);
      if (next === undefined) return tries;
      tries.push(next);
    }
  }

  /** A try begins after the wait of the one before, as the next one of its round, and none after the step's end. */
  tryBegins(run: Run, name: string, attempt: number, tries: number): void {
    const { life, claimedAt, round } = run;
    if (life === undefined) return;
    this.counts.try += 1;
    const all = this.#triesOf(life, name);
    const before = all.filter(({ atMs }) => atMs < claimedAt).map(({ entry }) => entry);
    if (before.some(({ error }) => error === undefined))
      this.#broken(life, `the step ${name} is tried again, although its result was stored`);
    if (attempt > tries) this.#broken(life, `attempt ${attempt} of the step ${name} begins, of at most ${tries}`);
    const ofRound = all.map(({ entry }) => entry).filter((entry) => entry.round === round);
    if (attempt <= before.filter((entry) => entry.round === round).length)
      this.#broken(life, `attempt ${attempt} of the step ${name} begins again, although its end was stored`);
    const last = attempt > 1 ? ofRound[attempt - 2] : undefined;
    if (attempt === 1 || last?.until === undefined) {
      if (attempt > 1)
        this.#broken(life, `attempt ${attempt} of the step ${name} begins, and none before it has failed`);
      return;
    }
    const early = Date.parse(last.until) - this.#watched.time.now;
    if (early > skewMs) this.#broken(life, `attempt ${attempt} of the step ${name} begins ${early} ms too early`);
  }

  /** A step has failed for good: after all its tries, in the same way in each attempt. */
  stepFailed({ life, round, task }: Run, name: string, tries: number, error: unknown): void {
    // The attempt has ended: what its code throws then says nothing about the step.
    if (life === undefined || task.signal.aborted) return;
    const { name: kind, attempts, message } = error as Error & { attempts?: number };
    if (kind !== "StepFailed") {
      this.#broken(life, `the step ${name} with tries of its own threw ${String(error)}`);
      return;
    }
    this.counts.failed += 1;
    if (attempts !== tries) this.#broken(life, `the step ${name} failed after ${attempts} attempts, of ${tries}`);
    this.#returned(life, `failed ${round}:${name}`, message, `the step ${name}`);
  }

  stepReturned({ life }: Run, name: string, value: unknown): void {
    if (life === undefined) return;
    this.counts.step += 1;
    this.#returned(life, `step:${name}`, textOf(value), `the step ${name}`);
    const stored = life.steps.stored.get(`step:${name}`) ?? this.#triesOf(life, name).at(-1);
    if (stored === undefined) this.#broken(life, `the step ${name} returned, and no result is stored`);
    else if ((stored.entry.value ?? "undefined") !== textOf(value))
      this.#broken(life, `the step ${name} returned ${textOf(value)}, and ${stored.entry.value} is stored`);
  }

  /** Code does something that is no step, after a race. Returns the function that ends it. */
  acts(run: Run): () => void {
    const works = this.#works.get(run.task) ?? { underWay: 0, done: 0 };
    this.#works.set(run.task, works);
    works.underWay += 1;
    this.counts.act += 1;
    return () => {
      works.underWay -= 1;
      works.done += 1;
    };
  }

  /** A handler waits anew: what it did before may be done again, as it is no step. */
  rests(task: TaskContext): void {
    const works = this.#works.get(task);
    if (works !== undefined) works.done = 0;
  }

  #begins(run: Run, key: string): void {
    this.rests(run.task);
    this.#called(run, key);
  }

  /** An attempt is suspended: what its code does after the end of a wait is not done again because another one is open. */
  mayRest({ life, task }: Run): void {
    const { underWay = 0, done = 0 } = this.#works.get(task) ?? {};
    if (life === undefined) return;
    if (underWay > 0) this.#broken(life, "it is suspended after a race, while its code is at work");
    else if (done > 0) this.#broken(life, "it is suspended for the loser of a race, after what its code did since");
  }

  /** A handler has caught an error, or fails with it: nothing that it sees may be ours. */
  caught({ life }: Run, error: unknown): void {
    const { errors } = this.#watched.core;
    const isOurs = error instanceof errors.PortUnavailable || error instanceof errors.AttemptCrashed;
    // What the handler itself asks for outside of Offload.
    const isOutside = isOurs && error.message.startsWith("outside");
    if (isOurs && !isOutside && life !== undefined) this.#broken(life, `its handler got the error of a port: ${error}`);
  }

  napCalled(run: Run, place: number, seconds: number): void {
    this.#begins(run, `nap:${place}:${seconds}`);
  }

  /** @param prompt True when its end is noticed at once: it is not the loser of a race. */
  napReturned(run: Run, place: number, seconds: number, prompt: boolean): void {
    this.counts.nap += 1;
    this.#lasted(run, `nap:${place}:${seconds}`, seconds, prompt, `a sleep of ${seconds} s`);
  }

  waitCalled(run: Run, name: string): void {
    this.#begins(run, `wait:${name}`);
  }

  /** @param prompt As for a sleep. */
  waitReturned(run: Run, name: string, seconds: number, prompt: boolean, body: unknown): void {
    const { life } = run;
    if (life === undefined) return;
    this.counts.wait += 1;
    this.#returned(life, `wait:${name}`, textOf(body), `the wait for ${name}`);
    const sent = life.steps.signals.get(name);
    if (body === undefined) {
      if (sent?.accepted !== undefined) this.#broken(life, `its wait for ${name} timed out, and a signal was accepted`);
      this.#lasted(run, `wait:${name}`, seconds, prompt, `the wait for ${name}`);
      return;
    }
    this.counts.answered += 1;
    if (!sent?.bodies.has(textOf(body))) this.#broken(life, `its wait for ${name} got what no client sent`);
    if (sent?.accepted !== undefined && sent.accepted !== textOf(body))
      this.#broken(life, `its wait for ${name} got ${textOf(body)}, and ${sent.accepted} was accepted`);
  }

  /** A client sends a signal. Returns the function that takes the answer. */
  signalSent(life: Life, name: string, body: unknown): (accepted: boolean) => void {
    const { signals, returned } = life.steps;
    const sent = signals.get(name) ?? { bodies: new Set(), accepted: undefined };
    signals.set(name, sent);
    sent.bodies.add(textOf(body));
    const knownBefore = sent.accepted;
    const atStart = this.#recordOf(life);
    // Within what the clocks differ by, the task may have got it.
    const endedAt = Date.parse(atStart?.finished_at ?? "");
    const isTerminal = atStart !== undefined && this.#watched.core.status.isTerminal(atStart.status);
    const hadEnded = isTerminal && !(endedAt >= this.#watched.time.now - 2 * skewMs);
    return (accepted) => {
      const record = this.#recordOf(life);
      const ended = record === undefined || this.#watched.core.record.hasEnded(record, this.#watched.time.now + skewMs);
      if (!accepted && knownBefore === textOf(body) && !ended && atStart?.round === record.round) {
        this.#broken(life, `a repeat of the signal ${name} was refused`);
      }
      if (!accepted) return;
      if ((sent.accepted ?? textOf(body)) !== textOf(body)) this.#broken(life, `two signals ${name} were accepted`);
      sent.accepted = textOf(body);
      const answer = returned.get(`wait:${name}`);
      if (answer !== undefined && answer !== textOf(body))
        this.#broken(life, `the signal ${name} was accepted after its wait had returned ${answer}`);
      if (hadEnded && atStart?.round === record?.round)
        this.#broken(life, `the signal ${name} was accepted after the end`);
      this.#mustNotWait(life, name);
    };
  }

  /** A task that has a signal does not wait for it, and goes on soon. */
  #mustNotWait(life: Life, name: string): void {
    const { time, core } = this.#watched;
    const before = this.#recordOf(life);
    if (before?.status !== "pending") return;
    const { attempts_total, due_at } = before;
    const { names, total } = life.steps.waits;
    const isDue = due_at <= core.record.iso(time.now + skewMs);
    if (!isDue && total === attempts_total && names.includes(name))
      this.#broken(life, `it waits for the signal ${name}, which was accepted`);
    if (attempts_total === 0 || !isDue) return;
    const judge = (isLast: boolean) => () => {
      const after = this.#recordOf(life);
      const stays = after?.status === "pending" && after.attempts_total === attempts_total;
      if (!stays || !this.#isFaultless()) return;
      if (!this.#hasMessage(life.taskId)) this.#broken(life, `it got the signal ${name}, and stays pending`);
      // The only worker of a tier may have one long batch after the other.
      else if (isLast) time.after(againMs, judge(true));
    };
    time.after(receivedMs, judge(false));
    time.after(promptMs, judge(true));
  }

  /** A record was suspended: it may not wait for what was accepted before. */
  suspended(life: Life, waitingFor: { kind: string; signals?: string[] } | undefined): void {
    this.counts.suspended += 1;
    life.steps.waits = { names: waitingFor?.signals ?? [], total: life.claims.at(-1)?.total ?? 0 };
    for (const name of waitingFor?.signals ?? []) {
      if (life.steps.signals.get(name)?.accepted !== undefined)
        this.#broken(life, `it begins to wait for the signal ${name}, which was accepted`);
    }
  }

  entryStored(owner: StepOwner, entry: StepEntry): void {
    const life = this.#lifeOf(owner);
    life?.steps.stored.set(entryKeyOf(entry), { atMs: this.#watched.time.now, entry });
  }

  stateStored(owner: StepOwner, attempt: number, value: string): void {
    const life = this.#lifeOf(owner);
    if (life === undefined) return;
    const { states, stateRank } = life.steps;
    const rank = states.get(value) ?? attempt * mostStates + states.size;
    states.set(value, rank);
    if (rank < stateRank) this.#broken(life, `the state ${value} replaces a later one`);
    life.steps.stateRank = rank;
  }

  stateAcknowledged({ life }: Run, state: unknown): void {
    if (life === undefined) return;
    this.counts.state += 1;
    const rank = life.steps.states.get(textOf(state));
    if (rank === undefined) this.#broken(life, "a checkpoint returned, and its state is not stored");
    else life.steps.acknowledged.push({ rank, atMs: this.#watched.time.now });
  }

  /** The table deletes entries: only those that nothing needs any more. */
  purged(gone: readonly OwnedEntry[]): void {
    const { table, core, time } = this.#watched;
    for (const { owner, entry } of gone) {
      const record = table.read(owner);
      if (record?.created_at !== owner.created_at || !core.record.isKept(record, time.now)) continue;
      // Only a failed task can be started again. A child that was cancelled or has expired may be, too, a little later.
      if (record.status !== "failed" && core.status.isTerminal(record.status)) continue;
      const life = this.#lifeOf(owner);
      if (life !== undefined) this.#broken(life, `${entryKeyOf(entry)} was deleted while it was ${record.status}`);
    }
  }

  /** A request of a worker to the store. Each law of cost here holds whatever goes wrong. */
  requested(from: Invocation, owner: StepOwner, what: "load" | "submits" | "keep" | "add" | "state", key = ""): void {
    const life = this.#lifeOf(owner);
    const claim = life?.claims.findLast(({ by }) => by === from);
    if (life === undefined || claim === undefined) return;
    const requests = requestsOf(life, claim.total);
    count(requests, what);
    if (!claim.started) claim.readFirst = true;
    const adds = (requests.adds.get(key) ?? 0) + 1;
    if (what === "add") requests.adds.set(key, adds);
    const law = (holds: boolean, text: string) => {
      if (!holds) this.#broken(life, `cost: ${text}`);
    };
    const before = life.steps.stored.get(key);
    law(requests.loads <= 1, "an attempt reads its entries more than once");
    law(claim.total > 1 || life.steps.signals.size > 0 || requests.loads === 0, "a first attempt reads entries");
    law(requests.submits <= (claim.total > 1 ? 1 : 0), "an attempt reads more than once what was submitted");
    law(requests.keeps <= 2, "an attempt keeps its entries more than twice");
    if (what !== "add") return;
    law(adds <= 1, `an attempt stores ${key} more than once`);
    // A signal that is not announced yet may be there when its wait times out.
    const isNew = before === undefined || before.atMs >= claim.at || key.startsWith("signal:");
    law(isNew, `${key} is stored again`);
  }

  /** An attempt seals a node of its family. */
  sealed(taskId: string, attempt: number): void {
    const life = this.#lives.life(taskId);
    if (life !== undefined) requestsOf(life, attempt).sealed = true;
  }

  /** A worker puts a task into a line, or finds it in one. What attempts and signals have left is kept as long as the record. */
  waitsInLine(from: Invocation, { task_id, attempts_total, signals = 0 }: TaskRecord): void {
    if (from.kind === "worker" && attempts_total + signals > 0) this.#lives.life(task_id)?.steps.keepers.push(from);
  }

  /**
   * A worker reads the entries of a task to keep them: once for each wait in a line, and where it has the attempt, with
   * each try of the change by which the task waits for its children, or begins to wait for days.
   */
  readToKeep(from: Invocation, owner: StepOwner): void {
    const life = this.#lifeOf(owner);
    if (life === undefined) return;
    const { keepers } = life.steps;
    const place = keepers.indexOf(from);
    if (place >= 0) return void keepers.splice(place, 1);
    const claim = life.claims.findLast(({ by }) => by === from);
    if (claim === undefined) return;
    if (claim.settled) return void this.#keptThroughWait(life);
    const requests = requestsOf(life, claim.total);
    requests.readsToKeep += 1;
    // A signal that comes meanwhile is kept, too.
    const signals = this.#recordOf(life)?.signals ?? 0;
    const most = requests.sealed ? 1 + signals + this.#watched.troubles() : 0;
    if (requests.readsToKeep > most) this.#broken(life, "cost: entries are read once more than they have to be kept");
  }

  /** The entries of a task that waits for days are read once more, and kept. */
  #keptThroughWait(life: Life): void {
    const { core, time } = this.#watched;
    const record = this.#recordOf(life);
    const isLong = (record?.due_at ?? "") > core.record.iso(time.now + 86_000_000);
    // A client may have cancelled it since: its due time stays as it was.
    const waitsLong = (record?.status === "pending" || record?.status === "cancelled") && isLong;
    // Its due time may have changed since.
    const isNew = record?.updated_at === core.record.iso(time.now);
    if (!waitsLong && !isNew && this.#isFaultless())
      this.#broken(life, "cost: the entries of a task that waits for a short time are read again");
  }

  #called({ life }: Run, key: string): void {
    if (life !== undefined && !life.steps.called.has(key)) life.steps.called.set(key, this.#watched.time.now);
  }

  /** A sleep or a wait lasts as long as its handler asked, and hardly longer. */
  #lasted({ life }: Run, key: string, seconds: number, prompt: boolean, what: string): void {
    if (life === undefined) return;
    const lastedMs = this.#watched.time.now - (life.steps.called.get(key) ?? Number.NaN);
    if (!(lastedMs >= seconds * 1000 - skewMs)) this.#broken(life, `${what} ended after ${lastedMs} ms`);
    if (!prompt || life.steps.ended.has(key)) return;
    life.steps.ended.add(key);
    // Failed attempts have waits of their own.
    const isHealthy = life.claims.slice(0, -1).every(({ suspended }) => suspended) && this.#isFaultless();
    if (isHealthy && lastedMs > seconds * 1000 + promptMs) this.#broken(life, `${what} took ${lastedMs} ms`);
  }

  /** Every attempt gets the same. */
  #returned(life: Life, key: string, text: string, what: string): void {
    const first = life.steps.returned.get(key) ?? text;
    life.steps.returned.set(key, first);
    if (first !== text) this.#broken(life, `${what} returned ${text}, and ${first} in an earlier attempt`);
  }

  #lifeOf({ task_id, created_at }: StepOwner): Life | undefined {
    const life = this.#lives.life(task_id);
    return life?.createdAt === created_at ? life : undefined;
  }

  #recordOf({ tenantId, taskId, createdAt }: Life) {
    const record = this.#watched.table.read({ tenant_id: tenantId, task_id: taskId });
    return record?.created_at === createdAt ? record : undefined;
  }

  #broken(life: Life, text: string): void {
    this.#lives.violated(text, life.taskId);
  }
}

function requestsOf({ steps }: Life, attempt: number): Requests {
  const requests = steps.requests.get(attempt) ?? newRequests();
  steps.requests.set(attempt, requests);
  return requests;
}

function count(requests: Requests, what: "load" | "submits" | "keep" | "add" | "state"): void {
  if (what === "load") requests.loads += 1;
  if (what === "submits") requests.submits += 1;
  if (what === "keep") requests.keeps += 1;
  if (what === "state") requests.states += 1;
}
