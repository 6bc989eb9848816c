import { SignatureV4 } from "@smithy/signature-v4";
import { describe, expect, test } from "vitest";
import type { Credentials } from "../../src/aws/lean/environment.ts";
import { type Signable, Signer } from "../../src/aws/lean/sign.ts";
import fc from "../support/fast-check.ts";
import { Sha256 } from "../support/sha256.ts";

// The SDK's signer is the judge: each request is signed by both.

const services = ["dynamodb", "sqs", "scheduler", "s3", "execute-api"] as const;
const regions = ["eu-west-1", "us-gov-east-1"] as const;

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.constantFrom("", ".", "..", "a b", "~*'()!", "%2F", "a=b&c", "+", "Grüße 😀"),
);
/** A lone surrogate has no encoding in a URL. */
const urlText = text.filter((one) => one.isWellFormed());
const path = fc.array(urlText, { maxLength: 4 }).map((parts) => `/${parts.join("/")}`);
const headerName = fc.constantFrom("content-type", "x-amz-target", "x-amz-meta-a", "range", "if-none-match", "accept");
const headerValue = fc.string({ maxLength: 30 }).map((value) => value.replace(/[^\x20-\x7e]/g, " "));
const body = fc.oneof(
  fc.constant(""),
  fc.string({ unit: "grapheme", maxLength: 50 }),
  fc.uint8Array({ maxLength: 50 }),
);
const credentials: fc.Arbitrary<Credentials> = fc.record(
  {
    accessKeyId: fc.constantFrom("AKIDEXAMPLE", "ASIAOTHER"),
    secretAccessKey: fc.constantFrom("wJalrXUtnFEMI/K7MDENG", "ö secret"),
    sessionToken: fc.constantFrom("a+session/token==", "other"),
  },
  { requiredKeys: ["accessKeyId", "secretAccessKey"] },
);
/** The SDK's signer loses a parameter named as the prototype. */
const parameterName = urlText.filter((name) => name !== "__proto__");
const query = fc.option(fc.dictionary(parameterName, urlText, { maxKeys: 4, noNullPrototype: true }), {
  nil: undefined,
});

const request = fc.record({
  service: fc.constantFrom(...services),
  region: fc.constantFrom(...regions),
  method: fc.constantFrom("GET", "PUT", "POST", "DELETE", "HEAD"),
  path,
  query,
  headers: fc.dictionary(headerName, headerValue, { noNullPrototype: true }),
  body,
  credentials,
  // Around midnight, so that one signer crosses days, back and forth, as with a clock that is wrong.
  nowMs: fc.integer({ min: Date.UTC(2027, 0, 1, 23, 59, 50), max: Date.UTC(2027, 0, 2, 0, 0, 10) }),
});
type Given = typeof request extends fc.Arbitrary<infer T> ? T : never;

const signers = new Map<string, Signer>();

/** The same signer for each request of a service: what it keeps of one must not reach another. */
function signerOf({ service, region }: Given): Signer {
  const known = signers.get(`${service} ${region}`) ?? new Signer(service, region);
  signers.set(`${service} ${region}`, known);
  return known;
}

const judgeOf = ({ service, region, credentials: given }: Given) =>
  new SignatureV4({
    service,
    region,
    sha256: Sha256,
    credentials: given,
    uriEscapePath: service !== "s3",
    applyChecksum: false,
  });

const host = "host.example.com";

/** S3 gets a hash of the body in a header, and a path that is encoded already. */
function signable({ service, method, path: given, query: asked, headers, body: sent }: Given): Signable {
  const isS3 = service === "s3";
  const target = isS3 ? given.split("/").map(encodeURIComponent).join("/") : given;
  const hashed = isS3 ? { "x-amz-content-sha256": "UNSIGNED-PAYLOAD" } : {};
  return { method, path: target, query: asked, headers: { host, ...headers, ...hashed }, body: sent };
}

const judged = ({ method, path: target, query: asked = {}, headers, body: sent }: Signable) => ({
  ...{ method, protocol: "https:", hostname: host, path: target, query: { ...asked }, headers: { ...headers } },
  body: sent,
});

const numRuns = Number(process.env.OFFLOAD_PROPERTY_RUNS ?? 500);

describe("signatures are those of the SDK's signer", () => {
  test("in headers", async () => {
    await fc.assert(
      fc.asyncProperty(request, async (given) => {
        const ours = signable(given);
        const theirs = await judgeOf(given).sign(judged(ours), { signingDate: new Date(given.nowMs) });
        signerOf(given).sign(ours, given.credentials, given.nowMs);
        expect(ours.headers).toEqual(theirs.headers);
      }),
      { numRuns },
    );
  });

  test("in the parameters of a URL", async () => {
    await fc.assert(
      fc.asyncProperty(request, fc.integer({ min: 1, max: 604_800 }), async (given, expiresIn) => {
        const ofS3 = { ...given, service: "s3" } as const;
        const ours = { ...signable(ofS3), headers: { host, "content-type": "a/b" } };
        const unsigned = { "X-Amz-Content-Sha256": "UNSIGNED-PAYLOAD" };
        const asked = judged({ ...ours, headers: { ...ours.headers, ...unsigned } });
        const theirs = await judgeOf(ofS3).presign(asked, { expiresIn, signingDate: new Date(given.nowMs) });
        const request = { ...ours, query: { ...ours.query, ...unsigned } };
        expect(signerOf(ofS3).presign(request, given.credentials, given.nowMs, expiresIn)).toEqual(theirs.query);
      }),
      { numRuns },
    );
  });
});
