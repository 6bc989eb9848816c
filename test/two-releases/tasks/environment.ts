import { defineEnvironment } from "offload";

export default defineEnvironment({
  variables: { EFFECTS_FILE: "", EFFECTS_RELEASE: "", EFFECTS_ENVIRONMENT: "" },
});
