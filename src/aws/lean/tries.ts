import { setTimeout as sleep } from "node:timers/promises";
import { timeLeftMs } from "../call-times.ts";
import { AwsError } from "./aws-error.ts";
import { pauseAfter, tokensOf } from "./retries.ts";

/** Error codes for a signature whose time is wrong, which a wrong clock of this machine can cause. */
const clockErrors = new Set([
  ...["InvalidSignatureException", "RequestTimeTooSkewed", "RequestExpired", "RequestInTheFuture"],
  ...["AuthFailure", "SignatureDoesNotMatch"],
]);

/** AWS accepts signatures whose time is wrong by up to this much. */
const toleratedSkewMs = 300_000;

/** Most tokens for retries, as in the SDK's clients. */
const mostTokens = 500;

/** Sends requests again after transient errors, and after errors of a wrong clock with AWS's time. */
export class Tries {
  readonly #maxAttempts: number;
  /** Tokens left for retries. They bound the retries of a client while a service is down. */
  #tokens = mostTokens;
  /** Difference of AWS's clock to this machine's clock. It stays 0 while AWS accepts the signatures. */
  #skewMs = 0;

  constructor(maxAttempts = 3) {
    this.#maxAttempts = maxAttempts;
  }

  /** Time for a signature, in epoch milliseconds. */
  now(): number {
    return Date.now() + this.#skewMs;
  }

  /** Sends a request, and tries again while the call has time left, and the client has retries. */
  async run<T>(send: () => Promise<T>): Promise<T> {
    let taken = 0;
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await send();
        // A retry that succeeded gives back what it took, and any other call one.
        this.#tokens = Math.min(mostTokens, this.#tokens + (taken || 1));
        return answer;
      } catch (error) {
        const pauseMs = this.#correctClock(error) ? 0 : pauseAfter(error, attempt);
        if (pauseMs === undefined || attempt >= this.#maxAttempts || pauseMs >= timeLeftMs()) throw error;
        taken = tokensOf(error);
        if (taken > this.#tokens) throw error;
        this.#tokens -= taken;
        await sleep(pauseMs);
      }
    }
  }

  /** Switches to AWS's clock if an error shows that this machine's clock is wrong. Returns true when it switched. */
  #correctClock(error: unknown): boolean {
    if (!(error instanceof AwsError) || error.answeredAtMs === undefined || !clockErrors.has(error.name)) return false;
    const skewMs = error.answeredAtMs - Date.now();
    if (Math.abs(skewMs - this.#skewMs) < toleratedSkewMs) return false;
    this.#skewMs = skewMs;
    return true;
  }
}
