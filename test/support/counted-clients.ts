interface Request {
  input: Record<string, unknown>;
}

/** The requests that clients of this process sent, in order: retries by the SDK count as well. */
export const sent: (Request & { command: string })[] = [];

/** The queries of pauses and limits of types, which a process sends now and then, whatever it works on. They are not among `sent`. */
export const flowReads: Request["input"][] = [];

/** How often each command was sent, without the end of its name. */
export const sentCounts = (): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { command } of sent) {
    const name = command.replace(/Command$/, "");
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
};

/** Replaces the clients of `src/aws/clients.ts` by ones whose requests are noted. */
export const countedClients = ({
  tableClient,
  queueClient,
  schedulerClient,
}: typeof import("../../src/aws/clients.ts")) => ({
  tableClient: counted(tableClient),
  queueClient: counted(queueClient),
  schedulerClient: counted(schedulerClient),
});

const counted =
  <Client extends { middlewareStack: unknown }>(make: () => Client) =>
  (): Client => {
    const client = make();
    const { middlewareStack } = client as unknown as {
      middlewareStack: { add(step: unknown, options: object): void };
    };
    const count =
      (next: (request: Request) => unknown, { commandName = "" }: { commandName?: string }) =>
      (request: Request) => {
        note(commandName, request.input);
        return next(request);
      };
    middlewareStack.add(count, { step: "deserialize", name: "count" });
    return client;
  };

function note(command: string, input: Request["input"]): void {
  const { ExpressionAttributeValues: values, Key: key } = input as {
    ExpressionAttributeValues?: { ":pk"?: { S?: string } };
    Key?: { pk?: { S?: string } };
  };
  // The limits of tenants, which a process reads every ten seconds.
  if (command === "GetItemCommand" && key?.pk?.S === "limits") return;
  if (command === "QueryCommand" && values?.[":pk"]?.S === "flow") flowReads.push(input);
  else sent.push({ command, input });
}
