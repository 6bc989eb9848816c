import { generateKeyPairSync } from "node:crypto";
import { compactDecrypt, importJWK } from "jose";
import { describe, expect, test } from "vitest";
import { retry } from "../../../../src/core/control/control.ts";
import { purgeBlobs } from "../../../../src/core/control/purge-blobs.ts";
import { announce } from "../../../../src/core/extras/files/uploads.ts";
import { PermanentError } from "../../../../src/core/model/errors.ts";
import { iso, type TaskRecord } from "../../../../src/core/model/record.ts";
import { packResult } from "../../../../src/core/pipeline/work/pack-result.ts";
import { dayMs } from "../../../../src/core/ports/blob.ts";
import type { TaskContext } from "../../../../src/core/task/context.ts";
import { file, withOutcome } from "../../../../src/core/task/result.ts";
import type { TaskType } from "../../../../src/core/task/task.ts";
import { operator, submitter } from "../../../support/identities.ts";
import { type Pipeline, pipelineWith } from "../../../support/memory-pipeline.ts";
import { operations } from "../../../support/parts/operations.ts";
import { typeOf } from "../../../support/task-types.ts";

const memoryPipeline = pipelineWith(operations);

const keyOf = ({ tenant_id, task_id }: TaskRecord) => ({ tenant_id, task_id });
const large = "ä".repeat(100_000);

const pipelineOf = (handler: (input: never, task: TaskContext) => unknown, options: Partial<TaskType> = {}) =>
  memoryPipeline([typeOf(handler as TaskType["handler"], options)]);

async function* chunksOf(size: number, count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) yield new Uint8Array(size).fill(index);
}

async function bytesOf(pipeline: Pipeline, key: string | undefined): Promise<Uint8Array> {
  const content = await pipeline.blobs.read(key ?? "");
  const chunks: Uint8Array[] = [];
  for await (const chunk of content?.bytes ?? []) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("a large input", () => {
  test("comes to every attempt, also of a new round and after a long delay", async () => {
    const seen: unknown[] = [];
    let fails = 2;
    const pipeline = pipelineOf(
      (input) => {
        seen.push(input);
        fails -= 1;
        if (fails === 1) throw new Error("again");
        if (fails === 0) throw new PermanentError("for good");
      },
      { retry: { waitsSeconds: [2_000] } },
    );
    const task = await pipeline.accept({ input: { large }, delay_seconds: 5_000 });
    await pipeline.drain();
    const failed = await pipeline.recordOf(keyOf(task));
    expect(failed.status).toBe("failed");
    await retry(pipeline.ports, failed);
    await pipeline.drain();
    expect((await pipeline.recordOf(keyOf(task))).status).toBe("completed");
    expect(seen).toEqual([{ large }, { large }, { large }]);
  });

  test("that is no longer stored fails the task for good", async () => {
    const pipeline = pipelineOf(() => null);
    const task = await pipeline.accept({ input: { large } });
    const envelope = JSON.parse(pipeline.queues.waiting("normal")[0]?.body ?? "");
    await pipeline.blobs.delete(envelope.input_ref.key);
    await pipeline.drain();
    expect(await pipeline.recordOf(keyOf(task))).toMatchObject({
      status: "failed",
      error: "the input is no longer stored: its retention has ended",
    });
  });
});

describe("a large result", () => {
  test.each([
    ["bytes", () => new Uint8Array(400_000)],
    ["a stream", () => chunksOf(100_000, 4)],
    ["a Blob", () => new Blob([new Uint8Array(400_000)])],
    [
      "text chunks of a stream",
      () =>
        (async function* () {
          for (let n = 0; n < 4; n++) yield "x".repeat(100_000);
        })(),
    ],
  ])("of %s is in the bucket, whole", async (_, source) => {
    const pipeline = pipelineOf(() => file(source(), { contentType: "text/csv", fileName: "größe.csv" }));
    const task = await pipeline.accept();
    await pipeline.drain();
    const { result_ref } = await pipeline.recordOf(keyOf(task));
    expect(result_ref).toMatchObject({ bytes: 400_000, content_type: "text/csv", file_name: "größe.csv" });
    expect((await bytesOf(pipeline, result_ref?.blob)).byteLength).toBe(400_000);
  });

  test("of a short stream is beside the record", async () => {
    const pipeline = pipelineOf(() => file(chunksOf(1_000, 3), { contentType: "text/csv", fileName: "a.csv" }));
    const task = await pipeline.accept();
    await pipeline.drain();
    const { result_ref } = await pipeline.recordOf(keyOf(task));
    expect(result_ref).toMatchObject({ bytes: 3_000 });
    expect(result_ref?.blob).toBeUndefined();
  });

  test("whose stream breaks fails the attempt; the next one stores it", async () => {
    let broken = true;
    const pipeline = pipelineOf(() => {
      async function* stream() {
        yield* chunksOf(200_000, 2);
        if (broken) {
          broken = false;
          throw new Error("the disk is gone");
        }
      }
      return file(stream(), { contentType: "text/csv", fileName: "a.csv" });
    });
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(keyOf(task))).toMatchObject({
      status: "completed",
      attempts: 2,
      result_ref: { bytes: 400_000 },
    });
  });

  test("of a late attempt does not replace that of the next one", async () => {
    const pipeline = pipelineOf(() => null);
    const task = await pipeline.accept();
    const store = (attempts_total: number, text: string) =>
      packResult(pipeline.ports, { ...task, attempts_total }, undefined, text.repeat(400_000));
    const [next, late] = [await store(2, "n"), await store(1, "l")];
    expect(late.reference?.blob).not.toBe(next.reference?.blob);
    expect(
      Buffer.from(await bytesOf(pipeline, next.reference?.blob))
        .toString("utf8")
        .slice(0, 3),
    ).toBe('"nn');
  });

  test("names a resource of its own by its location", async () => {
    const pipeline = pipelineOf(() => withOutcome("CREATED", { id: 42 }, { location: "/orders/42" }));
    const task = await pipeline.accept();
    await pipeline.drain();
    expect(await pipeline.recordOf(keyOf(task))).toMatchObject({
      outcome: "CREATED",
      location: "/orders/42",
      result: { id: 42 },
    });
  });

  test.each(["orders/42", "//evil.example", "javascript:alert(1)", "/a b", "/a\r\nset-cookie: a=b", ""])(
    "cannot have the location %j",
    (location) => {
      expect(() => withOutcome("CREATED", null, { location })).toThrow(TypeError);
    },
  );
});

describe("a result for a key", () => {
  const pairs = {
    EC: generateKeyPairSync("ec", { namedCurve: "P-256" }),
    RSA: generateKeyPairSync("rsa", { modulusLength: 2048 }),
    OKP: generateKeyPairSync("x25519"),
  };
  const marker = "4111-1111-1111-1111";

  test.each(Object.entries(pairs))("of type %s is stored only encrypted", async (kty, { publicKey, privateKey }) => {
    const pipeline = pipelineOf((_input, task) => {
      task.log.info("done");
      return { card: marker };
    });
    const task = await pipeline.accept({ result_key: publicKey.export({ format: "jwk" }) });
    await pipeline.drain();
    const record = await pipeline.recordOf(keyOf(task));
    expect(record).toMatchObject({ status: "completed", result_ref: { content_type: "application/jose" } });
    const stored = await pipeline.records.loadPart(record, `result#${record.attempts_total}`);
    expect(JSON.stringify([record, stored, pipeline.log.lines])).not.toContain(marker);
    const opened = await compactDecrypt(
      String(stored),
      await importJWK(privateKey.export({ format: "jwk" }), kty === "RSA" ? "RSA-OAEP-256" : "ECDH-ES+A256KW"),
    );
    expect(JSON.parse(new TextDecoder().decode(opened.plaintext))).toEqual({ card: marker });
    expect(opened.protectedHeader).toMatchObject({ enc: "A256GCM", cty: "application/json" });
  });

  test("that is large is encrypted in the bucket", async () => {
    const { publicKey } = pairs.EC;
    const pipeline = pipelineOf(() => file(chunksOf(200_000, 3), { contentType: "text/csv", fileName: "secret.csv" }));
    const task = await pipeline.accept({ result_key: publicKey.export({ format: "jwk" }) });
    await pipeline.drain();
    const { result_ref } = await pipeline.recordOf(keyOf(task));
    expect(result_ref?.file_name).toBeUndefined();
    expect(Buffer.from(await bytesOf(pipeline, result_ref?.blob)).toString("utf8")).toMatch(
      /^[\w-]+\.[\w-]+\.[\w-]+\.[\w-]+\.[\w-]+$/,
    );
  });

  test.each([
    ["a private key", pairs.EC.privateKey.export({ format: "jwk" })],
    ["a short RSA key", generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey.export({ format: "jwk" })],
    ["another curve", generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey.export({ format: "jwk" })],
    ["a key for signatures", generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" })],
    ["a secret", { kty: "oct", k: "c2VjcmV0" }],
    ["nonsense", { kty: "EC", crv: "P-256", x: "1", y: "2" }],
    ["nothing", {}],
  ])("is refused for %s, without a word of it", async (_, result_key) => {
    const pipeline = pipelineOf(() => null);
    const refused = await pipeline.accept({ result_key }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "invalid_input", options: { errors: [{ path: "/result_key" }] } });
    const { d, k, n } = result_key as Record<string, string>;
    for (const secret of [d, k, n]) if (secret !== undefined) expect(String(refused)).not.toContain(secret);
    expect(pipeline.records.all()).toEqual([]);
  });
});

const video = { contentTypes: ["video/*"], maxBytes: 1_000 };

/** A pipeline whose type takes a file, and what uploads one. */
function withUploads(handler: (input: never, task: TaskContext) => unknown = () => null) {
  const pipeline = pipelineOf(handler, { files: { video } });
  const upload = async (
    facts: { content_type?: string; bytes?: Uint8Array; size_bytes?: number; sha256?: string } = {},
  ) => {
    const bytes = facts.bytes ?? new Uint8Array(500);
    const given = { content_type: "video/mp4", size_bytes: bytes.byteLength, file_name: "cat.mp4", ...facts };
    const made = await announce(pipeline.ports, submitter, pipeline.newId(), given as never);
    if (facts.size_bytes === undefined) await pipeline.blobs.put(made.key, bytes, { contentType: given.content_type });
    return made;
  };
  return { ...pipeline, upload };
}

describe("a submit with a file", () => {
  test("gives it to the handler", async () => {
    const seen: unknown[] = [];
    const pipeline = withUploads(async (_input, task) => {
      const given = task.files.video;
      const streamed: Uint8Array[] = [];
      for await (const chunk of (given?.stream() ?? []) as AsyncIterable<Uint8Array>) streamed.push(chunk);
      seen.push(
        given?.fileName,
        given?.contentType,
        given?.sizeBytes,
        Buffer.concat(streamed).length,
        (await given?.bytes())?.length,
      );
    });
    const { upload_id } = await pipeline.upload();
    await pipeline.accept({ files: { video: upload_id } }, { identity: submitter });
    await pipeline.drain();
    expect(seen).toEqual(["cat.mp4", "video/mp4", 500, 500, 500]);
  });

  test.each([
    ["a missing upload", async () => "3f2504e0-4f89-41d3-9a0c-0305e82c3301", "no such upload, or it has expired"],
    [
      "a type that is not allowed",
      async (p: ReturnType<typeof withUploads>) => (await p.upload({ content_type: "image/png" })).upload_id,
      "image/png is not allowed; expected video/*",
    ],
    [
      "too many bytes",
      async (p: ReturnType<typeof withUploads>) => (await p.upload({ bytes: new Uint8Array(1_001) })).upload_id,
      "the file has 1001 bytes; the limit is 1000",
    ],
    [
      "no bytes yet",
      async (p: ReturnType<typeof withUploads>) => (await p.upload({ size_bytes: 10 })).upload_id,
      "the file was not uploaded yet",
    ],
    [
      "another checksum",
      async (p: ReturnType<typeof withUploads>) => (await p.upload({ sha256: "0".repeat(64) })).upload_id,
      "the file does not have the announced sha256",
    ],
  ])("is refused for %s, and nothing is written", async (_, prepare, message) => {
    const pipeline = withUploads();
    const video = await prepare(pipeline);
    await expect(pipeline.accept({ files: { video } }, { identity: submitter })).rejects.toMatchObject({
      code: "invalid_input",
      options: { errors: [{ path: "/files/video", message }] },
    });
    expect([pipeline.records.all(), pipeline.queues.waiting("normal")]).toEqual([[], []]);
  });

  test("is refused without its file, with a file of another name, and for another caller's upload", async () => {
    const pipeline = withUploads();
    const { upload_id } = await pipeline.upload();
    const refusals = [
      { body: {}, identity: submitter },
      { body: { files: { video: upload_id, audio: upload_id } }, identity: submitter },
      { body: { files: { video: upload_id } }, identity: { ...submitter, principal: "somebody" } },
      { body: { files: { video: upload_id } }, identity: { ...operator, tenantId: "globex" } },
    ];
    for (const { body, identity } of refusals) {
      await expect(pipeline.accept(body, { identity })).rejects.toMatchObject({ code: "invalid_input" });
    }
    expect(pipeline.records.all()).toEqual([]);
  });

  test("takes an upload for one task, and for each repeat of the same request", async () => {
    const pipeline = withUploads();
    const { upload_id } = await pipeline.upload();
    const body = { files: { video: upload_id } };
    const call = { identity: submitter, idempotencyKey: "k" };
    const first = await pipeline.accept(body, call);
    expect((await pipeline.accept(body, call)).task_id).toBe(first.task_id);
    await expect(pipeline.accept(body, { identity: submitter })).rejects.toThrow("another task has taken this upload");
  });

  test("takes over an upload of a task that died before its record", async () => {
    const pipeline = withUploads();
    const { upload_id, tenant_id } = await pipeline.upload();
    await pipeline.ports.uploads.take(tenant_id, upload_id, pipeline.newId(), undefined);
    const task = await pipeline.accept({ files: { video: upload_id } }, { identity: submitter });
    expect(task.files).toMatchObject({ video: { size_bytes: 500 } });
  });
});

describe("the purge of stored objects", () => {
  const days = async (pipeline: Pipeline, count: number) => {
    let deleted = 0;
    for (let day = 0; day < count; day++) {
      await pipeline.clock.advance(dayMs);
      deleted += (await purgeBlobs(pipeline.ports, () => false)).deleted;
    }
    return deleted;
  };

  test("keeps an input and a result as long as the task, and deletes them within two days after", async () => {
    const pipeline = pipelineOf(() => "x".repeat(400_000));
    const task = await pipeline.accept({ input: { large }, retention_seconds: 3 * 86_400 });
    const { input_ref } = JSON.parse(pipeline.queues.waiting("normal")[0]?.body ?? "");
    await pipeline.drain();
    const { result_ref, retained_until = "" } = await pipeline.recordOf(keyOf(task));
    const both = async () => [
      await pipeline.blobs.head(input_ref.key),
      await pipeline.blobs.head(result_ref?.blob ?? ""),
    ];
    await days(pipeline, 2);
    expect((await both()).every((one) => one !== undefined)).toBe(true);
    await days(pipeline, 3);
    expect(iso(pipeline.clock.now()) > retained_until).toBe(true);
    expect(await both()).toEqual([undefined, undefined]);
  });

  test("deletes an upload that no task took, a day after its end, and keeps one that a task has", async () => {
    const pipeline = withUploads();
    const [taken, left] = [await pipeline.upload(), await pipeline.upload()];
    await pipeline.accept({ files: { video: taken.upload_id } }, { identity: submitter });
    await pipeline.drain();
    await days(pipeline, 3);
    expect(await pipeline.blobs.head(left.key)).toBeUndefined();
    expect(await pipeline.blobs.head(taken.key)).toBeDefined();
  });

  test("deletes what an attempt stored that did not count", async () => {
    const pipeline = pipelineOf(() => "done");
    const task = await pipeline.accept({ retention_seconds: 30 * 86_400 });
    // An attempt whose worker died before it settled.
    const lost = file(chunksOf(200_000, 2), { contentType: "text/csv", fileName: "a" });
    await packResult(pipeline.ports, { ...task, attempts_total: 1 }, undefined, lost);
    await pipeline.drain();
    const record = await pipeline.recordOf(keyOf(task));
    expect(record).toMatchObject({ status: "completed", result: "done" });
    expect(await days(pipeline, 3)).toBe(1);
  });

  test("stops when it must, and goes on where it was", async () => {
    const pipeline = withUploads();
    for (let n = 0; n < 5; n++) await pipeline.upload();
    await pipeline.clock.advance(3 * dayMs);
    expect(await purgeBlobs(pipeline.ports, () => true)).toEqual({ deleted: 0, finished: false });
    expect(await purgeBlobs(pipeline.ports, () => false)).toEqual({ deleted: 5, finished: true });
    expect(await purgeBlobs(pipeline.ports, () => false)).toEqual({ deleted: 0, finished: true });
  });
});
