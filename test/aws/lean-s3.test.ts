import * as sdk from "@aws-sdk/client-s3";
import * as sdkPresigner from "@aws-sdk/s3-request-presigner";
import { afterEach, describe, expect, test, vi } from "vitest";
import { BoundedHttpHandler } from "../../src/aws/http-handler.ts";
import * as lean from "../../src/aws/lean/client-s3.ts";
import * as leanPresigner from "../../src/aws/lean/s3-request-presigner.ts";

// The contract suite of blobs runs on both clients against an emulator. Here are the parts that an emulator does not see.

const env = {
  AWS_REGION: "eu-west-1",
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
  AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI",
  AWS_SESSION_TOKEN: "a+session/token",
};
const sdkConfig = {
  region: env.AWS_REGION,
  credentials: {
    accessKeyId: env.AWS_ACCESS_KEY_ID,
    secretAccessKey: env.AWS_SECRET_ACCESS_KEY,
    sessionToken: env.AWS_SESSION_TOKEN,
  },
  requestChecksumCalculation: "WHEN_REQUIRED",
  responseChecksumValidation: "WHEN_REQUIRED",
} as const;

const keys = ["acme/task-1/result-1", "a b/ä+~*'()!/%2F", "x/../y//z"];

afterEach(() => {
  vi.useRealTimers();
});

type Request = Parameters<BoundedHttpHandler["handle"]>[0];

/** Keeps the requests, and answers each with 200 and nothing. */
class KeptRequests extends BoundedHttpHandler {
  readonly kept: Request[] = [];

  override async handle(request: Request) {
    this.kept.push(request);
    const response = { statusCode: 200, headers: {}, body: Buffer.alloc(0) };
    return { response } as unknown as Awaited<ReturnType<BoundedHttpHandler["handle"]>>;
  }
}

describe.each(keys)("the key %s", (Key) => {
  const at = { Bucket: "bucket", Key };

  test("a presigned URL has the host, the path and the parameters of the SDK's", async () => {
    vi.useFakeTimers({ now: Date.UTC(2027, 0, 1), toFake: ["Date"] });
    const input = {
      ...at,
      ResponseContentType: "a/b",
      ResponseContentDisposition: "attachment; filename*=UTF-8''%C3%A4",
    };
    const options = { expiresIn: 900 };
    const ours = new URL(
      await leanPresigner.getSignedUrl(new lean.S3Client({}, env), new lean.GetObjectCommand(input), options),
    );
    const theirs = new URL(
      await sdkPresigner.getSignedUrl(new sdk.S3Client(sdkConfig), new sdk.GetObjectCommand(input), options),
    );
    // The SDK's parameter has the name of its operation, and is signed.
    theirs.searchParams.delete("x-id");
    const parametersOf = ({ searchParams }: URL) =>
      [...searchParams].filter(([name]) => name !== "X-Amz-Signature").sort();
    expect([ours.host, ours.pathname]).toEqual([theirs.host, theirs.pathname]);
    expect(parametersOf(ours)).toEqual(parametersOf(theirs));
  });

  test("a request has the host and the path of the SDK's", async () => {
    const handlers = [new KeptRequests(), new KeptRequests()] as const;
    await new lean.S3Client({ requestHandler: handlers[0] }, env).send(new lean.DeleteObjectCommand(at));
    await new sdk.S3Client({ ...sdkConfig, requestHandler: handlers[1] }).send(new sdk.DeleteObjectCommand(at));
    const [ours, theirs] = handlers.map(({ kept }) => kept[0]);
    expect(ours).toMatchObject({
      method: theirs?.method,
      protocol: theirs?.protocol,
      hostname: theirs?.hostname,
      path: theirs?.path,
    });
    expect(ours?.headers).toMatchObject({
      host: theirs?.headers.host,
      "x-amz-content-sha256": theirs?.headers["x-amz-content-sha256"],
      "x-amz-security-token": env.AWS_SESSION_TOKEN,
    });
  });
});

test("an answer with status 200 and an error, as of a long assembly of parts, is an error", async () => {
  const command = new lean.CompleteMultipartUploadCommand({ Bucket: "b", Key: "k", UploadId: "u" });
  const body = '<?xml version="1.0"?>\n<Error><Code>InternalError</Code><Message>try again</Message></Error>';
  expect(() => command.answer({ status: 200, headers: {}, body })).toThrow(
    expect.objectContaining({ name: "InternalError", $fault: "server", message: "try again" }),
  );
});
