import { testKit } from "offload/testing";
import { expect, test } from "vitest";
import scheduleChart from "./tasks/chart.schedule.ts";
import sendChart from "./tasks/chart.send.ts";
import { world } from "./tasks/lib/world.ts";

const begin = () => world.begin({ "charts/render": () => "https://charts.example.com/1.png" });
const input = { scheduler: "s", cron: "0 8,20 * * *", chart: "c", channels: ["#a", "#b"] };

test("a chart is sent at its times, until its schedule is deleted", async () => {
  begin();
  const kit = testKit([scheduleChart, sendChart], { startsAt: new Date("2027-01-01T00:00:00Z") });
  await kit.run(scheduleChart, input);
  await kit.advance("1d");
  expect(world.of("chat/send").map(({ channel }) => channel)).toEqual(["#a", "#b", "#a", "#b"]);
  await kit.run(scheduleChart, { ...input, cron: null });
  expect(await kit.schedules()).toEqual([]);
});

test("a channel that fails is told later, and no other is told twice", async () => {
  begin();
  world.refuse("chat/send", [500]);
  const { attempts } = await testKit([sendChart]).run(sendChart, { chart: "c", channels: ["#a", "#b"] });
  expect([attempts.length, ...world.of("chat/send").map(({ channel }) => channel)]).toEqual([1, "#a", "#b"]);
});
