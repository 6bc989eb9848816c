import { expect, test } from "vitest";
import { createRouter } from "../../src/api/http/api.ts";
import { noTracing } from "../../src/core/ports/tasks.ts";
import { addConsoleLinkRoute, consoleLink } from "../../src/local/server/console-link.ts";
import { KeptLog } from "../support/kept.ts";
import { requestTo } from "../support/request-to.ts";

function route() {
  const api = createRouter({ newCorrelationId: () => "c", log: new KeptLog(), tracing: noTracing });
  addConsoleLinkRoute(api);
  return async (token: unknown) => {
    const headers = { "content-type": "application/json" };
    const answer = await requestTo(api, "/_local/sign-in", {
      method: "POST",
      headers,
      body: JSON.stringify({ token }),
    });
    return { status: answer.status, ...((await answer.json()) as { key?: string }) };
  };
}

const tokenOf = (link: string): string => link.replace(/^.*#token=/, "");

test("the link of the console gives an admin's key, once", async () => {
  const ask = route();
  const link = consoleLink("http://127.0.0.1:3000", "a:acme:operator,b:acme:admin");
  expect(link).toMatch(/^http:\/\/127\.0\.0\.1:3000\/console#token=[\w-]{22}$/);
  expect(await ask(tokenOf(link))).toEqual({ status: 200, key: "b" });
  expect(await ask(tokenOf(link))).toMatchObject({ status: 404 });
  expect(await ask("guess")).toMatchObject({ status: 404 });
});

test("without an admin's key it has the first one; without keys it signs nobody in", async () => {
  const ask = route();
  expect(await ask(tokenOf(consoleLink("", "a:acme:operator,c:acme:submitter")))).toEqual({ status: 200, key: "a" });
  expect(consoleLink("http://x", "")).toBe("http://x/console");
});

test("only the newest ten links work", async () => {
  const ask = route();
  const links = Array.from({ length: 11 }, () => consoleLink("", "a:acme:admin"));
  expect(await ask(tokenOf(links[0] ?? ""))).toMatchObject({ status: 404 });
  expect(await ask(tokenOf(links[10] ?? ""))).toMatchObject({ status: 200 });
});
