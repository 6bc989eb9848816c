/* The task types, for typed clients: `createClient<typeof tasks>()`. */
export { default as mailSend } from "./mail.send.ts";
export { default as userNoteLogin } from "./user.note_login.ts";
