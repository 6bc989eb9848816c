import type { Blobs } from "../core/ports/blob.ts";
import { lazyPort } from "./lazy-port.ts";

/**
 * Objects in an S3 bucket. The first call loads the S3 client, so that a function's start does not pay for it.
 * Region, credentials and endpoint come from the SDK's variables, except on the local server.
 */
export const s3Blobs = (bucket: string): Blobs =>
  lazyPort(async () => (await import("./s3/s3-blobs.ts")).openS3Blobs(bucket));
