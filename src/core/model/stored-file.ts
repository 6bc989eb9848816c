/** A task's file, as its record has it. */
export interface StoredFile {
  /** Key of the object in the bucket. */
  key: string;
  content_type: string;
  size_bytes: number;
  /** Absent: the client named none. */
  file_name?: string;
  /** 64 lowercase hexadecimal digits. Absent: not known. */
  sha256?: string;
}

/** A type's option for one of its files. */
export interface FileOptions {
  /** Media types that the file may have, such as `video/*` or `application/pdf`. Default: any. */
  contentTypes?: readonly string[];
  /** Largest size in bytes, 1 to 5 GiB. Default: 5 GiB. */
  maxBytes?: number;
  /** False: a task may come without the file. Default: true. */
  required?: boolean;
}

/** Largest file: S3's limit for one PUT. */
export const largestFileBytes = 5 * 1024 ** 3;
