import { expect, test } from "vitest";
import { attacksOf } from "../../fairness/attacks.ts";
import { mostRatio, ratioOf, seenUnder } from "../../fairness/fairness.ts";

const seconds = 60;

const quiet = seenUnder(undefined, seconds);

test.each(Object.entries(attacksOf({ formsPerSecond: 4 })))(
  "%s: another tenant's tasks and webhooks take at most 1.5 times as long",
  async (_, attack) => {
    const seen = await seenUnder(attack, seconds);
    expect(ratioOf(seen, await quiet), JSON.stringify(seen)).toBeLessThanOrEqual(mostRatio);
    const { what, got, most } = seen.gain ?? { what: "", got: 0, most: 0 };
    expect(got, what).toBeLessThanOrEqual(most);
  },
);
