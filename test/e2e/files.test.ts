import { createHash, generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { compactDecrypt, importJWK } from "jose";
import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client/index.ts";
import { expectProblem, expectStatus, until } from "../support/http-client.ts";
import { operator, requestTimeoutMs, stranger, submitter } from "./callers.ts";
import { deployed } from "./command-line.ts";

const url = process.env.OFFLOAD_URL ?? "";
const client = createClient({ url, key: operator.token, requestTimeoutMs });
const authorized = { authorization: `Bearer ${operator.token}` };
const sha256Of = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

interface Announced {
  upload_id: string;
  method: string;
  url: string;
  headers: Record<string, string>;
  expires_at: string;
}

async function announce(bytes: Uint8Array, more: Record<string, unknown> = {}, by = operator): Promise<Announced> {
  const body = { content_type: "application/octet-stream", size_bytes: bytes.byteLength, ...more };
  return expectStatus(await by.post("/uploads", body), 201).json<Announced>();
}

const send = ({ url: to, method, headers }: Announced, body: Uint8Array) =>
  fetch(to, { method, headers, body: body as BodyInit });

async function uploaded(bytes: Uint8Array, more: Record<string, unknown> = {}, by = operator): Promise<string> {
  const upload = await announce(bytes, more, by);
  expect((await send(upload, bytes)).status).toBe(200);
  return upload.upload_id;
}

const submitFile = (uploadId: string, by = operator) =>
  by.post("/tasks", { type: "probe.file", input: {}, files: { file: uploadId } });

/** The answer of the result's route, and that of the place to which it sends. */
async function resultOf(taskId: string) {
  const answer = await fetch(`${url}/tasks/${taskId}/result`, { headers: authorized, redirect: "manual" });
  const location = answer.headers.get("location");
  return { answer, location, followed: location?.startsWith("http") ? await fetch(location) : answer };
}

const bigBytes = deployed ? 1_000_000 : 20_000_000;

describe.concurrent("files", () => {
  test("a file of 8 MB goes to the bucket, and its task reads it", async () => {
    const bytes = randomBytes(deployed ? 800_000 : 8_000_000);
    const sha256 = sha256Of(bytes);
    const uploadId = await uploaded(bytes, { file_name: "Größe 1.bin", content_type: "video/mp4", sha256 });
    const { task_id } = expectStatus(await submitFile(uploadId), 202).json() as { task_id: string };
    expect(await operator.ended(task_id)).toMatchObject({
      status: "completed",
      result: { size_bytes: bytes.byteLength, sha256, content_type: "video/mp4", file_name: "Größe 1.bin" },
    });
  });

  test("a file of 5 KB comes with its submit, and a repeat makes no second task", async () => {
    const bytes = randomBytes(5_000);
    const send = () => {
      const form = new FormData();
      form.set("task", JSON.stringify({ type: "probe.file", input: {} }));
      form.set("file", new File([bytes], "a.txt", { type: "text/plain" }));
      return fetch(`${url}/tasks`, { method: "POST", headers: { ...authorized, "idempotency-key": key }, body: form });
    };
    const key = randomUUID();
    const first = await send();
    expect(first.status).toBe(202);
    const { task_id } = (await first.json()) as { task_id: string };
    expect(((await (await send()).json()) as { task_id: string }).task_id).toBe(task_id);
    expect(await operator.ended(task_id)).toMatchObject({
      result: { size_bytes: 5_000, sha256: sha256Of(bytes), content_type: "text/plain", file_name: "a.txt" },
    });
  });

  test("an input of 500 KB comes back as the result, by 303", async () => {
    const value = randomBytes(250_000).toString("hex");
    const { task_id } = await operator.submit("probe.echo", { value });
    expect(await operator.ended(task_id)).toMatchObject({ status: "completed", result: null });
    const { answer, followed } = await resultOf(task_id);
    expect(answer.status).toBe(303);
    expect(answer.headers.get("cache-control")).toContain("no-store");
    expect(followed.headers.get("content-type")).toBe("application/json");
    expect(await followed.json()).toEqual({ value });
    expect(await client.result(task_id)).toEqual({ value });
  });

  test(`a file of ${bigBytes} bytes comes back by 303, with its name, and in ranges`, async () => {
    const { task_id } = await operator.submit("probe.bytes", { bytes: bigBytes, as: "file" });
    expect(await operator.ended(task_id, { timeoutMs: 240_000 })).toMatchObject({ status: "completed" });
    const { location, followed } = await resultOf(task_id);
    expect(followed.headers.get("content-disposition")).toContain("bytes.bin");
    const bytes = new Uint8Array(await followed.arrayBuffer());
    expect(bytes.byteLength).toBe(bigBytes);
    expect(bytes.every((byte) => byte === 0)).toBe(true);
    const part = await fetch(location ?? "", { headers: { range: "bytes=100-199" } });
    expect([part.status, (await part.arrayBuffer()).byteLength]).toEqual([206, 100]);
  });

  test("a result with a location sends there", async () => {
    const { task_id } = await operator.submit("probe.created", { location: "/orders/42" });
    expect(await operator.ended(task_id)).toMatchObject({ outcome: "CREATED" });
    const { answer } = await resultOf(task_id);
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/orders/42"]);
  });

  test("an acknowledged result is gone", async () => {
    const { task_id } = await operator.submit("probe.bytes", { bytes: 400_000, as: "file" });
    const early = await operator.submit("probe.echo", { value: 1 }, { delay_seconds: 600 });
    expectProblem(await operator.post(`/tasks/${early.task_id}/acknowledge`), 409, "conflict");
    await operator.ended(task_id);
    const { location } = await resultOf(task_id);
    expectProblem(await stranger.post(`/tasks/${task_id}/acknowledge`), 404, "not_found");
    expect((await operator.post(`/tasks/${task_id}/acknowledge`)).status).toBe(204);
    expectProblem(await operator.get(`/tasks/${task_id}/result`), 410, "gone");
    await until("the object's deletion", async () => ((await fetch(location ?? "")).ok ? undefined : true));
  });

  test("an upload of another size, type or checksum is refused by the bucket", async () => {
    const bytes = randomBytes(1_000);
    const upload = await announce(bytes, { content_type: "image/png", sha256: sha256Of(bytes) });
    expect((await send(upload, randomBytes(1_000))).ok).toBe(false);
    const { "content-length": _, ...headers } = upload.headers;
    expect((await send({ ...upload, headers }, randomBytes(999))).ok).toBe(false);
    const otherType = { ...upload, headers: { ...upload.headers, "content-type": "text/html" } };
    expect((await send(otherType, bytes)).ok).toBe(false);
    expectProblem(await submitFile(upload.upload_id), 422, "invalid_input");
    expect((await send(upload, bytes)).ok).toBe(true);
    // The URL works once: another body cannot replace the file.
    expect((await send(upload, bytes)).ok).toBe(false);
  });

  test("a missing upload, another tenant's, another caller's and a taken one are refused, and nothing is written", async () => {
    const bytes = randomBytes(100);
    const foreign = await uploaded(bytes, {}, stranger);
    const own = await uploaded(bytes);
    const unsent = (await announce(bytes)).upload_id;
    for (const uploadId of [randomUUID(), foreign, unsent]) {
      const problem = expectProblem(await submitFile(uploadId), 422, "invalid_input");
      expect(problem.errors).toMatchObject([{ path: "/files/file" }]);
    }
    expectProblem(await submitFile(own, submitter), 422, "invalid_input");
    expectProblem(await operator.post("/tasks", { type: "probe.file", input: {} }), 422, "invalid_input");
    expectStatus(await submitFile(own), 202);
    expectProblem(await submitFile(own), 422, "invalid_input");
  });

  test("a result for a key is readable with the private key only", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const body = { type: "probe.context", input: {}, result_key: publicKey.export({ format: "jwk" }) };
    const { task_id } = expectStatus(await operator.post("/tasks", body), 202).json() as { task_id: string };
    const task = await operator.ended(task_id);
    expect(task).toMatchObject({ status: "completed", result: null });
    const { answer } = await resultOf(task_id);
    expect(answer.headers.get("content-type")).toBe("application/jose");
    const opened = await compactDecrypt(
      await answer.text(),
      await importJWK(privateKey.export({ format: "jwk" }), "ECDH-ES+A256KW"),
    );
    expect(JSON.parse(new TextDecoder().decode(opened.plaintext))).toMatchObject({ tenant_id: operator.tenant });
    const secret = { ...body, result_key: privateKey.export({ format: "jwk" }) };
    const refused = expectProblem(await operator.post("/tasks", secret), 422, "invalid_input");
    expect(JSON.stringify(refused)).not.toContain(String(secret.result_key.d));
  });
});
