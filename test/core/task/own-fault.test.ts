import { expect, test } from "vitest";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { endedChildren } from "../../../src/core/pipeline/end/child-results.ts";
import { forHandler } from "../../../src/core/task/own-fault.ts";
import { taskFiles } from "../../../src/core/task/task-file.ts";
import { disk } from "../../../src/machine/disk.ts";
import { memoryPipeline } from "../../support/memory-pipeline.ts";
import { newRecord } from "../../support/records.ts";

const down = new PortUnavailable("the bucket");

/** The part of a call that a handler sees, and the error that ended its attempt. */
async function seenOf(make: (pass: ReturnType<typeof forHandler>) => Promise<unknown>) {
  const lost: unknown[] = [];
  const made = make(forHandler((error) => lost.push(error)));
  const turns = new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
  const seen = await Promise.race([made.catch((error: unknown) => error), turns.then(() => "nothing")]);
  return { seen, lost };
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array([1]);
  throw down;
}

const file = { key: "k", content_type: "text/plain", size_bytes: 3 };
const reads = {
  "cannot be opened": () => Promise.reject(down),
  "breaks off": () => Promise.resolve({ bytes: broken(), sizeBytes: 3 }),
};

for (const [what, read] of Object.entries(reads)) {
  const filesFor = (pass: ReturnType<typeof forHandler>) =>
    taskFiles({ blobs: { read } as never, disk }, pass, { doc: file });

  test(`a file that ${what} ends the attempt, and its handler sees nothing`, async () => {
    expect(await seenOf(async (pass) => filesFor(pass).doc?.bytes())).toEqual({ seen: "nothing", lost: [down] });
    const stream = async (pass: ReturnType<typeof forHandler>) => {
      for await (const _ of filesFor(pass).doc?.stream() ?? []);
    };
    expect(await seenOf(stream)).toEqual({ seen: "nothing", lost: [down] });
  });

  test(`a file that ${what} while it is saved leaves no open file`, async () => {
    const open: unknown[] = [];
    const write = async (_path: string, bytes: AsyncIterable<Uint8Array>) => {
      open.push("opened");
      try {
        for await (const _ of bytes);
      } finally {
        open.push("closed");
      }
    };
    const save = async (pass: ReturnType<typeof forHandler>) =>
      taskFiles({ blobs: { read } as never, disk: { write } as never }, pass, { doc: file }).doc?.saveTo("x");
    expect(await seenOf(save)).toEqual({ seen: "nothing", lost: [down] });
    expect(open).toEqual(["opened", "closed"]);
  });
}

test("an error of the disk is the handler's", async () => {
  const full = new Error("ENOSPC");
  const blobs = { read: async () => ({ bytes: (async function* () {})(), sizeBytes: 0 }) } as never;
  const fullDisk = { write: () => Promise.reject(full) } as never;
  const save = async (pass: ReturnType<typeof forHandler>) =>
    taskFiles({ blobs, disk: fullDisk }, pass, { doc: file }).doc?.saveTo("x");
  expect(await seenOf(save)).toEqual({ seen: full, lost: [] });
});

test("results of children that cannot be read end the attempt that aggregates", async () => {
  const pipeline = memoryPipeline();
  const families = { ...pipeline.families, pages: () => Promise.reject(down) } as never;
  const read = async (pass: ReturnType<typeof forHandler>) => {
    for await (const _ of endedChildren({ ...pipeline.ports, families }, newRecord(), pass).results());
  };
  expect(await seenOf(read)).toEqual({ seen: "nothing", lost: [down] });
});
