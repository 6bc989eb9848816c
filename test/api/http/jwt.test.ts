import { exportJWK, generateKeyPair, type JWK, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { createJwtVerifier, type JwtSettings, jwtSettingNames, jwtSettings } from "../../../src/api/http/jwt.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { fromEnv } from "../../../src/settings/config.ts";

const issuer = "https://issuer.test";
const settings: JwtSettings = {
  jwtIssuer: issuer,
  jwtAudience: "offload",
  jwtTenantClaim: "tenant",
  jwtRoleClaim: "role",
  jwtInputsClaim: "inputs",
  jwtRoles: undefined,
  jwtDefaultRole: undefined,
  jwtJwksUrl: undefined,
  jwtAlgorithms: ["RS256", "ES256", "EdDSA"],
  jwtClockSkewSeconds: 30,
};

/** A key pair for each algorithm, made once. */
const pairs = new Map<string, Awaited<ReturnType<typeof generateKeyPair>>>();
let jwks: JWK[] = [];

beforeAll(async () => {
  for (const alg of ["RS256", "ES256", "EdDSA", "PS256"]) pairs.set(alg, await generateKeyPair(alg));
  const exported = [...pairs].map(async ([alg, { publicKey }]) => ({ ...(await exportJWK(publicKey)), kid: alg, alg }));
  jwks = await Promise.all(exported);
});

function setUp(more: Partial<JwtSettings> = {}) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const issuing = { down: false, document: { issuer, jwks_uri: `${issuer}/keys` } as unknown };
  const fetcher = async (url: string | URL | Request) => {
    asked.push(String(url));
    if (issuing.down) throw new TypeError("fetch failed");
    return Response.json(String(url).endsWith("/keys") ? { keys: jwks } : issuing.document);
  };
  const verify = createJwtVerifier({ ...settings, ...more }, clock, fetcher as typeof fetch);
  const sign = (
    claims: Record<string, unknown> = {},
    { alg = "ES256", kid }: { alg?: string; kid?: string } = {},
  ): Promise<string> => {
    const now = Math.floor(clock.now() / 1000);
    const body = { iss: issuer, aud: "offload", sub: "user|1", tenant: "acme", role: "operator", exp: now + 300 };
    const privateKey = pairs.get(alg)?.privateKey;
    if (privateKey === undefined) throw new Error(`no key for ${alg}`);
    return new SignJWT({ ...body, ...claims }).setProtectedHeader({ alg, kid: kid ?? alg }).sign(privateKey);
  };
  return { clock, asked, issuing, verify, sign };
}

const now = new FakeClock().now() / 1000;
const mine = { tenantId: "acme", principal: "user|1", role: "operator" };

describe("a token of the issuer", () => {
  test.each(["RS256", "ES256", "EdDSA"])("a token with %s identifies its bearer, and says until when", async (alg) => {
    const { verify, sign } = setUp();
    expect(await verify(await sign({}, { alg }))).toEqual({ identity: mine, untilMs: (now + 330) * 1000 });
  });

  test.each<[string, Record<string, unknown>]>([
    ["that has expired", { exp: now - 31 }],
    ["that never expires", { exp: undefined }],
    ["that is not yet valid", { nbf: now + 31 }],
    ["for another audience", { aud: "another" }],
    ["for no audience", { aud: undefined }],
    ["of another issuer", { iss: "https://issuer.test.evil" }],
    ["of no issuer", { iss: undefined }],
    ["without a subject", { sub: undefined }],
    ["with an empty subject", { sub: "" }],
    ["with a subject that is a number", { sub: 7 }],
    ["with a subject that is a list", { sub: ["user|1"] }],
    ["with a subject that is a list in a list", { sub: [["user|1"]] }],
    ["with a subject that is true", { sub: true }],
    ["with a subject that is an object", { sub: { id: "user|1" } }],
    ["with a subject that is null", { sub: null }],
    ["with a subject of several lines", { sub: "a\nb" }],
    ["with a subject that is too long", { sub: "x".repeat(256) }],
    ["with a subject that is a number", { sub: 12_345 }],
    ["without a tenant", { tenant: undefined }],
    ["with two tenants", { tenant: ["acme", "globex"] }],
    ["with a tenant that is none", { tenant: "acme#globex" }],
    ["without a role", { role: undefined }],
    ["with an unknown role", { role: "root" }],
    ["with a role in other letters", { role: "Operator" }],
  ])("a token %s is refused", async (_, claims) => {
    const { verify, sign } = setUp();
    expect(await verify(await sign(claims))).toBeUndefined();
  });

  test.each<[string, JWK]>([
    ["a point off its curve", { kty: "EC", crv: "P-256", x: "A".repeat(43), y: "B".repeat(43) }],
    ["a point that is too short", { kty: "EC", crv: "P-256", x: "AA", y: "AA" }],
    ["an RSA key of 1024 bits", { kty: "RSA", n: `w${"A".repeat(170)}`, e: "AQAB" }],
    ["an RSA key without its numbers", { kty: "RSA" }],
    ["an unknown curve", { kty: "EC", crv: "P-1", x: "AA", y: "AA" }],
    ["an OKP key of one byte", { kty: "OKP", crv: "Ed25519", x: "AA" }],
  ])("a token that names %s among the issuer's keys is refused, and the other keys go on", async (_, broken) => {
    const { verify, sign } = setUp();
    const whole = jwks;
    jwks = [...whole, { ...broken, kid: "broken" }];
    try {
      const alg = { EC: "ES256", RSA: "RS256", OKP: "EdDSA" }[broken.kty as "EC"];
      expect(await verify(await sign({}, { alg, kid: "broken" }))).toBeUndefined();
      expect(await verify(await sign({}, { alg }))).toMatchObject({ identity: mine });
    } finally {
      jwks = whole;
    }
  });

  test("a token is good as long as the issuer's clock may be off", async () => {
    const { verify, sign } = setUp();
    expect(await verify(await sign({ exp: now - 29, nbf: now + 29 }))).toMatchObject({ identity: mine });
  });

  test("a token may have the tenant and the role in claims of any name", async () => {
    const { verify, sign } = setUp({ jwtTenantClaim: "https://x.test/tenant", jwtRoleClaim: "cognito:groups" });
    const claims = { "https://x.test/tenant": "globex", "cognito:groups": ["billing", "submitter"], tenant: "acme" };
    expect((await verify(await sign(claims)))?.identity).toMatchObject({ tenantId: "globex", role: "submitter" });
  });

  test.each(["abcdefghjkmnpq23", "local-0123456789ab", "jwt:olga"])(
    "the subject %s is not the principal of an API key or a local token",
    async (sub) => {
      const { verify, sign } = setUp();
      expect((await verify(await sign({ sub })))?.identity.principal).toBe(`jwt:${sub}`);
    },
  );

  test("a token has the mightiest of its roles, and the default one where it has none", async () => {
    const { verify, sign } = setUp({ jwtDefaultRole: "submitter" });
    const roleOf = async (role: unknown) => (await verify(await sign({ role })))?.identity.role;
    expect(await roleOf(["submitter", "operator", "billing"])).toBe("operator");
    expect(await roleOf(["billing"])).toBe("submitter");
    expect(await roleOf(undefined)).toBe("submitter");
  });

  test("a viewer reads inputs with a claim that says so, and no other role has that permission", async () => {
    const { verify, sign } = setUp({ jwtInputsClaim: "https://x.test/inputs" });
    const identityOf = async (role: string, value?: unknown) =>
      (await verify(await sign({ role, "https://x.test/inputs": value })))?.identity;
    expect(await identityOf("viewer")).toEqual({ ...mine, role: "viewer" });
    for (const value of [true, "true"]) {
      expect(await identityOf("viewer", value)).toEqual({ ...mine, role: "viewer", inputs: true });
      expect(await identityOf("operator", value)).toEqual(mine);
    }
    for (const value of [false, "false", 1, "yes", ["true"], null]) {
      expect(await identityOf("viewer", value)).toEqual({ ...mine, role: "viewer" });
    }
    expect((await verify(await sign({ role: ["viewer", "operator"] })))?.identity).toEqual(mine);
  });

  test("a token is at most an operator's, unless the deployment maps a value of its claim to admin", async () => {
    const roleOf = async (role: unknown, mapped?: JwtSettings["jwtRoles"]) => {
      const { verify, sign } = setUp(mapped === undefined ? {} : { jwtRoles: mapped });
      return (await verify(await sign({ role })))?.identity.role;
    };
    expect(await roleOf("admin")).toBe("operator");
    expect(await roleOf(["submitter", "admin"])).toBe("operator");
    const staff = { "offload-staff": "admin", writers: "submitter" } as const;
    expect(await roleOf("offload-staff", staff)).toBe("admin");
    expect(await roleOf(["writers", "billing"], staff)).toBe("submitter");
    expect(await roleOf(["writers", "offload-staff", "operator"], staff)).toBe("admin");
    expect(await roleOf("admin", staff)).toBe("operator");
    expect(await roleOf("operator", staff)).toBe("operator");
    expect(await roleOf("admin", { admin: "admin" })).toBe("admin");
    expect(await roleOf("operator", { operator: "submitter" })).toBe("submitter");
  });

  test.each(["constructor", "__proto__", "toString", ["hasOwnProperty"], { role: "admin" }, 1, null, [["operator"]]])(
    "the role %j of a token is unknown",
    async (role) => {
      const { verify, sign } = setUp({ jwtRoles: { staff: "admin" } });
      expect(await verify(await sign({ role }))).toBeUndefined();
    },
  );

  test("a claim cannot be an inherited property", async () => {
    const { verify, sign } = setUp({ jwtTenantClaim: "constructor" });
    expect(await verify(await sign())).toBeUndefined();
  });
});

describe("a token that is forged", () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

  test.each([
    ["unsigned", ([, payload]: string[]) => `${encode({ alg: "none" })}.${payload}.`],
    [
      "unsigned, with a signature",
      ([, payload, signature]: string[]) => `${encode({ alg: "none" })}.${payload}.${signature}`,
    ],
    [
      "signed with the public key as a secret",
      ([, payload, signature]: string[]) => `${encode({ alg: "HS256", kid: "ES256" })}.${payload}.${signature}`,
    ],
    [
      "changed",
      ([header, , signature]: string[]) =>
        `${header}.${encode({ iss: issuer, aud: "offload", sub: "a", tenant: "globex", role: "admin", exp: 9e9 })}.${signature}`,
    ],
    ["cut off", ([header, payload]: string[]) => `${header}.${payload}`],
    ["nonsense", () => "a.b.c"],
    [
      "with a key of its own",
      ([, payload, signature]: string[]) => `${encode({ alg: "ES256", jwk: jwks[1] })}.${payload}.${signature}`,
    ],
  ])("a forged token is refused: %s", async (_, forge) => {
    const { verify, sign } = setUp();
    expect(await verify(forge((await sign()).split(".")))).toBeUndefined();
  });

  test("a token with an algorithm that is not on the list, or with another key, is refused", async () => {
    const { verify, sign } = setUp();
    expect(await verify(await sign({}, { alg: "PS256" }))).toBeUndefined();
    expect(await verify(await sign({}, { alg: "ES256", kid: "unknown" }))).toBeUndefined();
    expect(await verify(await sign({}, { alg: "RS256", kid: "ES256" }))).toBeUndefined();
  });
});

describe("the issuer", () => {
  test("the issuer is asked once for its document and once for its keys", async () => {
    const { verify, sign, asked } = setUp();
    for (let count = 0; count < 5; count++) await verify(await sign({ jti: String(count) }));
    expect(asked).toEqual([`${issuer}/.well-known/openid-configuration`, `${issuer}/keys`]);
  });

  test("the issuer is not asked for its document when the URL of its keys is set", async () => {
    const { verify, sign, asked } = setUp({ jwtJwksUrl: `${issuer}/keys` });
    expect(await verify(await sign())).toMatchObject({ identity: mine });
    expect(asked).toEqual([`${issuer}/keys`]);
  });

  test("the issuer is not asked about text that is not a token", async () => {
    const { verify, asked } = setUp();
    expect(await verify("nonsense")).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test("an issuer that does not answer refuses no token, and is asked again", async () => {
    const { verify, sign, issuing } = setUp();
    issuing.down = true;
    await expect(verify(await sign())).rejects.toThrow(PortUnavailable);
    issuing.down = false;
    expect(await verify(await sign())).toMatchObject({ identity: mine });
  });

  test.each([
    ["another issuer's", { issuer: "https://evil.test", jwks_uri: `${issuer}/keys` }],
    ["one with keys in the clear", { issuer, jwks_uri: "http://issuer.test/keys" }],
    ["none", {}],
  ])("an issuer whose document is %s is not trusted", async (_, document) => {
    const { verify, sign, issuing } = setUp();
    issuing.document = document;
    await expect(verify(await sign())).rejects.toThrow(PortUnavailable);
  });
});

describe("the settings", () => {
  const read = (env: Record<string, string>) => jwtSettings(fromEnv(env, jwtSettingNames));

  test("there are no settings without an issuer", () => {
    expect(read({})).toBeUndefined();
    expect(read({ OFFLOAD_JWT_ISSUER: "" })).toBeUndefined();
  });

  test("the settings have defaults, except for issuer and audience", () => {
    expect(read({ OFFLOAD_JWT_ISSUER: issuer, OFFLOAD_JWT_AUDIENCE: "offload" })).toEqual(settings);
  });

  test("the setting of roles is a JSON object", () => {
    const env = { OFFLOAD_JWT_ISSUER: issuer, OFFLOAD_JWT_AUDIENCE: "offload" };
    expect(read({ ...env, OFFLOAD_JWT_ROLES: '{"staff":"admin"}' })?.jwtRoles).toEqual({ staff: "admin" });
    expect(read({ ...env, OFFLOAD_JWT_ROLES: "" })?.jwtRoles).toBeUndefined();
  });

  test.each([
    [{ OFFLOAD_JWT_ISSUER: issuer }, "OFFLOAD_JWT_AUDIENCE"],
    [{ OFFLOAD_JWT_ISSUER: "http://issuer.test" }, "OFFLOAD_JWT_ISSUER: expected an https URL"],
    [{ OFFLOAD_JWT_JWKS_URL: "keys" }, "OFFLOAD_JWT_JWKS_URL"],
    [{ OFFLOAD_JWT_ALGORITHMS: "RS256,HS256" }, "OFFLOAD_JWT_ALGORITHMS"],
    [{ OFFLOAD_JWT_ALGORITHMS: "none" }, "OFFLOAD_JWT_ALGORITHMS"],
    [{ OFFLOAD_JWT_DEFAULT_ROLE: "root" }, "OFFLOAD_JWT_DEFAULT_ROLE"],
    [{ OFFLOAD_JWT_DEFAULT_ROLE: "admin" }, "OFFLOAD_JWT_DEFAULT_ROLE: expected one of submitter, viewer, operator"],
    [{ OFFLOAD_JWT_ROLES: '{"staff":"root"}' }, "OFFLOAD_JWT_ROLES: expected a JSON object"],
    [{ OFFLOAD_JWT_ROLES: '{"staff":["admin"]}' }, "OFFLOAD_JWT_ROLES"],
    [{ OFFLOAD_JWT_ROLES: '["admin"]' }, "OFFLOAD_JWT_ROLES"],
    [{ OFFLOAD_JWT_ROLES: "admin" }, "OFFLOAD_JWT_ROLES"],
    [{ OFFLOAD_JWT_CLOCK_SKEW_SECONDS: "3600" }, "OFFLOAD_JWT_CLOCK_SKEW_SECONDS"],
  ])("%j is refused", (env, message) => {
    expect(() => read(env)).toThrow(message);
  });
});
