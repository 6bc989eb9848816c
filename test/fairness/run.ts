import { parseArgs } from "node:util";
import { attacksOf } from "./attacks.ts";
import { mostRatio, ratioOf, type Seen, seenUnder } from "./fairness.ts";

/*
 * Delays of one tenant while another one attacks: `npm run test:fairness -- --seconds 120 --only signals`. Ends with
 * code 1 if a delay is more than 1.5 times as long as without the attack.
 */

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "120" },
    rate: { type: "string", default: "1" },
    only: { type: "string", default: "" },
  },
});
const seconds = Number(values.seconds);

const row = (name: string, cells: readonly string[]): void =>
  console.log([name.padEnd(50), ...cells.map((cell) => cell.padStart(12))].join(" "));

const cellsOf = ({ submitToEnd, webhook }: Seen): string[] =>
  [submitToEnd.p50, submitToEnd.p99, webhook.p50, webhook.p99].map((ms) => `${Math.round(ms)} ms`);

row("attack", ["to end p50", "to end p99", "webhook p50", "webhook p99", "ratio"]);
const quiet = await seenUnder(undefined, seconds);
row("none", cellsOf(quiet));
for (const [name, attack] of Object.entries(attacksOf({ rate: Number(values.rate) }))) {
  if (!name.includes(values.only)) continue;
  const seen = await seenUnder(attack, seconds);
  const ratio = ratioOf(seen, quiet);
  const { gain } = seen;
  row(name, [...cellsOf(seen), ratio.toFixed(2), gain === undefined ? "" : ` ${gain.got} ${gain.what}`]);
  if (ratio > mostRatio || (gain !== undefined && gain.got > gain.most)) process.exitCode = 1;
}
