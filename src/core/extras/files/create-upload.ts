import type { Gate } from "../../limits/gate.ts";
import type { Identity } from "../../model/identity.ts";
import { parseInput } from "../../model/invalid.ts";
import { iso } from "../../model/record.ts";
import type { Blobs } from "../../ports/blob.ts";
import type { NewId } from "../../ports/tasks.ts";
import { type AnnouncePorts, announce } from "./announce.ts";
import { uploadSchema } from "./upload-body.ts";

/** Time in which the client sends the file, in seconds. */
const urlSeconds = 3600;

export interface CreateUploadPorts extends AnnouncePorts {
  newId: NewId;
  blobs: Pick<Blobs, "presignPut">;
  /** Limits the uploads of a tenant. Absent: no limits. */
  gate?: Pick<Gate, "admitUpload"> | undefined;
}

/** An announced upload, and the request that sends its bytes. */
export interface UploadView {
  upload_id: string;
  method: "PUT";
  url: string;
  headers: Record<string, string>;
  /** The URL's end. A task can take the upload for longer: 24 hours from its announcement. */
  expires_at: string;
}

/**
 * Announces an upload. The client sends the bytes to the returned URL, and names the upload's id in a submit.
 * @throws Problem `invalid_input`, `rate_limited`, `quota_exceeded`
 */
export async function createUpload(
  ports: CreateUploadPorts,
  { identity, body }: { identity: Identity; body: unknown },
): Promise<UploadView> {
  const facts = parseInput(uploadSchema, body);
  const counted_bytes = await ports.gate?.admitUpload(identity.tenantId, facts.size_bytes);
  const { upload_id, key } = await announce(ports, identity, ports.newId(), facts, counted_bytes);
  const expires_at = iso(ports.clock.now() + urlSeconds * 1000);
  const { size_bytes: sizeBytes, content_type: contentType, sha256 } = facts;
  const request = await ports.blobs.presignPut(key, { expiresSeconds: urlSeconds, sizeBytes, contentType, sha256 });
  return { upload_id, ...request, expires_at };
}
