import { expect, test } from "vitest";
import { describeConsole } from "../../support/console-tests.ts";
import { expectStatus } from "../../support/http-client.ts";

const task = { type: "probe.echo", input: { value: 1 } };

describeConsole("buttons and dialogs", {}, (here) => {
  const newSchedule = async (name: string) => {
    const answer = await here.operator.post("/schedules", { name, every_seconds: 86_400, task });
    expectStatus(answer, 201);
    return answer.json<{ schedule_id: string }>().schedule_id;
  };

  test("a double click does it once", { timeout: 300_000 }, async () => {
    const id = await newSchedule("twice");
    const page = await here.browser.open("dev-acme", `#/schedules/${id}`);
    const sent: string[] = [];
    page.on("request", (request) => {
      const [, act] = request.url().split(`/schedules/${id}/`);
      if (request.method() !== "GET" && act !== undefined) sent.push(`${request.method()} ${act}`);
    });
    await page.getByRole("button", { name: "Run now" }).dblclick();
    await page.getByRole("link", { name: "open the task" }).waitFor();
    await page.getByRole("button", { name: "Pause" }).dblclick();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    expect(sent).toEqual(["POST run", "POST pause"]);
    await page.context().close();
  });

  test("a button keeps the focus, and a dialog gives it back", { timeout: 300_000 }, async () => {
    const page = await here.browser.open("dev-acme", `#/schedules/${await newSchedule("focus")}`);
    const focused = () => page.evaluate(() => document.activeElement?.textContent ?? "");
    await page.getByRole("button", { name: "Pause" }).press("Enter");
    await page.getByRole("button", { name: "Resume" }).waitFor();
    expect(await focused()).toBe("Resume");
    await page.getByRole("button", { name: "Delete …" }).press("Enter");
    await page.getByRole("dialog").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
    await expect.poll(focused).toBe("Delete …");
    await page.context().close();
  });

  test("a refusal that comes after its dialog was closed is said", { timeout: 300_000 }, async () => {
    const page = await here.browser.open("dev-acme", `#/schedules/${await newSchedule("late")}`);
    let answer = () => {};
    const wait = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/\/schedules\/[^/]+$/, async (request) => {
      if (request.request().method() !== "DELETE") return request.continue();
      await wait;
      return request.fulfill({ status: 409, json: { message: "Somebody changes it." } });
    });
    await page.getByRole("button", { name: "Delete …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Working …").waitFor();
    await page.keyboard.press("Escape");
    answer();
    await page.getByText("Delete the schedule: Somebody changes it. (409)").waitFor();
    expect(await page.getByRole("dialog").count()).toBe(0);
    await page.context().close();
  });

  test("a new key is shown on another page, too, until the reader has copied it", { timeout: 300_000 }, async () => {
    const page = await here.browser.open("dev-admin", "#/keys");
    let answer = () => {};
    const wait = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await page.route(/\/keys(\?|$)/, async (request) => {
      if (request.request().method() === "POST") await wait;
      return request.continue();
    });
    await page.getByRole("button", { name: "Create a key …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Create" }).click();
    await page.keyboard.press("Escape");
    await page.goto(`${here.url}/console#/queues`);
    answer();
    const dialog = page.getByRole("dialog", { name: "The new key" });
    await dialog.getByText(/^ofl_/).waitFor();
    for (let times = 0; times < 3; times++) await page.keyboard.press("Escape");
    await dialog.getByText(/^ofl_/).waitFor();
    await dialog.getByRole("button", { name: "I have copied it" }).click();
    await dialog.waitFor({ state: "detached" });
    expect(await page.getByText(/ofl_/).count()).toBe(0);
    await page.context().close();
  });

  test("the browser has nothing to complain about, such as the CSP", () => {
    expect(here.browser.problems).toEqual([]);
  });
});
