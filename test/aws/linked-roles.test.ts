import { describe, expect, test } from "vitest";
import { BoundedHttpHandler } from "../../src/aws/http-handler.ts";
import { roleReader } from "../../src/aws/linked-roles.ts";
import { StubApi } from "../tools/cli/stub-api.ts";

const resolved = (region: string) => ({
  credentials: async () => ({ accessKeyId: "AKID", secretAccessKey: "secret", sessionToken: "token" }),
  region: async () => region,
});

const refusal = (code: string, message: string) =>
  `<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><Error><Type>Sender</Type><Code>${code}</Code>
  <Message>${message}</Message></Error><RequestId>1</RequestId></ErrorResponse>`;

const look = (url: string) => roleReader(resolved("eu-central-1"), { AWS_ENDPOINT_URL: url })("AWSServiceRoleForECS");

test("a role is read by its name, with a signed request", async () => {
  const found = "<GetRoleResponse><GetRoleResult><Role/></GetRoleResult></GetRoleResponse>";
  await using api = await StubApi.start(() => ({ text: found, type: "text/xml" }));
  expect(await look(api.url)).toBe(true);
  const query = { Action: "GetRole", RoleName: "AWSServiceRoleForECS", Version: "2010-05-08" };
  expect(api.seen).toMatchObject([{ method: "GET", path: "/", query }]);
  expect(api.seen[0]?.authorization).toContain("/us-east-1/iam/aws4_request");
});

test("a role that does not exist is not an error", async () => {
  const text = refusal("NoSuchEntity", "The role with name AWSServiceRoleForECS cannot be found.");
  await using api = await StubApi.start(() => ({ status: 404, text, type: "text/xml" }));
  expect(await look(api.url)).toBe(false);
});

test("a refusal is thrown with the message of IAM", async () => {
  const text = refusal("AccessDenied", "User x is not authorized to perform: iam:GetRole");
  await using api = await StubApi.start(() => ({ status: 403, text, type: "text/xml" }));
  await expect(look(api.url)).rejects.toMatchObject({ name: "AccessDenied", message: /not authorized/ });
  expect(api.seen).toHaveLength(1);
});

test("an answer that is not IAM's is an error with its status, and one of a broken server is tried again", async () => {
  await using api = await StubApi.start((_, index) => (index === 0 ? { status: 503, text: "no" } : { text: "<ok/>" }));
  expect(await look(api.url)).toBe(true);
  await using other = await StubApi.start(() => ({ status: 404, text: "what?" }));
  await expect(look(other.url)).rejects.toThrow("IAM answered 404");
});

describe("the endpoint of IAM", () => {
  /** Host and credential scope of a look, which sends nothing. */
  async function addressIn(region: string, env: NodeJS.ProcessEnv = {}): Promise<unknown[]> {
    const sent: { hostname: string; headers: Record<string, string> }[] = [];
    const handle = BoundedHttpHandler.prototype.handle;
    BoundedHttpHandler.prototype.handle = async (request) => {
      sent.push(request);
      return { response: { statusCode: 200, headers: {}, body: Buffer.from("") } } as never;
    };
    try {
      await roleReader(resolved(region), env)("r");
    } finally {
      BoundedHttpHandler.prototype.handle = handle;
    }
    return sent.map(({ hostname, headers }) => [
      hostname,
      /Credential=AKID\/\d+\/([^/]+)/.exec(headers.authorization ?? "")?.[1],
    ]);
  }

  test.each([
    ["eu-central-1", "iam.amazonaws.com", "us-east-1"],
    ["cn-northwest-1", "iam.cn-north-1.amazonaws.com.cn", "cn-north-1"],
    ["us-gov-east-1", "iam.us-gov.amazonaws.com", "us-gov-west-1"],
    ["eusc-de-east-1", "iam.eusc-de-east-1.amazonaws.eu", "eusc-de-east-1"],
    ["us-iso-west-1", "iam.us-iso-east-1.c2s.ic.gov", "us-iso-east-1"],
    ["us-isob-east-1", "iam.us-isob-east-1.sc2s.sgov.gov", "us-isob-east-1"],
    ["us-isof-east-1", "iam.us-isof-south-1.csp.hci.ic.gov", "us-isof-south-1"],
    ["eu-isoe-west-1", "iam.eu-isoe-west-1.cloud.adc-e.uk", "eu-isoe-west-1"],
  ])("of %s is %s, signed for %s", async (region, host, scope) => {
    expect(await addressIn(region)).toEqual([[host, scope]]);
  });

  test("is the same with dual stack and FIPS, and another one where a variable says so", async () => {
    const variables = { AWS_USE_DUALSTACK_ENDPOINT: "true", AWS_USE_FIPS_ENDPOINT: "true" };
    expect(await addressIn("eu-central-1", variables)).toEqual([["iam.amazonaws.com", "us-east-1"]]);
    expect(await addressIn("eu-central-1", { AWS_ENDPOINT_URL_IAM: "http://iam.local:1" })).toEqual([
      ["iam.local", "us-east-1"],
    ]);
  });
});
