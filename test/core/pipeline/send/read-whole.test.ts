import { expect, test } from "vitest";
import { PermanentError } from "../../../../src/core/model/errors.ts";
import { atMost } from "../../../../src/core/pipeline/send/read-whole.ts";

async function* pieces(count: number, closed: string[] = []): AsyncGenerator<Uint8Array> {
  try {
    for (let n = 0; n < count; n++) yield new Uint8Array(10).fill(n);
  } finally {
    closed.push("closed");
  }
}

test("bytes up to the limit pass unchanged", async () => {
  const passed: number[] = [];
  for await (const piece of atMost(pieces(3), 30)) passed.push(...piece);
  expect(passed).toEqual([...Array(10).fill(0), ...Array(10).fill(1), ...Array(10).fill(2)]);
});

test("the piece that exceeds the limit is an error that no retry can fix, and closes the source", async () => {
  const closed: string[] = [];
  const passed: number[] = [];
  const read = async () => {
    for await (const piece of atMost(pieces(3, closed), 29)) passed.push(piece.byteLength);
  };
  await expect(read()).rejects.toThrow(new PermanentError("the file has more than 29 bytes"));
  expect(passed).toEqual([10, 10]);
  expect(closed).toEqual(["closed"]);
});
