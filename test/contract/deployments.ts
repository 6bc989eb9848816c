import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Deployments, maxDeployments } from "../../src/core/schedules/ports.ts";

export interface DeploymentsUnderTest {
  deployments: Deployments;
  close(): Promise<void>;
}

const at = (minute: number): string => new Date(Date.UTC(2027, 0, 1, 0, minute)).toISOString();

/** The promises of the deployments, for every implementation. */
export function describeDeployments(name: string, make: () => Promise<DeploymentsUnderTest>): void {
  describe(name, () => {
    let under: DeploymentsUnderTest;
    beforeAll(async () => {
      under = await make();
    });
    afterAll(() => under.close());

    test("the start that was stored last is there", async () => {
      const { deployments } = under;
      expect(await deployments.begun()).toBeUndefined();
      for (const minute of [3, 1]) await deployments.begin(at(minute));
      expect(await deployments.begun()).toBe(at(1));
      expect(await deployments.newest()).toEqual([]);
    });

    test("the newest are listed, newest first, each once, and no more than the most", async () => {
      const { deployments } = under;
      expect(await deployments.newest()).toEqual([]);
      const first = { started_at: at(4), deployed_at: at(5), version: "1.0.0", rolled_back: false };
      const second = { started_at: at(7), deployed_at: at(7), version: "1.1.0", rolled_back: true };
      await deployments.note(second);
      for (let time = 0; time < 2; time++) await deployments.note(first);
      expect(await deployments.newest()).toEqual([second, first]);
      const more = Array.from({ length: maxDeployments }, (_, index) => ({ ...first, deployed_at: at(100 + index) }));
      for (const deployment of more) await deployments.note(deployment);
      expect(await deployments.newest()).toEqual(more.toReversed());
    });
  });
}
