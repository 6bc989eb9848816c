import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { encode, epoch, expectProblem, expectStatus, until, uuidPattern } from "../support/http-client.ts";
import { operator, stranger } from "./callers.ts";
import { noQueueAccess, queueAccess } from "./queue-access.ts";

// The tests of this file run one after the other in a tier where no other test fails: their filters and their looks
// into its DLQ then show nothing else.
const tier = "critical";

interface DeadLetter {
  task_id: string;
  type: string;
  tenant_id: string;
  priority: string;
  attempts: number;
  error: string;
  error_type: string;
  error_kind: string;
  first_failed_at: string;
  last_failed_at: string;
  needs_review: boolean;
  input: unknown;
}

interface Groups {
  groups: { fingerprint: string; type: string; count: number; task_id: string; error: string }[];
  complete: boolean;
}

interface Operation {
  status: string;
  matched: number;
  done: number;
  skipped: number;
  failed: number;
}

/** Fails tasks for good, one after the other, and gives their ids and the filter that finds them alone. */
async function failed(inputs: Record<string, unknown>[], type = "probe.fail") {
  const ids: string[] = [];
  let since = "";
  for (const input of inputs) {
    const accepted = await operator.submit(type, input, { priority: tier, max_attempts: 1 });
    ids.push(accepted.task_id);
    since ||= accepted.created_at;
    // The list is in the order of the failures, which may differ from that of the submits.
    expect(await operator.ended(accepted.task_id)).toMatchObject({ status: "failed" });
  }
  const filter = { priority: tier, failed_after: since };
  await until("the dead letters in the list", async () => {
    const listed = new Set((await list(filter)).map(({ task_id }) => task_id));
    return ids.every((id) => listed.has(id)) ? true : undefined;
  });
  return { ids, filter };
}

const list = (filter: Record<string, string>, client = operator) =>
  client.all<DeadLetter>(`/dead-letters?${new URLSearchParams(filter)}`, "dead_letters");

const idsOf = (letters: { task_id: string }[]) => letters.map(({ task_id }) => task_id);

/** Starts a replay or a discard, and follows it to its end. */
async function operate(what: "replay" | "discard", body: unknown, client = operator): Promise<Operation> {
  const answer = expectStatus(await client.post(`/dead-letters/${what}`, body), 202);
  const { operation_id, matched } = answer.json<{ operation_id: string; matched: number }>();
  expect(operation_id).toMatch(uuidPattern);
  return until(
    `the ${what} to end`,
    async () => {
      const operation = expectStatus(await client.get(`/operations/${operation_id}`), 200).json<Operation>();
      expect(operation).toMatchObject({ operation_id, matched });
      return operation.done + operation.skipped + operation.failed >= operation.matched ? operation : undefined;
    },
    45_000,
  );
}

const matchedBy = async (what: "replay" | "discard", body: Record<string, unknown>) => {
  const answer = await operator.post(`/dead-letters/${what}`, { ...body, dry_run: true });
  return expectStatus(answer, 200).json().matched;
};

describe("dead letters", () => {
  test("the list shows cause and input, newest first", async () => {
    const message = `broken ${randomUUID()}`;
    const { ids, filter } = await failed([{ kind: "permanent", message }, { kind: "business_rule" }]);
    const letters = await list(filter);
    expect(idsOf(letters)).toEqual(ids.toReversed());
    const [review, broken] = letters;
    expect(broken).toMatchObject({
      type: "probe.fail",
      tenant_id: operator.tenant,
      priority: tier,
      attempts: 1,
      error: expect.stringContaining(message),
      error_type: expect.stringMatching(/\S/),
      error_kind: "permanent",
      needs_review: false,
      input: { kind: "permanent", message },
    });
    expect(epoch(broken?.last_failed_at)).toBeGreaterThanOrEqual(epoch(broken?.first_failed_at));
    expect(review).toMatchObject({ error_kind: "business_rule", needs_review: true });
  });

  test("filters combine with AND, and the last page has next_cursor null", async () => {
    const { ids, filter } = await failed([{ kind: "permanent" }, { kind: "not_found" }, { kind: "validation" }]);
    const [permanent = "", notFound = ""] = ids;
    expect(idsOf(await list({ ...filter, limit: "1" }))).toEqual(ids.toReversed());
    expect(idsOf(await list({ ...filter, error_kind: "permanent" }))).toEqual([permanent]);
    const { error_type } = await operator.task(notFound);
    expect(error_type).toMatch(/\S/);
    expect(idsOf(await list({ ...filter, error_type: error_type ?? "" }))).toContain(notFound);
    expect(await list({ ...filter, error_type: "NoSuchError" })).toEqual([]);
    expect(await list({ ...filter, type: "probe.echo" })).toEqual([]);
    // Other tests have dead letters in this tier.
    const low = idsOf(await list({ ...filter, priority: "low" }));
    expect(ids.filter((id) => low.includes(id))).toEqual([]);
    expect(await list({ ...filter, failed_before: filter.failed_after })).toEqual([]);
    expect(await list({ ...filter, failed_after: new Date(Date.now() + 3_600_000).toISOString() })).toEqual([]);
  });

  test("the groups count dead letters by error, and a fingerprint selects its own", async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    const { ids, filter } = await failed([
      { kind: "permanent", message: `no address in order ${a}` },
      { kind: "permanent", message: "no paper in the printer" },
      { kind: "permanent", message: `no address in order ${b}` },
    ]);
    const path = `/dead-letters/groups?${new URLSearchParams(filter)}`;
    const { groups, complete } = expectStatus(await operator.get(path), 200).json<Groups>();
    expect(complete).toBe(true);
    expect(groups).toMatchObject([
      { type: "probe.fail", count: 2, task_id: ids[2], error: expect.stringContaining(b), error_kind: "permanent" },
      { type: "probe.fail", count: 1, task_id: ids[1], error: expect.stringContaining("no paper") },
    ]);
    const fingerprint = groups[0]?.fingerprint ?? "";
    const letters = await list({ ...filter, fingerprint });
    expect(idsOf(letters)).toEqual([ids[2], ids[0]]);
    expect(letters).toMatchObject([{ fingerprint }, { fingerprint }]);
    expect(await matchedBy("replay", { filter: { ...filter, fingerprint } })).toBe(2);
    expect(await operate("discard", { filter: { ...filter, fingerprint } })).toMatchObject({ done: 2 });
    expect(idsOf(await list(filter))).toEqual([ids[1]]);
    expectProblem(await operator.get("/dead-letters/groups?fingerprint=x"), 422, "invalid_input");
  });

  test("a replay by filter starts exactly one new round for each, and a discard empties the rest", async (context) => {
    const good = await failed(Array.from({ length: 6 }, () => ({ kind: "permanent", times: 1 })));
    const other = await failed(
      [1, 2, 3].map(() => ({ key: randomUUID(), fail_first: true })),
      "probe.once",
    );
    const all = { filter: good.filter };
    const some = { filter: { ...good.filter, type: "probe.fail" } };
    expect(await matchedBy("replay", some)).toBe(6);
    expect(await matchedBy("discard", all)).toBe(9);
    expect(await list(good.filter)).toHaveLength(9);
    const queues = await queueAccess();
    if (queues === undefined) await context.annotate(`The DLQ was not looked into: ${noQueueAccess}`);
    const ofTask =
      (id = "") =>
      (body: string) =>
        body.includes(id);
    await queues?.deadLetter(tier, ofTask(good.ids[0]));

    expect(await operate("replay", { ...some, per_second: 10 })).toMatchObject({ matched: 6, done: 6, failed: 0 });
    for (const id of good.ids) {
      expect(await operator.waitFor(id, ({ status }) => status === "completed")).toMatchObject({ attempts: 1 });
      expect(await operator.attempts(id)).toMatchObject([
        { round: 1, outcome: "failed" },
        { round: 2, number: 1, outcome: "completed" },
      ]);
    }
    expect(new Set(idsOf(await list(good.filter)))).toEqual(new Set(other.ids));
    await queues?.noDeadLetter(tier, ofTask(good.ids[0]));
    await queues?.deadLetter(tier, ofTask(other.ids[0]));

    expect(await operate("discard", all)).toMatchObject({ matched: 3, done: 3, failed: 0 });
    expect(await list(good.filter)).toEqual([]);
    await queues?.noDeadLetter(tier, ofTask(other.ids[0]));
    for (const id of other.ids) expect(await operator.task(id)).toMatchObject({ status: "failed", attempts: 1 });
  });

  test("a replay or discard by ids changes these tasks only", async () => {
    const { ids, filter } = await failed(Array.from({ length: 3 }, () => ({ kind: "permanent", times: 1 })));
    const [replayed = "", discarded = "", left = ""] = ids;
    expect(await matchedBy("replay", { task_ids: [replayed] })).toBe(1);
    expect(await operate("replay", { task_ids: [replayed] })).toMatchObject({ matched: 1, done: 1 });
    expect(await operate("discard", { task_ids: [discarded] })).toMatchObject({ matched: 1, done: 1 });
    await operator.waitFor(replayed, ({ status }) => status === "completed");
    expect(await operator.task(discarded)).toMatchObject({ status: "failed" });
    expect(idsOf(await list(filter))).toEqual([left]);
  });

  test("a task that fails again after its replay is a dead letter again", async () => {
    const { ids, filter } = await failed([{ kind: "permanent" }]);
    const [id = ""] = ids;
    const [before] = await list(filter);
    expect(await operate("replay", { task_ids: ids })).toMatchObject({ done: 1 });
    await until("the second failure", async () => {
      const [letter] = await list(filter);
      return letter !== undefined && letter.last_failed_at !== before?.last_failed_at ? letter : undefined;
    });
    const letters = await list(filter);
    expect(letters).toMatchObject([{ task_id: id, attempts: 1, first_failed_at: before?.first_failed_at }]);
    expect((await operator.attempts(id)).map(({ round, outcome }) => [round, outcome])).toEqual([
      [1, "failed"],
      [2, "failed"],
    ]);
  });

  test("another tenant can neither see nor change them", async () => {
    const { ids, filter } = await failed([{ kind: "permanent" }]);
    expect(await list(filter, stranger)).toEqual([]);
    expect(await operate("discard", { task_ids: ids }, stranger)).toMatchObject({ done: 0 });
    expect(await operate("replay", { filter }, stranger)).toMatchObject({ done: 0 });
    expect(idsOf(await list(filter))).toEqual(ids);
    expect(await operator.task(ids[0] ?? "")).toMatchObject({ status: "failed", attempts: 1 });
    const answer = expectStatus(await operator.post("/dead-letters/discard", { task_ids: ids }), 202);
    const path = `/operations/${encode(String(answer.json().operation_id))}`;
    expectProblem(await stranger.get(path), 404, "not_found");
    expectProblem(await operator.get(`/operations/${randomUUID()}`), 404, "not_found");
  });

  test.for([
    {},
    { task_ids: [randomUUID()], filter: {} },
    { task_ids: Array.from({ length: 101 }, () => randomUUID()) },
    { task_ids: "all" },
    { filter: { colour: "red" } },
    { filter: { error_kind: "unheard_of" } },
    { filter: { type: "probe.echo" }, dry_run: "yes" },
    { filter: { type: "probe.echo" }, per_second: 0 },
    { filter: { type: "probe.echo" }, per_second: 101 },
  ])("a replay of %j is refused", async (body) => {
    expectProblem(await operator.post("/dead-letters/replay", body), 422, "invalid_input");
  });
});
