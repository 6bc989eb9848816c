import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Clock } from "../../core/ports/tasks.ts";
import type { DiskFaults } from "../disk/disk-faults.ts";
import { onlyOnce, open } from "../net/endpoint.ts";
import { readBody } from "../net/request.ts";
import { systemClock } from "../time/clock.ts";
import type { Player } from "../time/mover.ts";
import { ScheduleApi } from "./schedule-api.ts";
import { type EngineOptions, ScheduleEngine } from "./schedule-engine.ts";
import { ApiError } from "./schedule-input.ts";
import { ScheduleRows } from "./schedule-rows.ts";

export type { Fired, LostFiring } from "./schedule-engine.ts";

export interface SchedulerOptions {
  /** 0 means any free port. */
  port: number;
  /** Folder of the schedules. Undefined: they are in memory. */
  stateDir: string | undefined;
  /** Delivers to a target, at least once for each time. A failed delivery is retried by the target's retry policy. */
  fire: EngineOptions["fire"];
  /**
   * Receives the firings of targets with a dead-letter queue that could not be delivered. Default: they are dropped.
   */
  sendToDlq?: EngineOptions["sendToDlq"];
  /** Default: the machine's clock. */
  clock?: Clock;
  /** Default: faults are not printed. */
  faults?: DiskFaults | undefined;
}

export interface Scheduler {
  url: string;
  /** True when there was no file of schedules at the start. */
  isNew: boolean;
  /** Path of that file. */
  path: string;
  exists(groupName: string, name: string): boolean;
  /** The clock was set back: recurring schedules go on from now. There must be no others. */
  startAnew(): void;
  /** Its part in a move of the server's clock. */
  player: Player;
  /** Stops. Firings whose delivery is not finished are delivered again at the next start. */
  close(): Promise<void>;
}

/**
 * Starts an emulator of EventBridge Scheduler on 127.0.0.1. A one-off that was missed while the emulator was off fires
 * now; a recurring schedule fires now for the latest time that it missed.
 * @throws EADDRINUSE when the port is taken; Error when another server uses the state directory
 */
export async function startScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const { port, stateDir, fire, sendToDlq, clock = systemClock, faults } = options;
  const rows = new ScheduleRows(stateDir, faults);
  const engine = new ScheduleEngine({ rows, clock, fire, sendToDlq });
  const api = new ScheduleApi({ rows, clock, tick: () => engine.tick() });
  const server = createServer((request, response) => answer(request, response, api));
  try {
    const endpoint = await open(server, port);
    engine.tick();
    return {
      url: endpoint.url,
      isNew: rows.isNew,
      path: rows.path,
      exists: (groupName, name) => rows.schedule(groupName, name) !== undefined,
      startAnew: () => engine.startAnew(),
      player: {
        nextAt: () => engine.nextAt(),
        busyWith: () => (engine.running > 0 ? "a schedule that fires" : undefined),
      },
      close: onlyOnce(async () => {
        engine.close();
        await endpoint.close();
        rows.close();
      }),
    };
  } catch (error) {
    rows.close();
    throw error;
  }
}

async function answer(request: IncomingMessage, response: ServerResponse, api: ScheduleApi): Promise<void> {
  const body = await readBody(request);
  if (body === undefined) return;
  response.setHeader("content-type", "application/json");
  response.setHeader("x-amzn-requestid", randomUUID());
  try {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    const path = pathname.split("/").filter(Boolean).map(decodeURIComponent);
    const result = api.handle(request.method ?? "GET", path, searchParams, parseJson(body));
    response.end(JSON.stringify(result));
  } catch (error) {
    const known = error instanceof ApiError;
    response.statusCode = known ? error.status : 500;
    response.setHeader("x-amzn-errortype", known ? error.code : "InternalServerException");
    response.end(JSON.stringify({ Message: error instanceof Error ? error.message : String(error) }));
  }
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return {};
  try {
    return JSON.parse(body.toString());
  } catch {
    throw new ApiError("ValidationException", "The request body is not JSON.");
  }
}
