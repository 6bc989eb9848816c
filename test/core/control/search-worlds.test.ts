import { expect, test } from "vitest";
import type { TaskFilter } from "../../../src/core/control/list.ts";
import { searchTasks } from "../../../src/core/control/search.ts";
import { type TaskKey, type TaskRecord, termSeconds } from "../../../src/core/model/record.ts";
import type { Identity } from "../../../src/core/model/words.ts";
import type { ListQuery } from "../../../src/core/ports/tasks.ts";
import { MemoryRecords } from "../../../src/memory/records.ts";
import { Dice } from "../../simulation/dice.ts";
import { newRecord } from "../../support/records.ts";

/** More worlds, and others: `OFFLOAD_WORLDS=3000 OFFLOAD_SEED=20000`. */
const worlds = Number(process.env.OFFLOAD_WORLDS ?? 200);
const seeds = Array.from({ length: worlds }, (_, index) => index + Number(process.env.OFFLOAD_SEED ?? 0));

const beginMs = Date.parse("2027-06-01T00:00:00.000Z");
const dayMs = 86_400_000;
const iso = (ms: number): string => new Date(ms).toISOString();

/** Few, and alike, so that one text finds tasks in several ways. */
const values = ["A-1", "a-1", "order=7", "7", "fire", "abcd", "constructor"] as const;
const texts = [
  "a-1",
  "A-1",
  "order=7",
  "order=a-1",
  "region=order=7",
  "7",
  "fire",
  "abcd",
  "ABCD-",
  "__proto__",
] as const;
const errors = ["The printer is on fire", "A-1 is gone", "abcd", undefined] as const;
const types = ["mail.send", "order.ship"] as const;
const people = ["olga", "sam"] as const;

/** An answer begins no further read after this time, in milliseconds. */
const answerMs = 600;

/** The most reads of an answer where no part has more than a page: a short page and a long one of each of three parts. */
const mostReads = 6;

/** Records whose reads take time and sometimes fail, and whose terms vanish after their year. */
class WorldRecords extends MemoryRecords {
  /** Reads of the present answer. */
  reads = 0;
  readonly #world: World;

  constructor(world: World) {
    super();
    this.#world = world;
  }

  override async list(query: ListQuery) {
    const { nowMs, askedMs } = this.#world;
    expect(this.reads === 0 || nowMs - askedMs < answerMs, "a read after the answer's time").toBe(true);
    this.reads += 1;
    this.#takeTime();
    const page = await super.list(query);
    if (query.term === undefined) return page;
    // The answers of one search may be minutes apart.
    const keptSinceMs = this.#world.nowMs - termSeconds * 1000;
    const isKept = ({ created_at }: TaskRecord) =>
      Date.parse(created_at) > keptSinceMs || Date.parse(created_at) + termSeconds * 1000 > beginMs;
    return { ...page, items: page.items.filter(isKept) };
  }

  override async get(key: TaskKey) {
    this.#takeTime();
    return super.get(key);
  }

  #takeTime(): void {
    const { dice } = this.#world;
    this.#world.nowMs += dice.int(0, 900);
    if (dice.chance(0.05)) throw new Error("the table does not answer");
  }
}

/** Tasks of two tenants that come, fail, are retried and expire while somebody pages through what a text finds. */
class World {
  readonly dice: Dice;
  nowMs = beginMs;
  /** When the present answer was asked for. */
  askedMs = beginMs;
  readonly records: WorldRecords = new WorldRecords(this);
  text: string;
  readonly identity: Identity;
  readonly filter: TaskFilter;
  readonly limit: number;
  /** Tasks that the search finds at its begin, and whose changes since then do not take them out. */
  sought = new Map<string, TaskRecord>();
  found: TaskRecord[] = [];

  constructor(seed: number) {
    this.dice = new Dice(seed);
    const { dice } = this;
    this.text = dice.pick(texts);
    const isOperator = dice.chance(0.7);
    this.identity = isOperator
      ? { tenantId: "acme", principal: "olga", role: "operator" }
      : { tenantId: "acme", principal: "sam", role: "submitter" };
    this.filter = {
      ...(dice.chance(0.3) && { type: dice.pick(types) }),
      ...(dice.chance(0.2) && { createdAfter: iso(beginMs - dice.spread(1, 500 * dayMs)) }),
      ...(dice.chance(0.2) && { createdBefore: iso(beginMs - dice.spread(1, 100 * dayMs)) }),
      ...(dice.chance(0.2) && { status: dice.pick(["failed", "pending"]) }),
    };
    this.limit = dice.pick([1, 2, 3, 10]);
  }

  async add(createdMs: number): Promise<void> {
    const { dice } = this;
    const hex = (length: number) => Array.from({ length }, () => dice.int(0, 15).toString(16)).join("");
    const start = dice.chance(0.2) ? "abcd" : hex(4);
    const draw = () => dice.pick(values);
    const by = dice.pick(people);
    const record = newRecord({
      tenant_id: dice.chance(0.9) ? "acme" : "globex",
      task_id: `${start}-${hex(31)}`,
      type: dice.pick(types),
      requested_by: by,
      ...(by === "sam" && { own_list: true }),
      correlation_id: dice.chance(0.1) ? draw() : hex(12),
      ...(dice.chance(0.5) && { correlation_given: true }),
      ...(dice.chance(0.3) && { tags: { order: draw(), ...(dice.chance(0.4) && { region: draw() }) } }),
      created_at: iso(createdMs),
      updated_at: iso(createdMs),
      due_at: iso(createdMs),
      purge_at: Math.ceil((beginMs + (dice.chance(0.2) ? dice.spread(1, 200_000) : 30 * dayMs)) / 1000),
    });
    await this.records.create(record, iso(this.nowMs));
    if (dice.chance(0.5)) await this.changeState(record);
  }

  /** The task fails, or an operator retries it. */
  async changeState(record: TaskRecord): Promise<void> {
    const { dice } = this;
    const error = dice.pick(errors);
    const set = error === undefined ? { status: "pending" as const } : { status: "failed" as const, error };
    const remove = error === undefined ? (["error"] as const) : [];
    await this.records.change(record, { when: {}, set, remove: [...remove] });
  }

  /** Some look for the whole id of a task. */
  begin(): void {
    const { dice } = this;
    const all = this.records.all();
    if (all.length > 0 && dice.chance(0.1)) this.text = dice.pick(all as [TaskRecord]).task_id;
    if (dice.chance(0.2)) this.text = this.text.toUpperCase();
    this.sought = this.wanted(this.nowMs);
  }

  /** Whether the text finds the task, by the words of the documentation. */
  isFound({ task_id, correlation_id, tags = {}, error }: TaskRecord): boolean {
    const text = this.text.toLowerCase();
    const isTag = Object.entries(tags).some(([name, value]) =>
      [value.toLowerCase(), `${name}=${value.toLowerCase()}`].includes(text),
    );
    const isStart = text.length >= 4 && task_id.startsWith(text);
    return isTag || isStart || correlation_id.toLowerCase() === text || error?.toLowerCase().includes(text) === true;
  }

  isWanted(record: TaskRecord, nowMs: number): boolean {
    const { identity, filter } = this;
    return (
      record.tenant_id === "acme" &&
      (identity.role === "operator" || record.requested_by === "sam") &&
      record.purge_at * 1000 > nowMs &&
      (filter.type === undefined || record.type === filter.type) &&
      (filter.status === undefined || record.status === filter.status) &&
      (filter.createdAfter === undefined || record.created_at >= filter.createdAfter) &&
      (filter.createdBefore === undefined || record.created_at < filter.createdBefore) &&
      this.isFound(record)
    );
  }

  wanted(nowMs: number): Map<string, TaskRecord> {
    const wanted = this.records.all().filter((record) => this.isWanted(record, nowMs));
    return new Map(wanted.map((record) => [record.task_id, record]));
  }

  /** Forgets the sought tasks that are wanted no longer. */
  forget(): void {
    const wanted = this.wanted(this.nowMs);
    for (const taskId of this.sought.keys()) if (!wanted.has(taskId)) this.sought.delete(taskId);
  }

  async interfere(): Promise<void> {
    const { dice } = this;
    this.nowMs += dice.spread(1, 60_000);
    if (dice.chance(0.5)) await this.add(this.nowMs);
    const all = this.records.all();
    for (let changes = dice.int(0, 3); changes > 0 && all.length > 0; changes--)
      await this.changeState(dice.pick(all as [TaskRecord]));
    this.forget();
  }

  async answer(from: string | undefined) {
    const { records, identity, filter, text, limit } = this;
    this.askedMs = this.nowMs;
    records.reads = 0;
    const answered = await searchTasks({ records, clock: this }, identity, filter, text, { limit, from });
    const others = answered.items.filter((record) => !this.isWanted(record, this.askedMs));
    expect(others, "tasks that the text or the filter does not find").toEqual([]);
    expect(answered.items.length).toBeLessThanOrEqual(limit);
    expect(records.reads).toBeLessThanOrEqual(mostReads);
    expect(records.reads + answered.items.length, "an answer does something").toBeGreaterThan(0);
    return answered;
  }

  now(): number {
    return this.nowMs;
  }

  after(): () => void {
    return () => {};
  }
}

test.each(seeds)("a search gives each task once while tasks change, and ends (seed %i)", async (seed) => {
  const world = new World(seed);
  const { dice, found } = world;
  const aYear = termSeconds * 1000;
  const count = dice.int(0, 60);
  for (let i = 0; i < count; i++) {
    const isNearYear = dice.chance(0.2);
    await world.add(
      beginMs - (isNearYear ? aYear + dice.pick([-1, 1]) * dice.spread(1, 200_000) : dice.spread(1, 2 * aYear)),
    );
  }
  world.begin();
  let from: string | undefined;
  let answers = 0;
  for (let ended = false; !ended; answers++) {
    if (answers > 300) throw new Error("a search never ends");
    try {
      const answered = await world.answer(from);
      found.push(...answered.items);
      from = answered.next;
      ended = from === undefined;
    } catch (error) {
      // A client asks again with the same cursor.
      if (!String(error).includes("the table does not answer")) throw error;
    }
    world.forget();
    if (!ended && dice.chance(0.5)) await world.interfere();
  }
  const ids = found.map(({ task_id }) => task_id);
  expect(ids.length, "tasks found twice").toBe(new Set(ids).size);
  const missed = [...world.sought.keys()].filter((taskId) => !ids.includes(taskId));
  expect(missed, "tasks that were not found").toEqual([]);
});
