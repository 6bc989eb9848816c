import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { simpleParser } from "mailparser";
import { SMTPServer } from "smtp-server";

/* The world outside of the shop, for the demo and the tests: a mail server, and the shops' receivers of webhooks. */

export interface Mail {
  messageId: string;
  from: string;
  to: string;
  subject: string;
}

export interface Webhook {
  /** The header `webhook-id`. */
  id: string;
  /** Path of the receiver's URL. */
  path: string;
  tenant: string;
  order: string;
}

/** A fault of one try: `refuse` answers with an error before anything is accepted, `lose` after the receiver has the webhook. */
export type Fault = "refuse" | "lose";

export interface OutsideOptions {
  smtpPort?: number;
  webhookPort?: number;
  /** The fault of a try, from 1, such as the second one of `webhook acme 1001`. Default: none. */
  faultOf?(what: string, tryNumber: number): Fault | undefined;
  onMail?(mail: Mail): void;
  onWebhook?(webhook: Webhook): void;
}

const refusal = (code: number, message: string) => Object.assign(new Error(message), { responseCode: code });

export async function startOutside(options: OutsideOptions = {}) {
  const { smtpPort = 0, webhookPort = 0, faultOf = () => undefined } = options;
  const mails: Mail[] = [];
  const webhooks: Webhook[] = [];
  const tries = new Map<string, number>();
  /** The fault of the next try of a thing. */
  function nextFault(what: string): Fault | undefined {
    const tryNumber = (tries.get(what) ?? 0) + 1;
    tries.set(what, tryNumber);
    return faultOf(what, tryNumber);
  }

  async function receive(stream: Parameters<typeof simpleParser>[0] & NodeJS.ReadableStream): Promise<void> {
    const { messageId = "", subject = "", from, to } = await simpleParser(stream);
    if (nextFault(`mail ${messageId}`) !== undefined) throw refusal(451, "the mailbox is busy");
    const mail = { messageId, subject, from: from?.text ?? "", to: [to].flat().map((one) => one?.text)[0] ?? "" };
    mails.push(mail);
    options.onMail?.(mail);
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { tenant, order } = JSON.parse(await text(request)) as { tenant: string; order: { id: string } };
    const path = request.url ?? "";
    const fault = path.startsWith("/broken") ? "refuse" : nextFault(`webhook ${tenant} ${order.id}`);
    if (fault !== "refuse") {
      const webhook = { id: String(request.headers["webhook-id"]), path, tenant, order: order.id };
      webhooks.push(webhook);
      options.onWebhook?.(webhook);
    }
    response.writeHead(fault === undefined ? 204 : 500).end();
  }

  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    onData: (stream, _session, answer) => void receive(stream).then(() => answer(), answer),
  });
  smtp.on("error", (error) => console.error("mail server:", error.message));
  const receiver = createServer((request, response) => {
    take(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((listening) => smtp.listen(smtpPort, "127.0.0.1", listening));
  await new Promise<void>((listening) => receiver.listen(webhookPort, "127.0.0.1", listening));
  const portOf = (server: { address(): unknown }) => (server.address() as AddressInfo).port;
  return {
    mails,
    webhooks,
    smtpUrl: `smtp://127.0.0.1:${portOf(smtp.server)}`,
    webhookUrl: `http://127.0.0.1:${portOf(receiver)}`,
    async close() {
      receiver.closeAllConnections();
      receiver.close();
      await new Promise<void>((closed) => smtp.close(closed));
    },
  };
}
