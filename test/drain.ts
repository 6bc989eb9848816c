import { drainRounds } from "./support/drain-rounds.ts";

/*
 * npm run test:drain -- [rounds] [seed]
 * Starts and ends container workers under load, by SIGTERM or SIGKILL at random times. Needs Linux. Default: 50 rounds, about 5 minutes.
 */

const [rounds = 50, seed = Math.floor(Math.random() * 1_000_000)] = process.argv.slice(2).map(Number);
console.log(`${rounds} rounds, seed ${seed}`);
const report = await drainRounds(rounds, seed);
console.log(
  `${report.completed} of ${report.tasks} tasks completed; workers that did not end cleanly: ${report.badExits}`,
);
for (const view of report.others) console.log(JSON.stringify(view));
process.exitCode = report.completed === report.tasks && report.badExits === 0 ? 0 : 1;
