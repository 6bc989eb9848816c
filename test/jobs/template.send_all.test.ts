import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import { world } from "./tasks/lib/world.ts";
import sendAll from "./tasks/template.send_all.ts";

const csv = "recipient_1_email,recipient_1_name\na@b.co,Ada\nnot a mail,Bob\nc@d.co,Cy";
const input = { userId: "u", templateId: "t", csv, send: true };
const begin = () => world.begin({ "db/template": () => ({ recipients: 1 }) });

test("a bad row and one that is refused for good are named in the report", async () => {
  begin();
  world.refuse("documents/create", [404]);
  const { result } = await testKit([sendAll]).run(sendAll, input);
  expect(result).toMatchObject({ total: 3, failed: 2 });
  expect(result?.errors).toEqual([expect.stringContaining("row 1: StepFailed"), "row 2: invalid email"]);
  expect([world.of("documents/send").length, world.of("mail/send").length]).toEqual([1, 1]);
});

test("a file without the column is refused at once", async () => {
  begin();
  expect(await testKit([sendAll]).run(sendAll, { ...input, csv: "name\nAda" })).toMatchObject({
    status: "failed",
    errorKind: "validation",
    attempts: { length: 1 },
  });
});

test("each document is made and sent once, wherever the worker dies", async () => {
  begin();
  await testKit([sendAll]).crashEverywhere(sendAll, input, ({ status }) => {
    expect([status, world.of("documents/create").length]).toEqual(["completed", 2]);
    expect([world.of("documents/send").length, world.of("mail/send").length]).toEqual([2, 1]);
    begin();
  });
});
