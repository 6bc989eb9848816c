import { expect, test } from "vitest";
import { FlowBook } from "../../../src/core/flow/flow-book.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { type FlowSetting, settingsAgeMs } from "../../../src/core/ports/flow.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { MemoryFlowSettings } from "../../../src/memory/flow-settings.ts";
import { KeptLog } from "../../support/memory-pipeline.ts";

const work = { tier: "normal", type: "mail.send", tenantId: "acme" } as const;
const pause = "pause/type/mail.send";

/** A book whose table can be made unreadable. */
async function setUp() {
  const clock = new FakeClock(1_000_000);
  const flowSettings = new MemoryFlowSettings();
  await flowSettings.put({ kind: "pause", name: pause, since: "", by: "olga" });
  const table = { answers: true };
  const read = flowSettings.all.bind(flowSettings);
  flowSettings.all = async (): Promise<FlowSetting[]> => {
    if (!table.answers) throw new PortUnavailable("the table");
    return read();
  };
  return { clock, flowSettings, table, book: new FlowBook({ clock, log: new KeptLog(), flowSettings }) };
}

test("what was read last stays in use while the table does not answer, also when it was to be read again", async () => {
  const { clock, book, table } = await setUp();
  expect(await book.stopOf(work)).toBe(pause);
  table.answers = false;
  await clock.advance(settingsAgeMs);
  expect(await book.stopOf(work)).toBe(pause);
  book.forget();
  expect(await book.stopOf(work)).toBe(pause);
});

test("a process that has read nothing yet cannot tell", async () => {
  const { book, table } = await setUp();
  table.answers = false;
  book.forget();
  await expect(book.stopOf(work)).rejects.toThrow(PortUnavailable);
  table.answers = true;
  expect(await book.stopOf(work)).toBe(pause);
});

test("what is to be read again is read with the next look", async () => {
  const { book, flowSettings } = await setUp();
  expect(await book.stopOf(work)).toBe(pause);
  await flowSettings.remove(pause);
  book.forget();
  expect(await book.stopOf(work)).toBeUndefined();
});
