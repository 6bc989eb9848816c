import { S3Client } from "#aws-sdk/client-s3";
import { localConfig, localServicesVariable } from "../local-services.ts";
import { S3HttpHandler } from "./http-handler.ts";

/** The clients of one bucket. */
export interface S3Clients {
  /** Sends requests, and checks the checksums of what it receives. */
  data: S3Client;
  /** Only signs. It adds no checksum: the SDK's default would sign the checksum of an empty body. */
  signing: S3Client;
}

/** Emulators have one address for all buckets, so the bucket's name is in the path. AWS has it in the host name. */
const isPathStyle = (env: NodeJS.ProcessEnv): boolean =>
  Boolean(env[localServicesVariable] || env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL);

/** @param stallMs A try of an upload ends when no byte has moved for this time, in milliseconds. */
export function s3Clients(env: NodeJS.ProcessEnv, stallMs: number): S3Clients {
  const config = { forcePathStyle: isPathStyle(env), ...localConfig("s3", env) };
  // A part has at most 5 MiB: to ask S3 before sending it would cost a connection for each part.
  const transfer = { maxAttempts: 3, requestHandler: new S3HttpHandler(stallMs), expectContinueHeader: false };
  const never = { requestChecksumCalculation: "WHEN_REQUIRED", responseChecksumValidation: "WHEN_REQUIRED" } as const;
  return { data: new S3Client({ ...config, ...transfer }), signing: new S3Client({ ...config, ...never }) };
}
