import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { type ParsedMail, simpleParser } from "mailparser";
import { SMTPServer } from "smtp-server";

/** An answer of the mail server in place of 250. */
export interface Refusal {
  code: number;
  text: string;
}

/** Starts a mail server that keeps its mails. `answer` may refuse a mail before it is kept. */
export async function startMailbox(port: number, answer: (mail: ParsedMail) => Refusal | undefined = () => undefined) {
  const mails: ParsedMail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: async (stream, _session, done) => {
      try {
        const mail = await simpleParser(stream);
        const refusal = answer(mail);
        if (refusal !== undefined) throw Object.assign(new Error(refusal.text), { responseCode: refusal.code });
        mails.push(mail);
        done();
      } catch (error) {
        // A refusal, or a worker that was killed within its mail.
        done(error as Error);
      }
    },
  });
  server.on("error", () => {}); // A worker that was killed.
  server.listen(port, "127.0.0.1");
  await once(server.server, "listening");
  const url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  return { url, mails, close: () => new Promise<void>((closed) => server.close(() => closed())) };
}
