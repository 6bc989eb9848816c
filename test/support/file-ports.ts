import { type BlobEntry, type BlobList, dayOf } from "../../src/core/blob/list.ts";
import type { Upload, Uploads } from "../../src/core/files/ports.ts";
import type { Clock } from "../../src/core/ports.ts";
import { MemoryBlobs } from "../../src/memory/blobs.ts";

/** Uploads in memory. */
class KeptUploads implements Uploads {
  readonly all = new Map<string, Upload>();

  async create(upload: Upload): Promise<void> {
    if (!this.all.has(upload.upload_id)) this.all.set(upload.upload_id, upload);
  }

  async get(tenantId: string, uploadId: string): Promise<Upload | undefined> {
    const upload = this.all.get(uploadId);
    return upload?.tenant_id === tenantId ? upload : undefined;
  }

  async take(tenantId: string, uploadId: string, taskId: string, before: string | undefined): Promise<boolean> {
    const upload = await this.get(tenantId, uploadId);
    if (upload === undefined || ![before, taskId].includes(upload.taken_by)) return false;
    upload.taken_by = taskId;
    return true;
  }
}

/** The lists of stored objects in memory. */
class KeptBlobList implements BlobList {
  readonly all: { day: string; entry: BlobEntry }[] = [];

  async add(day: string, entry: BlobEntry): Promise<void> {
    this.all.push({ day, entry });
  }

  async page() {
    return { items: this.all.map(({ entry }) => entry), next: undefined };
  }

  async remove(): Promise<void> {}
}

/** Ports that store files in memory. */
export const filePorts = (clock: Clock) => ({
  blobs: new MemoryBlobs(clock),
  blobList: new KeptBlobList(),
  uploads: new KeptUploads(),
});

/** The UTC date of the day after a clock's present one. */
export const tomorrow = (clock: Clock): string => dayOf(clock.now() + 86_400_000);
