import { defineEnvironment } from "offload";

export default defineEnvironment({ variables: { MODEL_URL: {} } });
