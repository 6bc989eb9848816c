import type { AppTrigger } from "offload/triggers";

/**
 * Your app's triggers: add yours here, each created with `defineTrigger`. A deployment and a start of the local server
 * create the listed triggers, and delete the triggers that are no longer listed.
 */
const triggers: readonly AppTrigger[] = [];

export default triggers;
