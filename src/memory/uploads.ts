import type { Upload, Uploads } from "../core/ports/blob.ts";
import { copy } from "./copy.ts";

const nameOf = (tenantId: string, uploadId: string): string => JSON.stringify([tenantId, uploadId]);

/** Announced uploads in memory. Nothing deletes them. */
export class MemoryUploads implements Uploads {
  readonly #uploads = new Map<string, Upload>();

  async create(upload: Upload): Promise<void> {
    const name = nameOf(upload.tenant_id, upload.upload_id);
    if (!this.#uploads.has(name)) this.#uploads.set(name, { ...upload });
  }

  async get(tenantId: string, uploadId: string): Promise<Upload | undefined> {
    return copy(this.#uploads.get(nameOf(tenantId, uploadId)));
  }

  async take(tenantId: string, uploadId: string, taskId: string, before: string | undefined): Promise<boolean> {
    const upload = this.#uploads.get(nameOf(tenantId, uploadId));
    if (upload === undefined) return false;
    if (upload.taken_by !== taskId && upload.taken_by !== before) return false;
    upload.taken_by = taskId;
    return true;
  }
}
