import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromium, noChromium } from "../../support/browser.ts";
import { axeFaults, ConsoleBrowser, pictures } from "../../support/console.ts";
import { OidcIssuer } from "../../support/oidc-issuer.ts";
import { startHere } from "../../support/own-process-server.ts";

if (chromium === undefined) console.error(`\n!!! THE CONSOLE WAS NOT TESTED: NO CHROMIUM !!!\n${noChromium}\n`);

describe.skipIf(chromium === undefined)("a sign-in with the deployment's issuer, in a browser", () => {
  const issuer = new OidcIssuer();
  let offload: Awaited<ReturnType<typeof startHere>>;
  let browser: ConsoleBrowser;

  beforeAll(async () => {
    offload = await startHere({
      ...{ OFFLOAD_JWT_ISSUER: await issuer.start(), OFFLOAD_JWT_AUDIENCE: "offload" },
      OFFLOAD_CONSOLE_CLIENT_ID: "offload-console",
    });
    browser = await ConsoleBrowser.start(offload.url);
  }, 60_000);
  afterAll(async () => {
    await browser.close();
    await offload.close();
    issuer.close();
  });

  const button = /^Sign in with 127\.0\.0\.1/;

  test("it goes to the issuer with PKCE, and comes back to the same place", { timeout: 180_000 }, async () => {
    const page = await browser.open(undefined, "#/tasks?status=failed");
    await page.getByRole("button", { name: button }).waitFor();
    await pictures(page, "sign-in-oidc");
    expect(await axeFaults(page)).toEqual([]);
    await page.getByRole("button", { name: button }).click();
    await page.getByRole("heading", { name: "Tasks" }).waitFor();
    expect(page.url()).toBe(`${offload.url}/console#/tasks?status=failed`);
    expect(await page.getByLabel("Status").inputValue()).toBe("failed");
    expect(await page.getByTitle("Principal olga").textContent()).toBe("operator");
    expect(issuer.answered).toEqual([200]);
    await page.context().close();
  });

  test("a code that nobody asked for in this tab is not used", { timeout: 180_000 }, async () => {
    const page = await browser.open(undefined, "?code=stolen&state=forged#/tasks");
    await page.getByText("That sign-in was not begun in this tab. Sign in again.").waitFor();
    expect(page.url()).not.toContain("stolen");
    expect(issuer.answered).toEqual([200]);
    await page.context().close();
  });

  test("a refusal of the issuer is said", { timeout: 180_000 }, async () => {
    issuer.refuses = true;
    const page = await browser.open(undefined);
    await page.getByRole("button", { name: button }).click();
    await page.getByText(/The sign-in with the issuer failed/).waitFor();
    await page.getByLabel("API key").waitFor();
    expect(issuer.answered).toEqual([200]);
    await page.context().close();
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(browser.problems).toEqual([]);
  });
});
