import { expect, test } from "vitest";
import { describeConsole, expectClean } from "../../support/console-tests.ts";
import { expectStatus } from "../../support/http-client.ts";

describeConsole("the console of a viewer", { OFFLOAD_TIME_SCALE: "0.01" }, (here) => {
  const keyOf = async (inputs: boolean): Promise<string> =>
    expectStatus(await here.admin.post("/keys", { role: "viewer", inputs }), 201).json<{ key: string }>().key;
  const failed = async (): Promise<string> => {
    const { task_id } = await here.operator.submit(
      "probe.fail",
      { kind: "business_rule", message: "no such order" },
      { max_attempts: 1 },
    );
    await here.operator.ended(task_id);
    return task_id;
  };

  test("each page is there to read, and none has a button that changes something", { timeout: 300_000 }, async () => {
    const taskId = await failed();
    const page = await here.browser.open(await keyOf(false));
    const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    expect(await links.allTextContents()).toEqual([
      ...["Overview", "Tasks", "Dead letters", "Schedules", "Types", "Webhooks", "Audit"],
    ]);
    const changing =
      /retry|replay|discard|cancel|keep|priority|pause|resume|limits|delete|rotate|new schedule|create|run now|send|edit|submit|abort/i;
    for (const place of ["", "tasks", `tasks/${taskId}`, "dead-letters", "schedules", "types", "webhooks", "audit"]) {
      await page.goto(`${here.url}/console#/${place}`);
      await expectClean(page, `viewer-${place.split("/").join("-") || "overview"}`);
      const buttons = page.locator("main").locator("button, a.button").filter({ hasText: changing });
      expect(await buttons.allTextContents(), place).toEqual([]);
    }
    await page.goto(`${here.url}/console#/tasks/${taskId}`);
    await page.getByText("no such order").first().waitFor();
    for (const title of ["Log", "Input"]) {
      expect(await page.getByRole("heading", { name: title, exact: true }).count(), title).toBe(0);
    }
    await page.context().close();
  });

  test("with `inputs` a task has its input and its log", { timeout: 300_000 }, async () => {
    const taskId = await failed();
    const page = await here.browser.open(await keyOf(true));
    await page.goto(`${here.url}/console#/tasks/${taskId}`);
    for (const title of ["Log", "Input"]) {
      await page.getByRole("heading", { name: title, exact: true }).waitFor();
    }
    expect(await page.getByRole("button", { name: /Retry/ }).count()).toBe(0);
    await page.context().close();
  });
});
