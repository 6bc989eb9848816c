import { defineEnvironment } from "offload";

/** What a hotswap changes. */
export default defineEnvironment({ variables: { GREETING: "hello" } });
