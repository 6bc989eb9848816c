import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { offloadAnywhere } from "../../e2e/command-line.ts";
import { Client, until } from "../../support/http-client.ts";
import { startOwnServer } from "../../support/local-server.ts";
import { projectWith } from "../../support/project.ts";

/** A type whose handler sends again and again, whatever it is told. */
const mail = `import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { defineTask } from "offload";

export default defineTask({
  name: "mail.send",
  description: "Sends the same mail for ever, until somebody mends it.",
  input: z.object({ to: z.string(), file: z.string(), mended: z.boolean().optional() }),
  timeoutSeconds: 600,
  keepInput: true,
  handler: async ({ file, mended }) => {
    while (!mended) {
      appendFileSync(file, Date.now() + "\\n");
      await sleep(200);
    }
    return null;
  },
});
`;

/** The words of the commands on a page, in their order. A file that a command writes is left out. */
function commandsOf(section: string): string[][] {
  const page = readFileSync("docs/runbook.md", "utf8");
  const text = page.slice(page.indexOf(`## ${section}\n`) + 3).split(/^## /m)[0] ?? "";
  const lines = [...text.matchAll(/^ *npx offload ([^\n]*)$/gm)].map(([, line = ""]) => line.replace(/ > \S+$/, ""));
  return lines.map((line) => line.split(/\s+/).map((word) => word.replaceAll("'", "")));
}

test("the commands of the runbook's first page stop what does harm, say who got it, and let the rest go on slowly", async (context) => {
  using project = projectWith({ "mail.send": mail });
  const keys = "acme-key:acme:operator,globex-key:globex:operator,admin-key:on-call:admin";
  const server = await startOwnServer({ OFFLOAD_KEYS: keys }, project.folder);
  context.onTestFinished(() => server.stop());
  const acme = new Client(server.url, { token: "acme-key", tenant: "acme", role: "operator" });
  const globex = new Client(server.url, { token: "globex-key", tenant: "globex", role: "operator" });
  const file = join(project.folder, "mails");
  const send = (client: Client, to: string, mended?: boolean) => client.submit("mail.send", { to, file, mended });
  const sent = () => readFileSync(file, "utf8").trim().split("\n");
  const offload = async (words: readonly string[]) => {
    const ran = await offloadAnywhere([...words, "--url", server.url, "--key", "admin-key"]);
    expect(ran, words.join(" ")).toMatchObject({ code: 0 });
    return ran.out;
  };
  const harmful = [await send(acme, "ada@example.com"), await send(globex, "bob@example.com")];
  await until("the start of both", async () => {
    const statuses = await Promise.all([acme.task(harmful[0]?.task_id ?? ""), globex.task(harmful[1]?.task_id ?? "")]);
    return statuses.every(({ status }) => status === "processing") ? true : undefined;
  });
  const commands = commandsOf("Stop it now");
  const [pause = [], count = [], cancel = [], cancelNow = [], running = [], csv = [], ...goOn] = commands;
  expect(commands.length).toBeGreaterThan(10);
  expect(await offload(pause)).toContain("mail.send");
  const later = await send(acme, "eve@example.com", true);
  expect(await offload(count)).toMatch(/^3 tasks match/);
  // Only what runs is cancelled, as the page says: the new task runs later.
  expect(cancel).toEqual(expect.arrayContaining(["cancel", "--wait"]));
  await offload(cancelNow);
  await until("the end of both", async () => ((await offload(running)).startsWith("No tasks") ? true : undefined));
  // The processes of both end, when a busy machine comes to it.
  await expect
    .poll(async () => {
      const before = sent().length;
      await sleep(1_000);
      return sent().length - before;
    })
    .toBe(0);
  const harm = sent().length;
  const concerned = await offload(csv.map((word) => (word.startsWith("2026-") ? "2020-01-01" : word)));
  for (const [tenant, to] of [
    ["acme", "ada"],
    ["globex", "bob"],
  ]) {
    expect(concerned).toMatch(new RegExp(`^${tenant},.*,mail.send,cancelled,.*${to}@example.com`, "m"));
  }
  expect(await acme.task(later.task_id)).toMatchObject({ status: "pending" });
  for (const words of goOn) await offload(words);
  expect(sent().length).toBe(harm);
  await until("the end of the task that waited", async () =>
    (await acme.task(later.task_id)).status === "completed" ? true : undefined,
  );
});
