import type { TaskRecord } from "../../src/core/model/record.ts";
import { type PauseTarget, pauseName, pausesOf } from "../../src/core/model/wait-queue.ts";
import type { TaskContext } from "../../src/core/task/context.ts";
import { BreakerLaws, inputIn, keyIn } from "./breaker-laws.ts";
import { HandOverLaws } from "./hand-over-laws.ts";
import type { Invocation } from "./invocation.ts";
import type { Life, Lives, Watched } from "./lives.ts";
import { PacedLaws } from "./paced-laws.ts";
import { againMs, RateLaws } from "./rate-laws.ts";

/** Places of each key, by type. */
const limits: Readonly<Record<string, { limit: number; keyed: boolean }>> = {
  placed: { limit: 2, keyed: true },
  placedlong: { limit: 2, keyed: true },
  both: { limit: 1, keyed: false },
  strict: { limit: 1, keyed: true },
  held: { limit: 1, keyed: true },
  sized: { limit: 1, keyed: true },
  gatherplaced: { limit: 1, keyed: true },
};

/** The type whose places are a function of the input. */
export const sizedType = "sized";

/** A worker that looked at the settings just before a pause may claim this much later, in milliseconds: its process may stand still. */
const slackMs = 60_000;

/** Whoever gives a place away may have read the line this long before, in milliseconds: its process may stand still. */
const readMs = 60_000;

/** A call of a process keeps its others from a task that it lets go, for this time, in milliseconds. It may be refused. */
const goingMs = 1_000;

/** Counts of the alarms on lines. */
const lookNames: ReadonlySet<string> = new Set(["breaker_open", "pause_age_ms", "line_wait_ms"]);

/** A line is looked at within this time, in milliseconds: five minutes, and a minute for the message. */
const lookMs = 360_000;
const pauseLookMs = 960_000;

/** Starts of the types `rated` and `gatherrated` in this time, in milliseconds, for each key. Two workers' clocks may differ by 800 ms, and a claim takes some time. */
const rate = { limit: 2, windowMs: 10_000 - 2_000 };
const ratedTypes: ReadonlySet<string> = new Set(["rated", "gatherrated"]);

/** The limit of one key, which an operator sets for a time. In epoch milliseconds. */
export interface KeyLimit {
  limit: number;
  /** The call that sets it has begun: a worker may use it. */
  fromMs: number;
  /** The call was answered. Absent: not yet. */
  sureMs?: number;
  /** From then on a worker may use the type's limit. Absent: not yet. */
  endsMs?: number;
  /** From then on every worker uses the type's limit, but for what it knows. Absent: not yet. */
  endedMs?: number;
}

/** The promises of places, lines, rates and pauses. */
export class FlowLaws {
  readonly #watched: Watched;
  readonly #lives: Lives;
  /** Time that a message waits behind others in its tier, in milliseconds: that of a task that was let go comes so late. */
  behindMs = 0;
  /** Limits of keys, by type, tenant and key. */
  readonly #keyLimits = new Map<string, KeyLimit[]>();
  /** The most places that there could be at the last claim of each task. */
  readonly #mostAtClaim = new Map<string, number>();
  /** Number of pauses so far. */
  pauses = 0;
  /** Times at which pauses were answered, by name. */
  readonly #paused = new Map<string, number>();
  /** Times from which tasks wait in a line without a place. */
  readonly #waitsSince = new Map<string, number>();
  /** Times at which a call that was to let a task go was refused: its process has passed the task over meanwhile. */
  readonly #refused = new Map<string, number>();
  /** Times at which tasks left a line: their messages are on their way. */
  readonly #left = new Map<string, number>();
  /** Times of the last looks at lines that found tasks in them, by type. */
  readonly #lookedAt = new Map<string, number>();
  /** Times of the last starts of a rate, by tenant and key. */
  readonly #starts = new Map<string, number[]>();
  readonly #isPrompt: () => boolean;
  readonly #hasMessage: (line: string) => boolean;
  readonly breakers: BreakerLaws;
  readonly rates: RateLaws;
  readonly paced: PacedLaws;
  readonly handOvers: HandOverLaws;
  /** Checks of lines that were sent. */
  checks = 0;
  /** Tasks that were put into lines. */
  parks = 0;
  /** Messages of successors that were sent. */
  successors = 0;

  /**
   * @param isPrompt True in a world in which nothing delays a task for long, and no worker has died.
   * @param hasMessage True for a line with a check that a worker can receive now.
   */
  constructor(watched: Watched, lives: Lives, isPrompt: () => boolean, hasMessage: (line: string) => boolean) {
    this.#watched = watched;
    this.#hasMessage = hasMessage;
    this.#isPrompt = isPrompt;
    this.#lives = lives;
    this.breakers = new BreakerLaws(watched, lives, isPrompt);
    this.rates = new RateLaws(watched, lives, isPrompt, hasMessage);
    this.paced = new PacedLaws(watched, lives, isPrompt);
    this.handOvers = new HandOverLaws(watched, lives, isPrompt);
  }

  paused(target: PauseTarget): void {
    this.pauses += 1;
    this.rates.paused(target);
    this.#paused.set(pauseName(target), this.#watched.time.now);
  }

  resuming(target: PauseTarget): void {
    this.#paused.delete(pauseName(target));
  }

  claimed(record: TaskRecord): void {
    const { type, tenant_id: tenantId, priority: tier } = record;
    const { now } = this.#watched.time;
    for (const name of pausesOf({ tier, type, tenantId })) {
      const since = this.#paused.get(name);
      if (since !== undefined && now > since + slackMs) this.#lives.violated(`it starts under ${name}`, record.task_id);
    }
    this.#entered(record);
    this.paced.entered(record);
    this.#placesLaw(record);
    this.breakers.claimed(record);
    this.handOvers.claimed(record.task_id);
  }

  /** No window of a rate has more starts than its limit, whoever lets tasks go. */
  started(type: string, from: Invocation, task: TaskContext, input: unknown): void {
    if (from.process.stood) return;
    this.rates.started(type, task.taskId, task.tenantId);
    this.paced.started(type, task.taskId, task.tenantId);
    if (!ratedTypes.has(type)) return;
    const name = `${type} ${task.tenantId} ${(input as { key?: string } | undefined)?.key}`;
    const { now } = this.#watched.time;
    const starts = [...(this.#starts.get(name) ?? []), now].filter((at) => at > now - rate.windowMs);
    this.#starts.set(name, starts);
    if (starts.length <= rate.limit || !this.#isPrompt()) return;
    this.#lives.violated(`${starts.length} tasks of one key start in 8 s, at a rate of 2 in 10 s`, task.taskId);
  }

  /** An operator begins to set the limit of a key. The caller notes what comes of it. */
  keyLimited(type: string, tenantId: string, key: string, limit: number): KeyLimit {
    const name = `${type} ${tenantId} ${key}`;
    const set: KeyLimit = { limit, fromMs: this.#watched.time.now };
    this.#keyLimits.set(name, [...(this.#keyLimits.get(name) ?? []), set]);
    return set;
  }

  /** The inputs of a key have another size from now on. The earlier one is in force until one with the new size came. */
  sized(tenantId: string, key: string, limit: number): void {
    this.keyLimited(sizedType, tenantId, key, limit);
  }

  /** A worker looks for a place for a task: from then on the size of its input is in force, and no earlier one. */
  #entered({ type, tenant_id, task_id }: Pick<TaskRecord, "tenant_id" | "task_id" | "type">): void {
    if (type !== sizedType) return;
    const { key, size } = inputIn(this.#lives.life(task_id)?.input);
    const { now } = this.#watched.time;
    const all = this.#keyLimits.get(`${type} ${tenant_id} ${key}`) ?? [];
    const index = all.findIndex(({ limit }) => limit === size);
    for (const [at, one] of all.entries()) {
      if (at === index) one.sureMs ??= now;
      if (at < index) one.endedMs ??= now;
    }
  }

  /** The most places that the line of a key may have now, by what any worker may know. */
  mostPlacesOf(line: string): number {
    const [, type = "", tenantId, key] = line.split("/");
    return this.#mostPlaces(`${type} ${tenantId} ${key}`, limits[type]?.limit ?? 1);
  }

  /** The most places that a key may have now, by what any worker may know. */
  #mostPlaces(name: string, defined: number): number {
    const { now } = this.#watched.time;
    const set = (this.#keyLimits.get(name) ?? []).filter(({ endedMs = now }) => endedMs + slackMs >= now);
    const isSure = set.some(({ sureMs = now, endsMs = now + 1 }) => sureMs + slackMs < now && endsMs > now);
    return Math.max(...set.map(({ limit }) => limit), ...(isSure ? [] : [defined]));
  }

  /** Never more attempts hold a lease than there are places; those that began under a higher limit run to their end. */
  #placesLaw(record: TaskRecord): void {
    const places = limits[record.type];
    if (places === undefined) return;
    const keyOf = (task: TaskRecord) => this.#keyOf(task);
    const most = this.#mostPlaces(`${record.type} ${record.tenant_id} ${keyOf(record)}`, places.limit);
    this.#mostAtClaim.set(record.task_id, most);
    const { table, time, core } = this.#watched;
    const nowIso = core.record.iso(time.now);
    // A process that stood still may renew a lease as it dies: nobody keeps the place of that attempt.
    const isLost = ({ process }: Invocation) => process.stood && !process.alive;
    const isAtWork = ({ claims }: Life) => claims.slice(-1).every(({ by }) => !isLost(by));
    const running = [...this.#lives.lives.values()]
      .filter((life) => life.tenantId === record.tenant_id && isAtWork(life))
      .map(({ tenantId, taskId }) => table.read({ tenant_id: tenantId, task_id: taskId }))
      .filter(
        (other) =>
          other?.type === record.type &&
          other.status === "processing" &&
          (other.lease_until ?? "") > nowIso &&
          (!places.keyed || keyOf(other) === keyOf(record)) &&
          (this.#mostAtClaim.get(other.task_id) ?? most) <= most,
      );
    if (running.length > most)
      this.#lives.violated(`${running.length} tasks of one key run, in ${most} places`, record.task_id);
  }

  /** The inputs of a list have its unique key, without the lane. */
  #keyOf({ collects, unique_key = "", task_id }: TaskRecord): string | undefined {
    return collects === undefined ? keyIn(this.#lives.life(task_id)?.input) : unique_key.split("/")[0];
  }

  /** A task waits in a line, or has lost its place. */
  waits(line: string, task: string): void {
    this.#waitsSince.set(`${line} ${task}`, this.#watched.time.now);
  }

  /** A call that was to let a task go has changed nothing. */
  refused(line: string, task: string): void {
    this.#refused.set(`${line} ${task}`, this.#watched.time.now);
  }

  left(line: string, task: string): void {
    this.#left.set(`${line} ${task}`, this.#watched.time.now);
  }

  /** What the alarms on lines count. */
  counted(name: string, type: string): void {
    if (lookNames.has(name)) this.#lookedAt.set(type, this.#watched.time.now);
  }

  /** Nothing waits for longer than its alarm without being counted. */
  parked(line: string, task: Pick<TaskRecord, "tenant_id" | "task_id" | "type">): void {
    const { tenant_id, task_id, type } = task;
    this.breakers.parked(line, task);
    this.rates.parked(line, task);
    this.handOvers.parked(line, task_id);
    if (line.startsWith("concurrency/")) this.#entered(task);
    if (line.startsWith("rate/")) this.paced.entered(task);
    const isPause = line.startsWith("pause/");
    const ofType = line.startsWith("pause/t") && !line.startsWith("pause/type/") ? "" : type;
    const { time, table } = this.#watched;
    const since = time.now;
    const judge = () => {
      const record = table.read({ tenant_id, task_id });
      // A task that is cancelled in its line has ended, and keeps the line's name.
      const isOpen = record?.status === "pending";
      const waits = isOpen && record.line === line && Date.parse(record.updated_at) <= since + 1000;
      const last = Math.max(this.#lookedAt.get(ofType) ?? 0, this.#left.get(`${line} ${task_id}`) ?? 0);
      if (!waits || !this.#isPrompt() || last > since) return;
      // After its resume no alarm counts it; its message may wait behind a long batch.
      if (isPause && !this.#paused.has(line)) return;
      // The only worker of a tier may have a long batch.
      if (this.#hasMessage(line)) return void time.after(againMs, judge);
      this.#lives.violated(`it waits in ${line}, and nothing has counted that`, task_id);
    };
    time.after(isPause ? pauseLookMs : lookMs, judge);
  }

  /**
   * Tasks are let go from the front of their line.
   * @param atOnce Number of the first tasks of which any may go.
   */
  letGo(
    line: string,
    going: readonly string[],
    waiting: readonly string[],
    { placed, atOnce }: { placed: ReadonlySet<string>; atOnce: number },
  ): void {
    const last = Math.max(...going.map((task) => waiting.indexOf(task)));
    const readAtMs = this.#watched.time.now - readMs - this.behindMs;
    const wasRead = (task: string) => (this.#waitsSince.get(`${line} ${task}`) ?? 0) < readAtMs;
    const before = waiting.slice(0, Math.max(0, last)).filter((task) => !going.includes(task) && !placed.has(task));
    const passed = before.filter(wasRead);
    if (passed.length < atOnce) return;
    const { time } = this.#watched;
    const atMs = time.now;
    // Two places of a process that come back at once each let one of the first two tasks go.
    const wasChosen = (task: string) =>
      (this.#refused.get(`${line} ${task}`) ?? 0) >= atMs - goingMs || (this.#left.get(`${line} ${task}`) ?? 0) >= atMs;
    time.after(goingMs, () => {
      // The entry of a task that has ended stays while the table refuses its removal.
      const without = passed.filter((task) => this.#lives.pending(task) !== undefined && !wasChosen(task));
      if (without.length >= atOnce) this.#lives.violated(`it was passed over in ${line}`, without[0]);
    });
  }
}
