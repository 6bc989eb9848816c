import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startOwnServer } from "../support/local-server.ts";
import { releaseOf } from "../support/releases.ts";

/** Runs one of the project's programs in a folder. */
const run = (cwd: string, ...args: string[]): Promise<{ code: unknown; stderr: string }> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, { cwd }, (error, _, stderr) => resolve({ code: error?.code ?? 0, stderr }));
  });

test("a broken task file ends a review and a synth with an error that names it; a start runs the other types", async (context) => {
  using release = releaseOf("first");
  writeFileSync(join(release.folder, "tasks/mail.send.ts"), "export const mailSend = 1;");
  const server = await startOwnServer({}, release.folder);
  context.onTestFinished(() => server.stop());
  expect(server.output()).toContain(
    "Not loaded, the other types run: tasks/mail.send.ts has no default export. Expected ",
  );
  const [doctor, synth] = await Promise.all([
    run(release.folder, "bin/offload.js", "doctor"),
    run(release.folder, "bin/app.ts"),
  ]);
  const refused = (lead: RegExp) =>
    expect.stringMatching(new RegExp(`^${lead.source}tasks/mail\\.send\\.ts has no default export\\. Expected .*\\n$`));
  expect(doctor).toEqual({ code: 1, stderr: refused(/offload: the app does not synthesize: /) });
  expect(synth).toEqual({ code: 1, stderr: expect.stringContaining("\nTaskFileError: tasks/mail.send.ts has no ") });
});
