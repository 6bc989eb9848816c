import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { type ClientRequest, request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { SignatureV4 } from "@smithy/signature-v4";
import { onTestFinished } from "vitest";
import { type S3Options, startS3 } from "../../../src/local/s3/s3.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { Sha256 } from "../../support/sha256.ts";

export const bucket = "bucket";

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  /** The code in the body of an error. */
  code: string | undefined;
}

/** A request without a signature. `headers` are sent as they are; the length is added unless it is given. */
export interface Plain {
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: Uint8Array | string;
}

/** A request that is signed in its header. */
export interface Signing extends Plain {
  query?: Record<string, string>;
  /** Value of `x-amz-content-sha256`. Default: that of the body. */
  payload?: string;
  accessKey?: string;
  secret?: string;
  date?: Date;
}

/** A server of its own in a folder of its own, and requests to it without an SDK. */
export async function ownS3(options: Partial<S3Options> & { clock?: FakeClock } = {}) {
  const stateDir = mkdtempSync(join(tmpdir(), "offload-s3-test-"));
  const clock = options.clock ?? new FakeClock(Date.now());
  const server = await startS3({ port: 0, stateDir, buckets: [bucket], ...options, clock });
  onTestFinished(async () => {
    await server.close();
    rmSync(stateDir, { recursive: true, force: true });
  });
  return { ...clientOf(server.url, clock), server, clock, stateDir, files: () => filesIn(stateDir) };
}

/** Names of the files with bytes of objects. */
export const filesIn = (stateDir: string): string[] => readdirSync(join(stateDir, "s3"));

export function clientOf(url: string, clock: { now(): number }) {
  const send = (plain: Plain): Promise<Answer> => sendTo(url, plain);
  return {
    send,
    /** Signs a request in its header and sends it. */
    signed: async (signing: Signing): Promise<Answer> => send(await signedRequest(url, signing, clock.now())),
    /** Signs a request in its header. */
    sign: (signing: Signing): Promise<Plain> => signedRequest(url, signing, clock.now()),
  };
}

export const sha256 = (body: Uint8Array | string): string => createHash("sha256").update(body).digest("hex");

const host = (url: string) => new URL(url).host;

async function signedRequest(url: string, signing: Signing, nowMs: number): Promise<Plain> {
  const { method = "GET", path, query = {}, headers = {}, body = "", accessKey = "local", secret = "local" } = signing;
  const signer = new SignatureV4({
    service: "s3",
    region: "us-east-1",
    sha256: Sha256,
    uriEscapePath: false,
    credentials: { accessKeyId: accessKey, secretAccessKey: secret },
  });
  const payload = { "x-amz-content-sha256": signing.payload ?? sha256(body) };
  const unsigned = { method, protocol: "http:", hostname: "127.0.0.1", path, query, body };
  const signed = await signer.sign(
    { ...unsigned, headers: { host: host(url), ...payload, ...headers } },
    { signingDate: signing.date ?? new Date(nowMs) },
  );
  const search = Object.entries(query)
    .map((pair) => pair.map(encodeURIComponent).join("="))
    .join("&");
  return { method, path: search === "" ? path : `${path}?${search}`, headers: signed.headers, body };
}

/** Opens a request whose body the test writes. */
export function openRequest(url: string, { method = "GET", path, headers = {} }: Plain): ClientRequest {
  const { hostname, port } = new URL(url);
  return httpRequest({ hostname, port, method, path, headers: { host: host(url), ...headers }, agent: false });
}

export function answerTo(sent: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    sent.on("error", reject);
    sent.on("response", async (answer) => {
      const body = await text(answer).catch(() => "cut");
      const code = /<Code>(.*?)<\/Code>/.exec(body)?.[1];
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body, code });
    });
  });
}

function sendTo(url: string, plain: Plain): Promise<Answer> {
  const { method = "GET", headers = {}, body = "" } = plain;
  const chunked = headers["transfer-encoding"] !== undefined;
  const length = { "content-length": String(Buffer.byteLength(body)) };
  const withLength = method === "GET" || method === "HEAD" || chunked || "content-length" in headers;
  const sent = openRequest(url, { ...plain, headers: { ...(!withLength && length), ...headers } });
  const answer = answerTo(sent);
  sent.end(body);
  return answer;
}
