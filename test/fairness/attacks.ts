import { defaultOpenUploadBytes } from "../../src/core/limits/limits.ts";
import type { Deployment, Target } from "./deployment.ts";

/** An attack of the tenant acme. */
export interface Attack extends Target {
  /** Prepares it, before the other tenant's first task. */
  prepare?(deployment: Deployment): Promise<unknown>;
  /** Starts the requests of a second. */
  second?(deployment: Deployment, second: number): void;
  /** The gain of acme by it, in words, and the most that it may get. */
  gain?(deployment: Deployment): { what: string; got: number; most: number };
}

/** Makes a number of calls, evenly over a second. */
const times = ({ clock }: Deployment, count: number, call: (number: number) => unknown): void => {
  for (let number = 0; number < count; number++) clock.after((number * 1_000) / count, () => void call(number));
};

/** Submits tasks that end soon, each with a webhook. */
const submits =
  (perSecond: number, urlOf?: (number: number) => string) =>
  (deployment: Deployment, second: number): void =>
    times(deployment, perSecond, (number) => {
      const callback = urlOf && { callback: { url: urlOf(second * perSecond + number) } };
      return deployment.request("submit", "/tasks", { json: { type: "short", input: null, ...callback } });
    });

/** A schedule of each minute, whose tasks take ten minutes. */
const schedules = 200;

/** Tasks that wait for signals, and signals that they never wait for, in bytes. */
const waiters = 50;
const signalText = JSON.stringify("s".repeat(250 * 1024));

const largestUpload = 5 * 1024 ** 3;

/** Largest file of a form that a refused submit brings. */
const file = "f".repeat(4_000_000);
const formOf = (task: object): string =>
  [
    `--b\r\ncontent-disposition: form-data; name="task"\r\n\r\n${JSON.stringify(task)}`,
    `--b\r\ncontent-disposition: form-data; name="data"; filename="d.bin"\r\ncontent-type: text/plain\r\n\r\n${file}`,
    "--b--\r\n",
  ].join("\r\n");
const forms = [formOf({ type: "form", input: { n: "no number" } }), formOf({ type: "form", input: { n: 1 } })];

/**
 * The attacks, each by its name.
 * @param rate Multiplies the requests of a second. `formsPerSecond`: apart, as forms take much of a test's time.
 */
export const attacksOf = ({
  rate = 1,
  formsPerSecond = 50,
}: {
  rate?: number;
  formsPerSecond?: number;
} = {}): Readonly<Record<string, Attack>> => ({
  "1 a receiver with one slow answer": {
    second: submits(10 * rate, () => "https://www.acme.example/hook"),
    answerMs: (number) => (number === 20 ? 1_200 : 50),
    gain: ({ webhookDelays }) => ({
      what: "of its own webhooks were 5 s late",
      got: webhookDelays.filter(({ tenant, ms }) => tenant === "acme" && ms > 5_000).length,
      most: 0,
    }),
  },
  [`2 ${schedules} schedules of a tenant that may have 5 tasks`]: {
    limits: { submits_per_second: 1, tasks_in_progress: 5, schedules },
    prepare: async ({ make }) => {
      const task = { type: "long", input: null };
      for (let number = 0; number < schedules; number++) await make({ name: `s${number}`, cron: "* * * * *", task });
    },
    second: (deployment, second) => {
      if (second % 60 === 0) deployment.fireSchedules();
    },
    gain: ({ records }) => ({
      what: "tasks at once",
      got: records.all().filter(({ type, status }) => type === "long" && status === "processing").length,
      most: 5,
    }),
  },
  "3 a thousand connections that do not read": { deafConnections: 1_000, second: submits(20 * rate) },
  "4 refused forms with files of 4 MB": {
    limits: { submits_per_second: 1 },
    second: (deployment) =>
      times(deployment, formsPerSecond, (number) => {
        const headers = { "content-type": "multipart/form-data; boundary=b" };
        return deployment.request("submit", "/tasks", { raw: forms[number % 2] ?? "", headers });
      }),
    gain: ({ blobs, records }) => ({
      what: "stored files of refused submits",
      got: blobs.keys().length - records.all().filter(({ type }) => type === "form").length,
      most: 0,
    }),
  },
  "5 hanging receivers, each with a host of its own": {
    second: submits(20 * rate, (number) => `https://n${number}.acme.example/hook`),
    answerMs: () => 60_000,
  },
  "5 a receiver that hangs": {
    second: submits(20 * rate, () => "https://www.acme.example/hook"),
    answerMs: () => 60_000,
  },
  "6 signals of 250 KB": {
    prepare: async (deployment) => {
      times(deployment, waiters, () =>
        deployment.request("submit", "/tasks", { json: { type: "waits", input: null } }),
      );
      for (let second = 0; second < 5; second++) await deployment.second();
    },
    second: (deployment, second) => {
      const ids = deployment.records.all().flatMap(({ type, task_id }) => (type === "waits" ? task_id : []));
      const headers = { "content-type": "application/json" };
      const signal = (number: number, name: string, raw: string) =>
        deployment.request("control", `/tasks/${ids[number % ids.length]}/signals/${name}`, { raw, headers });
      times(deployment, 100 * rate, (number) => signal(number, `more-${second}-${number}`, signalText));
      times(deployment, waiters, (number) => signal(number, `go-${second}`, "1"));
    },
    gain: ({ succeeded }) => {
      const taken = succeeded.filter((path) => path.includes("/more-"));
      const byTask = Map.groupBy(taken, (path) => path.split("/")[2]);
      const got = Math.max(...Array.from(byTask.values(), ({ length }) => length * signalText.length));
      return { what: "bytes of signals that a task has not waited for", got, most: 1024 ** 2 };
    },
  },
  "10 announced uploads of 5 GiB": {
    second: (deployment) =>
      times(deployment, 50 * rate, () => {
        const json = { content_type: "text/plain", size_bytes: largestUpload };
        return deployment.request("submit", "/uploads", { json });
      }),
    gain: ({ succeeded }) => ({
      what: "announced bytes",
      got: succeeded.filter((path) => path === "/uploads").length * largestUpload,
      most: defaultOpenUploadBytes,
    }),
  },
});
