import { expect, test, vi } from "vitest";
import { type SentFile, storeFiles } from "../../../../src/core/extras/files/uploads.ts";
import { FakeClock } from "../../../../src/memory/clock.ts";
import { filePorts, tomorrow } from "../../../support/file-ports.ts";
import { operator } from "../../../support/identities.ts";

const fileOf = (text: string, facts: SentFile["facts"] = { content_type: "text/plain" }): SentFile => ({
  facts,
  bytes: new TextEncoder().encode(text),
});

function setUp() {
  const clock = new FakeClock(Date.parse("2027-01-01T12:00:00.000Z"));
  let ids = 0;
  const ports = { clock, newId: () => `u-${++ids}`, ...filePorts(clock) };
  const store = (files: Record<string, SentFile>, idempotencyKey?: string, identity = operator) =>
    storeFiles(ports, { identity, idempotencyKey }, new Map(Object.entries(files)));
  return { ...ports, store };
}

test("each file becomes an upload with its facts, after its entry in the list", async () => {
  const { store, uploads, blobs, blobList, clock } = setUp();
  const facts = { content_type: "text/plain", file_name: "a.txt" };
  expect(await store({ text: fileOf("hello", facts) })).toEqual({ text: "u-1" });
  expect(uploads.all.get("u-1")).toMatchObject({
    ...facts,
    requested_by: "olga",
    key: "acme/uploads/u-1",
    size_bytes: 5,
    sha256: "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    expires_at: "2027-01-02T12:00:00.000Z",
  });
  expect(await blobs.head("acme/uploads/u-1")).toMatchObject({ sizeBytes: 5, contentType: "text/plain" });
  expect(blobList.on(tomorrow(clock))).toMatchObject([{ upload_id: "u-1" }]);
});

test("a repeat with the same key stores nothing twice, also after a death in between", async () => {
  const { store, uploads, blobs } = setUp();
  vi.spyOn(blobs, "put").mockRejectedValueOnce(new Error("died"));
  const files = { a: fileOf("one"), b: fileOf("one") };
  await expect(store(files, "key-1")).rejects.toThrow("died");
  const first = await store(files, "key-1");
  expect(await store(files, "key-1")).toEqual(first);
  expect(first.a).not.toBe(first.b);
  expect([uploads.all.size, blobs.keys().length]).toEqual([2, 2]);
});

test.each([
  ["bytes", { a: fileOf("two") }],
  ["media type", { a: fileOf("one", { content_type: "text/csv" }) }],
  ["file name", { a: fileOf("one", { content_type: "text/plain", file_name: "a" }) }],
])("another %s under the same key is another upload", async (_, files) => {
  const { store } = setUp();
  const { a } = await store({ a: fileOf("one") }, "key-1");
  expect((await store(files, "key-1")).a).not.toBe(a);
});

test("another caller's same key makes another upload", async () => {
  const { store } = setUp();
  const { a } = await store({ a: fileOf("one") }, "key-1");
  expect((await store({ a: fileOf("one") }, "key-1", { ...operator, principal: "otto" })).a).not.toBe(a);
});

test("a repeat does not store an object again that its task may have deleted", async () => {
  const { store, uploads, blobs } = setUp();
  const { a = "" } = await store({ a: fileOf("one") }, "key-1");
  await uploads.take("acme", a, "task-1", undefined);
  await blobs.delete(`acme/uploads/${a}`);
  expect(await store({ a: fileOf("one") }, "key-1")).toEqual({ a });
  expect(blobs.keys()).toEqual([]);
});
