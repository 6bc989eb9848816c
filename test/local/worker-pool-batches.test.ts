import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SQSEvent, SQSRecord } from "aws-lambda";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { WorkerPool } from "../../src/local/workers/worker-pool.ts";
import { messageAttributes } from "../../src/settings/config.ts";

/** A worker whose batch ends when a file is there. It answers if another batch went on in its process. */
const worker = `import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

export async function handler({ Records: [{ body }] }, { process }) {
  const { name, decided } = JSON.parse(body);
  const isShared = process.isShared();
  writeFileSync(name + ".began", "");
  if (decided) process.onDecided();
  while (!existsSync(name + ".end")) await sleep(10);
  return { batchItemFailures: [{ itemIdentifier: String(isShared) }] };
}
`;

let folder: string;
let pool: WorkerPool;
/** The events of a test, in their order. */
let order: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "offload-pool-"));
  writeFileSync(join(folder, "index.mjs"), worker);
  pool = new WorkerPool({ env: () => ({}), maxProcesses: 1, workerFolder: folder, onExit: (line) => order.push(line) });
  order = [];
  onTestFinished(async () => {
    await pool.close();
    rmSync(folder, { recursive: true });
  });
});

const end = (name: string): void => writeFileSync(join(folder, `${name}.end`), "");
const hasBegun = (name: string): Promise<void> =>
  expect.poll(() => existsSync(join(folder, `${name}.began`)), { timeout: 300_000 }).toBe(true);

/** Invokes a process. Returns if another batch went on in it. */
async function invoke(name: string, { decided = false, solo = false } = {}): Promise<string | undefined> {
  const attributes = solo ? { [messageAttributes.solo]: { dataType: "Number", stringValue: "1" } } : {};
  const record = { body: JSON.stringify({ name, decided }), messageAttributes: attributes };
  const answer = await pool.invoke({ Records: [record as unknown as SQSRecord] } satisfies SQSEvent);
  order.push(`${name} ended`);
  return answer.batchItemFailures[0]?.itemIdentifier;
}

test("a process whose batch only goes on with tasks of lines gets a further one, up to three", async () => {
  await pool.free();
  const first = invoke("first", { decided: true });
  await pool.free();
  const second = invoke("second", { decided: true });
  await pool.free();
  const third = invoke("third", { decided: true });
  await hasBegun("third");
  const free = pool.free().then(() => order.push("free"));
  end("second");
  await free;
  expect(order).toEqual(["second ended", "free"]);
  end("first");
  end("third");
  expect(await Promise.all([first, second, third])).toEqual(["false", "true", "true"]);
});

test("a process with a message that has no verdict gets no further batch", async () => {
  await pool.free();
  const first = invoke("first");
  await hasBegun("first");
  const free = pool.free().then(() => order.push("free"));
  end("first");
  await Promise.all([first, free]);
  expect(order).toEqual(["first ended", "free"]);
});

test("a batch with a task that must run alone waits for a process without another batch, and others behind it", async () => {
  await pool.free();
  const first = invoke("first", { decided: true });
  await pool.free();
  const alone = invoke("alone", { decided: true, solo: true });
  const free = pool.free().then(() => order.push("free"));
  end("first");
  end("alone");
  expect(await alone).toBe("false");
  await Promise.all([first, free]);
  expect(order.indexOf("first ended")).toBeLessThan(order.indexOf("alone ended"));
  expect(order.indexOf("first ended")).toBeLessThan(order.indexOf("free"));
});

test("the death of a process fails each of its batches", async () => {
  await pool.free();
  const first = invoke("first", { decided: true });
  await pool.free();
  const second = invoke("second");
  await hasBegun("second");
  for (const pid of pool.pids) process.kill(pid, "SIGKILL");
  const died = { status: "rejected", reason: { message: "the worker process died: signal SIGKILL" } };
  expect(await Promise.allSettled([first, second])).toMatchObject([died, died]);
});
