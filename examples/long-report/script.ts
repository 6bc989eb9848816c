import { writeFile } from "node:fs/promises";
import { compactDecrypt, exportJWK, generateKeyPair } from "jose";
import type { TaskView } from "offload/client";
import { offload, out, refused, report } from "./options.ts";

/* Makes a report that only this script can read: `npm run script -- --region online --months 6`. It polls. */

// The private key never leaves this process. When it ends, nobody can read the result.
const { publicKey, privateKey } = await generateKeyPair("ECDH-ES+A256KW", { crv: "P-256" });
const task = await offload.submit("report.make", report, { resultKey: await exportJWK(publicKey) }).catch(refused);
console.log(`accepted ${task.task_id}`);

let end: TaskView | undefined;
for await (end of offload.progress(task)) console.log(`task ${end.status}, ${end.progress ?? 0} %`);
if (end?.status !== "completed") {
  // A result that only its client can read has at most 32 MiB: a larger one fails, and says so here.
  console.error(`the report failed: ${end?.error ?? "nobody knows why"}`);
  process.exit(1);
}
console.log(`result ${end.outcome ?? "none"}`);

const sealed = await offload.download(task).catch(refused);
const { plaintext, protectedHeader } = await compactDecrypt(await sealed.text(), privateKey);
if (protectedHeader.cty === "text/csv") {
  await writeFile(out, plaintext);
  console.log(`wrote ${out}, ${plaintext.byteLength} bytes`);
}
await offload.acknowledge(task);
