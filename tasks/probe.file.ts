import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({
  name: "probe.file",
  description: "Reads its file as a stream, and returns its size, checksum, type and name.",
  input: z.strictObject({}),
  files: { file: {} },
  timeoutSeconds: 300,
  handler: async (_, { files: { file } }) => {
    // An import of this module at the start would load WebCrypto.
    const { createHash } = await import("node:crypto");
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of file.stream() as unknown as AsyncIterable<Uint8Array>) {
      hash.update(chunk);
      size += chunk.byteLength;
    }
    return {
      size_bytes: size,
      sha256: hash.digest("hex"),
      content_type: file.contentType,
      file_name: file.fileName ?? null,
    };
  },
});
