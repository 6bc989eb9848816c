import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({ name: "mail.send", input: z.object({ to: z.email() }), handler: () => ({ id: "1" }) });
