import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { S3Error } from "./s3-error.ts";
import type { S3Request } from "./s3-request.ts";

const algorithm = "AWS4-HMAC-SHA256";
const unsignedPayload = "UNSIGNED-PAYLOAD";
const maxExpirySeconds = 604_800;
const maxSkewMs = 900_000;

/** A request whose signature is right. */
export interface Signed {
  accessKey: string;
  /** `x-amz-content-sha256`: the body's SHA-256 in hexadecimal digits, or a word for a body that is not signed. */
  payload: string;
}

interface Claim {
  accessKey: string;
  /** `date/region/service/aws4_request`. */
  scope: string;
  signedHeaders: string[];
  signature: string;
  /** As `20270101T000000Z`. */
  date: string;
  payload: string;
  /** Undefined: the signature is in the header. */
  expiresSeconds?: number;
}

/**
 * Checks the signature (version 4) of a request, in its `Authorization` header or in its query.
 * @param secretOf Returns the secret of an access key.
 * @param times The machine's time, and the server's, which handlers with a moved `Date` sign with. One must do.
 * @throws S3Error
 */
export function verifySignature(
  request: S3Request,
  secretOf: (accessKey: string) => string | undefined,
  times: readonly [number, number],
): Signed {
  const claim = request.param("X-Amz-Algorithm") === undefined ? headerClaim(request) : queryClaim(request);
  checkTime(claim, nearest(times, signedAt(claim)));
  checkSignedHeaders(request, claim);
  const secret = secretOf(claim.accessKey);
  if (secret === undefined) {
    const text = "The AWS Access Key Id you provided does not exist in our records.";
    throw new S3Error("InvalidAccessKeyId", text, { AWSAccessKeyId: claim.accessKey });
  }
  const canonical = canonicalRequest(request, claim);
  const text = [algorithm, claim.date, claim.scope, createHash("sha256").update(canonical).digest("hex")].join("\n");
  const expected = hmac(signingKey(secret, claim.scope), text);
  const given = Buffer.from(claim.signature, "hex");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    const message =
      "The request signature we calculated does not match the signature you provided. Check your key and signing method.";
    const details = { AWSAccessKeyId: claim.accessKey, StringToSign: text, CanonicalRequest: canonical };
    throw new S3Error("SignatureDoesNotMatch", message, details);
  }
  return { accessKey: claim.accessKey, payload: claim.payload };
}

function headerClaim(request: S3Request): Claim {
  const header = request.header("authorization");
  if (header === undefined) throw new S3Error("AccessDenied", "Access Denied");
  const field = (name: string) => new RegExp(`[ ,]${name}=([^, ]+)`).exec(header)?.[1];
  const [credential, signedHeaders, signature] = [field("Credential"), field("SignedHeaders"), field("Signature")];
  if (!header.startsWith(`${algorithm} `) || !credential || !signedHeaders || !signature) {
    throw new S3Error("AuthorizationHeaderMalformed", "The authorization header is malformed.");
  }
  const date = request.header("x-amz-date");
  const payload = request.header("x-amz-content-sha256");
  if (date === undefined || !isDate(date)) {
    throw new S3Error("AccessDenied", "AWS authentication requires a valid Date or x-amz-date header");
  }
  if (payload === undefined) {
    throw new S3Error("InvalidRequest", "Missing required header for this request: x-amz-content-sha256");
  }
  const { accessKey, scope } = parseCredential(credential, date, "AuthorizationHeaderMalformed");
  return { accessKey, scope, signedHeaders: signedHeaders.split(";"), signature, date, payload };
}

function queryClaim(request: S3Request): Claim {
  const given = (name: string): string => {
    const value = request.param(`X-Amz-${name}`);
    if (value !== undefined && value !== "") return value;
    const text =
      "Query-string authentication version 4 requires the X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, " +
      "X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.";
    throw new S3Error("AuthorizationQueryParametersError", text);
  };
  const date = given("Date");
  const expiresSeconds = Number(given("Expires"));
  if (given("Algorithm") !== algorithm || !isDate(date)) {
    throw new S3Error("AuthorizationQueryParametersError", "X-Amz-Algorithm or X-Amz-Date is not supported");
  }
  if (!Number.isInteger(expiresSeconds) || expiresSeconds < 0 || expiresSeconds > maxExpirySeconds) {
    const text = "X-Amz-Expires must be a number from 0 to 604800 (a week in seconds)";
    throw new S3Error("AuthorizationQueryParametersError", text);
  }
  const { accessKey, scope } = parseCredential(given("Credential"), date, "AuthorizationQueryParametersError");
  const signedHeaders = given("SignedHeaders").split(";");
  return {
    accessKey,
    scope,
    signedHeaders,
    signature: given("Signature"),
    date,
    payload: unsignedPayload,
    expiresSeconds,
  };
}

type Malformed = "AuthorizationHeaderMalformed" | "AuthorizationQueryParametersError";

function parseCredential(credential: string, date: string, code: Malformed): { accessKey: string; scope: string } {
  const [accessKey = "", ...scope] = credential.split("/");
  const [day, region, service, end] = scope;
  if (scope.length !== 4 || day !== date.slice(0, 8) || !region || service !== "s3" || end !== "aws4_request") {
    throw new S3Error(code, "The credential must be <access key>/<date>/<region>/s3/aws4_request.");
  }
  return { accessKey, scope: scope.join("/") };
}

const signedAt = ({ date }: Claim): number =>
  Date.parse(date.replace(/^(....)(..)(..T..)(..)(..Z)$/, "$1-$2-$3:$4:$5"));

const nearest = ([one, other]: readonly [number, number], time: number): number =>
  Math.abs(one - time) <= Math.abs(other - time) ? one : other;

function checkTime(claim: Claim, nowMs: number): void {
  const { date, expiresSeconds } = claim;
  const signedMs = signedAt(claim);
  const serverTime = new Date(nowMs).toISOString();
  if (expiresSeconds === undefined) {
    if (Math.abs(nowMs - signedMs) <= maxSkewMs) return;
    const text = "The difference between the request time and the current time is too large.";
    const details = { RequestTime: date, ServerTime: serverTime, MaxAllowedSkewMilliseconds: maxSkewMs };
    throw new S3Error("RequestTimeTooSkewed", text, details);
  }
  if (signedMs > nowMs + maxSkewMs) throw new S3Error("AccessDenied", "Request is not yet valid");
  const untilMs = signedMs + expiresSeconds * 1000;
  if (nowMs <= untilMs) return;
  const details = { "X-Amz-Expires": expiresSeconds, Expires: new Date(untilMs).toISOString(), ServerTime: serverTime };
  throw new S3Error("AccessDenied", "Request has expired", details);
}

/** The host, and each header of S3's own, must be signed. */
function checkSignedHeaders({ message }: S3Request, { signedHeaders }: Claim): void {
  const required = Object.keys(message.headersDistinct).filter((name) => name === "host" || name.startsWith("x-amz-"));
  const missing = required.filter((name) => !signedHeaders.includes(name));
  if (missing.length === 0) return;
  const text = "There were headers present in the request which were not signed";
  throw new S3Error("AccessDenied", text, { HeadersNotSigned: missing.join(", ") });
}

function canonicalRequest(request: S3Request, { signedHeaders, payload }: Claim): string {
  const query = request.query
    .filter(([name]) => name !== "X-Amz-Signature")
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
    .map((pair) => pair.join("="));
  const headers = signedHeaders.map(
    (name) => `${name}:${(request.header(name) ?? "").trim().replaceAll(/ +/g, " ")}\n`,
  );
  return [request.method, request.path, query.join("&"), headers.join(""), signedHeaders.join(";"), payload].join("\n");
}

function signingKey(secret: string, scope: string): Buffer {
  let key: string | Buffer = `AWS4${secret}`;
  for (const part of scope.split("/")) key = hmac(key, part);
  return key as Buffer;
}

const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();
const isDate = (text: string): boolean => /^\d{8}T\d{6}Z$/.test(text);
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const encode = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
