import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Upload, Uploads } from "../../src/core/ports/blob.ts";

export interface UploadsUnderTest {
  uploads: Uploads;
  close(): Promise<void>;
}

function newUpload(more: Partial<Upload> = {}): Upload {
  const upload_id = randomUUID();
  return {
    tenant_id: "acme",
    upload_id,
    requested_by: "olga",
    key: `acme/uploads/${upload_id}`,
    content_type: "video/mp4",
    size_bytes: 5 * 1024 ** 3,
    created_at: "2027-01-01T00:00:00.000Z",
    expires_at: "2027-01-02T00:00:00.000Z",
    purge_at: Math.floor(Date.now() / 1000) + 86_400,
    ...more,
  };
}

/** The promises of uploads, for every implementation. */
export function describeUploads(name: string, make: () => Promise<UploadsUnderTest>): void {
  describe(name, () => {
    let under: UploadsUnderTest;
    let uploads: Uploads;
    beforeAll(async () => {
      under = await make();
      uploads = under.uploads;
    });
    afterAll(() => under.close());

    const created = async (more: Partial<Upload> = {}): Promise<Upload> => {
      const upload = newUpload(more);
      await uploads.create(upload);
      return upload;
    };
    const takerOf = async ({ tenant_id, upload_id }: Upload) => (await uploads.get(tenant_id, upload_id))?.taken_by;
    const take = ({ tenant_id, upload_id }: Upload, taskId: string, before?: string) =>
      uploads.take(tenant_id, upload_id, taskId, before);

    test("an upload is read as it was created", async () => {
      const plain = await created();
      const full = await created({ file_name: "Ñandú 🦤.mp4", sha256: "0".repeat(64), size_bytes: 0 });
      expect(await uploads.get("acme", plain.upload_id)).toEqual(plain);
      expect(await uploads.get("acme", full.upload_id)).toEqual(full);
    });

    test("an upload that was not created is not found", async () => {
      expect(await uploads.get("acme", randomUUID())).toBeUndefined();
      expect(await uploads.get("acme", "../x#y")).toBeUndefined();
    });

    test("an upload is not found under another tenant", async () => {
      const { upload_id } = await created();
      expect(await uploads.get("globex", upload_id)).toBeUndefined();
      expect(await uploads.take("globex", upload_id, "task-1", undefined)).toBe(false);
    });

    test("a second create of a taken upload does not free it", async () => {
      const upload = await created();
      await take(upload, "task-1");
      await uploads.create(upload);
      expect(await takerOf(upload)).toBe("task-1");
    });

    test("a task takes an upload, and can repeat that", async () => {
      const upload = await created();
      expect(await take(upload, "task-1")).toBe(true);
      expect(await take(upload, "task-1")).toBe(true);
      expect(await uploads.get("acme", upload.upload_id)).toEqual({ ...upload, taken_by: "task-1" });
    });

    test("an upload that does not exist cannot be taken, and is not created by that", async () => {
      const upload = newUpload();
      expect(await take(upload, "task-1")).toBe(false);
      expect(await take(upload, "task-1", "task-0")).toBe(false);
      expect(await uploads.get("acme", upload.upload_id)).toBeUndefined();
    });

    test("of many tasks that take an upload at the same time, one gets it", async () => {
      const upload = await created();
      const tasks = Array.from({ length: 20 }, (_, index) => `task-${index}`);
      const taken = await Promise.all(tasks.map((task) => take(upload, task)));
      expect(taken.filter(Boolean)).toHaveLength(1);
      expect(await takerOf(upload)).toBe(tasks[taken.indexOf(true)]);
    });

    test("a task takes an upload over from the task that it names", async () => {
      const upload = await created();
      await take(upload, "task-1");
      expect(await take(upload, "task-2", "task-0")).toBe(false);
      expect(await takerOf(upload)).toBe("task-1");
      expect(await take(upload, "task-2", "task-1")).toBe(true);
      expect(await take(upload, "task-2", "task-1")).toBe(true);
      expect(await take(upload, "task-3", "task-1")).toBe(false);
      expect(await takerOf(upload)).toBe("task-2");
    });

    test("an upload that no task has taken cannot be taken over", async () => {
      const upload = await created();
      expect(await take(upload, "task-2", "task-1")).toBe(false);
      expect(await takerOf(upload)).toBeUndefined();
    });
  });
}
