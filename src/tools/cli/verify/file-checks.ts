import { createHash, randomBytes } from "node:crypto";
import { type Check, expectSeen, type Tools } from "./check.ts";

const bytes = 1_000;

interface Announced {
  upload_id: string;
  url: string;
  headers: Record<string, string>;
}

/** Bodies and headers with which the file store has to refuse an upload, and at last to take it, once. */
const expected =
  "another length, type or checksum is refused (4xx), the file is taken (200), a repeat is refused (412)";

export const fileChecks: readonly Check[] = [
  {
    group: "files",
    name: "presigned PUT",
    expected,
    needs: [],
    most: { tasks: 0, seconds: 120 },
    run: async ({ transport }) => {
      const file = randomBytes(bytes);
      const upload = await announce(transport, file);
      const statuses = {
        length: await put(transport, upload, file.subarray(1)),
        type: await put(transport, { ...upload, headers: { ...upload.headers, "content-type": "text/html" } }, file),
        checksum: await put(transport, upload, randomBytes(bytes)),
        right: await put(transport, upload, file),
        repeated: await put(transport, upload, file),
      };
      const seen = Object.entries(statuses).map(([name, status]) => `${name} ${status}`);
      const { length, type, checksum, right, repeated } = statuses;
      const refused = [length, type, checksum].every((status) => status >= 400 && status < 500);
      return expectSeen(refused && right === 200 && repeated === 412, seen.join(", "));
    },
  },
  {
    group: "files",
    name: "file of a task",
    expected: "the handler reads the bytes that were sent",
    needs: ["probe.file"],
    most: { tasks: 1, seconds: 180 },
    run: async ({ transport, prober }) => {
      const file = randomBytes(bytes);
      const upload = await announce(transport, file);
      await put(transport, upload, file);
      const { result } = await prober.completed("probe.file", {}, { files: { file: upload.upload_id } });
      const { sha256, size_bytes } = result as { sha256?: string; size_bytes?: number };
      const isSame = sha256 === sha256Of(file);
      return expectSeen(isSame, `${size_bytes} bytes, ${isSame ? "the" : "not the"} same`);
    },
  },
];

const sha256Of = (data: Uint8Array): string => createHash("sha256").update(data).digest("hex");

const announce = (transport: Tools["transport"], file: Uint8Array): Promise<Announced> =>
  transport.post("/uploads", {
    ...{ content_type: "application/octet-stream", file_name: "verify.bin" },
    ...{ size_bytes: file.length, sha256: sha256Of(file) },
  });

/** Sends bytes to the file store, whose address is signed. Returns the status. */
async function put({ fetch }: Tools["transport"], { url, headers }: Announced, body: Uint8Array): Promise<number> {
  const { "content-length": _, ...others } = headers;
  const response = await fetch(url, { method: "PUT", headers: others, body: Buffer.from(body) });
  await response.arrayBuffer();
  return response.status;
}
