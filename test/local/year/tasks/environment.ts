import { defineEnvironment } from "offload";

export default defineEnvironment({ variables: { BANK_URL: "https://bank.example.com" } });
