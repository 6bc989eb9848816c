import * as z from "zod";
import type { StepView } from "../../core/control/stored-parts.ts";
import type { LogLine } from "../../core/control/task-log.ts";
import { entryKinds, logLevels } from "../../core/model/words.ts";
import type { ChannelView } from "../../core/notify/open-channel.ts";
import type { TaskLogView } from "../acts/views.ts";
import { object, viewOf } from "./json-schema.ts";
import { flag, id, text, textOrNull, time } from "./words.ts";

viewOf<ChannelView>()("Channel", {
  channel_id: id.describe("Id of the channel, for log lines."),
  url: z.url().describe("URL for one WebSocket connection. It needs no token, so it is a secret."),
  expires_at: time.describe("Time until which the URL works."),
});

const step = viewOf<StepView>()("Step", {
  kind: z
    .enum(entryKinds)
    .describe(
      "`try`: one attempt of a step that has attempts of its own. `signal`: the answer to a wait of the same name. `read`: the end of a wait that several signals may end. `state`: the last checkpoint. `submit`: tasks that an attempt submitted. `run`: the end of a child that the handler awaited.",
    ),
  name: text.describe("Name of the entry, unique among those of its kind."),
  order: z.int().nullable().describe("Number of the handler's call, from 1. Null: it is no call of the handler."),
  until: textOrNull.describe("End of a sleep, time at which a wait times out, or start of the step's next attempt."),
  at: textOrNull.describe("Time at which a signal came. Null: the entry is no signal, or none came."),
  timed_out: flag.describe("True for the signal, and for the end, of a wait that timed out."),
  attempt: z.int().nullable().describe("Number of the attempt that stored a state, over all rounds."),
  result: z
    .unknown()
    .describe(
      "Result of the step. Null: there is none, it is larger than 16 KiB, the answer has no room for it, or the type is sensitive.",
    ),
  result_bytes: z.int().nullable().describe("Size of the result's JSON. Null: there is none."),
  error: textOrNull.describe("Error of a step's attempt, or of a child, that failed. Null: it did not fail."),
});

object("StepList", { steps: z.array(step).describe("In the order of the handler's calls, at most 1,000.") });

object("Input", { input: z.unknown().describe("Input of the task.") });

const logLine = viewOf<LogLine>()("LogLine", {
  at: time.describe("Time of the line."),
  level: z.enum(logLevels).describe("Level of the line."),
  message: text.describe("Text of the line."),
  attempt: z.int().nullable().describe("The attempt's number in its round. Null: the line belongs to none."),
  fields: z
    .record(text, z.unknown())
    .describe("The other fields. `source` is `console` for what the handler wrote to the console."),
});

viewOf<TaskLogView>()("TaskLog", {
  lines: z.array(logLine).describe("Oldest first."),
  next_cursor: textOrNull.describe(
    "Value of `cursor` for the lines that follow, also while the task runs. Null: the log is complete.",
  ),
  complete: flag.describe("True: the task has ended, and no line follows."),
});
