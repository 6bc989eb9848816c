import { afterAll, expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";
import { OidcIssuer } from "../../support/oidc-issuer.ts";

const issuer = new OidcIssuer();
const settings = {
  ...{ OFFLOAD_JWT_ISSUER: await issuer.start(), OFFLOAD_JWT_AUDIENCE: "offload" },
  OFFLOAD_CONSOLE_CLIENT_ID: "offload-console",
};
afterAll(() => issuer.close());

describeConsole("a sign-in with the deployment's issuer", settings, (here) => {
  const button = /^Sign in with 127\.0\.0\.1/;

  test("it goes to the issuer with PKCE, and comes back to the same place", { timeout: 300_000 }, async () => {
    const page = await here.browser.open(undefined, "#/tasks?status=failed");
    await page.getByRole("button", { name: button }).waitFor();
    await expectClean(page, "sign-in-oidc");
    await page.getByRole("button", { name: button }).click();
    await page.getByRole("heading", { name: "Tasks" }).waitFor();
    expect(page.url()).toBe(`${here.url}/console#/tasks?status=failed`);
    await page.getByRole("button", { name: "Remove: Status is failed" }).waitFor();
    expect(await page.getByTitle("Principal olga").textContent()).toBe("olga operator");
    expect(issuer.answered).toEqual([200]);
    await page.context().close();
  });

  test("a code that nobody asked for in this tab is not used", { timeout: 300_000 }, async () => {
    const page = await here.browser.open(undefined, "?code=stolen&state=forged#/tasks");
    await page.getByText("That sign-in was not begun in this tab. Sign in again.").waitFor();
    expect(page.url()).not.toContain("stolen");
    expect(issuer.answered).toEqual([200]);
    await page.context().close();
  });

  test("a refusal of the issuer is said", { timeout: 300_000 }, async () => {
    issuer.refuses = true;
    const page = await here.browser.open(undefined);
    await page.getByRole("button", { name: button }).click();
    await page.getByText(/The sign-in with the issuer failed/).waitFor();
    await page.getByLabel("API key").waitFor();
    expect(issuer.answered).toEqual([200]);
    await page.context().close();
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(here.browser.problems).toEqual([]);
  });
});
