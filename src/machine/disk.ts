import { createReadStream, createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import type { Disk } from "../core/ports/blob.ts";

/** The disk of this machine: in Lambda, `/tmp`. */
export const disk: Disk = {
  read: (path) => createReadStream(path),
  write: (path, bytes) => pipeline(bytes, createWriteStream(path)),
};
