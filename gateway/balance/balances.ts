/**
 * GET /balances: the balance of each enabled currency in one answer. A currency whose chain was not
 * read yet is named in `unread`, and holds up no other. Source: docs/api.md, section on balance.
 */
import { type Answer, jsonAnswer } from "../answer/answer.ts";
import type { Service } from "../service.ts";
import { readBalance } from "./balance.ts";

export function readBalances(service: Service, merchant: string): Answer {
  const read = Object.values(service.config.currencies)
    .filter(({ enabled }) => enabled)
    .map(({ id }) => ({ id, answer: readBalance(service, merchant, id) }));
  const balances = read.flatMap(({ answer }) => (answer.kind === "data" ? answer.body : []));
  const unread = read.flatMap(({ id, answer }) => (answer.kind === "data" ? [] : id));
  return jsonAnswer(`{"balances":[${balances.join(",")}],"unread":${JSON.stringify(unread)}}`);
}
