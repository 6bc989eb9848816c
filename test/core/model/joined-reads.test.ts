import { expect, test } from "vitest";
import { JoinedReads } from "../../../src/util/joined-reads.ts";

/** Reads that end when the test says so. */
function setUp() {
  const reads = new JoinedReads<number>();
  const begun: PromiseWithResolvers<number>[] = [];
  const begin = () => {
    const read = Promise.withResolvers<number>();
    begun.push(read);
    return read.promise;
  };
  return { begun, read: (key = "a") => reads.read(key, begin) };
}

test("reads that are asked for while one runs begin after it, as one", async () => {
  const { begun, read } = setUp();
  const first = read();
  const others = [read(), read(), read()];
  expect(begun).toHaveLength(1);
  begun[0]?.resolve(1);
  expect(await first).toBe(1);
  await expect.poll(() => begun.length).toBe(2);
  const late = read();
  begun[1]?.resolve(2);
  expect(await Promise.all(others)).toEqual([2, 2, 2]);
  await expect.poll(() => begun.length).toBe(3);
  begun[2]?.resolve(3);
  expect(await late).toBe(3);
});

test("a read that nobody joins begins at once, and so do those of other things", async () => {
  const { begun, read } = setUp();
  const [a, b] = [read("a"), read("b")];
  expect(begun).toHaveLength(2);
  for (const one of begun) one.resolve(0);
  await Promise.all([a, b]);
  void read("a");
  expect(begun).toHaveLength(3);
});

test("a read that fails fails for those who asked before it began, and the next one begins", async () => {
  const { begun, read } = setUp();
  const [first, joined] = [read(), read()];
  begun[0]?.reject(new Error("down"));
  await expect(first).rejects.toThrow("down");
  await expect.poll(() => begun.length).toBe(2);
  begun[1]?.resolve(2);
  expect(await joined).toBe(2);
});
