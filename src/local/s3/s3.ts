import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { localCredentials, localS3AccessKey } from "../../aws/local-services.ts";
import type { Clock } from "../../core/ports/tasks.ts";
import { DiskFault, type DiskFaults } from "../disk/disk-faults.ts";
import { onlyOnce, open } from "../net/endpoint.ts";
import type { Refuse } from "../net/guard.ts";
import { machineTimers } from "../time/clock.ts";
import { abortUpload, completeUpload, createUpload, putPart } from "./multipart-api.ts";
import { type Call, deleteObject, getObject, putObject } from "./object-api.ts";
import { ObjectFiles } from "./object-files.ts";
import { ObjectRows } from "./object-rows.ts";
import { type LifecycleRule, ObjectStore } from "./object-store.ts";
import { mustBeAllowed, roleOf } from "./roles.ts";
import { S3Error, xmlOf } from "./s3-error.ts";
import { parseRequest, type S3Request } from "./s3-request.ts";
import { verifySignature } from "./signature.ts";

/** Time between two looks for expired objects and uploads, in milliseconds. */
const expiryMs = 3_600_000;

export interface S3Options {
  /** 0 means any free port. */
  port: number;
  /** Folder of the objects. Undefined: they are in a temporary folder, which is deleted when the server stops. */
  stateDir: string | undefined;
  buckets: readonly string[];
  /** Default: none. */
  lifecycle?: readonly LifecycleRule[];
  /** Default: the server's clock, with timers of the machine's. Signatures then have the machine's time. */
  clock?: Clock;
  /** Default: faults are not printed. */
  faults?: DiskFaults | undefined;
}

export interface S3 {
  url: string;
  /** Secret of the access key `offload`. It stays the same over restarts, and so do presigned URLs. */
  secret: string;
  /** Deletes expired objects and uploads now. */
  expire(): void;
  close(): Promise<void>;
}

/** State that the requests of a server have in common. */
interface Server {
  store: ObjectStore;
  buckets: ReadonlySet<string>;
  /** Returns the secret of an access key. */
  secretOf: (accessKey: string) => string | undefined;
  /** The time by which URLs and signatures expire, and by which clients correct theirs. */
  wall: () => number;
  clock: Clock;
  /** Folder of the objects' bytes. */
  folder: string;
  faults: DiskFaults | undefined;
}

/**
 * Starts an emulator of S3 on 127.0.0.1, with the operations that Offload uses. The bucket's name is in the path.
 * Uploads that were open at the last stop are gone; begun multipart uploads stay for a day.
 * @throws EADDRINUSE when the port is taken; Error when another server uses the state directory
 */
export async function startS3(options: S3Options): Promise<S3> {
  const { port, stateDir, buckets, lifecycle = [], clock = machineTimers, faults } = options;
  const rows = new ObjectRows(stateDir, faults);
  const folder = stateDir === undefined ? mkdtempSync(join(tmpdir(), "offload-s3-")) : join(resolve(stateDir), "s3");
  const files = new ObjectFiles(folder);
  files.keepOnly(rows.fileNames());
  const store = new ObjectStore({ rows, files, clock });
  const secret = store.secret();
  const secrets = new Map([
    [localCredentials.accessKeyId, localCredentials.secretAccessKey],
    [localS3AccessKey, secret],
  ]);
  const secretOf = (accessKey: string) => secrets.get(roleOf(accessKey) === undefined ? accessKey : localS3AccessKey);
  const wall = () => options.clock?.now() ?? Date.now();
  const shared: Server = { store, buckets: new Set(buckets), secretOf, wall, clock, folder, faults };
  const http = createServer((message, response) => answer(message, response, shared));
  // Node's own limit would end uploads after five minutes. A stalled one ends earlier, in `receiveBody`.
  http.requestTimeout = 0;
  const { round, stop: stopExpiry } = startExpiry(store, lifecycle, clock);
  const release = () => {
    stopExpiry();
    rows.close();
    if (stateDir === undefined) rmSync(folder, { recursive: true, force: true });
  };
  try {
    const endpoint = await open(http, port, refuse, "judged");
    return {
      url: endpoint.url,
      secret,
      expire: round,
      close: onlyOnce(async () => {
        await endpoint.close();
        release();
      }),
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** Deletes expired objects and uploads now and once an hour. A failed round is made up for by the next. */
function startExpiry(store: ObjectStore, rules: readonly LifecycleRule[], clock: Clock) {
  let cancel = () => {};
  const round = () => {
    cancel();
    try {
      store.expire(rules);
    } catch (error) {
      if (!(error instanceof DiskFault)) throw error;
    }
    cancel = clock.after(expiryMs, round);
  };
  round();
  return { round, stop: () => cancel() };
}

async function answer(message: IncomingMessage, response: ServerResponse, server: Server): Promise<void> {
  response.sendDate = false;
  response.setHeader("date", new Date(server.wall()).toUTCString());
  response.setHeader("x-amz-request-id", randomUUID());
  const { origin } = message.headers;
  if (origin !== undefined) allowWebPages(message, response);
  try {
    if (message.method === "OPTIONS") return preflight(message, response);
    const request = parseRequest(message);
    const signed = verifySignature(request, server.secretOf, [server.wall(), server.clock.now()]);
    if (origin !== undefined && signed.accessKey === localCredentials.accessKeyId) {
      throw new S3Error("AccessDenied", "Web pages can only use URLs that this server's own functions have signed.");
    }
    const { bucket, key } = request;
    mustBeAllowed(signed.accessKey, request, () => server.store.rows.object(bucket, key) !== undefined);
    await operationOf(request, server.buckets)({ request, signed, response, store: server.store });
    if (request.method === "PUT") server.faults?.worked(server.folder);
  } catch (error) {
    refuseWith(error, message, response, server);
  } finally {
    // The connection serves further requests only when the rest of a refused body was read.
    message.resume();
  }
}

/** The bucket's rule for other origins (CORS). Websites cannot sign, so only presigned URLs work for them. */
function allowWebPages(message: IncomingMessage, response: ServerResponse): void {
  response.setHeader("access-control-allow-origin", "*");
  response.setHeader("access-control-expose-headers", "ETag");
  const asked = message.headers["access-control-request-headers"];
  if (message.method === "OPTIONS" && asked !== undefined) response.setHeader("access-control-allow-headers", asked);
}

function preflight(message: IncomingMessage, response: ServerResponse): void {
  const { origin, "access-control-request-method": method = "" } = message.headers;
  if (origin === undefined || !["GET", "HEAD", "PUT"].includes(method)) {
    throw new S3Error("AccessDenied", "CORSResponse: This CORS request is not allowed.");
  }
  response.writeHead(200, { "access-control-allow-methods": "GET, HEAD, PUT", "access-control-max-age": "3000" }).end();
}

type Operation = (call: Call) => Promise<void>;

/** Query parameters that no operation needs. */
const ignoredParameters = /^(x-amz-.*|x-id|response-[a-z-]+)$/i;

/** @throws S3Error for buckets that do not exist and operations that this server does not have */
function operationOf({ method, bucket, key, query }: S3Request, buckets: ReadonlySet<string>): Operation {
  if (!buckets.has(bucket)) {
    throw new S3Error("NoSuchBucket", "The specified bucket does not exist", { BucketName: bucket });
  }
  const names = query.map(([name]) => name).filter((name) => !ignoredParameters.test(name));
  const operations: Record<string, Operation> = {
    "GET ": getObject,
    "HEAD ": getObject,
    "PUT ": putObject,
    "DELETE ": deleteObject,
    "POST uploads": createUpload,
    "PUT partNumber,uploadId": putPart,
    "POST uploadId": completeUpload,
    "DELETE uploadId": abortUpload,
  };
  const operation = operations[`${method} ${names.sort().join()}`];
  if (operation !== undefined && key !== "") return operation;
  throw new S3Error("NotImplemented", "The local server has only the S3 operations that Offload uses.");
}

function refuseWith(error: unknown, message: IncomingMessage, response: ServerResponse, server: Server): void {
  if (response.headersSent) response.destroy();
  // The client has gone.
  else if (message.destroyed && !message.complete) response.destroy();
  else sendError(asS3Error(error, server), message, response);
}

const unwritable = ["ENOSPC", "EROFS", "EACCES", "EPERM", "EDQUOT", "EIO", "EFBIG"];

function asS3Error(error: unknown, { folder, faults }: Server): S3Error {
  if (error instanceof S3Error) return error;
  if (error instanceof DiskFault) return new S3Error("ServiceUnavailable", error.message);
  if (unwritable.includes((error as NodeJS.ErrnoException).code ?? "")) {
    const fault = faults?.failed(folder, error) ?? new DiskFault(folder, error);
    return new S3Error("ServiceUnavailable", fault.message);
  }
  return new S3Error("InternalError", error instanceof Error ? error.message : String(error));
}

function sendError(error: S3Error, message: IncomingMessage, response: ServerResponse): void {
  const { code, status, details } = error;
  const requestId = String(response.getHeader("x-amz-request-id") ?? "");
  const body = xmlOf("Error", {
    Code: code,
    Message: error.message,
    ...details,
    RequestId: requestId,
    HostId: "local",
  });
  response.writeHead(status, { "content-type": "application/xml" });
  response.end(message.method === "HEAD" ? undefined : body);
}

const refuse: Refuse = (message, response, detail) => {
  sendError(new S3Error("AccessDenied", detail), message, response);
};
