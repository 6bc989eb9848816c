import { dayMs, dayOf, type Upload } from "../../src/core/ports/blob.ts";
import type { Clock } from "../../src/core/ports/tasks.ts";
import { MemoryBlobList } from "../../src/memory/blob-list.ts";
import { MemoryBlobs } from "../../src/memory/blobs.ts";
import { MemoryUploads } from "../../src/memory/uploads.ts";

/** Uploads in memory that a test can list. */
class KeptUploads extends MemoryUploads {
  readonly all = new Map<string, Upload>();

  override async create(upload: Upload): Promise<void> {
    this.all.set(upload.upload_id, upload);
    await super.create(upload);
  }
}

/** Ports that store files in memory. */
export const filePorts = (clock: Clock) => ({
  blobs: new MemoryBlobs(clock),
  blobList: new MemoryBlobList(),
  uploads: new KeptUploads(),
});

/** The UTC date of the day after a clock's present one. */
export const tomorrow = (clock: Clock): string => dayOf(clock.now() + dayMs);
