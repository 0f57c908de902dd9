/**
 * The bodies of the three POST operations: strict JSON, the fields of the interface and no others, every value a string. What is
 * read here is canonical, so that the same order sent twice compares equal however it was written.
 * Sources: the interface; docs/api.md, Orders.
 */
import { parseAddress } from "../../chains/evm/address.ts";
import { decimalMax, formatAmount, parseAmount } from "../../protocol/amount.ts";
import { AgentError } from "../../protocol/fault.ts";
import { currencyPattern, orderIdPattern } from "../../protocol/fields.ts";
import { type JsonObject, type JsonValue, parseJson } from "../../protocol/json.ts";
import { type Answer, say } from "./answer.ts";

/**
 * An order as asked: `amount` without needless zeros, `address` in its checksummed form where it is one, else as it came.
 * @public
 */
export interface Order {
  readonly currency: string;
  readonly amount: string;
  readonly orderId: string;
  readonly address: string;
  readonly tag: string;
}

/** Which fields an operation takes beside currency, amount and orderId. */
export interface OrderShape {
  readonly address: "required" | "optional" | "none";
  readonly tag: boolean;
}

const amountAhead = /[{,]\s*"amount"\s*:\s*$/;

/** An amount sent as a number gets the same answer whether or not the parser takes that number. */
function unreadable(body: Uint8Array, { code, context }: AgentError): Answer {
  const isAmount = code === "JSON_NUMBER" && amountAhead.test(Buffer.from(body).toString("utf8").slice(0, Number(context.at)));
  return isAmount ? say("amount_format", { field: "amount" }) : say("json_invalid", { reason: code });
}

function parseObject(body: Uint8Array): { readonly object: JsonObject } | { readonly answer: Answer } {
  let value: JsonValue;
  try {
    value = parseJson(body);
  } catch (error) {
    if (error instanceof AgentError) return { answer: unreadable(body, error) };
    throw error;
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? { object: value as JsonObject } : { answer: say("json_invalid", { reason: "JSON_SHAPE" }) };
}

const printable = (name: string): string => name.slice(0, 64).replace(/[^\x21-\x7e]/g, "?");

function fieldsProblem(object: JsonObject, shape: OrderShape): Answer | null {
  const required = ["currency", "amount", "orderId", ...(shape.address === "required" ? ["address"] : [])];
  const known = new Set([...required, ...(shape.address === "optional" ? ["address"] : []), ...(shape.tag ? ["tag"] : [])]);
  for (const name in object) if (!known.has(name)) return say("field_unknown", { field: printable(name) });
  for (const name of required) if (object[name] === undefined) return say("field_missing", { field: name });
  return null;
}

/**
 * Reads an order; an Answer (400) names the first thing that is wrong. Currency-specific rules come later.
 * @public
 */
export function readOrder(body: Uint8Array, shape: OrderShape): Order | Answer {
  const parsed = parseObject(body);
  return "answer" in parsed ? parsed.answer : readFields(parsed.object, shape);
}

function readFields(object: JsonObject, shape: OrderShape): Order | Answer {
  const problem = fieldsProblem(object, shape);
  if (problem !== null) return problem;
  const { currency, amount, orderId, address = "", tag = "" } = object;
  if (typeof currency !== "string" || !currencyPattern.test(currency)) return say("currency_unknown", { field: "currency" });
  if (typeof amount !== "string") return say("amount_format", { field: "amount" });
  const parsed = parseAmount(amount, decimalMax);
  if (!parsed.ok) return say(parsed.code === "AMOUNT_PRECISION" ? "amount_precision" : "amount_format", { field: "amount" });
  if (typeof orderId !== "string" || !orderIdPattern.test(orderId)) return say("order_id_invalid", { field: "orderId" });
  if (typeof address !== "string" || (address === "" && shape.address === "required")) {
    return say("address_invalid", { field: "address" });
  }
  if (typeof tag !== "string") return say("tag_not_supported", { field: "tag" });
  const checked = parseAddress(address);
  return {
    currency,
    amount: formatAmount(parsed.units, decimalMax),
    orderId,
    address: checked.ok ? checked.address : address,
    tag,
  };
}
