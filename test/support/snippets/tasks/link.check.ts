import { defineTask } from "offload";
import * as z from "zod";

export default defineTask({ name: "link.check", input: z.object({ url: z.url() }), handler: () => ({ status: 200 }) });
