import type { Bytes } from "./blob.ts";

/** The worker's own disk. */
export interface Disk {
  /** Reads a file. The first chunk throws when there is none. */
  read(path: string): Bytes;
  /** Writes a file, also over an existing file. */
  write(path: string, bytes: Bytes): Promise<void>;
}
