import * as z from "zod";

/** The fields that every event of EventBridge has, and `replay-name` of replayed ones. */
export const envelopeFields = [
  ...["version", "id", "detail-type", "source", "account", "time", "region", "resources", "detail"],
  "replay-name",
] as const;

/** An event as EventBridge delivers it. Fields that only paths of triggers read may be missing. */
export const busEventSchema = z.looseObject({
  id: z.string().min(1).max(256),
  source: z.string(),
  "detail-type": z.string(),
});

export type BusEvent = z.output<typeof busEventSchema>;

/** Start of the `source` of events that a deployment of Offload sends. The deployment's name follows. */
export const offloadSource = "offload.";

/** Value of a trigger's `bus` for the event bus to which this deployment sends its own events. */
export const ownBus = "own";
