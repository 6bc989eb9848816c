import type { SettlePorts } from "../../ports/step-ports.ts";
import type { EntryPorts } from "../../send/keep-entries.ts";
import type { Registry } from "../../task/task.ts";
import type { LinePorts } from "./line-ports.ts";

export interface FlowPorts extends SettlePorts, EntryPorts, LinePorts {
  registry: Registry;
}
