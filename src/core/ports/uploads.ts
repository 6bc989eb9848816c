/** A file that a client announced with `POST /uploads`, and sends to the bucket itself. */
export interface Upload {
  tenant_id: string;
  upload_id: string;
  /** The principal that announced it: only that one, or an operator of the tenant, gives it to a task. */
  requested_by: string;
  /** Key of the object in the bucket. */
  key: string;
  content_type: string;
  size_bytes: number;
  file_name?: string;
  /** 64 lowercase hexadecimal digits. Absent: the client named none. */
  sha256?: string;
  /** Bytes that count among those of the tenant's open uploads until a task takes it. Absent: it does not count. */
  counted_bytes?: number;
  created_at: string;
  /** No task can take it from then on. */
  expires_at: string;
  /** The task that took it. Absent: none. */
  taken_by?: string;
  /** From this second on the table may delete the upload. Epoch seconds. */
  purge_at: number;
}

/**
 * Announced uploads. Contract suite: `test/contract/uploads.ts`. All methods throw `PortUnavailable` when the table
 * cannot answer now.
 */
export interface Uploads {
  create(upload: Upload): Promise<void>;
  /** Reads an upload, consistent. */
  get(tenantId: string, uploadId: string): Promise<Upload | undefined>;
  /**
   * Notes that a task takes an upload. Repeatable for the same task.
   * @param before The task that had taken it, which the caller found not to exist. Undefined: none.
   * @returns False when another task has taken it, or the upload does not exist.
   */
  take(tenantId: string, uploadId: string, taskId: string, before: string | undefined): Promise<boolean>;
}
