export { default } from "../../../tasks/probe.echo.ts";
