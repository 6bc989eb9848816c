export { default } from "../../tasks/environment.ts";
