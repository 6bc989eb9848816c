import { defineEnvironment } from "offload";

export default defineEnvironment({
  variables: {
    SMTP_URL: {
      default: "smtp://127.0.0.1:1025",
      description: "Mail server, such as smtps://user:password@mail.example.com.",
    },
  },
});
