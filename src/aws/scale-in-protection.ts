import type { Clock, Log } from "../core/ports/tasks.ts";
import { http } from "../util/node-http.ts";
import { supersededCheck } from "./superseded.ts";

/**
 * Time of one protection in minutes; it is renewed after half of it, unless a deployment replaces the container. ECS
 * ends a deployment only when no container of the old code is protected, and CloudFormation waits for that for three
 * hours at most. So this is the longest time that attempts hold a deployment up.
 */
const protectionMinutes = 60;
const renewMs = (protectionMinutes / 2) * 60_000;

/** Time for one request to the agent, in milliseconds. */
const requestMs = 5_000;

/** Keeps ECS from stopping this container, at a scale-in or a deployment, while attempts run in it. */
export interface ScaleInProtection {
  /**
   * Protects the container until the given time, in epoch milliseconds. A later call replaces an earlier one. Never
   * throws.
   */
  protect(until: number): Promise<void>;
  /** Ends the protection. Never throws. */
  unprotect(): Promise<void>;
}

const none: ScaleInProtection = { protect: async () => {}, unprotect: async () => {} };

/**
 * Creates the protection of this container by its ECS agent. Outside of ECS it does nothing. When the agent refuses,
 * the container may be stopped: its attempts then get the time of the drain, and are given back.
 */
export function scaleInProtection(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  env: NodeJS.ProcessEnv = process.env,
  isSuperseded: () => Promise<boolean> = supersededCheck(env),
): ScaleInProtection {
  const agent = env.ECS_AGENT_URI;
  if (agent === undefined || agent === "") return none;
  const url = new URL(`${agent.replace(/\/$/, "")}/task-protection/v1/state`);
  let cancelRenewal = (): void => {};
  let until = 0;
  /** The end of the present protection, in epoch milliseconds. */
  let covered = 0;
  let last: Promise<void> = Promise.resolve();
  /** Requests are sent one after the other, so that the agent gets them in the order of the calls. */
  const inTurn = (work: () => Promise<void>): Promise<void> => {
    last = last.then(work).catch((error: unknown) => {
      log.warn("the ECS agent did not change the protection of this container from being stopped", {
        error: error instanceof Error ? error.message : String(error),
      });
    });
    return last;
  };
  /** A check that fails does not end the protection. */
  const isReplaced = () =>
    isSuperseded().catch((error: unknown) => {
      log.warn("could not read whether a deployment replaces this container", { error: String(error) });
      return false;
    });
  const extend = async (): Promise<void> => {
    const leftMs = until - clock.now();
    // Attempts that start while the protection lasts need no request of their own.
    if (leftMs <= 0 || covered >= until || covered > clock.now() + renewMs) return;
    if (await isReplaced()) return;
    const minutes = Math.min(protectionMinutes, Math.max(1, Math.ceil(leftMs / 60_000)));
    await putState(url, { ProtectionEnabled: true, ExpiresInMinutes: minutes });
    covered = clock.now() + minutes * 60_000;
  };
  const renew = (): Promise<void> => {
    cancelRenewal();
    if (until - clock.now() > renewMs) cancelRenewal = clock.after(renewMs, () => void renew());
    return inTurn(extend);
  };
  return {
    protect(given) {
      until = given;
      return renew();
    },
    unprotect() {
      until = 0;
      cancelRenewal();
      return inTurn(async () => {
        if (until > clock.now()) return;
        covered = 0;
        await putState(url, { ProtectionEnabled: false });
      });
    },
  };
}

/** @throws Error when the agent does not accept the state */
const putState = (url: URL, state: object): Promise<void> =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify(state);
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const sent = http.request(url, { method: "PUT", headers, timeout: requestMs }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => {
        text += part;
      });
      response.on("error", reject);
      response.on("end", () => {
        const refused = response.statusCode !== 200 || /"(failure|error)"\s*:\s*\{/.test(text);
        refused ? reject(new Error(`${response.statusCode} ${text.slice(0, 300)}`)) : resolve();
      });
    });
    sent.on("timeout", () => sent.destroy(new Error(`no answer within ${requestMs} ms`)));
    sent.on("error", reject);
    sent.end(body);
  });
