import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { simpleParser } from "mailparser";
import { SMTPServer } from "smtp-server";

export interface Mail {
  to: string;
  subject: string;
  text: string;
  messageId: string;
}

/** Starts a mail server that keeps its mails. `take` is asked before a mail is taken: it may wait, or refuse by throwing. */
export async function startMailbox(port: number, take: (mail: Mail) => Promise<void> | void = () => {}) {
  const mails: Mail[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: async (stream, _session, done) => {
      try {
        const { to, subject = "", text = "", messageId = "" } = await simpleParser(stream);
        const mail = { to: [to ?? []].flat()[0]?.text ?? "", subject, text: text.trim(), messageId };
        await take(mail);
        mails.push(mail);
        done();
      } catch (error) {
        done(error as Error);
      }
    },
  });
  server.on("error", () => {}); // A client that gave up its connection.
  server.listen(port, "127.0.0.1");
  await once(server.server, "listening");
  const url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
  return { url, mails, close: () => new Promise<void>((closed) => server.close(() => closed())) };
}
