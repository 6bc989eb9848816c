import { expect, test } from "vitest";
import { lazyPort } from "../../src/aws/lazy-port.ts";

class Counter {
  readonly #step: number;
  #sum = 0;

  constructor(step: number) {
    this.#step = step;
  }

  async add(times: number): Promise<number> {
    this.#sum += times * this.#step;
    return this.#sum;
  }
}

test("a port whose code loads late is opened once, with the first call of a method", async () => {
  let opened = 0;
  const port = lazyPort(async () => {
    opened += 1;
    return new Counter(10);
  });
  expect(opened).toBe(0);
  expect(await Promise.all([port.add(1), port.add(2)])).toEqual([10, 30]);
  expect(await port.add(1)).toBe(40);
  expect(opened).toBe(1);
});

test("a port that could not be opened is opened by the next call", async () => {
  const failures = [new Error("EMFILE")];
  const port = lazyPort(async () => {
    const failure = failures.pop();
    if (failure !== undefined) throw failure;
    return new Counter(10);
  });
  await expect(port.add(1)).rejects.toThrow("EMFILE");
  expect(await port.add(1)).toBe(10);
});

test("each call of a port that cannot be opened has the error", async () => {
  const port = lazyPort<Counter>(async () => {
    throw new Error("no code");
  });
  await expect(port.add(1)).rejects.toThrow("no code");
  await expect(port.add(1)).rejects.toThrow("no code");
});
