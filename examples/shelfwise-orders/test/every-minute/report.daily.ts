export { default } from "../../tasks/report.daily.ts";
