import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { awsSecrets } from "../../src/aws/secrets.ts";

/** Requests that the stub got. */
const sent: { headers: IncomingMessage["headers"]; body: unknown }[] = [];
let answers: { status: number; body: object }[] = [];

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  sent.push({ headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString("utf8")) });
  const { status, body } = answers.shift() ?? { status: 500, body: {} };
  response.writeHead(status, { "content-type": "application/x-amz-json-1.1" }).end(JSON.stringify(body));
});

const variables = ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
const before = new Map([...variables, "AWS_ENDPOINT_URL"].map((name) => [name, process.env[name]]));

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  for (const name of variables) process.env[name] = "eu-west-1";
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
  for (const [name, value] of before) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});
beforeEach(() => {
  sent.length = 0;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER = url;
  process.env.AWS_ENDPOINT_URL_SSM = url;
});
afterAll(() => {
  delete process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER;
  delete process.env.AWS_ENDPOINT_URL_SSM;
});

test("a secret is read by its name, in a signed request", async () => {
  answers = [{ status: 200, body: { ARN: "arn", SecretString: "sk_1" } }];
  expect(await awsSecrets().read({ secretName: "prod/stripe" })).toBe("sk_1");
  expect(sent).toEqual([{ headers: expect.any(Object), body: { SecretId: "prod/stripe" } }]);
  expect(sent[0]?.headers).toMatchObject({
    "x-amz-target": "secretsmanager.GetSecretValue",
    "content-type": "application/x-amz-json-1.1",
    authorization: expect.stringMatching(
      /^AWS4-HMAC-SHA256 Credential=[^/]+\/\d{8}\/eu-west-1\/secretsmanager\/aws4_request, /,
    ),
  });
});

test("a parameter is read decrypted, by its name", async () => {
  answers = [{ status: 200, body: { Parameter: { Name: "/mail", Type: "SecureString", Value: "m" } } }];
  expect(await awsSecrets().read({ parameterName: "/mail" })).toBe("m");
  expect(sent).toEqual([{ headers: expect.any(Object), body: { Name: "/mail", WithDecryption: true } }]);
  expect(sent[0]?.headers).toMatchObject({
    "x-amz-target": "AmazonSSM.GetParameter",
    "content-type": "application/x-amz-json-1.1",
    authorization: expect.stringContaining("/eu-west-1/ssm/aws4_request"),
  });
});

test("a refusal is an error with AWS's code as its name, and is not repeated", async () => {
  answers = [{ status: 400, body: { __type: "AccessDeniedException", Message: "no" } }];
  await expect(awsSecrets().read({ secretName: "a" })).rejects.toMatchObject({ name: "AccessDeniedException" });
  expect(sent).toHaveLength(1);
});

test("a read is repeated after an error of the service", async () => {
  answers = [
    { status: 500, body: { __type: "InternalServiceError" } },
    { status: 400, body: { __type: "ThrottlingException" } },
    { status: 200, body: { SecretString: "sk_1" } },
  ];
  expect(await awsSecrets().read({ secretName: "a" })).toBe("sk_1");
  expect(sent).toHaveLength(3);
});

test("a secret of bytes is refused", async () => {
  answers = [{ status: 200, body: { SecretBinary: "AAEC" } }];
  await expect(awsSecrets().read({ secretName: "a" })).rejects.toThrow("it is not a text");
});
