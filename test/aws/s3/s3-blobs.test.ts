import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { answersWithin } from "../../../src/aws/call-times.ts";
import { localServicesEnv } from "../../../src/aws/local-services.ts";
import { openS3Blobs } from "../../../src/aws/s3/s3-blobs.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import type { Blobs } from "../../../src/core/ports/blob.ts";
import { listen } from "../../../src/local/net/listen.ts";

const mib = 1024 * 1024;
const stalls = { uploadMs: 200, readMs: 200 };

/** The port against a server that behaves as a test wants. */
async function against(listener: RequestListener, times = stalls): Promise<{ blobs: Blobs; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    listener(request, response);
  });
  const url = `http://127.0.0.1:${await listen(server, 0)}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const services = {
    dynamodb: "",
    sqs: "",
    scheduler: "",
    cloudwatch: "",
    eventbridge: "",
    s3: url,
    s3Secret: "secret",
  };
  return { blobs: openS3Blobs("bucket", localServicesEnv(services), times), requests };
}

const fails =
  (code: string, status: number, message = "no") =>
  (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    response.writeHead(status, { "content-type": "application/xml" });
    response.end(
      request.method === "HEAD" ? undefined : `<Error><Code>${code}</Code><Message>${message}</Message></Error>`,
    );
  };

async function* inPieces(count: number, pieceBytes = mib) {
  for (let index = 0; index < count; index += 1) yield new Uint8Array(pieceBytes);
}

async function bytesOf(blobs: Blobs): Promise<number> {
  let bytes = 0;
  for await (const piece of (await blobs.read("key"))?.bytes ?? []) bytes += piece.length;
  return bytes;
}

test("every method throws PortUnavailable when S3 cannot answer now", async () => {
  const { blobs, requests } = await against(fails("ServiceUnavailable", 503));
  const calls = [
    () => blobs.put("key", new Uint8Array(5)),
    () => blobs.put("key", inPieces(7)),
    () => blobs.read("key"),
    () => blobs.head("key"),
    () => blobs.delete("key"),
  ];
  for (const call of calls) await expect(call()).rejects.toThrow(PortUnavailable);
  expect(requests.filter((request) => request.startsWith("DELETE"))).toHaveLength(3);
});

test.each([
  ["SlowDown", 503],
  ["InternalError", 500],
])("S3's answer %s is PortUnavailable", async (code, status) => {
  const { blobs } = await against(fails(code, status));
  await expect(blobs.delete("key")).rejects.toThrow(PortUnavailable);
});

test("another put of the key at the same time is PortUnavailable, as a later try shows its outcome", async () => {
  const { blobs } = await against(fails("ConditionalRequestConflict", 409));
  await expect(blobs.put("key", new Uint8Array(5), { onlyIfAbsent: true })).rejects.toThrow(PortUnavailable);
});

test("an error that no later try mends stays unchanged", async () => {
  const { blobs } = await against(fails("AccessDenied", 403));
  await expect(blobs.delete("key")).rejects.toMatchObject({ name: "AccessDenied" });
});

test("an object that S3 does not show is not found, as S3 answers so without the permission to list", async () => {
  const { blobs } = await against(fails("AccessDenied", 403));
  expect(await blobs.head("key")).toBeUndefined();
  expect(await blobs.read("key")).toBeUndefined();
});

test.each([
  ["AccessDenied", "User: a is not authorized to perform: s3:ListBucket on resource: b", true],
  ["AccessDenied", "User: a is not authorized to perform: kms:Decrypt on resource: k", false],
  ["AccessDenied", "User: a is not authorized to perform: s3:GetObject on resource: b/key", false],
  ["InvalidAccessKeyId", "no", false],
  ["RequestTimeTooSkewed", "no", false],
])("a read that S3 refuses as %s, %s: is it an absent object? %s", async (code, message, isAbsent) => {
  const { blobs } = await against(fails(code, 403, message));
  if (isAbsent) expect(await blobs.read("key")).toBeUndefined();
  else await expect(blobs.read("key")).rejects.toMatchObject({ name: code });
});

test("a download whose bytes stop is PortUnavailable, and one that flows slowly is read to its end", async () => {
  const stuck = await against((_, response) => {
    response.writeHead(200, { "content-length": "10" });
    response.write("12345");
  });
  await expect(bytesOf(stuck.blobs)).rejects.toThrow(PortUnavailable);
  const slow = await against(
    async (_, response) => {
      response.writeHead(200, { "content-length": "5" });
      for (const piece of "12345") {
        response.write(piece);
        await sleep(200);
      }
    },
    { ...stalls, readMs: 800 },
  );
  expect(await bytesOf(slow.blobs)).toBe(5);
});

test("a reader may take its time between two pieces", async () => {
  const { blobs } = await against((_, response) => {
    response.writeHead(200, { "content-length": String(3 * mib) });
    response.end(Buffer.alloc(3 * mib));
  });
  let bytes = 0;
  for await (const piece of (await blobs.read("key"))?.bytes ?? []) {
    if (bytes === 0) await sleep(500);
    bytes += piece.length;
  }
  expect(bytes).toBe(3 * mib);
});

test("a download that is cut, or whose checksum is wrong, is PortUnavailable", async () => {
  const cut = await against((_, response) => {
    response.writeHead(200, { "content-length": "10" });
    response.write("12345", () => response.destroy());
  });
  await expect(bytesOf(cut.blobs)).rejects.toThrow(PortUnavailable);
  const wrong = await against((_, response) => {
    response.writeHead(200, { "content-length": "5", "x-amz-checksum-sha256": `${"A".repeat(43)}=` });
    response.end("12345");
  });
  await expect(bytesOf(wrong.blobs)).rejects.toThrow(PortUnavailable);
});

test("an upload that S3 does not read ends, after three tries", async () => {
  const { blobs, requests } = await against(() => {});
  await expect(blobs.put("key", new Uint8Array(mib))).rejects.toThrow(PortUnavailable);
  expect(requests).toHaveLength(3);
});

test("an upload that takes longer than a stall, because its bytes flow slowly, is stored", async () => {
  const begun = performance.now();
  const readSlowly: RequestListener = async (request, response) => {
    let unread = 0;
    for await (const { length } of request) {
      unread += length;
      if (unread < mib) continue;
      unread = 0;
      await sleep(50);
    }
    response.writeHead(200, { etag: '"e"' }).end();
  };
  const { blobs, requests } = await against(readSlowly, { ...stalls, uploadMs: 1_000 });
  // More than the system keeps in its buffers.
  expect(await blobs.put("key", new Uint8Array(30 * mib))).toMatchObject({ state: "stored" });
  expect(performance.now() - begun).toBeGreaterThan(1_000);
  expect(requests).toHaveLength(1);
});

test("a call of a function that a client waits for ends with that function's time", async () => {
  vi.stubEnv("OFFLOAD_CALL_TIME_FACTOR", "1");
  onTestFinished(() => void vi.unstubAllEnvs());
  const { blobs } = await against(() => {});
  // The clock stands, and the timer of a try ends before the clock says so.
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const inTime = answersWithin(150, (call: () => Promise<unknown>) => call());
  const outOfTime = { name: "PortUnavailable", cause: { name: "OutOfTime" } };
  await expect(inTime(() => blobs.head("key"))).rejects.toMatchObject(outOfTime);
  await expect(inTime(() => blobs.put("key", new Uint8Array(9)))).rejects.toMatchObject(outOfTime);
});

/** A server that takes uploads in parts; `fault` answers for the parts that fail. */
function multipart(fault: (part: number, response: ServerResponse) => boolean): RequestListener {
  return (request, response) => {
    const part = /partNumber=(\d+)/.exec(request.url ?? "")?.[1];
    request.resume().on("end", () => {
      if (request.url?.includes("uploads")) {
        response.end("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>");
      } else if (part === undefined || !fault(Number(part), response)) response.writeHead(200, { etag: '"e"' }).end();
    });
  };
}

test("a put whose stream fails aborts its upload", async () => {
  const { blobs, requests } = await against(multipart(() => false));
  async function* broken() {
    yield* inPieces(12);
    throw new Error("the source broke");
  }
  await expect(blobs.put("key", broken())).rejects.toThrow("the source broke");
  expect(requests.at(-1)).toMatch(/^DELETE .*uploadId=u/);
  expect(requests.some((request) => /^POST .*uploadId=/.test(request))).toBe(false);
});

test("a part that S3 refuses ends the put, and the rest of the stream is not read", async () => {
  const { blobs, requests } = await against(
    multipart((part, response) => {
      if (part !== 2) return false;
      response.writeHead(400).end("<Error><Code>BadDigest</Code></Error>");
      return true;
    }),
  );
  let taken = 0;
  async function* counted() {
    for await (const piece of inPieces(500)) {
      taken += 1;
      yield piece;
      await sleep(0);
    }
  }
  await expect(blobs.put("key", counted())).rejects.toMatchObject({ name: "BadDigest" });
  expect(taken).toBeLessThan(100);
  expect(requests.at(-1)).toMatch(/^DELETE .*uploadId=u/);
});

test("presigned URLs need no request, sign each header that the client must send, and have no checksum of an empty body", async () => {
  const { blobs, requests } = await against(fails("InternalError", 500));
  const ticket = { expiresSeconds: 60, sizeBytes: 5, contentType: "a/b", sha256: "0".repeat(64) };
  const { url, headers } = await blobs.presignPut("a b/ä", ticket);
  const { pathname, searchParams } = new URL(url);
  expect(pathname).toBe("/bucket/a%20b/%C3%A4");
  expect(searchParams.get("X-Amz-SignedHeaders")).toBe(
    "content-length;content-type;host;if-none-match;x-amz-checksum-sha256",
  );
  expect([...searchParams.keys()].filter((name) => name.toLowerCase().includes("checksum"))).toEqual([]);
  expect(headers).toEqual({
    "content-length": "5",
    "content-type": "a/b",
    "if-none-match": "*",
    "x-amz-checksum-sha256": `${"A".repeat(43)}=`,
  });
  expect(new URL(await blobs.presignGet("key", { expiresSeconds: 9 })).searchParams.get("X-Amz-Expires")).toBe("9");
  expect(requests).toEqual([]);
});
