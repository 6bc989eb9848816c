import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { addPlacesToFetch } from "../../src/aws/fetch-places.ts";
import { plainStackOf } from "../../src/core/model/stack.ts";

const scope = { fetch: globalThis.fetch };
addPlacesToFetch(scope);

/** An address at which nothing listens. */
async function closedUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  await new Promise((closed) => server.close(closed));
  return `http://127.0.0.1:${port}/`;
}

async function callLedger(url: string) {
  const response = await scope.fetch(url);
  return response.json();
}

test("a refused connection names the function that called fetch, and the cause", async () => {
  const error = await callLedger(await closedUrl()).catch((thrown: unknown) => thrown);
  const stack = (await plainStackOf(error)) ?? "";
  expect(stack).toMatch(/^TypeError: fetch failed\n/);
  expect(stack).toMatch(/\n {4}at (?:async )?callLedger \(.*fetch-places\.test\.ts:\d+:\d+\)\n/);
  expect(stack).toMatch(/\ncaused by Error ECONNREFUSED: connect ECONNREFUSED 127\.0\.0\.1:\d+$/);
});

test("a call that succeeds, and an abort, are passed on", async () => {
  const server = createServer((_, response) => response.end("{}"));
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  expect(await callLedger(url)).toEqual({});
  await expect(scope.fetch(url, { signal: AbortSignal.abort(new RangeError("stop")) })).rejects.toThrow("stop");
  server.closeAllConnections();
  server.close();
});

test("adding the places twice changes nothing more", () => {
  const once = scope.fetch;
  addPlacesToFetch(scope);
  expect(scope.fetch).toBe(once);
});
