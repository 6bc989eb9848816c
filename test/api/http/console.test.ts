import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { type ConsolePorts, consoleApi, consoleSettingNames, consoleSettings } from "../../../src/api/http/console.ts";
import { serve } from "../../../src/api/http/serve.ts";
import { noTracing } from "../../../src/core/ports/tasks.ts";
import { fromEnv } from "../../../src/settings/config.ts";
import { KeptLog } from "../../support/kept.ts";
import { requestTo } from "../../support/request-to.ts";
import { ask, problem } from "../../support/served.ts";

const texts = {
  "index.html": '<!doctype html><script type="module" src="/console/app.js"></script>',
  "app.js": 'import("./task-ABCD2345.js");',
  "task-ABCD2345.js": "export {};",
  "app.css": ":root{}",
  "icon.svg": "<svg/>",
};

function newConsole(more: Partial<ConsolePorts> = {}) {
  return consoleApi({
    log: new KeptLog(),
    tracing: noTracing,
    newCorrelationId: () => "new-1",
    files: new Map(Object.entries(texts)),
    version: "1.2.3",
    name: "Offload-prod",
    local: false,
    socketUrl: () => undefined,
    signIn: undefined,
    ...more,
  });
}

const nobody = {};
const get = (path: string, headers: Record<string, string> = {}, more: Partial<ConsolePorts> = {}) =>
  ask(newConsole(more), path, { as: nobody, headers });

/** The directives of an answer's content security policy. */
function policyOf({ headers }: { headers: Headers }): Record<string, string> {
  const directives = (headers.get("content-security-policy") ?? "").split("; ");
  return Object.fromEntries(directives.map((one) => [one.split(" ")[0], one.split(" ").slice(1).join(" ")]));
}

describe("a file of the console", () => {
  test.each([
    ["/console", "index.html", "text/html; charset=utf-8"],
    ["/console/", "index.html", "text/html; charset=utf-8"],
    ["/console/index.html", "index.html", "text/html; charset=utf-8"],
    ["/console/app.js", "app.js", "text/javascript; charset=utf-8"],
    ["/console/app.css", "app.css", "text/css; charset=utf-8"],
    ["/console/icon.svg", "icon.svg", "image/svg+xml; charset=utf-8"],
  ] as const)("GET %s answers %s to everybody, and the browser asks for it each time", async (path, name, type) => {
    const { status, text, headers } = await get(path);
    expect([status, text, headers.get("content-type")]).toEqual([200, texts[name], type]);
    expect(headers.get("cache-control")).toBe("no-cache");
  });

  test("a file with a hash in its name is kept for a year", async () => {
    const { status, headers } = await get("/console/task-ABCD2345.js");
    expect([status, headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
  });

  test("a file that the browser has is answered with 304, and the headers of a 200", async () => {
    const { headers } = await get("/console/app.js");
    const etag = headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[\w-]{27}"$/);
    const again = await get("/console/app.js", { "if-none-match": `"other", ${etag}` });
    expect([again.status, again.text]).toEqual([304, ""]);
    // They replace those that the browser has stored, the policy as well.
    for (const name of ["content-security-policy", "cache-control", "etag", "cross-origin-opener-policy"]) {
      expect(again.headers.get(name)).toBe(headers.get(name));
    }
  });

  test("another text has another tag", async () => {
    const tags = [await get("/console/app.js"), await get("/console/app.css"), await get("/console")];
    expect(new Set(tags.map(({ headers }) => headers.get("etag"))).size).toBe(3);
    expect((await get("/console/app.js", { "if-none-match": '"old"' })).status).toBe(200);
  });

  test.each([
    ...["nope.js", "..%2findex.html", "%2e%2e%2fpackage.json", "..%5cindex.html", "%00", "app.js%00", "index.html%2f"],
    ...["__proto__", "constructor", "toString", "APP.JS", "%61pp.css.", "%E0%A4", "%2fetc%2fpasswd", "app.js;x"],
  ])("GET /console/%s is a 404, as it is no name of a file", async (name) => {
    const answer = await get(`/console/${name}`);
    expect(answer).toMatchObject(problem(404, "not_found"));
    expect(answer.json.detail).toBe("The console has no such file.");
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test.each(["/console/../index.html", "/console/a/app.js", "/Console", "/console//app.js"])(
    "GET %s is no route of the console",
    async (path) => {
      expect(await get(path)).toMatchObject(problem(404, "not_found"));
    },
  );

  test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])("%s is refused", async (method) => {
    for (const path of ["/console", "/console/app.js"]) {
      const answer = await ask(newConsole(), path, { as: nobody, method });
      expect(answer).toMatchObject(problem(405, "method_not_allowed"));
      expect(answer.headers.get("allow")).toBe("GET");
    }
  });

  test("HEAD answers the headers", async () => {
    const { status, text, headers } = await ask(newConsole(), "/console/app.js", { as: nobody, method: "HEAD" });
    expect([status, text, headers.get("content-type")]).toEqual([200, "", "text/javascript; charset=utf-8"]);
  });

  test("the console does not start with a file whose content type it does not know", () => {
    expect(() => newConsole({ files: new Map([["notes.bin", ""]]) })).toThrow("the console has the file notes.bin");
  });
});

describe("a large file", () => {
  const text = "const x = 1;".repeat(1_000);
  const api = newConsole({ files: new Map([["app.js", text]]) });
  const read = async (headers: Record<string, string>) => {
    const response = await requestTo(api, "/console/app.js", { headers });
    return { response, bytes: Buffer.from(await response.arrayBuffer()) };
  };

  test.each(["gzip", "br, gzip;q=0.5", "deflate, GZIP", "gzip;q=1.0, *;q=0"])(
    "a large file is sent compressed to a browser that accepts %s",
    async (accepted) => {
      const { response, bytes } = await read({ "accept-encoding": accepted });
      expect([response.headers.get("content-encoding"), response.headers.get("vary")]).toEqual([
        ...["gzip", "accept-encoding"],
      ]);
      expect(bytes.length).toBeLessThan(500);
      expect(gunzipSync(bytes).toString()).toBe(text);
    },
  );

  test.each(["", "br", "gzip;q=0", "gzip;q=0.000", "x-gzip", "*"])(
    "a large file is sent as it is to a client that accepts %j",
    async (accepted) => {
      const { response, bytes } = await read({ "accept-encoding": accepted });
      expect([response.headers.get("content-encoding"), response.headers.get("vary")]).toEqual([
        ...[null, "accept-encoding"],
      ]);
      expect(bytes.toString()).toBe(text);
    },
  );

  test("each coding has a tag of its own, with which it is not sent again", async () => {
    const gzip = { "accept-encoding": "gzip" };
    const [plain, packed] = [await read({}), await read(gzip)];
    const etag = packed.response.headers.get("etag") ?? "";
    expect(plain.response.headers.get("etag")).not.toBe(etag);
    const again = await read({ ...gzip, "if-none-match": etag });
    expect([again.response.status, again.bytes.length]).toEqual([304, 0]);
    expect(again.response.headers.get("content-encoding")).toBeNull();
    expect((await read({ "if-none-match": etag })).response.status).toBe(200);
  });

  test("a gateway gets the compressed bytes in Base64", async () => {
    const handler = serve(api) as unknown as (event: unknown) => Promise<{ body: string; isBase64Encoded: boolean }>;
    const requestContext = { domainName: "api.test", http: { method: "GET" } };
    const headers = { host: "api.test", "accept-encoding": "gzip" };
    const event = { version: "2.0", rawPath: "/console/app.js", rawQueryString: "", headers, requestContext };
    const { body, isBase64Encoded } = await handler(event);
    expect(isBase64Encoded).toBe(true);
    expect(gunzipSync(Buffer.from(body, "base64")).toString()).toBe(text);
  });
});

describe("the content security policy", () => {
  test.each(["/console", "/console/app.js", "/console/config.json"])("%s carries the console's own", async (path) => {
    const answer = await get(path);
    expect(policyOf(answer)).toEqual({
      "default-src": "'none'",
      "script-src": "'self'",
      "style-src": "'self'",
      "img-src": "'self' data:",
      "connect-src": "'self'",
      "base-uri": "'none'",
      "form-action": "'none'",
      "frame-ancestors": "'none'",
      "require-trusted-types-for": "'script'",
    });
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "strict-transport-security": "max-age=31536000",
    });
  });

  test("the page may call the channels and the issuer, and no more", async () => {
    const signIn = { issuer: "https://login.example.com/realms/a", clientId: "console", scope: "openid" };
    const origins = ["https://tokens.example.com", "https://login.example.com"];
    const more = { socketUrl: () => "wss://push.example.com/v1", signIn: { ...signIn, origins } };
    expect(policyOf(await get("/console", {}, more))["connect-src"]).toBe(
      "'self' wss://push.example.com https://login.example.com https://tokens.example.com",
    );
  });

  test("the page may read large results where the API redirects to", async () => {
    const answer = await get("/console", {}, { filesOrigin: "http://127.0.0.1:9000" });
    expect(policyOf(answer)["connect-src"]).toBe("'self' http://127.0.0.1:9000");
  });

  test("the URL of channels is asked for with each request, as a local server learns it late", async () => {
    let socketUrl: string | undefined;
    const api = newConsole({ socketUrl: () => socketUrl });
    const read = () => ask(api, "/console/config.json", { as: nobody });
    const before = await read();
    socketUrl = "ws://127.0.0.1:3000/_local/channel";
    const after = await read();
    expect([before.json.push, after.json.push]).toEqual([false, true]);
    expect(policyOf(after)["connect-src"]).toBe("'self' ws://127.0.0.1:3000");
    expect(after.headers.get("etag")).not.toBe(before.headers.get("etag"));
  });
});

describe("GET /console/config.json", () => {
  test("the page learns its deployment, and nothing secret", async () => {
    const { json, headers } = await get("/console/config.json");
    expect(json).toEqual({ version: "1.2.3", name: "Offload-prod", local: false, push: false, oidc: null });
    expect([headers.get("content-type"), headers.get("cache-control")]).toEqual(["application/json", "no-cache"]);
  });

  test("the page learns where to sign in", async () => {
    const signIn = { issuer: "https://login.example.com", clientId: "console", scope: "openid offload", origins: [] };
    const { json } = await get("/console/config.json", {}, { signIn });
    expect(json.oidc).toEqual({ issuer: "https://login.example.com", client_id: "console", scope: "openid offload" });
  });
});

describe("the settings", () => {
  const read = (env: Record<string, string>) => consoleSettings(fromEnv(env, consoleSettingNames));
  const issuer = { OFFLOAD_JWT_ISSUER: "https://login.example.com" };
  const client = { ...issuer, OFFLOAD_CONSOLE_CLIENT_ID: "console" };

  test("a deployment has its name, and users sign in with a key", () => {
    const env = { OFFLOAD_VERSION: "1.2.3", OFFLOAD_DEPLOYMENT: "Offload-prod", ...issuer };
    const expected = { version: "1.2.3", name: "Offload-prod", local: false, signIn: undefined };
    expect(read(env)).toEqual(expected);
  });

  test("the local server is known by what only it has", () => {
    expect(read({ OFFLOAD_LOCAL_HEALTH: '{"s3_url":"http://127.0.0.1:9000"}' })).toMatchObject({
      ...{ local: true, name: "local", filesOrigin: "http://127.0.0.1:9000" },
    });
  });

  test("a client id turns sign-in at the issuer on", () => {
    const signIn = { issuer: "https://login.example.com", clientId: "console" };
    expect(read(client).signIn).toEqual({ ...signIn, scope: "openid", origins: [] });
    const more = {
      OFFLOAD_CONSOLE_SCOPE: "openid offload",
      OFFLOAD_CONSOLE_ORIGINS: "https://a.example, http://localhost:9000",
    };
    expect(read({ ...client, ...more }).signIn).toEqual({
      ...signIn,
      scope: "openid offload",
      origins: ["https://a.example", "http://localhost:9000"],
    });
  });

  test.each([
    ["a client without an issuer", { OFFLOAD_CONSOLE_CLIENT_ID: "console" }, "set OFFLOAD_JWT_ISSUER"],
    ["an empty scope", { ...client, OFFLOAD_CONSOLE_SCOPE: "" }, "OFFLOAD_CONSOLE_SCOPE: expected a text"],
    ...["http://a.example", "a.example", "*", "https://a.example/", "https://a.example/token", "https://a b"].map(
      (origin) => [
        `the origin ${origin}`,
        { ...client, OFFLOAD_CONSOLE_ORIGINS: origin },
        "OFFLOAD_CONSOLE_ORIGINS: expected https origins, such as https://login.example.com",
      ],
    ),
    ["a directive", { ...client, OFFLOAD_CONSOLE_ORIGINS: "https://a;script-src" }, "expected https origins"],
  ] as [string, Record<string, string>, string][])("%s is refused", (_, env, message) => {
    expect(() => read(env)).toThrow(message);
  });
});
