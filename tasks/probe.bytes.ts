import { defineTask, file } from "offload";
import * as z from "zod";

/** Bytes of one chunk. */
const chunkBytes = 64 * 1024;

async function* zeros(bytes: number): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; left -= chunkBytes) yield new Uint8Array(Math.min(left, chunkBytes));
}

export default defineTask({
  name: "probe.bytes",
  description: "Returns a result of the given size: a file of zeros, streamed, or a JSON text.",
  input: z.strictObject({
    bytes: z
      .int()
      .min(0)
      .max(5 * 1024 ** 3),
    as: z.enum(["file", "json"]),
  }),
  timeoutSeconds: 600,
  handler: ({ bytes, as }) =>
    as === "json"
      ? "x".repeat(Math.max(0, bytes - 2))
      : file(zeros(bytes), { contentType: "application/octet-stream", fileName: "bytes.bin" }),
});
