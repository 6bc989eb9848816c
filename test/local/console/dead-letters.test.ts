import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";
import { submitAll } from "../../support/submit-all.ts";

describeConsole("dead letters, types and queues", {}, (here) => {
  let page: Page;

  const clean = (name: string) => expectClean(page, name);
  const fail = (message: string) => ({ type: "probe.fail", input: { kind: "permanent", message, times: null } });
  const letters = async () => {
    const answer = (await here.operator.get("/dead-letters/groups")).json<{
      groups: { error: string; count: number }[];
    }>();
    return answer.groups.map(({ error, count }) => `${count} ${error.replaceAll(/\d+/g, "n")}`).sort();
  };
  const group = (text: string) =>
    page.getByRole("navigation", { name: "Groups" }).getByRole("listitem").filter({ hasText: text });
  const open = async (text: string) => {
    await group(text).getByRole("link").click();
    await page.locator(".group-detail .trouble").getByText(text).waitFor();
  };

  test("60 failed tasks of one error are one group, whatever number their texts have", {
    timeout: 300_000,
  }, async () => {
    const first = new Date().toISOString();
    const many = Array.from({ length: 60 }, (_, index) => fail(`order ${index} has no address`));
    const others = [1, 2, 3].map((number) => fail(`printer ${number} is on fire`));
    await submitAll(here.operator, many);
    await submitAll(here.operator, [...others, fail("the file <img src=x onerror=alert(1)> is empty")]);
    await expect.poll(async () => (await letters()).length, { timeout: 300_000, interval: 500 }).toBe(3);
    await expect
      .poll(letters, { timeout: 300_000, interval: 500 })
      .toEqual(
        [
          "1 the file <img src=x onerror=alert(n)> is empty",
          "3 printer n is on fire",
          "60 order n has no address",
        ].sort(),
      );
    page = await here.browser.open("dev-acme", "#/overview");
    await deployedBefore(page, first);
    await page.goto(`${here.url}/console#/dead-letters`);
    // The largest group stands open.
    await page.getByRole("heading", { name: "60 × probe.fail" }).waitFor();
    await group("<img src=x onerror=alert(1)>").waitFor();
    await page.locator(".when rect").first().waitFor();
    expect(await page.title()).toBe("64 · Dead letters · Offload local");
    expect(
      await group("")
        .getByText(/^since the deployment of \d\d:\d\d$/)
        .count(),
    ).toBe(3);
    await page.getByRole("link", { name: "Show only what is new" }).click();
    await page.getByText(/^Only what is new since the deployment of/).waitFor();
    expect(await page.getByRole("button", { name: "Replay all found …" }).count()).toBe(0);
    await clean("dead-letters-new");
    await page.getByRole("link", { name: "Show all" }).click();
    await page.getByRole("button", { name: "Replay all found …" }).waitFor();
    await clean("dead-letters");
    await page.keyboard.press("j");
    await page.getByRole("heading", { name: "3 × probe.fail" }).waitFor();
    await page.locator(".cause-code").getByText("probe.fail.ts").first().waitFor();
    await open("has no address");
  });

  test("the group of 60 is discarded after a dry run; the others stay", { timeout: 300_000 }, async () => {
    await page.getByRole("button", { name: "Discard 60 …" }).click();
    const dialog = page.getByRole("dialog", { name: "Discard dead letters" });
    await dialog.getByText("60 dead letters match.").waitFor();
    expect((await letters()).length).toBe(3);
    await clean("discard");
    expect(await dialog.getByRole("button", { name: "Discard 60", exact: true }).isDisabled()).toBe(true);
    await dialog.getByLabel(/^Type 60 to confirm/).fill("60");
    await dialog.getByRole("button", { name: "Discard 60", exact: true }).click();
    await dialog.getByText(/The operation is completed: 60 of 60/).waitFor({ timeout: 300_000 });
    await dialog.getByRole("button", { name: "Close" }).click();
    await group("has no address").waitFor({ state: "detached" });
    await page.getByText("This group has no dead letter any more.").waitFor();
    expect(await letters()).toEqual(["1 the file <img src=x onerror=alert(n)> is empty", "3 printer n is on fire"]);
  });

  test("a group opens its letters, with error and input; a replay has a rate, and can be aborted", {
    timeout: 300_000,
  }, async () => {
    await open("is on fire");
    // The stack beside it is that of the newest one, which can be this one.
    const newest = page.locator("section.part").filter({ has: page.getByRole("heading", { name: "Newest" }) });
    const letter = newest.getByRole("group").filter({ hasText: "printer 2 is on fire" });
    await letter.locator("summary").click();
    await letter.getByRole("link", { name: "Open the task, to edit its input" }).waitFor();
    await clean("letter");
    await page.getByRole("button", { name: "Replay 1 first …" }).waitFor();
    await page.getByRole("button", { name: "Replay 3 …" }).click();
    const dialog = page.getByRole("dialog", { name: "Replay dead letters" });
    await dialog.getByLabel(/per second/).fill("1");
    await dialog.getByRole("button", { name: "Replay 3", exact: true }).click();
    await dialog.getByRole("button", { name: "Abort" }).click();
    await dialog.getByText(/The operation is (cancelled|completed)/).waitFor({ timeout: 300_000 });
    await dialog.getByRole("button", { name: "Close" }).click();
  });

  test("a paused type's tasks wait, and start when it is resumed", { timeout: 300_000 }, async () => {
    await page.goto(`${here.url}/console#/types/probe.fail`);
    await page
      .getByRole("region", { name: "What fails" })
      .getByRole("link", { name: /^all since the deployment of/ })
      .first()
      .waitFor();
    await clean("type-fails");
    await page.goto(`${here.url}/console#/types`);
    await page.getByRole("row").filter({ hasText: "Returns its value." }).getByText("runs").waitFor();
    await clean("types");
    await page.getByRole("link", { name: "probe.echo", exact: true }).click();
    await clean("type");
    await page.getByRole("button", { name: "Pause for acme …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByText(/Paused for .*: accepted tasks wait/).waitFor();
    await clean("type-paused");
    const { task_id } = await here.operator.submit("probe.echo", { value: 1 }, { tags: { order: "2001" } });
    await here.operator.waitFor(task_id, ({ waiting_for }) => waiting_for?.kind === "pause");
    await page.goto(`${here.url}/console#/tasks?q=2001`);
    await page.getByRole("table", { name: "Tasks" }).getByText("paused", { exact: true }).waitFor();
    await clean("type-paused-tasks");
    await page.goto(`${here.url}/console#/types`);
    expect(await page.getByRole("row").nth(1).textContent()).toMatch(/^probe\.echo.*paused for acme/);
    await page.getByRole("link", { name: "probe.echo", exact: true }).click();
    await page.getByRole("button", { name: "Resume for acme …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByText(/^Paused for acme since/).waitFor({ state: "detached" });
    await page.goto(`${here.url}/console#/tasks?q=2001`);
    await page.getByRole("table", { name: "Tasks" }).getByText("completed").waitFor();
  });

  test("an admin sees the queues, and pauses one", { timeout: 300_000 }, async () => {
    await page.context().close();
    page = await here.browser.open("dev-admin", "#/queues");
    await page.getByRole("button", { name: "Pause low …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByRole("button", { name: "Resume low …" }).waitFor();
    await clean("queues");
    await page.getByRole("button", { name: "Resume low …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Resume", exact: true }).click();
    await page.getByRole("button", { name: "Pause low …" }).waitFor();
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(here.browser.problems).toEqual([]);
  });
});

/** A deployment at a time, and one a day before it: a local server has only its own start behind it. */
const deployedBefore = (page: Page, at: string) =>
  page.route(/\/deployments(\?|$)/, (route) => {
    const times = [at, new Date(Date.parse(at) - 86_400_000).toISOString()];
    const deployments = times.map((deployed_at) => ({
      started_at: deployed_at,
      deployed_at,
      version: "1.0.0",
      rolled_back: false,
    }));
    return route.fulfill({ json: { deployments } });
  });
