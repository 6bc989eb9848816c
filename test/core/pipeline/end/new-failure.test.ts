import { expect, test } from "vitest";
import { PermanentError, PortUnavailable } from "../../../../src/core/model/errors.ts";
import { operator } from "../../../support/identities.ts";
import { memoryPipeline } from "../../../support/memory-pipeline.ts";
import { typeOf } from "../../../support/task-types.ts";

class BadAddress extends PermanentError {}

/** A pipeline whose tasks fail for good: with a text that differs, and with another class of error where the input says so. */
function failing() {
  const fail = (name: string) =>
    typeOf(
      (input) => {
        if ((input as { bad?: boolean }).bad) throw new BadAddress("not an address");
        throw new PermanentError(`broken: ${JSON.stringify(input)}`);
      },
      { name },
    );
  const pipeline = memoryPipeline([fail("order.ship"), fail("mail.send")]);
  const deadLetter = async (type: string, input: unknown = {}, identity = operator) => {
    await pipeline.accept({ type, input }, { identity });
    await pipeline.work();
  };
  return { ...pipeline, deadLetter, counted: () => pipeline.metrics.sum("new_failure") };
}

test("the first dead letter of a type counts as a new failure, and further ones of its class do not", async () => {
  const { deadLetter, counted, metrics } = failing();
  for (let n = 0; n < 5; n++) await deadLetter("order.ship", { n });
  expect(metrics.sum("dead_lettered")).toBe(5);
  expect(counted()).toBe(1);
});

test("another type, and another class of error, are new while old dead letters are kept", async () => {
  const { deadLetter, counted } = failing();
  await deadLetter("order.ship");
  await deadLetter("mail.send");
  expect(counted()).toBe(2);
  await deadLetter("mail.send", { bad: true });
  expect(counted()).toBe(3);
  await deadLetter("mail.send", { bad: true }, { ...operator, tenantId: "globex" });
  expect(counted()).toBe(3);
});

test("a failure is new again after a day", async () => {
  const { deadLetter, counted, clock } = failing();
  await deadLetter("order.ship");
  await clock.advance(86_300_000);
  await deadLetter("order.ship");
  expect(counted()).toBe(1);
  await clock.advance(200_000);
  await deadLetter("order.ship");
  expect(counted()).toBe(2);
});

test("a table that does not answer costs the count, and not the dead letter", async () => {
  const { deadLetter, counted, metrics, ports } = failing();
  const { loadPart } = ports.records;
  ports.records.loadPart = (key, part) =>
    part.startsWith("failure#") ? Promise.reject(new PortUnavailable("down")) : loadPart.call(ports.records, key, part);
  await deadLetter("order.ship");
  expect(metrics.sum("dead_lettered")).toBe(1);
  expect(counted()).toBe(0);
});
