import { expect, test, vi } from "vitest";
import type { TaskView } from "../../src/core/model/task-view.ts";

// The console's places are read from a browser's location.
vi.stubGlobal("location", { hash: "" });
vi.stubGlobal("addEventListener", () => {});
const { choicesFor } = await import("../../console/src/palette-data.ts");

const known = {
  pages: [
    { path: "overview", title: "Overview" },
    { path: "tasks", title: "Tasks" },
  ],
  types: ["mail.send", "invoice.mail"],
  mayChange: true,
  mayOperate: true,
  tenant: undefined,
};
const placeOf = (steps: readonly string[]) => `#/${steps.join("/")}`;
const choices = (text: string, more: object = {}, found: Partial<TaskView>[] = []) =>
  choicesFor(text, { ...known, ...more }, found as TaskView[], placeOf).map(
    ({ title, choices: of }) => [title, of.map(({ name, place }) => `${name}: ${place}`)] as const,
  );

test("without a text it has the pages, and what one can begin", () => {
  expect(choices("")).toEqual([
    ["Pages", ["Overview: #/overview", "Tasks: #/tasks"]],
    ["Do", ["New schedule: #/schedules/new"]],
  ]);
});

test("found tasks come first, then pages, types and acts", () => {
  const found = { task_id: "t-1", type: "mail.send", tags: { order: "4711" } };
  expect(choices("mail", {}, [found])).toEqual([
    ["Tasks with mail", ["mail.send: #/tasks/t-1"]],
    ["Types", ["mail.send: #/types/mail.send", "invoice.mail: #/types/invoice.mail"]],
    [
      "Do",
      [
        "Show all tasks with “mail”: #/tasks?q=mail",
        "Submit mail.send: #/submit?type=mail.send",
        "Submit invoice.mail: #/submit?type=invoice.mail",
      ],
    ],
  ]);
});

test("a key opens its task, and the tenant of the page stays", () => {
  expect(choices("~mail.send:4711", { tenant: "globex", types: [] })).toEqual([
    [
      "Do",
      [
        "Open the task of the key ~mail.send:4711: #/tasks/~mail.send%3A4711?tenant=globex",
        "Show all tasks with “~mail.send:4711”: #/tasks?q=%7Email.send%3A4711&tenant=globex",
      ],
    ],
  ]);
});

test("it offers no act to one who may not change anything", () => {
  expect(choices("mail", { mayChange: false })).toEqual([
    ["Types", ["mail.send: #/types/mail.send", "invoice.mail: #/types/invoice.mail"]],
    ["Do", ["Show all tasks with “mail”: #/tasks?q=mail"]],
  ]);
});
