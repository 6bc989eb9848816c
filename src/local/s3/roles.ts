import { AsyncLocalStorage } from "node:async_hooks";
import { localS3AccessKey, useS3Keys } from "../../aws/local-services.ts";
import { deniedAccess, type ObjectAction } from "../../settings/object-rights.ts";
import { S3Error } from "./s3-error.ts";
import type { S3Request } from "./s3-request.ts";

/*
 * The functions of the local server are in one process, and have the same secret. Each role has an access key of its
 * own, by which S3 refuses what its role in AWS has no right to.
 */

const prefix = `${localS3AccessKey}.`;

/** The role of an access key. Undefined: it is that of a client with all rights. */
export const roleOf = (accessKey: string): string | undefined =>
  accessKey.startsWith(prefix) ? accessKey.slice(prefix.length) : undefined;

/** Sets the role whose rights the S3 clients have that this process opens from now on. */
export const useRole = (role: string): void => useS3Keys(() => prefix + role);

const roles = new AsyncLocalStorage<string>();

/** Returns a function whose S3 clients, which its first calls open, have the rights of a role. */
export function inRole<Given extends unknown[], Result>(
  role: string,
  run: (...given: Given) => Result,
): (...given: Given) => Result {
  useS3Keys(() => {
    const current = roles.getStore();
    return current === undefined ? localS3AccessKey : prefix + current;
  });
  return (...given) => roles.run(role, run, ...given);
}

function actionOf({ method, param }: S3Request): ObjectAction {
  if (method === "GET" || method === "HEAD") return "GetObject";
  if (method !== "DELETE") return "PutObject";
  return param("uploadId") === undefined ? "DeleteObject" : "AbortMultipartUpload";
}

/**
 * Refuses a request that its signer has no right to. No role may list the bucket, so S3 answers a read of an object
 * that is not there in the same way.
 * @throws S3Error
 */
export function mustBeAllowed(accessKey: string, request: S3Request, exists: () => boolean): void {
  const role = roleOf(accessKey);
  if (role === undefined || request.method === "OPTIONS") return;
  const action = actionOf(request);
  const denied = deniedAccess(role, action, request.key);
  if (denied !== undefined) throw new S3Error("AccessDenied", denied);
  if (action === "GetObject" && !exists()) throw new S3Error("AccessDenied", "Access Denied");
}
