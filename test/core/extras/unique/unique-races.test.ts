import { describe, expect, test, vi } from "vitest";
import { PortUnavailable } from "../../../../src/core/model/errors.ts";
import { iso } from "../../../../src/core/model/record.ts";
import { submit } from "../../../../src/core/pipeline/submit/submit.ts";
import { gate } from "../../../support/gate.ts";
import { operator } from "../../../support/identities.ts";
import { pipelineWith } from "../../../support/memory-pipeline.ts";
import { unique } from "../../../support/parts/unique.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(unique);

const down = () => new PortUnavailable("the table");

/** A pipeline whose type keeps the inputs that ran. */
function keeping() {
  const ran: unknown[] = [];
  const pipeline = memoryPipeline([
    typeOf((input) => {
      ran.push(input);
      return "done";
    }),
  ]);
  const send = vi.spyOn(pipeline.queues, "send");
  const unique = (mode: string, input: unknown, idempotencyKey?: string, more: object = {}) =>
    submit(pipeline.ports, {
      identity: operator,
      body: {
        type: "test.task",
        input,
        unique: { key: "k", mode, ...(mode === "debounce" && { wait_seconds: 5 }) },
        ...more,
      },
      correlationId: "corr",
      idempotencyKey,
    });
  /** Tasks that count: their records are not withdrawn. */
  const kept = () => pipeline.records.all().filter(({ purge_at }) => purge_at * 1000 > pipeline.clock.now());
  return { ...pipeline, ran, send, unique, kept };
}

const refused = (code: string) => ({ code });

describe("submits at the same time", () => {
  test.each(["existing", "replace", "debounce"])("fifty make one task, and each gets it: %s", async (mode) => {
    const { unique, kept, drain, ran } = keeping();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => unique(mode, n)));
    expect(new Set(answers.map(({ record }) => record.task_id)).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(kept()).toHaveLength(1);
    await drain();
    expect(ran).toHaveLength(1);
  });

  test("of fifty that would be refused, one makes a task", async () => {
    const { unique, kept, drain, ran } = keeping();
    const answers = await Promise.allSettled(Array.from({ length: 50 }, (_, n) => unique("reject", n)));
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(answers.filter((one) => one.status === "rejected" && one.reason.code === "conflict")).toHaveLength(49);
    expect(kept()).toHaveLength(1);
    await drain();
    expect(ran).toHaveLength(1);
  });

  test.each([
    ["existing", undefined],
    ["replace", undefined],
    ["debounce", undefined],
    ["existing", "key"],
    ["replace", "key"],
  ])("a submit joins the task that took the key before it, also when that has ended: %s, %s", async (mode, key) => {
    const pipeline = keeping();
    const { uniqueKeys } = pipeline.ports;
    const take = uniqueKeys.take.bind(uniqueKeys);
    let first: string | undefined;
    const taking = vi.spyOn(uniqueKeys, "take").mockImplementationOnce(async (...given) => {
      first = (await pipeline.unique(mode, "first")).record.task_id;
      await pipeline.drain();
      return take(...given);
    });
    const answer = await pipeline.unique(mode, "second", key);
    expect(answer).toMatchObject({ replayed: true, record: { task_id: first, status: "completed" } });
    expect(taking).toHaveBeenCalledTimes(key === undefined ? 2 : 3);
    if (key !== undefined) expect((await pipeline.unique(mode, "second", key)).record.task_id).toBe(first);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["first"]);
    expect((await pipeline.unique(mode, "third")).record.task_id).not.toBe(first);
  });

  test("a call that joins a task while another one with its idempotency key makes one gets that one", async () => {
    const pipeline = keeping();
    await pipeline.unique("existing", "holder");
    const take = pipeline.uniqueKeys.take.bind(pipeline.uniqueKeys);
    const made: string[] = [];
    vi.spyOn(pipeline.uniqueKeys, "take").mockImplementationOnce(async (...given) => {
      await pipeline.drain();
      made.push((await pipeline.unique("existing", "own", "idem")).record.task_id);
      return take(...given);
    });
    const joined = await pipeline.unique("existing", "own", "idem");
    expect([joined.record.task_id]).toEqual(made);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["holder", "own"]);
  });

  test("another request with its idempotency key that is accepted meanwhile is not withdrawn", async () => {
    const pipeline = keeping();
    await pipeline.unique("existing", "holder");
    const take = pipeline.uniqueKeys.take.bind(pipeline.uniqueKeys);
    vi.spyOn(pipeline.uniqueKeys, "take").mockImplementationOnce(async (...given) => {
      await pipeline.unique("existing", "other", "idem", { unique: { key: "another", mode: "existing" } });
      return take(...given);
    });
    const joins = pipeline.unique("existing", "own", "idem");
    await expect(joins).rejects.toMatchObject(refused("idempotency_key_reused"));
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["holder", "other"]);
  });

  test("a call that makes a task after another one with its idempotency key has joined one gets that one", async () => {
    const pipeline = keeping();
    const create = pipeline.records.create.bind(pipeline.records);
    const joined: string[] = [];
    vi.spyOn(pipeline.records, "create").mockImplementationOnce(async (...given) => {
      await pipeline.unique("existing", "holder");
      joined.push((await pipeline.unique("existing", "own", "idem")).record.task_id);
      await pipeline.drain();
      return create(...given);
    });
    const made = await pipeline.unique("existing", "own", "idem");
    expect([made.record.task_id]).toEqual(joined);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["holder"]);
  });

  test("fifty with one idempotency key make one task, and each gets it, also with reject", async () => {
    for (const mode of ["existing", "reject", "replace"]) {
      const { unique, kept, drain, ran } = keeping();
      const answers = await Promise.all(Array.from({ length: 50 }, () => unique(mode, "one", "key")));
      expect(new Set(answers.map(({ record }) => record.task_id)).size).toBe(1);
      expect(kept()).toHaveLength(1);
      await drain();
      expect(ran).toEqual(["one"]);
    }
  });

  test("a task whose key another one took first is withdrawn, and never runs", async () => {
    const pipeline = keeping();
    const take = pipeline.uniqueKeys.take.bind(pipeline.uniqueKeys);
    vi.spyOn(pipeline.uniqueKeys, "take").mockImplementationOnce(async (...given) => {
      await pipeline.unique("existing", "faster");
      return take(...given);
    });
    const { record, replayed } = await pipeline.unique("existing", "slower");
    expect(replayed).toBe(true);
    expect(pipeline.kept()).toMatchObject([{ task_id: record.task_id }]);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["faster"]);
  });

  test("an input whose task starts before it is replaced gets a task of its own", async () => {
    const pipeline = keeping();
    const first = await pipeline.unique("replace", "one");
    const savePart = pipeline.records.savePart.bind(pipeline.records);
    vi.spyOn(pipeline.records, "savePart").mockImplementationOnce(async (...given) => {
      await savePart(...given);
      await pipeline.work();
    });
    const second = await pipeline.unique("replace", "two");
    expect(second.record.task_id).not.toBe(first.record.task_id);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one", "two"]);
  });

  test("of two inputs that replace at the same time, one runs, and both submits are accepted", async () => {
    const pipeline = keeping();
    await pipeline.unique("replace", "one");
    const savePart = pipeline.records.savePart.bind(pipeline.records);
    vi.spyOn(pipeline.records, "savePart").mockImplementationOnce(async (...given) => {
      await savePart(...given);
      await pipeline.unique("replace", "between");
    });
    expect((await pipeline.unique("replace", "overtaken")).replayed).toBe(true);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["between"]);
  });

  test("a late repeat of a replacement brings no earlier input back", async () => {
    const pipeline = keeping();
    await pipeline.unique("replace", "one");
    const change = vi.spyOn(pipeline.records, "change");
    await pipeline.unique("replace", "two");
    const late = change.mock.calls.at(-1);
    await pipeline.unique("replace", "three");
    if (late !== undefined) await pipeline.records.change(...late);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["three"]);
  });

  test("a cancelled task's key is free at once", async () => {
    const { cancel } = await import("../../../../src/core/control/control.ts");
    const pipeline = keeping();
    const { record } = await pipeline.unique("reject", "one");
    await cancel(pipeline.ports, await pipeline.recordOf(record));
    expect((await pipeline.unique("reject", "two")).replayed).toBe(false);
  });
});

test("a message that a claim found early, and that is due by then, is sent at once", async () => {
  const pipeline = keeping();
  await pipeline.unique("debounce", "one");
  await pipeline.clock.advance(5_000);
  const change = pipeline.records.change.bind(pipeline.records);
  vi.spyOn(pipeline.records, "change").mockImplementationOnce(async (...claim) => {
    // The due time moves before the claim, whose answer takes longer than the new wait.
    await pipeline.unique("debounce", "two");
    const answer = await change(...claim);
    await pipeline.clock.advance(6_000);
    return answer;
  });
  const before = pipeline.clock.now();
  await pipeline.work();
  await pipeline.work();
  expect(pipeline.ran).toEqual(["two"]);
  expect(pipeline.clock.now() - before).toBeLessThan(7_000);
});

describe("submits that die or get no answer", () => {
  test.each(["existing", "reject", "replace", "debounce"])(
    "one that died before it took the key leaves it free: %s",
    async (mode) => {
      const pipeline = keeping();
      vi.spyOn(pipeline.uniqueKeys, "take").mockRejectedValueOnce(down());
      await expect(pipeline.unique(mode, "one")).rejects.toMatchObject(refused("unavailable"));
      const { replayed } = await pipeline.unique(mode, "two");
      expect(replayed).toBe(false);
      await pipeline.drain();
      expect(pipeline.ran).toEqual(["two"]);
    },
  );

  test.each([
    ["existing", "one"],
    ["replace", "two"],
    ["debounce", "two"],
  ])("the task of one that died before it sent the message is sent by the next submit: %s", async (mode, runs) => {
    const pipeline = keeping();
    // The process dies: it neither sends nor withdraws.
    pipeline.send.mockReturnValueOnce(new Promise(() => {}));
    void pipeline.unique(mode, "one");
    await pipeline.clock.advance(0);
    const { replayed } = await pipeline.unique(mode, "two");
    expect(replayed).toBe(true);
    await pipeline.unique("existing", "three");
    expect(pipeline.send).toHaveBeenCalledTimes(2);
    await pipeline.drain();
    expect(pipeline.ran).toEqual([runs]);
  });

  test("a refused submit sees to it that the task it names is sent", async () => {
    const pipeline = keeping();
    pipeline.send.mockReturnValueOnce(new Promise(() => {}));
    void pipeline.unique("reject", "one");
    await pipeline.clock.advance(0);
    await expect(pipeline.unique("reject", "two")).rejects.toMatchObject(refused("conflict"));
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one"]);
  });

  test("when the queue is down, the task is withdrawn and its key is free", async () => {
    const pipeline = keeping();
    pipeline.send.mockRejectedValueOnce(down());
    await expect(pipeline.unique("reject", "one")).rejects.toMatchObject(refused("unavailable"));
    expect(pipeline.kept()).toEqual([]);
    expect((await pipeline.unique("reject", "two")).replayed).toBe(false);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["two"]);
  });

  test("a task that another submit has sent is not withdrawn", async () => {
    const pipeline = keeping();
    const sending = gate();
    pipeline.send.mockImplementationOnce(async () => {
      await sending.opened;
      throw down();
    });
    const first = pipeline.unique("existing", "one");
    await pipeline.clock.advance(0);
    await pipeline.unique("existing", "two");
    sending.open();
    await expect(first).rejects.toMatchObject(refused("unavailable"));
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one"]);
  });

  test("a message that is not known to be sent is sent again, and runs nothing twice", async () => {
    const pipeline = keeping();
    vi.spyOn(pipeline.uniqueKeys, "sent").mockRejectedValueOnce(down());
    await pipeline.unique("existing", "one");
    await pipeline.unique("existing", "two");
    expect(pipeline.send).toHaveBeenCalledTimes(2);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one"]);
  });

  test("an attempt that cannot load the new input is repeated with it", async () => {
    const pipeline = keeping();
    await pipeline.unique("replace", "one");
    const { record } = await pipeline.unique("replace", "two");
    vi.spyOn(pipeline.records, "loadPart").mockRejectedValueOnce(down());
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["two"]);
    expect((await pipeline.recordOf(record)).history).toHaveLength(2);
  });

  test("an attempt after a crash has the new input, and so has the message that it left", async () => {
    const pipeline = keeping();
    await pipeline.unique("replace", "one");
    const { record } = await pipeline.unique("replace", "two");
    // A worker claims the task and dies.
    await pipeline.records.change(record, {
      when: { status: { is: "pending" } },
      set: { status: "processing", lease_until: iso(pipeline.clock.now() - 1), started_at: iso(pipeline.clock.now()) },
      add: { attempts: 1, attempts_total: 1 },
    });
    await pipeline.work();
    expect(pipeline.queues.waiting("normal").map(({ body }) => JSON.parse(body).input)).toEqual(["two"]);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["two"]);
  });
});

describe("with an idempotency key", () => {
  test("a repeat gets the task that the first call made, in any mode and also after its end", async () => {
    for (const mode of ["existing", "reject", "replace", "debounce"]) {
      const pipeline = keeping();
      const { record } = await pipeline.unique(mode, "one", "key");
      const again = await pipeline.unique(mode, "one", "key");
      expect(again.replayed).toBe(true);
      expect(again.record.replaced).toBeUndefined();
      await pipeline.drain();
      const repeat = await pipeline.unique(mode, "one", "key");
      expect(repeat).toMatchObject({ replayed: true, record: { task_id: record.task_id, status: "completed" } });
      expect(pipeline.ran).toEqual(["one"]);
    }
  });

  test("a repeat gets the task that the first call joined, also after its end, and replaces nothing again", async () => {
    for (const mode of ["existing", "replace", "debounce"]) {
      const pipeline = keeping();
      const { record } = await pipeline.unique(mode, "one");
      await pipeline.unique(mode, "two", "key");
      await pipeline.unique(mode, "three");
      for (const when of ["before", "after"]) {
        const repeat = await pipeline.unique(mode, "two", "key");
        expect(repeat).toMatchObject({ replayed: true, record: { task_id: record.task_id } });
        if (when === "before") await pipeline.drain();
      }
      expect(pipeline.ran).toEqual([mode === "existing" ? "one" : "three"]);
    }
  });

  test("another request with the key is refused, after a new task and after a joined one", async () => {
    const pipeline = keeping();
    await pipeline.unique("existing", "one", "made");
    await pipeline.unique("existing", "one", "joined");
    for (const key of ["made", "joined"]) {
      await expect(pipeline.unique("existing", "two", key)).rejects.toMatchObject(refused("idempotency_key_reused"));
      await expect(pipeline.unique("replace", "one", key)).rejects.toMatchObject(refused("idempotency_key_reused"));
    }
    await expect(pipeline.accept({ input: "one" }, { idempotencyKey: "made" })).rejects.toMatchObject(
      refused("idempotency_key_reused"),
    );
  });

  test("a call that died after it had noted what it joins replaces the input when it is repeated", async () => {
    const pipeline = keeping();
    await pipeline.unique("replace", "one");
    vi.spyOn(pipeline.records, "savePart").mockRejectedValueOnce(down());
    await expect(pipeline.unique("replace", "two", "key")).rejects.toMatchObject(refused("unavailable"));
    await pipeline.unique("replace", "two", "key");
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["two"]);
  });

  test("a call that died in the same place does not undo a later submit when it is repeated", async () => {
    const pipeline = keeping();
    await pipeline.unique("replace", "one");
    vi.spyOn(pipeline.records, "savePart").mockRejectedValueOnce(down());
    await expect(pipeline.unique("replace", "two", "key")).rejects.toMatchObject(refused("unavailable"));
    await pipeline.unique("replace", "three");
    await pipeline.unique("replace", "two", "key");
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["three"]);
  });

  test("a call that died there makes a task of its own when the other one has started since", async () => {
    const pipeline = keeping();
    await pipeline.unique("replace", "one");
    vi.spyOn(pipeline.records, "savePart").mockRejectedValueOnce(down());
    await expect(pipeline.unique("replace", "two", "key")).rejects.toMatchObject(refused("unavailable"));
    await pipeline.drain();
    const { record } = await pipeline.unique("replace", "two", "key");
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one", "two"]);
    expect((await pipeline.unique("replace", "two", "key")).record.task_id).toBe(record.task_id);
  });

  test("a call that died before it took the key takes it when it is repeated", async () => {
    const pipeline = keeping();
    vi.spyOn(pipeline.uniqueKeys, "take").mockRejectedValueOnce(down());
    await expect(pipeline.unique("reject", "one", "key")).rejects.toMatchObject(refused("unavailable"));
    expect((await pipeline.unique("reject", "one", "key")).replayed).toBe(true);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["one"]);
  });

  test("a call that takes the key of a task that has begun to sleep stores it no shorter", async () => {
    const day = 86_400;
    const pipeline = memoryPipeline([typeOf((_, task) => task.sleep(40 * day))]);
    const body = { type: "test.task", input: null, unique: { key: "k", mode: "existing" } };
    const call = () =>
      submit(pipeline.ports, { identity: operator, body, correlationId: "corr", idempotencyKey: "key" });
    const take = pipeline.uniqueKeys.take.bind(pipeline.uniqueKeys);
    const taking = vi.spyOn(pipeline.uniqueKeys, "take").mockRejectedValueOnce(down());
    await expect(call()).rejects.toMatchObject(refused("unavailable"));
    taking.mockImplementationOnce(async (...given) => {
      await call();
      await pipeline.work();
      return take(...given);
    });
    const { record } = await call();
    expect(record).toMatchObject({ status: "pending", waiting_for: { kind: "sleep" } });
    expect(pipeline.uniqueKeys.purge(pipeline.clock.now() / 1000 + 39 * day)).toEqual([]);
  });

  test("a call that died there joins the task that took the key since, when it is repeated", async () => {
    const pipeline = keeping();
    vi.spyOn(pipeline.uniqueKeys, "take").mockRejectedValueOnce(down());
    await expect(pipeline.unique("existing", "one", "key")).rejects.toMatchObject(refused("unavailable"));
    const { record } = await pipeline.unique("existing", "two");
    expect((await pipeline.unique("existing", "one", "key")).record.task_id).toBe(record.task_id);
    expect(pipeline.kept()).toHaveLength(1);
    await pipeline.drain();
    expect(pipeline.ran).toEqual(["two"]);
  });

  test("a call that cannot send does not withdraw the task that another call with its key has sent", async () => {
    const pipeline = keeping();
    const adopted = gate();
    const change = pipeline.records.change.bind(pipeline.records);
    // The second call finds the first one's record without its key, and goes on when that one has answered.
    vi.spyOn(pipeline.uniqueKeys, "take").mockImplementationOnce(async (...given) => {
      vi.spyOn(pipeline.records, "change").mockImplementationOnce(async (...call) => {
        await adopted.opened;
        return change(...call);
      });
      pipeline.send.mockResolvedValueOnce().mockRejectedValueOnce(down());
      second = pipeline.unique("existing", "one", "key");
      await pipeline.clock.advance(0);
      return pipeline.uniqueKeys.take(...given);
    });
    let second: Promise<unknown> = Promise.resolve();
    const { record } = await pipeline.unique("existing", "one", "key");
    adopted.open();
    await second.catch(() => {});
    expect((await pipeline.recordOf(record)).purge_at * 1000).toBeGreaterThan(pipeline.clock.now());
    expect((await pipeline.unique("existing", "one", "key")).record.task_id).toBe(record.task_id);
  });

  test("a repeat over a limit is answered as before", async () => {
    const pipeline = keeping();
    const { record } = await pipeline.unique("existing", "one", "made");
    await pipeline.unique("existing", "two", "joined");
    const full = {
      admit: () => Promise.reject(new Error("full")),
      admitUpload: async () => 0,
      takeUpload: async () => {},
    };
    const again = (input: string, idempotencyKey: string | undefined) =>
      submit(
        { ...pipeline.ports, gate: full },
        {
          identity: operator,
          body: { type: "test.task", input, unique: { key: "k", mode: "existing" } },
          correlationId: "corr",
          idempotencyKey,
        },
      );
    expect((await again("one", "made")).record.task_id).toBe(record.task_id);
    expect((await again("two", "joined")).record.task_id).toBe(record.task_id);
    await expect(again("three", undefined)).rejects.toThrow("full");
  });
});
