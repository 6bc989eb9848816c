import type { Blobs } from "../core/ports/blob.ts";

/**
 * Objects in an S3 bucket. The first call loads the S3 client, so that a function's start does not pay for it.
 * Region, credentials and endpoint come from the SDK's variables, except on the local server.
 */
export function s3Blobs(bucket: string): Blobs {
  let loading: Promise<Blobs> | undefined;
  const loaded = (): Promise<Blobs> => {
    loading ??= import("./s3/s3-blobs.ts").then(({ openS3Blobs }) => openS3Blobs(bucket));
    return loading;
  };
  return {
    put: async (...args) => (await loaded()).put(...args),
    read: async (...args) => (await loaded()).read(...args),
    head: async (...args) => (await loaded()).head(...args),
    delete: async (...args) => (await loaded()).delete(...args),
    presignPut: async (...args) => (await loaded()).presignPut(...args),
    presignGet: async (...args) => (await loaded()).presignGet(...args),
  };
}
