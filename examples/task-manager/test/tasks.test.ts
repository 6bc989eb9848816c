import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testKit } from "offload/testing";
import { afterAll, expect, test } from "vitest";
import { startMailbox } from "../demo/mailbox.ts";
import mailSend from "../tasks/mail.send.ts";
import userNoteLogin from "../tasks/user.note_login.ts";
import { openUsers } from "../users/open.ts";

let refusal: number | undefined;
const mailbox = await startMailbox(0, () => {
  const responseCode = refusal;
  refusal = undefined;
  if (responseCode !== undefined) throw Object.assign(new Error("refused"), { responseCode });
});
const folder = mkdtempSync(join(tmpdir(), "task-manager-"));
process.env.SMTP_URL = mailbox.url;
process.env.USERS = `sqlite:${join(folder, "users.sqlite")}`;
const users = openUsers(process.env.USERS);
afterAll(async () => {
  await mailbox.close();
  rmSync(folder, { recursive: true });
});

const mail = { to: "ada@example.com", subject: "Hello", text: "Hello Ada" };
const loginOf = (email: string, device: string, minute: number) => ({
  id: crypto.randomUUID(),
  email,
  device,
  at: new Date(Date.UTC(2026, 0, 1, 8, minute)).toISOString(),
});

test("wherever the worker dies, all copies of a mail have one Message-ID, by which its receiver tells them", async () => {
  await testKit([mailSend]).crashEverywhere(mailSend, mail, (outcome) => {
    expect(outcome.status).toBe("completed");
    expect(new Set(mailbox.mails.splice(0).map(({ messageId }) => messageId)).size).toBe(1);
  });
});

test("a mail is tried again after a temporary refusal, and not after a final one", async () => {
  refusal = 451;
  expect((await testKit([mailSend]).run(mailSend, mail)).attempts).toHaveLength(2);
  refusal = 550;
  const outcome = await testKit([mailSend]).run(mailSend, mail);
  expect(outcome).toMatchObject({ status: "failed", errorKind: "permanent" });
  expect(outcome.attempts).toHaveLength(1);
});

test("wherever the worker dies, a new device leads to one mail, and a repeated login changes nothing", async () => {
  const email = "grace@example.com";
  await users.add(email, "");
  await users.noteLogin(email, loginOf(email, "a phone", 0));
  const login = loginOf(email, "a new device", 1);
  await testKit([userNoteLogin]).crashEverywhere(userNoteLogin, login, (outcome) => {
    expect(outcome).toMatchObject({ status: "completed", result: { newDevice: true } });
    expect(outcome.submitted).toMatchObject([{ type: "mail.send", input: { to: email } }]);
  });
});

test("the last login is the latest one, in whatever order logins are noted", async () => {
  const email = "alan@example.com";
  await users.add(email, "");
  const [early, late] = [loginOf(email, "a phone", 1), loginOf(email, "a laptop", 2)];
  expect(await users.noteLogin(email, late)).toBe(false); // the first device of all is not reported as new
  expect(await users.noteLogin(email, early)).toBe(true);
  expect(await users.noteLogin(email, early)).toBe(true);
  expect((await users.find(email))?.lastLogin).toBe(late.at);
});
