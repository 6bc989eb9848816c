import { describe, expect, test, vi } from "vitest";
import { parseTicket } from "../../../../src/core/model/envelope.ts";
import { WrittenLater } from "../../../../src/core/model/errors.ts";
import { parseNotice } from "../../../../src/core/notify/notify.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { type Pipeline, pipelineWith } from "../../../support/memory-pipeline.ts";
import { limits } from "../../../support/parts/limits.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(limits);

/*
 * During a deployment, and after a roll-back, this release meets what a later one has written. Readers of the table are
 * in `test/contract/later-forms.test.ts`; here is what a worker does with what they cannot read.
 */

const minuteMs = 60_000;

/** Two types, of which the tests stop the first one. */
function setUp(handler: TaskType["handler"] = () => "done") {
  const ran: string[] = [];
  const types = ["stopped", "other"].map((name) =>
    typeOf(
      async (input, task) => {
        const result = await handler(input as never, task);
        ran.push(name);
        return result;
      },
      { name, maxAttempts: 2 },
    ),
  );
  const pipeline = memoryPipeline(types);
  /** Works for a time as Lambda does, and gives back how many messages came. */
  const pass = async (minutes: number) => {
    for (let minute = 0; minute < minutes; minute++) {
      await pipeline.work();
      await pipeline.clock.advance(minuteMs);
    }
  };
  return { ...pipeline, pipeline, ran, pass };
}

const saidIn = ({ log }: Pick<Pipeline, "log">) =>
  log.lines.filter(({ message }) => message.startsWith("a later release has written")).map(({ fields }) => fields.form);

describe("a check of a line", () => {
  test("with a member of a later release is done", async () => {
    const { queues, work } = setUp();
    queues.put("normal", '{"line":"pause/type/stopped","check_id":"c","hue":"blue"}');
    expect(await work()).toEqual(["done"]);
    expect(queues.deadLettersOf("normal")).toEqual([]);
  });

  test("of a kind of line of a later release waits, its neighbours do not, and it is said once", async () => {
    const { queues, work, accept, ran, pass, log } = setUp();
    const body = '{"line":"quota/stopped/acme","check_id":"c","hue":"blue"}';
    queues.put("normal", body);
    for (let n = 0; n < 9; n++) await accept({ type: "other" });
    expect(await work()).toEqual(new Array(10).fill("done"));
    expect(ran).toHaveLength(9);
    await pass(600);
    expect(queues.waiting("normal")).toMatchObject([{ body, receiveCount: expect.toSatisfy((n) => n <= 1) }]);
    expect(queues.deadLettersOf("normal")).toEqual([]);
    expect(saidIn({ log })).toEqual(["a line"]);
  });

  test("of a line with entries of a later release comes again within minutes, and its neighbours run", async () => {
    const { queues, work, accept, ran, pass, lines, log, clock } = setUp();
    const first = vi.spyOn(lines, "first").mockRejectedValue(new WrittenLater("a task's entry in a line"));
    queues.put("normal", '{"line":"pause/type/stopped","check_id":"c"}');
    await accept({ type: "other" });
    expect(await work()).toEqual(["done", "done"]);
    expect(ran).toEqual(["other"]);
    await pass(30);
    expect(saidIn({ log })).toEqual(["a task's entry in a line"]);
    first.mockRestore();
    const calls = vi.spyOn(lines, "first");
    const [next] = queues.waiting("normal");
    expect((next?.visibleAt ?? 0) - clock.now()).toBeLessThanOrEqual(5 * minuteMs);
    await pass(5);
    expect(calls).toHaveBeenCalled();
  });

  test("that fails by a mistake throws for no neighbour, and comes again within minutes", async () => {
    const { queues, work, accept, ran, lines, clock } = setUp();
    vi.spyOn(lines, "first").mockRejectedValue(new TypeError("no"));
    queues.put("normal", '{"line":"pause/type/stopped","check_id":"c"}');
    await accept({ type: "other" });
    expect(await work()).toEqual(["done", "done"]);
    expect(ran).toEqual(["other"]);
    expect(queues.waiting("normal")).toMatchObject([{ visibleAt: clock.now() + 150_000 }]);
  });
});

describe("a task waits alone, uncounted, and runs when its release is back", () => {
  const later = () => new WrittenLater("a form");
  const limits = { kind: "limits", name: "limits/stopped", concurrency: { limit: 3 } };

  test.each<[string, (of: ReturnType<typeof setUp>) => () => Promise<unknown> | unknown]>([
    [
      "limits of its type",
      ({ flowSettings }) => {
        void flowSettings.put(limits as never);
        return () => flowSettings.remove(limits.name);
      },
    ],
    [
      "a part of its record",
      ({ records }) => {
        const get = vi.spyOn(records, "loadPart").mockRejectedValue(later());
        return () => get.mockRestore();
      },
    ],
    [
      "what its claim reads",
      ({ records }) => {
        const change = records.change.bind(records);
        let isBack = false;
        vi.spyOn(records, "change").mockImplementation((key, asked) =>
          isBack || (key as { type?: string }).type !== "stopped" || asked.add === undefined
            ? change(key, asked)
            : Promise.reject(later()),
        );
        return () => {
          isBack = true;
        };
      },
    ],
  ])("%s", async (_, stop) => {
    const of = setUp();
    const { accept, pass, ran, recordOf, queues } = of;
    const goOn = stop(of);
    const record = await accept({ type: "stopped" });
    const part = { set: { input_part: "a-part" }, when: {} };
    if (_ === "a part of its record") await of.records.change(record, part);
    await accept({ type: "other" });
    await pass(1_500);
    expect(ran).toEqual(["other"]);
    expect(await recordOf(record)).toMatchObject({ status: "pending", attempts: 0 });
    expect(queues.deadLettersOf("normal")).toEqual([]);
    expect(saidIn(of)).toHaveLength(1);
    if (_ === "a part of its record") await of.records.change(record, { set: {}, when: {}, remove: ["input_part"] });
    await goOn();
    await pass(6);
    expect(ran).toEqual(["other", "stopped"]);
  });

  test("a status", async () => {
    const of = setUp();
    const { accept, pass, ran, records, recordOf } = of;
    const record = await accept({ type: "stopped" });
    await records.change(record, { when: {}, set: { status: "held" as never } });
    await pass(1_500);
    expect(await recordOf(record)).toMatchObject({ status: "held", attempts: 0 });
    await records.change(record, { when: {}, set: { status: "pending" } });
    await pass(6);
    expect(ran).toEqual(["stopped"]);
    expect(saidIn(of)).toEqual(["the status of a task"]);
  });

  test("a step", async () => {
    const of = setUp(async (_, task) => {
      await task.sleep(60);
      return task.step("charge", () => 1);
    });
    const { accept, pass, ran, steps, recordOf } = of;
    const load = vi.spyOn(steps, "load").mockRejectedValue(new WrittenLater("a step of a task"));
    const record = await accept({ type: "stopped" });
    await pass(600);
    expect(await recordOf(record)).toMatchObject({ status: "pending", attempts: 0 });
    load.mockRestore();
    await pass(6);
    expect(ran).toEqual(["stopped"]);
    expect(saidIn(of)).toEqual(["a step of a task"]);
  });

  test("an operation of a kind of a later release", async () => {
    const of = setUp();
    const { accept, pass, records, recordOf } = of;
    const record = await accept({ type: "other" }, {});
    const type = "offload.archive";
    await records.change(record, { when: {}, set: { type } });
    const [message] = of.queues.waiting("normal");
    of.queues.put("normal", JSON.stringify({ ...JSON.parse(message?.body ?? ""), type }));
    await pass(600);
    expect(await recordOf(record)).toMatchObject({ status: "pending", attempts: 0 });
  });
});

describe("texts of a later release", () => {
  test("a ticket that is none is no ticket: the task asks again", () => {
    expect(parseTicket("held.3-leased@17")).toBeUndefined();
  });

  test("a notice of an unknown kind is refused as such, and one with a new member is read", () => {
    const notice = { kind: "change", tenant_id: "acme", task_id: "t", hue: "blue" };
    expect(parseNotice(JSON.stringify(notice))).toEqual(notice);
    expect(() => parseNotice(JSON.stringify({ ...notice, kind: "digest" }))).toThrow(WrittenLater);
    expect(() => parseNotice('{"hue":1}')).toThrow("expected a notice");
  });
});
