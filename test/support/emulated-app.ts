import { app } from "../../bin/app.ts";
import { emulate } from "./emulate.ts";
import { addShop } from "./shop.ts";

/* The CDK app for emulated accounts: the one that ships, and a second stack with a function that submits directly. */
emulate(app);
addShop(app);
