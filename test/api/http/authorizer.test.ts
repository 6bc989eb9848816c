import { describe, expect, test, vi } from "vitest";
import { createAuthorizer, parseLocalKeys } from "../../../src/api/http/authorizer.ts";
import { PortUnavailable } from "../../../src/core/model/errors.ts";
import { type ApiKey, hashSecret } from "../../../src/core/model/keys.ts";
import { iso } from "../../../src/core/model/record.ts";
import { FakeClock } from "../../../src/memory/clock.ts";
import { KeptLog } from "../../support/kept.ts";

const secret = "s3cret-s3cret-s3cret-s3cret";
const token = `ofl_abcd1234_${secret}`;
const mine = { tenant_id: "acme", principal: "abcd1234", logged_principal: "abcd1234", role: "operator" };

function setUp(more: Partial<ApiKey> = {}, localKeys = "") {
  const clock = new FakeClock();
  const log = new KeptLog();
  const key: ApiKey = {
    key_id: "abcd1234",
    secret_hash: hashSecret(secret),
    tenant_id: "acme",
    role: "operator",
    created_at: iso(clock.now()),
    ...more,
  };
  const find = vi.fn(async (keyId: string): Promise<ApiKey | undefined> => (keyId === key.key_id ? key : undefined));
  const touch = vi.fn(async () => {});
  const keys = { find, touch };
  const authorize = createAuthorizer({ clock, log, keys, localKeys });
  return { clock, log, key, find, touch, ask: (given = token) => authorize(`Bearer ${given}`), authorize };
}

describe("an API key", () => {
  test("a key identifies its bearer", async () => {
    expect(await setUp().ask()).toEqual(mine);
  });

  test.each([
    ["no header", undefined],
    ["an empty header", ""],
    ["another scheme", `Basic ${token}`],
    ["no scheme", token],
    ["no token", "Bearer "],
  ])("a key is not looked up for %s", async (_, header) => {
    const { authorize, find } = setUp();
    expect(await authorize(header)).toEqual({ anonymous: expect.any(String) });
    expect(find).not.toHaveBeenCalled();
  });

  test.each([
    ["is unknown", {}, `ofl_zzzz9999_${secret}`],
    ["has another secret", {}, `${token}x`],
    ["is revoked", { revoked_at: "2026-12-31T00:00:00.000Z" }, token],
    ["has expired", { expires_at: "2027-01-01T00:00:00.000Z" }, token],
  ])("a key that %s identifies no caller, in the same words", async (_, more, given) => {
    const { ask } = setUp(more);
    expect(await ask(given)).toEqual({ anonymous: "the API key is not valid" });
  });

  test.each(["nonsense", "ofl_", "ofl_abcd1234_short"])("%s is not a key, and is not looked up", async (given) => {
    const { ask, find } = setUp();
    expect(await ask(given)).toEqual({ anonymous: expect.any(String) });
    expect(find).not.toHaveBeenCalled();
  });
});

describe("the memory of answers", () => {
  test("an answer is remembered for a minute", async () => {
    const { ask, find, clock } = setUp();
    await ask();
    await clock.advance(59_999);
    expect(await ask()).toEqual(mine);
    expect(find).toHaveBeenCalledTimes(1);
    await clock.advance(1);
    await ask();
    expect(find).toHaveBeenCalledTimes(2);
  });

  test("a revoked key works for a minute at most", async () => {
    const { ask, key, clock } = setUp();
    await ask();
    key.revoked_at = iso(clock.now());
    expect(await ask()).toEqual(mine);
    await clock.advance(60_000);
    expect(await ask()).toEqual({ anonymous: "the API key is not valid" });
  });

  test("an answer is not remembered past the key's own end", async () => {
    const { ask, clock } = setUp({ expires_at: "2027-01-01T00:00:10.000Z" });
    expect(await ask()).toEqual(mine);
    await clock.advance(10_000);
    expect(await ask()).toEqual({ anonymous: "the API key is not valid" });
  });

  test("an answer is remembered for the whole token, not for its key", async () => {
    const { ask } = setUp();
    await ask();
    expect(await ask(`${token}x`)).toEqual({ anonymous: "the API key is not valid" });
    expect(await ask()).toEqual(mine);
  });

  test("a refusal is remembered, too, for a minute", async () => {
    const { ask, find, clock } = setUp({ revoked_at: "2026-12-31T00:00:00.000Z" });
    await ask();
    await ask();
    expect(find).toHaveBeenCalledTimes(1);
    await clock.advance(60_000);
    await ask();
    expect(find).toHaveBeenCalledTimes(2);
  });

  test("answers are still right after a flood of made-up tokens", async () => {
    const { ask } = setUp();
    for (let count = 0; count < 12_000; count++) await ask(`ofl_abcd1234_${String(count).padStart(24, "0")}`);
    expect(await ask()).toEqual(mine);
  });

  test("a failed look-up answers that the key cannot be checked, and is not remembered", async () => {
    const { ask, find, log } = setUp();
    find.mockRejectedValueOnce(new PortUnavailable("the table", { cause: new Error("throttled") }));
    expect(await ask()).toEqual({ unavailable: expect.any(String) });
    expect(log.lines).toMatchObject([{ level: "error" }]);
    expect(JSON.stringify(log.lines)).not.toContain(secret);
    expect(await ask()).toEqual(mine);
  });
});

describe("local keys", () => {
  const text = "dev-acme:acme:operator, dev-sub:acme:submitter,,dev-admin:globex:admin";

  test("local keys are known without a look-up", async () => {
    const { ask, find } = setUp({}, text);
    const principal = expect.any(String);
    expect(await ask("dev-sub")).toMatchObject({ tenant_id: "acme", principal, role: "submitter" });
    expect(await ask("dev-admin")).toMatchObject({ tenant_id: "globex", principal, role: "admin" });
    expect(find).not.toHaveBeenCalled();
  });

  test("a viewer's key may say that it reads inputs", async () => {
    const { ask } = setUp({}, "dev-look:acme:viewer,dev-read:acme:viewer:inputs");
    expect(await ask("dev-look")).toMatchObject({ tenant_id: "acme", role: "viewer" });
    expect(await ask("dev-look")).not.toHaveProperty("inputs");
    expect(await ask("dev-read")).toMatchObject({ tenant_id: "acme", role: "viewer", inputs: "true" });
  });

  test("a principal is derived from its token alone and does not contain it", () => {
    const principals = [...parseLocalKeys(text).values()].map(({ principal }) => principal);
    expect(principals).toEqual(["local-84081c7b9a6b", "local-cbfac07691d7", "local-de72d648e29b"]);
    expect([...parseLocalKeys("dev-sub:globex:admin").values()]).toMatchObject([{ principal: principals[1] }]);
  });

  test("local keys work beside API keys", async () => {
    expect(await setUp({}, text).ask()).toEqual(mine);
    expect(await setUp({}, text).ask("dev-none")).toEqual({ anonymous: expect.any(String) });
  });

  test("there are no local keys by default", async () => {
    expect(parseLocalKeys("").size).toBe(0);
    expect(parseLocalKeys(" , ").size).toBe(0);
    expect(await setUp().ask("dev-acme")).toEqual({ anonymous: expect.any(String) });
  });

  test.each([
    "dev",
    "dev:acme",
    "dev:acme:root",
    ":acme:operator",
    "dev::operator",
    "dev:a b:operator",
    "a:b:admin:inputs",
  ])("%s is refused, and the message shows the format and not the token", (entry) => {
    expect(() => parseLocalKeys(`good:acme:admin, ${entry}`)).toThrow(
      /^OFFLOAD_KEYS: expected token:tenant:role, where role is one of submitter, viewer, operator, admin, or token:tenant:viewer:inputs; entry 2 is different$/,
    );
  });
});

describe("a token of an issuer", () => {
  // A quote and a backslash would end the text in the gateway's access log.
  const identity = { tenantId: "acme", principal: 'user|"1\\', role: "submitter" } as const;
  const logged_principal = 'user|\\"1\\\\';
  const theirs = { tenant_id: "acme", principal: 'user|"1\\', logged_principal, role: "submitter" };

  function withIssuer(goodForMs: number) {
    const clock = new FakeClock();
    const keys = { find: vi.fn(async () => undefined), touch: vi.fn(async () => {}) };
    const untilMs = clock.now() + goodForMs;
    const verifyToken = vi.fn(async (given: string) => (given === "good.t.k" ? { identity, untilMs } : undefined));
    const authorize = createAuthorizer({ clock, log: new KeptLog(), keys, localKeys: "", verifyToken });
    return { clock, keys, verifyToken, ask: (given = "good.t.k") => authorize(`Bearer ${given}`) };
  }

  test("a token gives the same identity as a key, without a look-up", async () => {
    const { ask, keys } = withIssuer(300_000);
    expect(await ask()).toEqual(theirs);
    expect(await ask("bad.t.k")).toEqual({ anonymous: "the token is not valid" });
    expect(keys.find).not.toHaveBeenCalled();
  });

  test("a token is remembered for a minute, and not past its own end", async () => {
    const long = withIssuer(300_000);
    await long.ask();
    await long.clock.advance(59_999);
    await long.ask();
    expect(long.verifyToken).toHaveBeenCalledTimes(1);
    const short = withIssuer(10_000);
    await short.ask();
    await short.clock.advance(10_000);
    await short.ask();
    expect(short.verifyToken).toHaveBeenCalledTimes(2);
  });
});

describe("an issuer that does not answer", () => {
  test("a token cannot be checked after 2.5 seconds", async () => {
    const clock = new FakeClock();
    const keys = { find: async () => undefined, touch: async () => {} };
    const verifyToken = () => new Promise<never>(() => {});
    const authorize = createAuthorizer({ clock, log: new KeptLog(), keys, localKeys: "", verifyToken });
    const asked = authorize("Bearer good.t.k");
    await clock.advance(2_500);
    expect(await asked).toEqual({ unavailable: "could not check the token" });
  });
});

describe("a use of a key", () => {
  test("a use is saved at most every ten minutes, and a failed save refuses no request", async () => {
    const { ask, key, touch, clock } = setUp();
    await ask();
    expect(touch).toHaveBeenCalledWith("abcd1234", iso(clock.now()), iso(clock.now() - 600_000));
    key.last_used_at = iso(clock.now());
    await clock.advance(599_999);
    await ask();
    expect(touch).toHaveBeenCalledTimes(1);
    touch.mockRejectedValueOnce(new Error("down"));
    await clock.advance(60_000);
    expect(await ask()).toEqual(mine);
    expect(touch).toHaveBeenCalledTimes(2);
  });

  test("a use with a wrong secret is not saved", async () => {
    const { ask, touch } = setUp();
    await ask(`${token}x`);
    expect(touch).not.toHaveBeenCalled();
  });
});
