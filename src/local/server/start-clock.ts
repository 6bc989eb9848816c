import { logFileIn } from "../deployment/environment.ts";
import type { Purging } from "../dynamodb/purge.ts";
import type { Submits } from "../gateway/submits.ts";
import { type Functions, loadFunctions } from "../lambda/functions.ts";
import type { S3 } from "../s3/s3.ts";
import type { Scheduler } from "../scheduler/scheduler.ts";
import type { Sqs } from "../sqs/sqs.ts";
import type { Consumers } from "../workers/consumers.ts";
import type { ServerClock } from "./clock.ts";
import { dailyLook } from "./daily-look.ts";
import { readExpired } from "./open-tasks.ts";
import { prepareReset } from "./reset-clock.ts";

interface Parts {
  scheduler: Scheduler;
  consumers: Consumers;
  submits: Submits;
  functions: Functions;
  purging: Purging;
  s3: S3;
  sqs: Sqs;
  filesDir: string;
}

/**
 * A deployment looks once a day for open tasks that nothing wakes. Where no message waits, no task is in a line, in
 * which it could expire: then a move looks once a week.
 */
const dayMs = 86_400_000;

/** Makes the server's clock movable, with all that goes by it. Returns a function that ends its move. */
export function startClock(clock: ServerClock, parts: Parts): () => void {
  const { scheduler, consumers, submits, functions, purging, s3, sqs, filesDir } = parts;
  let resets = 0;
  const look = dailyLook(process.env);
  const requests = { nextAt: () => undefined, busyWith: () => (submits.open > 0 ? "a submit" : undefined) };
  clock.start({
    players: [scheduler.player, ...consumers.players, requests],
    logFile: logFileIn(filesDir),
    tidy: async () => {
      await look();
      await purging.round();
      s3.expire();
    },
    tidyEachMs: () => (consumers.players.some((player) => player.nextAt() !== undefined) ? dayMs : 7 * dayMs),
    readExpired,
    prepareReset: () => prepareReset(sqs.store),
    afterReset: async () => {
      scheduler.startAnew();
      // Loaded anew, they have seen no time that is to come.
      resets -= 1;
      const { http, ...others } = await loadFunctions(resets);
      Object.assign(functions.http, http);
      Object.assign(functions, others);
      consumers.restart();
    },
  });
  return () => clock.close();
}
