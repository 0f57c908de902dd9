/** Fields that a deposit request and an invoice have in common. */
import { lifetimeAndToleranceLimits } from "../answer/body.ts";
import { textSchema } from "../answer/schema.ts";

const { minutesMin, minutesMax, percentMax } = lifetimeAndToleranceLimits;

export const depositTerms = {
  returnUrl: textSchema(
    "The way back from the payment page: an address on a site that the service lists for the merchant.",
    {
      examples: ["https://shop.example.com/thanks"],
    },
  ),
  expiresInMinutes: {
    type: "integer",
    description: "The lifetime of the request; the service's own without it.",
    minimum: minutesMin,
    maximum: minutesMax,
    examples: [30],
  },
  tolerancePercent: textSchema(
    `So much of \`amount\` may be missing, from 0 to ${percentMax} per cent with at most two decimals; the currency's own without it.`,
    { pattern: "^(?:0|[0-9]+(?:\\.[0-9]+)?)$", examples: ["0.5"] },
  ),
};
