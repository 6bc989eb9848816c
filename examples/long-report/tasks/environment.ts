import { defineEnvironment } from "offload";

export default defineEnvironment({
  variables: {
    // The server of this example, as handlers reach it. It stores reports under /reports/{id}.
    REPORTS_URL: "http://127.0.0.1:4000",
  },
  secrets: {
    REPORTS_KEY: "long-report/reports-key",
  },
});
