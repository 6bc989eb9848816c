import { request } from "node:http";

/** The clock of a local server, as `/_local/clock` answers it. */
export interface ClockAnswer {
  now: string;
  ahead_seconds: number;
  moving: { since: string; to: string; waits_for: string | null } | null;
}

/** The answer of a move. */
export interface MoveAnswer extends ClockAnswer {
  arrived: boolean;
  did: Readonly<Record<string, number>>;
  summary: string;
}

export type ClockOrder = { advance_seconds: number } | { at: string } | { reset: true };

/** A local server refused an order, or the answer is not one of a local server. */
export class ClockRefused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "ClockRefused";
    this.status = status;
  }
}

export const readClock = (url: string): Promise<ClockAnswer> => call(url, "GET");

/** Resolves when all that was due has been done, which may be much later: `fetch` would give up after five minutes. */
export const orderClock = (url: string, order: ClockOrder): Promise<MoveAnswer> =>
  call(url, "POST", order) as Promise<MoveAnswer>;

/** Ends the present move where it is. */
export const stopClock = (url: string): Promise<ClockAnswer> => call(url, "DELETE");

/** @throws ClockRefused; the system's error when nothing listens there */
function call(url: string, method: string, body?: object): Promise<ClockAnswer> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const sent = request(new URL("/_local/clock", url), { method, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("error", reject).on("end", () => {
        const status = response.statusCode ?? 0;
        const answer = jsonOf(text);
        if (status === 200 && typeof answer?.now === "string") return resolve(answer as unknown as ClockAnswer);
        reject(new ClockRefused(status, typeof answer?.detail === "string" ? answer.detail : `status ${status}`));
      });
    });
    sent.on("error", reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function jsonOf(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
