import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";

describeConsole("forms", {}, (here) => {
  const open = (type: string): Promise<Page> => here.browser.open("dev-acme", `#/submit?type=${type}`);
  const submit = (page: Page) => page.getByRole("button", { name: "Submit", exact: true });
  const tasksOf = async (order: string) => {
    const answer = await here.operator.get(`/tasks?${new URLSearchParams({ "tag.order": order })}`);
    return answer.json<{ tasks: object[] }>().tasks.length;
  };

  test("a number that would be changed is refused before it is sent", { timeout: 300_000 }, async () => {
    const page = await open("probe.echo");
    await page.getByLabel(/^value/).fill('{"id": 9007199254740993}');
    await page
      .getByText("value: 9007199254740993: this number is too large to be kept exactly; send it as text.")
      .waitFor();
    expect(await submit(page).isDisabled()).toBe(true);
    await page.getByLabel(/^value/).fill('{"id": 9007199254740992}');
    expect(await submit(page).isDisabled()).toBe(false);
    await page.goto(`${here.url}/console#/schedules/new`);
    await page.getByLabel("Input as JSON").fill('{"value": 12345678901234567}');
    await page.getByText(/12345678901234567: this number is too large/).waitFor();
    await page.context().close();
  });

  test("a field's fault stays while another field is filled in", { timeout: 300_000 }, async () => {
    const page = await open("probe.fanout");
    await page.getByLabel(/^fail_every/).fill("9007199254740993");
    await page.getByLabel(/^die_after/).fill("2");
    await page.getByText(/^fail_every: 9007199254740993: this number is too large/).waitFor();
    expect(await submit(page).isDisabled()).toBe(true);
    expect(await page.getByRole("button", { name: "Write JSON" }).isDisabled()).toBe(true);
    expect(await page.getByLabel(/^fail_every/).inputValue()).toBe("9007199254740993");
    await expectClean(page, "form-fault");
    await page.getByLabel(/^fail_every/).fill("");
    expect(await submit(page).isDisabled()).toBe(false);
    // A field that takes null is null while it is empty.
    await page.getByLabel(/^fail_every/).fill("3");
    await page.getByLabel(/^die_after/).fill("");
    await page.getByText("As a request").click();
    const body = page.locator("pre").filter({ hasText: "fail_every" });
    await body
      .filter({ hasText: /"fail_every":\s*3/ })
      .filter({ hasNotText: /"die_after":\s*2/ })
      .waitFor();
    await page.context().close();
  });

  test("a switch shows its default", { timeout: 300_000 }, async () => {
    const page = await open("probe.sleep");
    expect(await page.getByLabel(/^heed_abort/).isChecked()).toBe(true);
    await page.getByLabel(/^heed_abort/).uncheck();
    await page.getByText("As a request").click();
    await page.getByText(/"heed_abort":\s*false/).waitFor();
    await page.context().close();
  });

  test("JSON that is no object of the form's fields does not become a form", { timeout: 300_000 }, async () => {
    const page = await open("probe.fail");
    await page.getByRole("button", { name: "Write JSON" }).click();
    for (const text of ["null", "[]", '{"message": {"a": 1}}', '{"other": 1}']) {
      await page.getByLabel("Input as JSON").fill(text);
      await page.getByText("This input does not fit the form's fields.").waitFor();
      expect(await page.getByRole("button", { name: "Fill in a form" }).isDisabled()).toBe(true);
    }
    await page.getByLabel("Input as JSON").fill('{"message": "on fire"}');
    await page.getByRole("button", { name: "Fill in a form" }).click();
    expect(await page.getByLabel(/^message/).inputValue()).toBe("on fire");
    await page.getByText("/kind").waitFor();
    await page.getByText("is required").waitFor();
    await page.context().close();
  });

  test("a lost answer and a double click make one task; its tags may have commas", { timeout: 300_000 }, async () => {
    const page = await open("probe.echo");
    await page.getByLabel(/^value/).fill("1");
    await page.getByText("Options").click();
    await page.getByLabel("Tags, one a line").fill("order=5001, 5002\nteam=red");
    let lost = 0;
    await page.route(/\/tasks$/, async (request) => {
      if (request.request().method() !== "POST" || lost > 1) return request.continue();
      lost += 1;
      await request.fetch();
      return request.abort();
    });
    await submit(page).click();
    await page.getByText(/The task may have been accepted/).waitFor();
    expect(await tasksOf("5001, 5002")).toBe(1);
    await submit(page).dblclick();
    await page.getByRole("link", { name: "open the task" }).waitFor();
    expect(await tasksOf("5001, 5002")).toBe(1);
    await expect.poll(() => submit(page).isDisabled()).toBe(false);
    await submit(page).click();
    await expect.poll(() => tasksOf("5001, 5002")).toBe(2);
    await page.context().close();
  });

  test("a link to a type that does not exist chooses no other", { timeout: 300_000 }, async () => {
    const page = await open("does.not.exist");
    await page.getByText("There is no task type does.not.exist.").waitFor();
    expect(await submit(page).count()).toBe(0);
    await page.context().close();
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(here.browser.problems.filter((text) => !text.includes("net::ERR_FAILED"))).toEqual([]);
  });
});
