import type { APIGatewayProxyStructuredResultV2 } from "aws-lambda";
import type { HttpHandler } from "../lambda/invocation.ts";

/**
 * Adds to the problem of an unknown task type that the changed task files could not be loaded, as the type may be in
 * one of them.
 * @param problemOf Returns why the files could not be loaded. Empty: all could.
 */
export const withReloadHint =
  (handler: HttpHandler, problemOf: () => string): HttpHandler =>
  async (event, context) => {
    const answer = await handler(event, context);
    const problem = problemOf();
    return problem === "" || answer.statusCode !== 422 ? answer : hinted(answer, problem);
  };

function hinted(answer: APIGatewayProxyStructuredResultV2, problem: string): APIGatewayProxyStructuredResultV2 {
  const body = JSON.parse(answer.body ?? "{}") as { code?: string; detail?: string };
  if (body.code !== "unknown_task_type") return answer;
  const reason = problem.replaceAll(/\s+/g, " ").trim();
  const detail = `${body.detail} Some task files are not in use, as they could not be loaded: ${reason}`;
  return { ...answer, body: JSON.stringify({ ...body, detail }) };
}
