import { describe, expect, test } from "vitest";
import { expectProblem, expectStatus } from "../support/http-client.ts";
import { anonymous, operator } from "./callers.ts";
import { deployed } from "./command-line.ts";

/** Paths that a page or a style sheet of the console names. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/(?:src|href)="(\/[^"]*)"/g)].map(([, path = ""]) => path);

describe.concurrent("the console", () => {
  test("the page is answered without a token, and all that it loads is there", async () => {
    const page = expectStatus(await anonymous.get("/console"), 200);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'; script-src 'self'; /);
    const paths = pathsIn(page.text);
    expect(paths).toEqual(expect.arrayContaining(["/console/app.js", "/console/app.css", "/console/icon.svg"]));
    for (const path of paths) expectStatus(await anonymous.get(path), 200);
  });

  test("the script's parts are there, and keep for a year", async () => {
    const { text } = expectStatus(await anonymous.get("/console/app.js"), 200);
    const parts = [...new Set([...text.matchAll(/"\.\/([\w.-]+-[A-Z0-9]{8}\.js)"/g)].map(([, name]) => name))];
    expect(parts.length).toBeGreaterThan(0);
    for (const part of parts) {
      const answer = expectStatus(await anonymous.get(`/console/${part}`), 200);
      expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    }
  });

  test("the page learns its deployment", async () => {
    const settings = expectStatus(await anonymous.get("/console/config.json"), 200).json();
    const { version } = (await anonymous.get("/health")).json();
    expect(settings).toMatchObject({ version, local: !deployed, oidc: null, name: expect.stringMatching(/\S/) });
  });

  test("a browser that has a file gets 304", async () => {
    const etag = (await anonymous.get("/console/app.js")).headers.get("etag") ?? "";
    const again = expectStatus(await anonymous.get("/console/app.js", { "if-none-match": etag }), 304);
    expect([again.text, again.headers.get("etag")]).toEqual(["", etag]);
  });

  test.each(["nope.js", "..%2findex.mjs", "..%2f..%2fpackage.json", "%2e%2e", "__proto__"])(
    "no file is reached by the name %s",
    async (name) => {
      expectProblem(await anonymous.get(`/console/${name}`), 404, "not_found");
    },
  );

  test("only GET is possible", async () => {
    expectProblem(await operator.post("/console", {}), 405, "method_not_allowed");
  });
});
