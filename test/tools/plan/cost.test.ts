import { describe, expect, test } from "vitest";
import { alternatives } from "../../../src/tools/plan/alternatives.ts";
import { knownArrivals } from "../../../src/tools/plan/arrivals.ts";
import { bottlenecks } from "../../../src/tools/plan/bottlenecks.ts";
import { costOf } from "../../../src/tools/plan/cost.ts";
import { figuresAsOf, hoursPerMonth, limits, prices } from "../../../src/tools/plan/figures.ts";
import { awsModel } from "../../../src/tools/plan/model.ts";
import { readScenario, type ScenarioInput } from "../../../src/tools/plan/scenario.ts";
import { simulate } from "../../../src/tools/plan/simulate.ts";

/** A million tasks of 200 ms in a month that all come at once, so that every batch has ten. */
const million: ScenarioInput = {
  hours: hoursPerMonth,
  durations: { p50Ms: 200, p99Ms: 200 },
  failureRate: 0,
  pollsPerTask: 5,
  throttle: { requestsPerSecond: 1e9, burst: 1e9 },
  accountConcurrency: 1_000_000,
};

/** Plans a tenth of the million in a tenth of a month, at the same prices: the simulation of all takes ten times as long. */
function planned(more: ScenarioInput = {}) {
  const scenario = readScenario({ ...million, hours: hoursPerMonth / 10, ...more });
  const outcome = simulate(awsModel(scenario, knownArrivals(new Array(100_000).fill(0))));
  return { scenario, outcome, cost: costOf(scenario, outcome) };
}

const within5Percent = (value: number | undefined, expected: number) =>
  expect(Math.abs((value ?? 0) / expected - 1), `${value} instead of ${expected}`).toBeLessThan(0.05);

describe("the price of a million tasks", () => {
  const { cost, scenario, outcome } = planned();
  const line = (what: string) =>
    [...cost.front, ...cost.work, ...cost.fixed].find((one) => one.what === what)?.perMonth;

  // By hand, in US dollars. Submit and five polls are 6 requests; each is two invocations, as the authorizer is one;
  // submit takes 20 ms, status 8 ms, the authorizer 2 ms, all with half a GB.
  const byHand = {
    "API Gateway": 6 * 1.0,
    "Lambda: submit, status, authorizer": 12 * 0.2 + (1e6 * 0.022 + 5e6 * 0.01) * 0.5 * 0.0000133334,
    // The gateway's line for each request, and the submits' own.
    "logs of requests": (6e6 * 340 * 0.25 + 1e6 * 510 * 0.5) / 1e9,
    // An eventually consistent read of up to 4 KB is half a unit.
    "DynamoDB: polls": 5 * 0.5 * 0.125,
    // The record, its entry in the tenant's index, claim and settle: a unit each.
    "DynamoDB: writes": 4 * 0.625,
    // A send each; receive, delete and the change of visibility once for ten.
    SQS: (1 + 3 * 0.1) * 0.4,
    // 100,000 invocations of 200 ms and 30 ms of our own, with half a GB.
    "Lambda: workers": 0.1 * 0.2 + 1e5 * 0.23 * 0.5 * 0.0000133334,
    "logs of workers": ((1e6 * 370 + 1e5 * 500) / 1e9) * 0.5,
    // 7 of 30.4 days, 1,000 bytes of record and 300 of index.
    "DynamoDB: storage and backup": ((1e6 * (7 / 30.4) * 1_300) / 1e9) * (0.25 + 0.2),
  };

  test.each(Object.entries(byHand))("%s is within 5 %% of the calculation by hand", (what, dollars) => {
    within5Percent(line(what), dollars);
  });

  test("the whole price is within 5 % of the calculation by hand: 13.50 dollars", () => {
    const sum = Object.values(byHand).reduce((total, dollars) => total + dollars, 0);
    expect(sum).toBeCloseTo(13.5, 2);
    within5Percent(cost.perMillionTasks, sum);
    expect(cost.tasksPerMonth).toBeCloseTo(1e6, 0);
  });

  test("an idle pipeline pays for five pollers for each of seven queues, one poll in 20 s", () => {
    within5Percent(line("SQS: empty polls"), ((7 * 5 * 730 * 3_600) / 20 / 1e6) * 0.4);
    expect(line("provisioned pollers")).toBe(0);
    const two = planned({ tiers: { normal: { share: 1, provisionedPollers: { minimum: 2, maximum: 200 } } } });
    within5Percent(two.cost.fixed.find(({ what }) => what === "provisioned pollers")?.perMonth, 13.5);
  });

  test("the alternatives are within 5 % of the calculation by hand", () => {
    const others = new Map(alternatives(scenario, outcome).map((one) => [one.name, one]));
    const front = byHand["API Gateway"] + byHand["Lambda: submit, status, authorizer"] + byHand["logs of requests"];
    const behind = front + byHand["DynamoDB: polls"] + 0.2 + 1e6 * 0.2 * 0.5 * 0.0000133334;
    within5Percent(others.get("Step Functions Standard")?.perMillionTasks, behind + 2 * 25);
    within5Percent(
      others.get("Step Functions Express")?.perMillionTasks,
      behind + 1 + 1e6 * 0.2 * (64 / 1024) * 0.00001667 + byHand["DynamoDB: writes"],
    );
    within5Percent(others.get("Lambda durable functions")?.perMillionTasks, behind + 2 * 8 + 2 * 0.25);
    expect(others.get("Step Functions Standard")?.remarks[0]).toMatch(/^throttled: 100000 starts per second/);
  });

  test("the price follows the prices of the scenario", () => {
    const half = planned({ prices: { httpApiRequests: 0.5 } });
    expect(half.cost.front[0]?.perMonth).toBeCloseTo(3, 6);
  });

  test("a scenario with a price of logs has half of it for the access log, unless it names that price, too", () => {
    const perMillion = (own: ScenarioInput["prices"]) =>
      planned({ prices: own }).cost.front.find(({ what }) => what === "logs of requests")?.perMonth;
    expect(perMillion({ logs: 1 })).toBeCloseTo((6e6 * 340 * 0.5 + 1e6 * 510) / 1e9, 2);
    expect(perMillion({ logs: 1, requestLogs: 2 })).toBeCloseTo((6e6 * 340 * 2 + 1e6 * 510) / 1e9, 2);
  });
});

describe("the price of a million requests that wait for 20 s", () => {
  const waiting = planned({ pollsPerTask: 0, waits: { perTask: 1 } });
  const without = planned({ pollsPerTask: 0 });
  const line = ({ cost }: typeof waiting, what: string) => cost.front.find((one) => one.what === what)?.perMonth ?? 0;

  // By hand, in US dollars, beside those of a million submits.
  const byHand = {
    // 20 s with half a GB.
    "Lambda: requests that wait": 1e6 * 20 * 0.5 * 0.0000133334,
    // Half a unit for the first look, one for the places of the interval before, and one every half second; two writes for the place.
    "DynamoDB: requests that wait": 41.5 * 0.125 + 2 * 0.625,
    "API Gateway": 2 * 1.0,
    "Lambda: submit, status, authorizer": 4 * 0.2 + (1e6 * 0.022 + 1e6 * 0.01) * 0.5 * 0.0000133334,
    "logs of requests": (2e6 * 340 * 0.25 + 1e6 * 510 * 0.5) / 1e9,
  };

  test.each(Object.entries(byHand))("%s is within 5 %% of the calculation by hand", (what, dollars) => {
    within5Percent(line(waiting, what), dollars);
  });

  test("a million waits cost 141 dollars more than no waits, as 87 polls of each task would", () => {
    const more = waiting.cost.perMillionTasks - without.cost.perMillionTasks;
    within5Percent(more, 141.3);
    const polled = planned({ pollsPerTask: 1 });
    expect(more / (polled.cost.perMillionTasks - without.cost.perMillionTasks)).toBeCloseTo(87.5, 0);
  });

  test("no task costs anything for waits without them", () => {
    expect([line(without, "Lambda: requests that wait"), line(without, "DynamoDB: requests that wait")]).toEqual([
      0, 0,
    ]);
  });
});

describe("the price of limits", () => {
  const plain = planned({ pollsPerTask: 0, messageBytes: 700 });
  const messageBytes = 700;
  const of = (limited: ScenarioInput["limited"]) => planned({ pollsPerTask: 0, messageBytes, limited });
  const line = ({ cost }: ReturnType<typeof planned>, what: string) =>
    cost.work.find((one) => one.what === what)?.perMonth ?? 0;
  const limitOf = ({ scenario, outcome }: Pick<ReturnType<typeof planned>, "scenario" | "outcome">, what: string) =>
    bottlenecks(scenario, outcome).find((one) => one.what === what);

  test("a million tasks that wait for one of 3 places cost 5 write units, 4 read units and 4 requests more", () => {
    const limited = of({ places: 3 });
    within5Percent(line(limited, "DynamoDB: writes") - line(plain, "DynamoDB: writes"), 5 * 0.625);
    within5Percent(line(limited, "DynamoDB: reads of lines"), 4 * 0.125);
    within5Percent(line(limited, "SQS") - line(plain, "SQS"), 4 * 0.4);
    expect(line(plain, "DynamoDB: reads of lines")).toBe(0);
  });

  test.each([
    [1_000, 2, 1],
    [20_000, 20, 5],
  ])(
    "a message of %i bytes, which has an item of its own, costs twice %i write units and %i read units more",
    (messageBytes, writes, reads) => {
      const [large, without] = [{ messageBytes, limited: { places: 3 } }, { messageBytes }].map((one) =>
        planned({ pollsPerTask: 0, ...one }),
      );
      if (large === undefined || without === undefined) throw new Error("no plan");
      within5Percent(line(large, "DynamoDB: writes") - line(without, "DynamoDB: writes"), (5 + 2 * writes) * 0.625);
      within5Percent(line(large, "DynamoDB: reads of lines"), (4 + reads) * 0.125);
    },
  );

  test.each<[ScenarioInput["limited"], number, number]>([
    [{ places: 16 }, 5, 4],
    [{ places: 100 }, 8, 10],
    [{ places: 128 }, 8, 10],
    [{ places: 1_000 }, 8, 20],
    [{ startsPerSecond: 128 }, 5, 5],
    [{ startsPerSecond: 1_000 }, 5, 21],
  ])(
    "a limit of %o costs %i write units and %i read units more, and half of the tasks half of it",
    (limited, writes, reads) => {
      const half = of({ ...limited, share: 0.5 });
      within5Percent(line(half, "DynamoDB: writes") - line(plain, "DynamoDB: writes"), 0.5 * writes * 0.625);
      within5Percent(line(half, "DynamoDB: reads of lines"), 0.5 * reads * 0.125);
    },
  );

  test("the busiest key needs its share of the tasks, each for its duration and the calls around it", () => {
    const spread = (limited: ScenarioInput["limited"]) => {
      const durations = { p50Ms: 950, p99Ms: 950 };
      const scenario = readScenario({ tasksPerSecond: 10, hours: 1, durations, limited });
      return { scenario, outcome: simulate(awsModel(scenario)) };
    };
    const keyed = spread({ places: 3, busiestKeyShare: 0.2 });
    const places = limitOf(keyed, "places of the busiest key");
    expect(places).toMatchObject({ allowed: 3, firstAt: undefined });
    // No message passes through the queue between two tasks of a busy line.
    const heldSeconds = 0.95 + keyed.scenario.overhead.batchMs / 1000;
    expect(places?.needed).toBeCloseTo(keyed.outcome.traffic.created.sustained * 0.2 * heldSeconds, 3);
    const full = spread({ places: 3 });
    expect(limitOf(full, "places of the busiest key")?.firstAt).toEqual(expect.any(Number));
    const rated = spread({ startsPerSecond: 5 });
    expect(limitOf(rated, "starts of the busiest key")).toMatchObject({ allowed: 5, firstAt: expect.any(Number) });
    expect(limitOf(rated, "places of the busiest key")).toBeUndefined();
    expect(limitOf(keyed, "starts of the busiest key")).toBeUndefined();
  });

  // Looks of a month, 15 an hour: a write, three requests to SQS, an invocation of 30 ms with half a GB and its logs.
  const looks = 15 * hoursPerMonth;
  const look = 0.625 / 1e6 + (3 * 0.4) / 1e6 + 0.2 / 1e6 + 0.03 * 0.5 * 0.0000133334 + ((370 + 500) / 1e9) * 0.5;

  test.each([
    ["one place", { places: 1 }, 2],
    ["a rate", { startsPerSecond: 0.001 }, 2],
    ["100 places: seven items, and sixteen tasks of 950 bytes", { places: 100 }, 7 + 4],
  ])(
    "a thousand keys of %s whose tasks wait for hours cost their looks, whatever the number of tasks",
    (_, limits, reads) => {
      const blocked = of({ ...limits, blockedKeys: 1_000 }).cost;
      const line = blocked.fixed.find(({ what }) => what === "looks at blocked keys");
      within5Percent(line?.perMonth, 1_000 * looks * (look + (reads * 0.125) / 1e6));
      const without = of(limits).cost;
      expect(without.fixed.find(({ what }) => what === "looks at blocked keys")?.perMonth).toBe(0);
      expect(blocked.perMillionTasks).toBeCloseTo(without.perMillionTasks);
      expect(blocked.perMonth - without.perMonth).toBeCloseTo(line?.perMonth ?? 0);
    },
  );

  test("a key whose only place is taken costs 3 cents a month", () => {
    expect(of({ places: 1, blockedKeys: 1 }).cost.fixed).toContainEqual({
      what: "looks at blocked keys",
      perMonth: expect.closeTo(0.0315, 3),
    });
  });
});

describe("the price of steps", () => {
  const plain = planned({ pollsPerTask: 0 });
  const of = (steps: ScenarioInput["steps"]) => planned({ pollsPerTask: 0, steps });
  const line = ({ cost }: ReturnType<typeof planned>, what: string) =>
    cost.work.find((one) => one.what === what)?.perMonth ?? 0;

  test("a million tasks of 5 steps cost 5 write units and 25 ms of each worker more than tasks without steps", () => {
    const steps = of({ perTask: 5 });
    within5Percent(line(steps, "DynamoDB: writes") - line(plain, "DynamoDB: writes"), 5 * 0.625);
    const seconds = 5e6 * 0.005;
    within5Percent(
      line(steps, "Lambda: workers") - line(plain, "Lambda: workers"),
      seconds * 0.5 * prices.lambdaGbSeconds.value,
    );
    expect(line(steps, "DynamoDB: reads of steps")).toBe(0);
    expect(line(steps, "SQS")).toBe(line(plain, "SQS"));
  });

  test("4 sleeps between the steps cost 12 write units, 4 read units and 16 requests of the queue", () => {
    const [steps, sleeps] = [of({ perTask: 5 }), of({ perTask: 5, sleeps: 4 })];
    within5Percent(line(sleeps, "DynamoDB: writes") - line(steps, "DynamoDB: writes"), 12 * 0.625);
    within5Percent(line(sleeps, "DynamoDB: reads of steps"), 4 * 0.125);
    within5Percent(line(sleeps, "SQS") - line(steps, "SQS"), 16 * 0.4);
  });

  test("a Standard workflow pays each step and sleep, and so does a durable function", () => {
    const priceOf = (name: string, { scenario, outcome }: ReturnType<typeof planned>) =>
      alternatives(scenario, outcome).find((one) => one.name === name)?.perMonth ?? 0;
    const [before, after] = [of({ perTask: 5 }), of({ perTask: 5, sleeps: 4 })];
    const more = (name: string) => priceOf(name, after) - priceOf(name, before);
    within5Percent(more("Step Functions Standard"), 4 * prices.stepTransitions.value);
    within5Percent(more("Lambda durable functions"), 4 * prices.durableOperations.value);
  });
});

describe("the concurrency that waits take", () => {
  const load = { hours: 0.1, pollsPerTask: 0, durations: { p50Ms: 10, p99Ms: 10 }, failureRate: 0 };
  const of = (tasksPerSecond: number, waits: ScenarioInput["waits"]) => {
    const scenario = readScenario({ ...load, tasksPerSecond, waits });
    const times = Array.from({ length: tasksPerSecond * 360 }, (_, index) => index / tasksPerSecond);
    const outcome = simulate(awsModel(scenario, knownArrivals(times)));
    const places = bottlenecks(scenario, outcome).find(({ what }) => what === "places of requests that wait");
    return { peak: outcome.peakConcurrency, places };
  };

  test("four tasks a second whose requests wait 10 s take 40 invocations", () => {
    const { peak, places } = of(4, { perTask: 1, seconds: 10 });
    expect(peak).toBeGreaterThanOrEqual(41);
    expect(peak).toBeLessThanOrEqual(43);
    expect(places).toMatchObject({ allowed: 100, needed: 40, firstAt: undefined });
  });

  test("requests take no more than the places, and the report says when there are too few", () => {
    const { peak, places } = of(8, { perTask: 1, seconds: 10, places: 50 });
    expect(peak).toBeLessThanOrEqual(53);
    expect(places).toMatchObject({ allowed: 50, needed: 80, firstAt: expect.any(Number) });
  });

  test("a plan without waits has no such limit", () => {
    expect(of(8, {}).places).toBeUndefined();
  });
});

describe("the price of a million tasks with files", () => {
  const plain = planned();
  const withFile = planned({ files: { perTask: 1, bytes: 1_000_000, resultBytes: 12_000_000 } });
  const line = ({ cost }: typeof plain, what: string) =>
    [...cost.front, ...cost.work].find((one) => one.what === what)?.perMonth ?? 0;

  // By hand, in US dollars. A PUT, a HEAD and a GET for the file; three parts, their begin and their end, and a GET for the result.
  const byHand = {
    "S3: requests": (1 + 5) * 5 + (2 + 1) * 0.4,
    // Objects are kept for up to a day longer than their tasks.
    "S3: storage": ((13e6 * 1e6 * (8 / 30.4)) / 1e9) * 0.023,
    "API Gateway": 7 * 1.0,
    "DynamoDB: writes": (4 + 8 + 4) * 0.625,
  };

  test.each(Object.entries(byHand))("%s is within 5 %% of the calculation by hand", (what, dollars) => {
    within5Percent(line(withFile, what), dollars);
  });

  test("the alternatives pay the same for S3", () => {
    const priceOf = ({ scenario, outcome }: typeof plain) =>
      alternatives(scenario, outcome).find(({ name }) => name === "Step Functions Standard")?.perMillionTasks ?? 0;
    const storage = byHand["S3: storage"];
    const uploads = line(withFile, "API Gateway") - line(plain, "API Gateway");
    const functions =
      line(withFile, "Lambda: submit, status, authorizer") - line(plain, "Lambda: submit, status, authorizer");
    const logs = line(withFile, "logs of requests") - line(plain, "logs of requests");
    within5Percent(priceOf(withFile) - priceOf(plain), byHand["S3: requests"] + storage + uploads + functions + logs);
  });

  test("without files S3 costs nothing, and a result of up to 300 KiB is not in S3", () => {
    for (const plan of [plain, planned({ files: { resultBytes: 300 * 1024 } })]) {
      expect([line(plan, "S3: requests"), line(plan, "S3: storage")]).toEqual([0, 0]);
    }
  });
});

describe("the price of a million tasks of which something outside hears", () => {
  const plain = planned();
  const lineOf = ({ cost }: typeof plain, what: string) =>
    [...cost.front, ...cost.work, ...cost.fixed].find((one) => one.what === what)?.perMonth ?? 0;
  const added = (more: ScenarioInput) => {
    const with_ = planned(more);
    return { ...with_, line: (what: string) => lineOf(with_, what) - lineOf(plain, what) };
  };
  const gbSecond = 0.0000133334;

  describe("a webhook of each task, whose receiver answers at the first try", () => {
    const hooks = added({ webhooks: { share: 1, receiverMs: 300, failShare: 0 } });

    // By hand, in US dollars.
    const byHand = {
      // Send, receive, delete.
      "SQS: notices": 3 * 0.4,
      // 20 ms for the notice, 30 ms for four requests to DynamoDB, and the receiver's time, with half a GB.
      "Lambda: notify": 0.2 + 1e6 * 0.35 * 0.5 * gbSecond,
      // The delivery and the secret's version, half a unit of the slow host's mark; a write of 2 KB.
      "DynamoDB: notices": 2.5 * 0.125 + 2 * 0.625,
      "logs of notices": ((1e6 * 700) / 1e9) * 0.5,
    };

    test.each(Object.entries(byHand))("%s is within 5 %% of the calculation by hand", (what, dollars) => {
      within5Percent(hooks.line(what), dollars);
    });

    test("a million webhooks cost 5.65 dollars, and four metrics 1.20 a month", () => {
      const sum = Object.values(byHand).reduce((total, dollars) => total + dollars, 0);
      expect(sum).toBeCloseTo(5.65, 2);
      within5Percent(hooks.cost.perMillionTasks - plain.cost.perMillionTasks, sum);
      expect(hooks.line("metrics")).toBeCloseTo(1.2, 6);
    });

    test("the alternatives pay the same for webhooks", () => {
      const priceOf = ({ scenario, outcome }: typeof plain) =>
        alternatives(scenario, outcome).find(({ name }) => name === "Step Functions Standard")?.perMillionTasks ?? 0;
      within5Percent(priceOf(hooks) - priceOf(plain), 5.82);
    });
  });

  test("a receiver that refuses every try gets eight, of which three wait in EventBridge Scheduler", () => {
    const down = added({ webhooks: { share: 0.1, receiverMs: 0, failShare: 1 } });
    within5Percent(down.line("SQS: notices"), 0.1 * 8 * 3 * 0.4);
    within5Percent(down.line("EventBridge: events, late tries"), 0.1 * 3);
    // Each try has two write units; one that is given up has an entry in the index.
    within5Percent(down.line("DynamoDB: notices"), 0.1 * (8 * (2.5 * 0.125 + 2 * 0.625) + 0.625));
    within5Percent(down.line("Lambda: notify"), 0.1 * (11 * (0.2 + 0.02 * 0.5 * 13.3334) + 8 * 0.03 * 0.5 * 13.3334));
  });

  test("a slow receiver costs two more write units, and its tries are bounded", () => {
    const webhooks = { share: 0.1, receiverMs: 2_000, failShare: 0 };
    const slow = added({ webhooks });
    within5Percent(slow.line("DynamoDB: notices"), 0.1 * (2.5 * 0.125 + 4 * 0.625));
    const bound = bottlenecks(slow.scenario, slow.outcome).find(({ what }) => what.startsWith("tries to one receiver"));
    expect(bound).toMatchObject({ allowed: 1, firstAt: expect.any(Number) });
    const quick = added({ webhooks: { ...webhooks, receiverMs: 1_000 } });
    expect(bottlenecks(quick.scenario, quick.outcome).filter(({ what }) => what.startsWith("tries to"))).toEqual([]);
  });

  test("events cost a dollar, and 1.53 for their notices", () => {
    const events = added({ events: true });
    within5Percent(events.line("EventBridge: events, late tries"), 1);
    within5Percent(events.line("DynamoDB: notices") + 1, 1);
    within5Percent(
      events.cost.perMillionTasks - plain.cost.perMillionTasks,
      1 + 3 * 0.4 + 0.2 + 1e6 * 0.02 * 0.5 * gbSecond,
    );
  });

  test("push costs its messages, its notices, the marks of each end, and the minutes of its connections", () => {
    const push = added({ push: { share: 1, messagesPerTask: 3, connections: 1_000 } });
    within5Percent(push.line("API Gateway: channels"), 3 + 1_000 * 0.0438 * 0.25);
    within5Percent(push.line("SQS: notices"), 3 * 3 * 0.4);
    // Two marks when the task ends, two for each notice, and the connections of each.
    within5Percent(push.line("DynamoDB: notices"), (2 + 3 * (2 + 1)) * 0.125);
    // Tasks that no channel hears cost the two marks.
    const unheard = added({ push: { connections: 1 } });
    within5Percent(unheard.line("DynamoDB: notices"), 2 * 0.125);
    expect(unheard.line("SQS: notices")).toBe(0);
  });

  test("a webhook and an event of the same end share its notice", () => {
    const both = added({ webhooks: { share: 1, failShare: 0 }, events: true });
    within5Percent(both.line("SQS: notices"), 3 * 0.4);
  });
});

describe("the price of a million tasks that come in batches of 500", () => {
  const scenario = readScenario({ ...million, batchSize: 500, pollsPerTask: 0 });
  const outcome = simulate(awsModel(scenario, knownArrivals(new Array(2_000).fill(0), 500)));
  const cost = costOf(scenario, outcome);
  const line = (what: string) => [...cost.front, ...cost.work].find((one) => one.what === what)?.perMonth;

  // By hand, in US dollars. 2,000 requests of 500 KB; submit takes 20 ms and 1.1 ms for each further task.
  const byHand = {
    "API Gateway": 0.002 * 1.0,
    "Lambda: submit, status, authorizer": 0.004 * 0.2 + 2_000 * (0.022 + 499 * 0.0011) * 0.5 * 0.0000133334,
    // The gateway's line and two of Lambda for each request, and the tasks' own.
    "logs of requests": (2_000 * 340 * 0.25 + 1e6 * 290 * 0.5) / 1e9,
    // Each task still has its record, its entry in the tenant's index, its claim and its settle.
    "DynamoDB: writes": 4 * 0.625,
    // A send, a receive, a delete and a change of visibility for ten.
    SQS: 4 * 0.1 * 0.4,
    "Lambda: workers": 0.1 * 0.2 + 1e5 * 0.23 * 0.5 * 0.0000133334,
    "logs of workers": ((1e6 * 370 + 1e5 * 500) / 1e9) * 0.5,
    "DynamoDB: storage and backup": ((1e6 * (7 / 30.4) * 1_300) / 1e9) * (0.25 + 0.2),
  };

  test.each(Object.entries(byHand))("%s is within 5 %% of the calculation by hand", (what, dollars) => {
    within5Percent(line(what), dollars);
  });

  test("the whole price is within 5 % of the calculation by hand: 3.33 dollars", () => {
    const sum = Object.values(byHand).reduce((total, dollars) => total + dollars, 0);
    expect(sum).toBeCloseTo(3.33, 2);
    within5Percent(cost.perMillionTasks, sum);
  });

  test("a request of more than 512 KB is charged twice", () => {
    const large = readScenario({ ...million, batchSize: 500, pollsPerTask: 0, messageBytes: 2_000 });
    within5Percent(costOf(large, outcome).front[0]?.perMonth, 0.004);
  });
});

describe("the price of a million children, ten thousand for each of a hundred parents", () => {
  const scenario = readScenario({ ...million, children: { perTask: 10_000, tier: "low" }, pollsPerTask: 0 });
  const outcome = simulate(awsModel(scenario, knownArrivals(new Array(100).fill(0))));
  const cost = costOf(scenario, outcome);
  const line = (what: string) => [...cost.front, ...cost.work].find((one) => one.what === what)?.perMonth;

  test("the children come to their own tier, at the pace of the handler that spawns them", () => {
    expect(outcome.tiers.map(({ tier, tasks, completed }) => [tier, tasks, completed])).toEqual([
      ["normal", 100, 100],
      ["low", 1_000_000, 1_000_000],
    ]);
    // 1 ms for each child of a parent, and a hundred parents at the same time.
    expect(outcome.traffic.created.sustained).toBeCloseTo(1_000_100 / 60, 0);
    expect(outcome.traffic.submits.total).toBe(100);
  });

  // By hand, in US dollars.
  const byHand = {
    // Only the parents are requests.
    "API Gateway": 0.0001 * 1.0,
    // Of each child: half a unit for its record, and a unit of its page and its leaf for a hundred.
    "DynamoDB: reads of children": 0.52 * 0.125,
    // Record, entry in the index, claim, settle and place; for a hundred a page, a seal, and two units of the node above.
    "DynamoDB: writes": (5 + 0.01 * (2 + 2.02)) * 0.625,
    // A send, a receive, a delete and a change of visibility for ten.
    SQS: 4 * 0.1 * 0.4,
    // As in batches, and 1.2 ms for the spawn and the read of its result.
    "Lambda: workers": 0.1 * 0.2 + (1e5 * 0.23 + 1e6 * 0.0012) * 0.5 * 0.0000133334,
    "logs of workers": ((1e6 * (370 + 290) + 1e5 * 500) / 1e9) * 0.5,
    "DynamoDB: storage and backup": ((1e6 * (7 / 30.4) * 1_300) / 1e9) * (0.25 + 0.2),
  };

  test.each(Object.entries(byHand))("%s is within 5 %% of the calculation by hand", (what, dollars) => {
    within5Percent(line(what), dollars);
  });

  test("the whole price is within 5 % of the calculation by hand: 4.05 dollars", () => {
    const sum = Object.values(byHand).reduce((total, dollars) => total + dollars, 0);
    expect(sum).toBeCloseTo(4.05, 2);
    within5Percent(cost.perMillionTasks, sum);
  });

  test("a task of more children than one attempt can spawn reaches a limit", () => {
    const over = (perTask: number) => {
      const plan = readScenario({ ...million, children: { perTask } });
      const limit = bottlenecks(plan, outcome).find(({ what }) => what === "time in which a task spawns its children");
      return limit?.firstAt !== undefined;
    };
    expect([over(100_000), over(900_000)]).toEqual([false, true]);
  });
});

test("a family of one page has no node above its leaf, and its parent costs its second attempt and three more writes", () => {
  const writes = (perTask: number) => {
    const scenario = readScenario({ ...million, children: { perTask }, pollsPerTask: 0 });
    const outcome = simulate(awsModel(scenario, knownArrivals([0])));
    const line = costOf(scenario, outcome).work.find(({ what }) => what === "DynamoDB: writes");
    return Math.round(((line?.perMonth ?? 0) * 1e6) / 0.625);
  };
  // The parent: 4 as any task; a note, its stored message, the end of its wait, and 2 of the attempt that aggregates.
  expect(writes(0)).toBe(4);
  // Each child 4 and its place; a page and a leaf.
  expect(writes(1)).toBe(9 + 5 + 2);
  expect(writes(100)).toBe(9 + 500 + 2);
  // Two pages and leaves, and two units for each leaf's place above and for the node's seal.
  expect(writes(101)).toBe(9 + 505 + 4 + 6);
});

test("retries and dead letters cost their writes and messages", () => {
  const input = { ...million, hours: 730, failureRate: 1, maxAttempts: 2, pollsPerTask: 0 };
  const scenario = readScenario(input);
  const outcome = simulate(awsModel(scenario, knownArrivals(new Array(1_000).fill(0))));
  const { work } = costOf(scenario, outcome);
  // For each: 2 to submit, 2 for each of 2 attempts, and for a dead letter its envelope, an index entry and a note.
  expect(work.find(({ what }) => what === "DynamoDB: writes")?.perMonth).toBeCloseTo((1_000 * 9 * 0.625) / 1e6, 9);
});

describe("the table of prices and limits", () => {
  test.each([...Object.entries(prices), ...Object.entries(limits)])(
    "%s has a value, a unit and a source",
    (_, figure) => {
      expect(figure.value).toBeGreaterThan(0);
      expect(figure.unit).toMatch(/\S/);
      expect(figure.source).toMatch(/\S/);
    },
  );

  test("the figures have the date of their comparison with the sources", () => {
    expect(figuresAsOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
  });
});
