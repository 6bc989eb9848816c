import { request } from "node:http";
import { buffer } from "node:stream/consumers";
import { MemoryBlobs } from "../../src/memory/blobs.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { type BlobsUnderTest, type ClientAnswer, describeBlobs } from "./blobs.ts";
import { emulatedBucket } from "./emulators.ts";

describeBlobs("blobs in memory", async () => {
  const clock = new FakeClock();
  const blobs = new MemoryBlobs(clock);
  return {
    blobs,
    send: (method, url, headers = {}, body = new Uint8Array()) => blobs.request({ method, url, headers, body }),
    elapse: (seconds) => clock.advance(seconds * 1000),
    close: async () => {},
  };
});

/** Sends the headers as they are given; `fetch` would add a content type and set the length itself. */
const send: BlobsUnderTest["send"] = (method, url, headers = {}, body = new Uint8Array()) =>
  new Promise<ClientAnswer>((resolve, reject) => {
    const sent = request(url, { method, headers }, (answer) => {
      const { statusCode: status = 0, headers } = answer;
      buffer(answer).then((body) => resolve({ status, headers: headers as Record<string, string>, body }), reject);
    });
    sent.on("error", reject);
    sent.end(body);
  });

describeBlobs("blobs in S3", async () => {
  const { blobs, clock, close } = await emulatedBucket();
  return { blobs, send, elapse: (seconds) => clock.advance(seconds * 1000), close };
});
