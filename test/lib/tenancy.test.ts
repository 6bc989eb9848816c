import { Duration } from "aws-cdk-lib";
import { describe, expect, test } from "vitest";
import { jwtSettings, limitSettings, tokenSettings } from "../../lib/tenancy.ts";
import { resources, stage, synthesize } from "./synthesis.ts";

const issuer = { issuer: "https://issuer.test", audience: "offload" };
const variablesOf = (synthesis: ReturnType<typeof synthesize>, name: string) =>
  resources(synthesis.service, "AWS::Lambda::Function")(`${name}/Function`).get("Environment.Variables") as Record<
    string,
    string
  >;

describe("limits", () => {
  test("the limits are the tiers' depths by default", () => {
    const depth = { critical: 20_000, high: 50_000, normal: 100_000, low: 100_000 };
    for (const name of ["Submit", "Control"]) {
      expect(JSON.parse(variablesOf(stage("dev"), name).OFFLOAD_LIMITS ?? "")).toEqual({ default: {}, depth });
    }
  });

  test("the limits reach the functions that take submits", () => {
    const limits = {
      tenants: { submitsPerSecond: 20, burst: 40, tasksInProgress: 5, requestBytes: 100 },
      depth: { low: 7 },
    };
    expect(JSON.parse(variablesOf(synthesize({ limits }), "Submit").OFFLOAD_LIMITS ?? "")).toEqual({
      default: { submits_per_second: 20, burst: 40, tasks_in_progress: 5, request_bytes: 100 },
      depth: { critical: 20_000, high: 50_000, normal: 100_000, low: 7 },
    });
  });

  test.each([
    [{ tenants: { submitsPerSecond: 0 } }, "default.submits_per_second"],
    [{ tenants: { burst: 1.5 } }, "default.burst"],
    [{ depth: { low: 0 } }, "depth.low"],
  ])("limits cannot be %j", (limits, message) => {
    expect(() => limitSettings(limits)).toThrow(message);
  });
});

describe("list shards", () => {
  test("the number of list shards reaches every function that writes or reads lists", () => {
    const synthesis = synthesize({ listShards: 8 });
    for (const name of ["Submit", "Status", "Control", "NormalWorker", "Redrive", "Fire"])
      expect(variablesOf(synthesis, name).OFFLOAD_LIST_SHARDS).toBe("8");
  });

  test.each([0, 1.5, 65])("the number of list shards cannot be %d", (listShards) => {
    expect(() => synthesize({ listShards })).toThrow("OFFLOAD_LIST_SHARDS: expected a whole number from 1 to 64");
  });
});

describe("tokens", () => {
  test("there are no settings of tokens without an issuer", () => {
    expect(Object.keys(variablesOf(stage("dev"), "Authorizer")).filter((name) => name.includes("JWT"))).toEqual([]);
  });

  test("the settings of tokens reach the authorizer only", () => {
    const jwt = {
      ...issuer,
      tenantClaim: "custom:tenant",
      roleClaim: "groups",
      roles: { "offload-admins": "admin" },
      defaultRole: "submitter",
      jwksUrl: "https://issuer.test/keys",
      algorithms: ["RS256", "ES256"],
      clockSkew: Duration.minutes(1),
    } as const;
    const synthesis = synthesize({ jwt });
    expect(variablesOf(synthesis, "Authorizer")).toMatchObject({
      OFFLOAD_JWT_ISSUER: "https://issuer.test",
      OFFLOAD_JWT_AUDIENCE: "offload",
      OFFLOAD_JWT_TENANT_CLAIM: "custom:tenant",
      OFFLOAD_JWT_ROLE_CLAIM: "groups",
      OFFLOAD_JWT_ROLES: '{"offload-admins":"admin"}',
      OFFLOAD_JWT_DEFAULT_ROLE: "submitter",
      OFFLOAD_JWT_JWKS_URL: "https://issuer.test/keys",
      OFFLOAD_JWT_ALGORITHMS: "RS256,ES256",
      OFFLOAD_JWT_CLOCK_SKEW_SECONDS: "60",
    });
    expect(Object.keys(variablesOf(synthesis, "Submit")).filter((name) => name.includes("JWT"))).toEqual([]);
  });

  test.each([
    [{ ...issuer, issuer: "http://issuer.test" }, "OFFLOAD_JWT_ISSUER"],
    [{ ...issuer, algorithms: ["HS256"] }, "OFFLOAD_JWT_ALGORITHMS"],
    [{ ...issuer, roles: { staff: "root" as "admin" } }, "OFFLOAD_JWT_ROLES"],
    [{ ...issuer, defaultRole: "admin" as "operator" }, "OFFLOAD_JWT_DEFAULT_ROLE"],
    [{ ...issuer, clockSkew: Duration.hours(1) }, "OFFLOAD_JWT_CLOCK_SKEW_SECONDS"],
  ])("settings of tokens cannot be %j", (jwt, message) => {
    expect(() => tokenSettings(jwt)).toThrow(message);
  });
});

describe("the console", () => {
  const consoleOf = (synthesis: ReturnType<typeof synthesize>) =>
    Object.fromEntries(
      Object.entries(variablesOf(synthesis, "Console")).filter(([name]) => /_(JWT|CONSOLE|SOCKET)_/.test(name)),
    );

  test("the console has no settings of a sign-in without a client of its own, even where the API accepts tokens", () => {
    expect(consoleOf(stage("dev"))).toEqual({});
    expect(consoleOf(synthesize({ jwt: issuer }))).toEqual({});
  });

  test("the client reaches the function of the console, and no other", () => {
    const client = { clientId: "console", scope: "openid offload", origins: ["https://a.test", "https://b.test"] };
    const synthesis = synthesize({ jwt: { ...issuer, console: client } });
    expect(consoleOf(synthesis)).toEqual({
      OFFLOAD_JWT_ISSUER: "https://issuer.test",
      OFFLOAD_CONSOLE_CLIENT_ID: "console",
      OFFLOAD_CONSOLE_SCOPE: "openid offload",
      OFFLOAD_CONSOLE_ORIGINS: "https://a.test,https://b.test",
    });
    const others = ["Authorizer", "Submit", "Status", "Control"].flatMap((name) =>
      Object.keys(variablesOf(synthesis, name)).filter((variable) => variable.includes("CONSOLE")),
    );
    expect(others).toEqual([]);
  });

  test("with push, the console knows the URL of channels", () => {
    const { OFFLOAD_SOCKET_URL } = variablesOf(synthesize({ push: true }), "Console");
    expect(OFFLOAD_SOCKET_URL).toEqual(variablesOf(synthesize({ push: true }), "Control").OFFLOAD_SOCKET_URL);
    expect(OFFLOAD_SOCKET_URL).toBeDefined();
  });

  test.each([
    [{ clientId: "console", scope: "" }, "OFFLOAD_CONSOLE_SCOPE: expected a text"],
    [{ clientId: "console", origins: ["https://a.test/token"] }, "OFFLOAD_CONSOLE_ORIGINS: expected https origins"],
    [{ clientId: "" }, "jwt.console.clientId"],
  ])("the client of the console cannot be %j", (client, message) => {
    expect(() => jwtSettings({ ...issuer, console: client })).toThrow(message);
  });
});
