import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test, vi } from "vitest";
import { startS3 } from "../../../src/local/s3/s3.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { bucket, clientOf, filesIn, openRequest, ownS3 } from "./s3-client.ts";

const path = `/${bucket}/key`;
const dayMs = 86_400_000;

const program = `
  import { startS3 } from ${JSON.stringify(new URL("../../../src/local/s3/s3.ts", import.meta.url).href)};
  const { url } = await startS3({ port: 0, stateDir: process.argv[1], buckets: ["${bucket}"] });
  console.log(url);
`;

/** Starts a server in a process of its own. */
async function started(stateDir: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program, stateDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
  return { child, url: String((await lines.next()).value) };
}

test("kill -9 in the middle of an upload leaves no part of it, and keeps what was stored", async () => {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-s3-kill-"));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const { child, url } = await started(stateDir);
  const client = clientOf(url, { now: Date.now });
  expect((await client.signed({ method: "PUT", path, body: "kept" })).status).toBe(200);
  const { body } = await client.signed({ method: "POST", path: `/${bucket}/parts`, query: { uploads: "" } });
  const uploadId = /<UploadId>(.*)<\/UploadId>/.exec(body)?.[1] ?? "";
  const query = { uploadId, partNumber: "1" };
  const part = await client.signed({ method: "PUT", path: `/${bucket}/parts`, query, body: "part" });

  for (const key of ["key", "new"]) {
    const headers = { "content-length": "9000000" };
    const cut = await client.sign({ method: "PUT", path: `/${bucket}/${key}`, headers, payload: "UNSIGNED-PAYLOAD" });
    openRequest(url, cut)
      .on("error", () => {})
      .write(Buffer.alloc(1_000_000));
  }
  await vi.waitFor(
    () => {
      const sizes = filesIn(stateDir).map((name) => statSync(join(stateDir, "s3", name)).size);
      expect(sizes.filter((size) => size > 500_000)).toHaveLength(2);
    },
    { timeout: 300_000 },
  );
  child.kill("SIGKILL");
  await once(child, "exit");

  const again = await started(stateDir);
  const after = clientOf(again.url, { now: Date.now });
  expect((await after.signed({ path })).body).toBe("kept");
  expect((await after.signed({ path: `/${bucket}/new` })).status).toBe(404);
  expect(filesIn(stateDir)).toHaveLength(2);
  const list = `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>${part.headers.etag}</ETag></Part></CompleteMultipartUpload>`;
  await after.signed({ method: "POST", path: `/${bucket}/parts`, query: { uploadId }, body: list });
  expect((await after.signed({ path: `/${bucket}/parts` })).body).toBe("part");
});

test("a state folder has one server, and its secret stays the same", async () => {
  const { stateDir, server } = await ownS3();
  const options = { port: 0, stateDir, buckets: [bucket] };
  await expect(startS3(options)).rejects.toThrow("is in use by another server");
  await server.close();
  const next = await startS3(options);
  expect(next.secret).toBe(server.secret);
  await next.close();
});

test("files and folders are readable by this user only", async () => {
  const { stateDir, signed, files } = await ownS3();
  await signed({ method: "PUT", path, body: "x" });
  const modes = [join(stateDir, "s3"), ...files().map((name) => join(stateDir, "s3", name))].map(
    (file) => statSync(file).mode & 0o077,
  );
  expect(modes).toEqual([0, 0]);
});

test("multipart uploads that were begun a day ago are gone, at the next look of each hour", async () => {
  const { signed, clock, files } = await ownS3();
  const { body } = await signed({ method: "POST", path, query: { uploads: "" } });
  const uploadId = /<UploadId>(.*)<\/UploadId>/.exec(body)?.[1] ?? "";
  const put = () => signed({ method: "PUT", path, query: { uploadId, partNumber: "1" }, body: "x" });
  expect((await put()).status).toBe(200);
  await clock.advance(dayMs - 1);
  expect((await put()).status).toBe(200);
  await clock.advance(3_600_001);
  expect((await put()).code).toBe("NoSuchUpload");
  expect(files()).toEqual([]);
});

test("a lifecycle rule deletes objects of its prefix at the first midnight UTC after its days", async () => {
  const clock = new FakeClock(Date.parse("2027-03-01T10:00:00.000Z"));
  const lifecycle = [{ bucket, prefix: "uploads/", days: 1 }];
  const { signed, files } = await ownS3({ clock, lifecycle });
  const keys = ["uploads/a", "uploads/b%25", "other/a", "Uploads/a"];
  const statuses = () => Promise.all(keys.map(async (key) => (await at(key)).status));
  const at = (key: string, method = "GET") =>
    signed({ method, path: `/${bucket}/${key}`, body: method === "PUT" ? "x" : "" });
  for (const key of keys) expect((await at(key, "PUT")).status).toBe(200);
  await clock.advance(Date.parse("2027-03-02T23:59:00.000Z") - clock.now());
  expect(await statuses()).toEqual([200, 200, 200, 200]);
  await clock.advance(3_600_000);
  expect(await statuses()).toEqual([404, 404, 200, 200]);
  expect(files()).toHaveLength(2);
});
