import { app } from "../../bin/app.ts";
import { emulate } from "./emulate.ts";

/* The CDK app for emulated accounts: the one that ships. */
emulate(app);
