/**
 * The fields of the interface alone, for keys of the profile `interface`: their clients refuse a
 * field that they do not know. Every other key gets the project's own fields as well. Pure. Source:
 * the interface, "Resources and their fields".
 */
import type { Answer } from "./answer.ts";

/** The fields of each kind of answer, in the interface's order. */
export const interfaceFields = {
  deposit: ["address", "amount", "tag", "transactionId"],
  withdrawal: ["message", "transactionId"],
  transaction: [
    ...[
      "transactionId",
      "receiverAddress",
      "depositAddress",
      "orderId",
      "tag",
      "currency",
      "amount",
    ],
    ...["callbackStatus", "createdAt", "status"],
  ],
  currency: [
    "id",
    "name",
    "symbol",
    "decimal",
    "usdPrice",
    "eurPrice",
    "tryPrice",
    "minPaymentAmount",
  ],
  balance: ["balance"],
} as const;

export type InterfaceKind = keyof typeof interfaceFields;

/** An object of that kind without any other field. */
export function keepInterfaceFields(kind: InterfaceKind, value: object): object {
  const known: readonly string[] = interfaceFields[kind];
  return Object.fromEntries(Object.entries(value).filter(([name]) => known.includes(name)));
}

/**
 * An operation's answer without other fields. A list is left as it is, because its records were
 * written one by one; a code's text is made later, by `render`.
 */
export function narrowAnswer(answer: Answer, kind: InterfaceKind): Answer {
  if (answer.kind !== "data") return answer;
  return {
    ...answer,
    body: kind === "balance" ? balanceAlone(answer.body) : withoutOthers(kind, answer.body),
  };
}

/** A number keeps its digits, because a serializer would turn a small one into 1e-7. */
function balanceAlone(body: string): string {
  const [first = "{"] = /^\{"balance":[0-9.]+/.exec(body) ?? [];
  return `${first}}`;
}

function withoutOthers(kind: InterfaceKind, body: string): string {
  const value = JSON.parse(body) as object | readonly object[];
  return JSON.stringify(
    Array.isArray(value)
      ? value.map((one: object) => keepInterfaceFields(kind, one))
      : keepInterfaceFields(kind, value),
  );
}
