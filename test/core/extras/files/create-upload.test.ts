import { describe, expect, test, vi } from "vitest";
import { createUpload } from "../../../../src/core/extras/files/uploads.ts";
import type { Gate } from "../../../../src/core/limits/gate.ts";
import { Problem } from "../../../../src/core/model/problem.ts";
import { FakeClock } from "../../../../src/memory/clock.ts";
import { filePorts, tomorrow } from "../../../support/file-ports.ts";
import { operator } from "../../../support/identities.ts";

const facts = { content_type: "text/plain", size_bytes: 5 };
const sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const hello = new TextEncoder().encode("hello");

function setUp(gate?: Pick<Gate, "admitUpload">) {
  const clock = new FakeClock(Date.parse("2027-01-01T12:00:00.000Z"));
  const ports = { clock, newId: () => "u-1", gate, ...filePorts(clock) };
  const create = (body: unknown) => createUpload(ports, { identity: operator, body });
  return { ...ports, create };
}

describe("a new upload", () => {
  test("the client gets the request that sends the bytes, for one hour", async () => {
    const { create, blobs, clock } = setUp();
    const { upload_id, method, url, headers, expires_at } = await create({ ...facts, sha256 });
    expect({ upload_id, method, expires_at }).toEqual({
      upload_id: "u-1",
      method: "PUT",
      expires_at: "2027-01-01T13:00:00.000Z",
    });
    const wrong = new TextEncoder().encode("hallo");
    expect(await blobs.request({ method, url, headers, body: wrong })).toMatchObject({ status: 400 });
    await clock.advance(3_600_000);
    expect(await blobs.request({ method, url, headers, body: hello })).toMatchObject({ status: 200 });
    expect(blobs.keys()).toEqual(["acme/uploads/u-1"]);
  });

  test("the upload is saved for a day, after its entry in the list of that day", async () => {
    const { create, uploads, blobList, clock } = setUp();
    vi.spyOn(uploads, "create").mockRejectedValueOnce(new Error("down"));
    await expect(create(facts)).rejects.toThrow("down");
    const entry = { key: "acme/uploads/u-1", tenant_id: "acme", upload_id: "u-1" };
    expect(blobList.on(tomorrow(clock))).toEqual([entry]);
    await create({ ...facts, file_name: "a b.txt", sha256 });
    expect([...uploads.all.values()]).toEqual([
      {
        ...entry,
        requested_by: "olga",
        ...facts,
        file_name: "a b.txt",
        sha256,
        created_at: "2027-01-01T12:00:00.000Z",
        expires_at: "2027-01-02T12:00:00.000Z",
        purge_at: Date.parse("2027-01-09T12:00:00.000Z") / 1000,
      },
    ]);
  });

  test("the gate can refuse it before anything is written", async () => {
    const refuse = () => Promise.reject(new Problem("rate_limited", "slow down"));
    const { create, uploads, blobList, clock } = setUp({ admitUpload: refuse });
    await expect(create(facts)).rejects.toMatchObject({ code: "rate_limited" });
    expect([uploads.all.size, blobList.on(tomorrow(clock)).length]).toEqual([0, 0]);
  });
});

describe("the fields", () => {
  test.each([
    { content_type: "video/mp4" },
    { content_type: "text/csv; charset=utf-8" },
    { content_type: 'application/vnd.x+json; a=b;c="d e"' },
    { size_bytes: 0 },
    { size_bytes: 5_368_709_120 },
    { file_name: "ü".repeat(255) },
    { file_name: "💥" },
  ])("%j is accepted", async (more) => {
    expect(await setUp().create({ ...facts, ...more })).toMatchObject({ upload_id: "u-1" });
  });

  test.each([
    [{ content_type: "video" }, "/content_type"],
    [{ content_type: "video/*" }, "/content_type"],
    [{ content_type: "text/plain\r\nx: y" }, "/content_type"],
    [{ content_type: "text/plain; " }, "/content_type"],
    [{ content_type: `text/${"x".repeat(255)}` }, "/content_type"],
    [{ content_type: undefined }, "/content_type"],
    [{ size_bytes: -1 }, "/size_bytes"],
    [{ size_bytes: 1.5 }, "/size_bytes"],
    [{ size_bytes: 5_368_709_121 }, "/size_bytes"],
    [{ size_bytes: "5" }, "/size_bytes"],
    [{ file_name: "" }, "/file_name"],
    [{ file_name: "a\nb" }, "/file_name"],
    [{ file_name: "x".repeat(256) }, "/file_name"],
    [{ file_name: "\ud800" }, "/file_name"],
    [{ sha256: sha256.toUpperCase() }, "/sha256"],
    [{ sha256: "00" }, "/sha256"],
    [{ name: "x" }, "/name"],
  ])("%j is refused", async (more, path) => {
    const { create, uploads } = setUp();
    const refusal = { code: "invalid_input", options: { errors: [expect.objectContaining({ path })] } };
    await expect(create({ ...facts, ...more })).rejects.toMatchObject(refusal);
    expect(uploads.all.size).toBe(0);
  });
});
