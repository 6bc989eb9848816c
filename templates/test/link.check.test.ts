import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { testKit } from "offload/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import linkCheck from "../tasks/link.check.ts";

let answers = 0;
const site = createServer((request, response) => {
  answers += 1;
  // The first answer fails, as a site that is being deployed.
  response.statusCode = request.url === "/gone" ? 404 : answers === 1 ? 503 : 200;
  response.end("<title>Hello</title>");
});
let url = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
});
afterAll(() => void site.close());

test("a link is checked again when the site fails for a while", async () => {
  const outcome = await testKit([linkCheck]).run(linkCheck, { url });
  expect(outcome.status).toBe("completed");
  expect(outcome.result).toEqual({ status: 200, title: "Hello" });
  expect(outcome.attempts).toHaveLength(2);
});

test("a page that does not exist is not tried again", async () => {
  const outcome = await testKit([linkCheck]).run(linkCheck, { url: `${url}/gone` });
  expect(outcome).toMatchObject({ status: "failed", errorKind: "permanent" });
  expect(outcome.attempts).toHaveLength(1);
});
