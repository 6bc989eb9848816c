import { mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { TaskView } from "../../../src/core/model/task-view.ts";
import { describeConsole, expectClean } from "../../support/console-tests.ts";

/** Texts that would run a script, or turn the text around them, where a page shows them as they are. */
const attacks = [
  `<img src=x onerror="window.attacked=1">`,
  `"><script>window.attacked=1</script>`,
  `<svg onload=window.attacked=1>`,
  `javascript:window.attacked=1`,
  `user\u202egpj.exe\u2066\u200b`,
];
const attack = attacks.join(" ");

const folder = mkdtempSync(join(tmpdir(), "offload-task-"));
const settings = {
  ...{ OFFLOAD_TRACING: "1", OFFLOAD_SPANS_FILE: join(folder, "spans.jsonl") },
  OFFLOAD_CALLBACK_HOSTS: "127.0.0.1:9",
};

describeConsole("a task", settings, (here) => {
  let page: Page;
  const dialogs: string[] = [];

  beforeAll(async () => {
    page = await here.browser.open("dev-acme", "#/tasks");
    page.on("dialog", (dialog) => {
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true }));

  const part = (name: string): Locator =>
    page.locator("section.part").filter({ has: page.getByRole("heading", { name, exact: true }) });
  const open = async (taskId: string) => {
    await page.goto(`${here.url}/console#/tasks/${taskId}`);
    await page.locator(".task-head").getByText(taskId).waitFor();
  };
  const story = () => page.getByRole("table", { name: /^What happened/ });
  const status = () => page.locator(".task-head").getByRole("status");
  const button = (name: string) => page.getByRole("button", { name });
  const clean = (name: string) => expectClean(page, name);

  test("a failed task is found by its order, understood, mended and replayed", { timeout: 300_000 }, async () => {
    const tags = { order: "7001" };
    const { task_id } = await here.operator.submit(
      "probe.fail",
      { kind: "permanent", message: "the printer is on fire" },
      { tags },
    );
    await here.operator.ended(task_id);
    const other = await here.operator.submit("probe.fail", { kind: "permanent" }, { tags: { order: "7002" } });
    await here.operator.ended(other.task_id);
    await page.getByRole("searchbox", { name: "Search" }).fill("7001");
    await page.keyboard.press("Enter");
    const found = page.getByRole("table", { name: "Tasks" }).getByRole("link", { name: "probe.fail" });
    await expect.poll(() => found.count(), { timeout: 300_000, interval: 250 }).toBe(1);
    await found.click();

    await page.getByRole("heading", { name: "Why it failed" }).waitFor();
    await part("Why it failed").getByText("the printer is on fire").first().waitFor();
    await part("Why it failed").getByText("permanent", { exact: true }).first().waitFor();
    await part("Why it failed").getByText("probe.fail.ts").first().waitFor();
    await story().getByRole("row", { name: "Attempt 1 failed" }).waitFor();
    await story().getByRole("button", { name: "Attempt 1 failed" }).click();
    await story().getByText("probe.fail.ts").first().waitFor();
    await clean("failed");

    await button("Edit input and replay …").click();
    const dialog = page.getByRole("dialog", { name: "Edit the input and replay" });
    const text = dialog.getByLabel("Input as JSON");
    await expect.poll(() => text.inputValue()).toContain("the printer is on fire");
    await text.fill(`{ "kind": "permanent", `);
    await dialog.getByRole("button", { name: "Replay" }).click();
    await dialog.getByText("This is not JSON").waitFor();
    await text.fill(`{ "kind": "permanent", "times": -1 }`);
    await dialog.getByRole("button", { name: "Replay" }).click();
    await dialog.getByText("/input/times").first().waitFor();
    await dialog.getByText("it was not sent").waitFor();
    await clean("replay");
    await text.fill(`{ "kind": "permanent", "times": 0 }`);
    await dialog.getByRole("button", { name: "Replay" }).click();
    await dialog.waitFor({ state: "detached" });
    await status().getByText("completed").waitFor();
    await part("Result").getByText("attempt").waitFor();
    await page.getByRole("table", { name: "What happened, Round 2" }).waitFor();
    await part("What happened").getByText("1 attempt failed").click();
    await page.getByRole("table", { name: "What happened, Round 1" }).getByText("Attempt 1 failed").waitFor();
    await clean("replayed");
  });

  test("an input that only the API refuses is refused with its path", { timeout: 300_000 }, async () => {
    // As after a deployment without the type: the page has no schema.
    await page.route("**/types", (route) => route.fulfill({ json: { types: [], tenant_paused_since: null } }));
    const { task_id } = await here.operator.submit("probe.fail", { kind: "permanent" });
    await here.operator.ended(task_id);
    await page.goto("about:blank");
    await page.goto(`${here.url}/console#/tasks/${task_id}`);
    await button("Edit input and replay …").click();
    const dialog = page.getByRole("dialog", { name: "Edit the input and replay" });
    await dialog.getByLabel("Input as JSON").fill(`{ "kind": "no such kind" }`);
    await dialog.getByRole("button", { name: "Replay" }).click();
    await dialog.getByRole("alert").getByText("/input/kind").waitFor();
    expect((await here.operator.task(task_id)).status).toBe("failed");
    await clean("refused");
    await dialog.getByRole("button", { name: "Close" }).click();
    await page.unroute("**/types");
  });

  test("a task that waits says for what, and goes on by a signal", { timeout: 300_000 }, async () => {
    const { task_id } = await here.operator.submit("probe.wait", { name: "approved", timeout_seconds: 3600 });
    await open(task_id);
    await part("What it waits for").getByText("The signal approved").waitFor();
    await part("Steps").getByText("approved").waitFor();
    await clean("waiting");
    await button("Send signal …").click();
    const dialog = page.getByRole("dialog", { name: "Send a signal" });
    await dialog.getByLabel("Body as JSON").fill(`{ "by": "olga" }`);
    await clean("signal");
    await dialog.getByRole("button", { name: "Send" }).click();
    await status().getByText("completed").waitFor();
    await part("Result").getByText("olga").waitFor();
  });

  test("a task that is to start later can be moved, kept longer and cancelled", { timeout: 300_000 }, async () => {
    const { task_id } = await here.operator.submit("probe.echo", { value: 1 }, { delay_seconds: 3600 });
    await open(task_id);
    await status().getByText("scheduled").waitFor();
    await part("What it waits for").getByText("It is to start").waitFor();
    await part("Input").getByText("value").waitFor();
    await button("Change priority …").click();
    await page.getByRole("combobox", { name: "Priority" }).selectOption("high");
    await page.getByRole("button", { name: "Change", exact: true }).click();
    await part("Facts").getByText("high", { exact: true }).waitFor();
    await button("Cancel …").click();
    const dialog = page.getByRole("dialog", { name: "Cancel the task" });
    await dialog.getByText("its handler is not called any more").waitFor();
    await dialog.getByRole("button", { name: "Cancel the task" }).click();
    await status().getByText("cancelled").waitFor();
    await expect.poll(() => button("Cancel …").count()).toBe(0);
    await button("Keep longer …").click();
    await page.getByRole("spinbutton", { name: "Days" }).fill("20");
    await page.getByRole("button", { name: "Keep", exact: true }).click();
    const until = async () => Date.parse((await here.operator.task(task_id)).retained_until ?? "");
    await expect.poll(until).toBeGreaterThan(Date.now() + 19 * 86_400_000);
    await clean("cancelled");
  });

  test("a task that waits for its time runs now when somebody asks for it", { timeout: 300_000 }, async () => {
    const { task_id } = await here.operator.submit("probe.echo", { value: 1 }, { delay_seconds: 3600 });
    await open(task_id);
    await button("Run now …").click();
    await page.getByRole("dialog", { name: "Run the task now" }).getByRole("button", { name: "Run now" }).click();
    await status().getByText("completed").waitFor();
    expect(await button("Run now …").count()).toBe(0);
  });

  test("a task that waits for its time gets another one; a time in the past is refused with the present one", {
    timeout: 300_000,
  }, async () => {
    const { task_id } = await here.operator.submit("probe.echo", { value: 1 }, { delay_seconds: 3600 });
    await open(task_id);
    await story()
      .getByRole("row", { name: /^waits for its start/ })
      .waitFor();
    await button("Reschedule …").click();
    const dialog = page.getByRole("dialog", { name: "Move the start of the task" });
    const at = dialog.getByLabel("Starts at (your clock)");
    await at.fill("2020-01-01T10:00");
    await dialog.getByRole("button", { name: "Move it" }).click();
    await dialog
      .getByRole("alert")
      .getByText(/is in the past. Choose a time after/)
      .waitFor();
    await clean("reschedule");
    const wanted = new Date(Math.ceil(Date.now() / 86_400_000 + 2) * 86_400_000).toISOString();
    await at.fill(
      await page.evaluate((iso) => {
        const time = new Date(iso);
        return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
      }, wanted),
    );
    await dialog.getByRole("button", { name: "Move it" }).click();
    await dialog.waitFor({ state: "detached" });
    expect((await here.operator.task(task_id)).run_at).toBe(wanted);
    await here.operator.post(`/tasks/${task_id}/cancel`);
  });

  test("a long wait is folded on the axis, and has its true length when asked for", { timeout: 300_000 }, async () => {
    const { task_id } = await here.operator.submit(
      "probe.fail",
      { kind: "rate_limited", message: "the mail server is busy", retry_after_seconds: 3_000 },
      { max_attempts: 3 },
    );
    await here.operator.waitFor(task_id, ({ next_attempt_at }) => next_attempt_at !== null);
    await open(task_id);
    await status().getByText("retrying").waitFor();
    await part("What it waits for").getByText("the mail server is busy").first().waitFor();
    await story()
      .getByRole("row", { name: /^waits before attempt 2/ })
      .waitFor();
    await expect.poll(() => page.locator("svg.lane .fold").count()).toBeGreaterThan(0);
    await clean("retrying");
    await button("True time").click();
    await expect.poll(() => page.locator("svg.lane .fold").count()).toBe(0);
    expect(await page.locator("main [style]").count()).toBe(0);
    await button("Run now …").click();
    await page.getByRole("dialog", { name: "Run the task now" }).getByRole("button", { name: "Run now" }).click();
    await story()
      .getByRole("row", { name: /^Attempt 2/ })
      .waitFor();
  });

  test("the task of a unique key opens by its address, and the list finds it by its key, for operations, too", {
    timeout: 300_000,
  }, async () => {
    const options = { delay_seconds: 3600, unique: { key: "post/4711" } };
    const { task_id } = await here.operator.submit("probe.echo", { value: 1 }, options);
    await page.goto(`${here.url}/console#/tasks`);
    await page.getByRole("searchbox", { name: "Search" }).fill("~probe.echo:post/4711");
    await page.keyboard.press("Enter");
    await page.locator(".task-head").getByText(task_id).waitFor();
    await expect.poll(() => new URL(page.url()).hash).toBe(`#/tasks/${task_id}`);
    await page.goto(`${here.url}/console#/tasks?unique_key=post%2F4711`);
    await page.getByRole("alert").getByText("choose the type").waitFor();
    await page.goto(`${here.url}/console#/tasks?type=probe.echo&unique_key=post%2F4711`);
    const rows = page.getByRole("table", { name: "Tasks" }).getByRole("row");
    await expect.poll(() => rows.count()).toBe(2);
    await page.getByRole("button", { name: "Remove: Key is post/4711" }).waitFor();
    await button("Cancel all found …").click();
    const dialog = page.getByRole("dialog", { name: "Cancel tasks" });
    await dialog.getByText("Of acme: what the search found").waitFor();
    await clean("key");
    await dialog.getByRole("button", { name: "Cancel 1" }).click();
    await dialog.getByText(/The operation is completed: 1 of 1/).waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    expect((await here.operator.task(task_id)).status).toBe("cancelled");
  });

  test("tries of a step, awaited children and the end of onFailed are on the page", { timeout: 300_000 }, async () => {
    const failed = await here.operator.submit("probe.onfailed", { how: "permanent" });
    await here.operator.waitFor(
      failed.task_id,
      (task) => (task as Partial<TaskView>).on_failed?.status === "completed",
    );
    await open(failed.task_id);
    await part("Why it failed").getByText("completed", { exact: true }).waitFor();
    await part("Why it failed").getByRole("link", { name: "its onFailed" }).click();
    await part("Family").getByRole("link", { name: "the task whose onFailed this is" }).waitFor();
    const tries = await here.operator.submit("probe.tries", { failures: 1, base_seconds: 3_600 });
    await here.operator.waitFor(tries.task_id, (task) => task.waiting_for?.kind === "step");
    await open(tries.task_id);
    await part("What it waits for").getByText("Attempt 2 of its step").waitFor();
    await story()
      .getByRole("row", { name: /^step fails #1 failed: attempt 1 of the step fails/ })
      .waitFor();
    await clean("tries");
    await here.operator.post(`/tasks/${tries.task_id}/cancel`);
    const parent = await here.operator.submit("probe.fanout", { children: 2, runs: true });
    await here.operator.ended(parent.task_id);
    await open(parent.task_id);
    await story()
      .getByRole("row", { name: /^child child 1 done/ })
      .waitFor();
    await part("Family").getByText("2 completed").waitFor();
    await clean("runs");
  });

  test("progress, children and the trace of a task", { timeout: 300_000 }, async () => {
    const { task_id } = await here.operator.submit("probe.sleep", { ms: 3_000, steps: 6 });
    await open(task_id);
    await page.getByRole("progressbar").first().waitFor();
    await status().getByText("completed").waitFor();
    const family = await here.operator.submit("probe.fanout", { children: 7, fail_every: 7 });
    await open(family.task_id);
    await status().getByText("failed").waitFor();
    await part("Family").getByText("6 completed, 1 failed").waitFor();
    await story()
      .getByRole("row", { name: /^7 children probe.child/ })
      .waitFor();
    await part("Family").getByText("All 7 children").click();
    await part("Family").getByLabel("Status").selectOption("failed");
    await expect.poll(() => part("Family").getByRole("listitem").count()).toBe(1);
    await part("Trace").getByRole("table").getByRole("row").nth(1).waitFor();
    await clean("family");
    await part("Family").getByRole("listitem").getByRole("link").click();
    await page.getByRole("heading", { name: "probe.child" }).waitFor();
    await part("Family").getByRole("link", { name: "probe.fanout" }).waitFor();
    await part("Family").getByText("6 siblings").waitFor();
    await clean("child");
    await part("Facts").getByRole("link", { name: family.task_id }).waitFor();
  });

  test("a file is saved as it is, and its webhook shows why it did not arrive", { timeout: 300_000 }, async () => {
    const callback = { url: "http://127.0.0.1:9/hook" };
    const { task_id } = await here.operator.submit("probe.bytes", { bytes: 1_000, as: "file" }, { callback });
    await here.operator.ended(task_id);
    await open(task_id);
    await part("Result").getByText("bytes.bin").waitFor();
    await part("Result").getByText("1000 bytes").waitFor();
    const [saved] = await Promise.all([page.waitForEvent("download"), button("Save as a file").click()]);
    expect(saved.suggestedFilename()).toBe("bytes.bin");
    expect(await readFile(await saved.path())).toEqual(Buffer.alloc(1_000));
    const tries = async () =>
      (await here.operator.get(`/tasks/${task_id}/deliveries`)).json<{ deliveries: [] }>().deliveries.length;
    await expect.poll(tries, { timeout: 300_000, interval: 250 }).toBeGreaterThan(0);
    await page.reload();
    await part("Webhook").getByRole("row").nth(1).waitFor();
    await part("Webhook").getByRole("button", { name: "Send again" }).click();
    await page.getByText("The webhook is sent again.").waitFor();
    await clean("file");
  });

  test("hostile texts, and a result of 5 MB, are shown and do nothing", { timeout: 300_000 }, async () => {
    const tags = { order: attacks[0] ?? "", name: attacks[4] ?? "" };
    const failed = await here.operator.submit("probe.fail", { kind: "permanent", message: attack }, { tags });
    await here.operator.ended(failed.task_id);
    await open(failed.task_id);
    await part("Why it failed").getByText("onerror").first().waitFor();
    expect(await page.locator(".task-head").textContent()).toContain("\\u202e");
    await clean("hostile");

    const value = { [attack]: attack, nested: attacks.map((one) => ({ [one]: [one] })), long: "<b>".repeat(70_000) };
    const large = await here.operator.submit("probe.echo", { value });
    await here.operator.ended(large.task_id);
    await open(large.task_id);
    await part("Result").getByRole("button", { name: "Show" }).click();
    await part("Result").getByText("210,000 characters").waitFor();
    await part("Result").getByText("\\u202e").first().waitFor();
    await clean("hostile-result");

    const huge = await here.operator.submit("probe.bytes", { bytes: 5_000_000, as: "json" });
    await here.operator.ended(huge.task_id);
    await open(huge.task_id);
    await part("Result").getByText("4.8 MiB").waitFor();
    await part("Result").getByRole("button", { name: "Show" }).click();
    await part("Result").getByText("4,999,998 characters").waitFor();
    await part("Result").getByRole("button", { name: "As text" }).click();
    await clean("huge");

    expect(await page.evaluate(() => (globalThis as { attacked?: number }).attacked)).toBeUndefined();
    expect(await page.locator("main img, main script, main svg:not([class])").count()).toBe(0);
    expect(dialogs).toEqual([]);
    await part("Facts")
      .getByRole("link", { name: (await here.operator.task(huge.task_id)).correlation_id })
      .click();
    await page.getByRole("heading", { name: "Tasks" }).waitFor();
  });

  test("nothing of all this was refused by the page's policy, and nothing failed", () => {
    // The browser reports each refusal of the API, such as that of an input which is no longer kept.
    expect(here.browser.problems.filter((text) => !/the server responded with a status of 4\d\d/.test(text))).toEqual(
      [],
    );
  });
});
