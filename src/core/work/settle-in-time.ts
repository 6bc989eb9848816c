import { PortUnavailable } from "../model/errors.ts";
import type { SettlePorts } from "../ports/extra.ts";
import type { Settled, Settling } from "../task/settled.ts";
import type { Ended } from "./attempt.ts";
import { settle } from "./settle.ts";

/** Settling is tried for this time, in seconds, while a port is unavailable: the work of the attempt would be lost. */
const settleSeconds = 30;

/** Pause before settling is tried a third time, and before each later try, in milliseconds. */
const settlePauseMs = 1_000;

/** Settles an attempt, for some time also while a port is unavailable. @throws PortUnavailable */
export async function settleInTime(ports: SettlePorts, settling: Settling, ended: Ended): Promise<Settled> {
  const untilMs = ports.clock.now() + settleSeconds * 1000;
  for (let tries = 1; ; tries++) {
    try {
      return await settle(ports, settling, ended);
    } catch (error) {
      if (!(error instanceof PortUnavailable) || ports.clock.now() >= untilMs) throw error;
      if (tries > 1) await new Promise<void>((resolve) => ports.clock.after(settlePauseMs, resolve));
    }
  }
}
