import { defineTask } from "offload";
import * as z from "zod";
import { openUsers } from "../users/open.ts";
import type { Users } from "../users/users.ts";
import mailSend from "./mail.send.ts";

let users: Users | undefined;

export default defineTask({
  name: "user.note_login",
  description: "Notes a login, and mails its user when the device is new.",
  input: z.strictObject({ id: z.uuid(), email: z.email(), device: z.string().max(100), at: z.iso.datetime() }),
  // Another tier than mails: a flood of mails, or of their retries, takes no worker and no place in the queue from logins.
  priority: "high",
  timeoutSeconds: 20,
  sensitive: true,
  handler: async ({ id, email, device, at }, task) => {
    users ??= openUsers(process.env.USERS);
    const newDevice = await users.noteLogin(email, { id, at, device });
    if (!newDevice) return { newDevice };
    const text = `Your account was used on a new device at ${at}. If this was not you, change your password.`;
    await task.submit(mailSend, { to: email, subject: "Sign-in on a new device", text });
    return { newDevice };
  },
});
