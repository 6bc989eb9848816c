import { createTransport } from "nodemailer";
import type Mail from "nodemailer/lib/mailer/index.js";
import { PermanentError, RetryAfter } from "offload";

/** An answer of the mail server, without its text: servers quote addresses in it. */
interface SmtpFailure {
  code?: string;
  responseCode?: number;
}

/** The server has no room, or wants fewer mails: these codes get a longer wait. */
const busyCodes = [421, 450, 452];
const busySeconds = 300;

/** The server refuses our login, or mails without a login: the mail is right, the configuration is wrong. */
const loginCodes = [530, 534, 535, 538];

/**
 * Sends a mail by `SMTP_URL`.
 * @throws errors that contain nothing of the mail: their texts go to logs and dead letters
 */
export async function sendMail(mail: Mail.Options): Promise<void> {
  const patience = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000 };
  const transport = createTransport({ url: process.env.SMTP_URL, ...patience });
  try {
    await transport.sendMail(mail);
  } catch (error) {
    throw withoutText(error as SmtpFailure);
  } finally {
    transport.close();
  }
}

/** The error of an SMTP failure, by its code: 5xx is final, 4xx is tried again. Its name, such as `Smtp550`, is the error's type. */
export function withoutText({ responseCode, code = "unknown" }: SmtpFailure): Error {
  if (responseCode === undefined) return new Error(`the mail server did not answer (${code})`);
  return Object.assign(errorOf(responseCode), { name: `Smtp${responseCode}` });
}

function errorOf(code: number): Error {
  if (loginCodes.includes(code))
    return new PermanentError(`the mail server refused our login (${code}): check SMTP_URL`);
  if (code >= 500) return new PermanentError(`the mail server refused the mail (${code})`);
  if (busyCodes.includes(code)) return new RetryAfter(busySeconds, `the mail server is busy (${code})`);
  return new Error(`the mail server refused the mail for now (${code})`);
}
