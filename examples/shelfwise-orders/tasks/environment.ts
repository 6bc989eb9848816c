import { defineEnvironment } from "offload";

export default defineEnvironment({
  variables: {
    SHOP_URL: {
      default: "http://127.0.0.1:4000",
      description: "URL of the shop's server, for stock, trending and reports.",
    },
    SMTP_URL: {
      default: "smtp://127.0.0.1:1025",
      description: "Mail server, such as smtps://user:password@mail.example.com.",
    },
  },
  secrets: { SHOP_KEY: "shelfwise/dev/shop-key" },
});
