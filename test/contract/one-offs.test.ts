import { SchedulerOneOffs } from "../../src/aws/one-offs.ts";
import { iso } from "../../src/core/model/record.ts";
import { FakeClock } from "../../src/memory/clock.ts";
import { MemoryOneOffs } from "../../src/memory/others.ts";
import { emulatedScheduler } from "./emulators.ts";
import { describeOneOffs } from "./one-offs.ts";

describeOneOffs("one-offs in memory", async () => {
  const [oneOffs, clock] = [new MemoryOneOffs(), new FakeClock()];
  const elapse = async (seconds: number) => {
    await clock.advance(seconds * 1000);
    return oneOffs.takeDue(iso(clock.now()));
  };
  return { oneOffs, now: () => clock.now(), elapse, close: async () => {} };
});

describeOneOffs("one-offs in EventBridge Scheduler", async () => {
  const { client, config, clock, fired, fire, close } = await emulatedScheduler();
  const elapse = async (seconds: number) => {
    await clock.advance(seconds * 1000);
    await fire();
    return fired.splice(0);
  };
  return { oneOffs: new SchedulerOneOffs(client, config), now: () => clock.now(), elapse, close };
});
