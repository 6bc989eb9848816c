import { defineEnvironment } from "offload";

/**
 * The environment variables and secrets that handlers read. Handlers get no others: `docs/handlers.md`.
 * @example defineEnvironment({ variables: { API_BASE: "https://api.example.com" }, secrets: { STRIPE_KEY: "prod/stripe" } })
 */
export default defineEnvironment({});
