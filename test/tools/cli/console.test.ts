import { expect, test } from "vitest";
import { handOver } from "../../../src/tools/cli/console-commands.ts";
import { problem, programOf, StubApi } from "./stub-api.ts";

const { bare, offload } = programOf({ console: () => import("../../../src/tools/cli/console-commands.ts") });

const caller = { principal: "ops", role: "operator", tenant_id: "acme" };

test("--print prints a link that signs in with the command's key, whose tenant is in it, too", async () => {
  await using api = await StubApi.start(() => ({ json: caller }));
  const { code, out } = await offload(api.url, ["console", "--print", "--tenant", "globex"]);
  expect(code).toBe(0);
  const link = new URL(out.trim());
  expect(`${link.origin}${link.pathname}`).toBe(`${api.url}/console`);
  const fragment = Object.fromEntries(new URLSearchParams(link.hash.slice(1)));
  expect(fragment).toEqual({ key: api.seen[0]?.authorization?.replace("Bearer ", ""), tenant: "globex" });
  expect(api.seen.map(({ path }) => path)).toEqual(["/identity"]);
});

test("a key that the API refuses is said in the terminal, and nothing opens", async () => {
  await using api = await StubApi.start(() => problem(401, "unauthenticated", "The key is not valid."));
  const { code, out, notes } = await offload(api.url, ["console", "--print"]);
  expect({ code, out }).toEqual({ code: 1, out: "" });
  expect(notes).toContain("The key is not valid.");
});

test("without a key for a deployment it says which to set", async () => {
  const { code, notes } = await bare(["console", "--url", "https://offload.example.com"]);
  expect(code).toBe(2);
  expect(notes).toContain("OFFLOAD_KEY");
});

test("the browser is started with a link of this machine that has no key, and leads to the console once", async () => {
  const link = "https://api.example.com/console#key=ofl_secret";
  const said: string[] = [];
  const seen: unknown[] = [];
  const get = async (url: string) => {
    const { status, headers } = await fetch(url, { redirect: "manual" });
    return [status, headers.get("location"), headers.get("cache-control")];
  };
  let here = "";
  await handOver(link, { out: (line) => said.push(line) }, (url) => {
    here = url;
    void (async () => {
      seen.push(await get(new URL("/", url).href), await get(`${url}x`), await get(url));
    })();
  });
  await expect.poll(() => seen.length).toBe(3);
  expect(here).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}$/);
  expect(seen).toEqual([
    [404, null, "no-store"],
    [404, null, "no-store"],
    [302, link, "no-store"],
  ]);
  expect(said.join("\n")).toContain(here);
  expect(said.join("\n")).not.toContain("secret");
  await expect(fetch(here, { redirect: "manual" })).rejects.toThrow();
});
