import type { App } from "aws-cdk-lib";
import type { Construct } from "constructs";
import type { TaskPipelineProps } from "../../lib/pipeline-props.ts";
import { TaskPipeline } from "../../lib/task-pipeline.ts";
import { described } from "../../src/code/describe/described.ts";
import type { AppSchedule } from "../../src/core/schedules/app-schedule.ts";
import type { AppTrigger } from "../../src/core/schedules/trigger.ts";
import { emptyEnvironment, type TaskEnvironment } from "../../src/core/task/environment.ts";
import type { TaskType } from "../../src/core/task/task.ts";

/** A pipeline named Offload, of task types that are in no file. Its workers cannot be bundled. */
export function pipelineOf(
  scope: Construct | App,
  own: {
    types: readonly TaskType[];
    schedules?: readonly AppSchedule[];
    triggers?: readonly AppTrigger[];
    environment?: TaskEnvironment;
  },
  props: TaskPipelineProps = {},
): TaskPipeline {
  class Pipeline extends TaskPipeline {
    protected override load() {
      const app = () => described({ schedules: [], triggers: [], environment: emptyEnvironment, ...own });
      // A test may change the types before the app is synthesized.
      return () => ({
        ...app(),
        get types() {
          return app().types;
        },
        get findings() {
          return app().findings;
        },
      });
    }
  }
  return new Pipeline(scope, "Offload", props);
}
