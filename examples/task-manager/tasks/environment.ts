import { defineEnvironment } from "offload";

export default defineEnvironment({
  variables: {
    USERS: { default: "sqlite:users.sqlite", description: "Store of the users: sqlite:<file> or dynamodb:<table>." },
    SMTP_URL: {
      default: "smtp://127.0.0.1:1025",
      description: "Mail server, such as smtps://user:password@mail.example.com.",
    },
  },
});
