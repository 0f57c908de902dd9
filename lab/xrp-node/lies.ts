/** False answers of a provider, each in one figure. */
import { type Json, sha512Half } from "./codecs.ts";

export type Lie =
  | { readonly kind: "balance"; readonly drops: bigint; readonly address?: string }
  | { readonly kind: "sequence"; readonly sequence: number; readonly address?: string }
  | { readonly kind: "delivered"; readonly drops: bigint; readonly hash?: string }
  | { readonly kind: "result"; readonly result: string; readonly hash?: string }
  | { readonly kind: "other-hash"; readonly from?: number } // hashes of ledgers from this one on
  | { readonly kind: "ahead"; readonly ledgers: number } // its newest ledger is later
  | { readonly kind: "hides"; readonly hashes?: readonly string[] } // as if never validated; default all
  | { readonly kind: "odd"; readonly name: string; readonly value: unknown } // every field of this name
  | { readonly kind: "invents"; readonly drops: bigint }; // one more payment in account_tx, like its last

type AnswerFields = Readonly<Record<string, unknown>>;

export function lied(method: string, answer: Json, lies: readonly Lie[]): Json {
  return lies.reduce((told, lie) => tell(method, told, lie), answer);
}

function tell(method: string, answer: Json, lie: Lie): Json {
  if (lie.kind === "balance" || lie.kind === "sequence") return otherAccount(answer, lie);
  if (lie.kind === "ahead") return ahead(method, answer, lie.ledgers);
  if (lie.kind === "other-hash")
    return walk(answer, (told) => otherHash(told, lie.from ?? 0)) as Json;
  if (lie.kind === "hides") return hidden(method, answer, lie.hashes);
  if (lie.kind === "odd")
    return walk(answer, (told) =>
      lie.name in told ? { ...told, [lie.name]: lie.value } : told,
    ) as Json;
  if (lie.kind === "invents") return invented(method, answer, lie.drops);
  return walk(answer, (told) => otherMeta(told, lie)) as Json;
}

function otherAccount(answer: Json, lie: Lie & { readonly kind: "balance" | "sequence" }): Json {
  const account = answer.account_data as AnswerFields | undefined;
  if (account === undefined || (lie.address !== undefined && lie.address !== account.Account))
    return answer;
  const change =
    lie.kind === "balance" ? { Balance: String(lie.drops) } : { Sequence: lie.sequence };
  return { ...answer, account_data: { ...account, ...change } };
}

/** Objects with metadata: an answer to tx, and the items of account_tx. */
function otherMeta(
  told: AnswerFields,
  lie: Lie & { readonly kind: "delivered" | "result" },
): AnswerFields {
  const meta = told.meta as AnswerFields | undefined;
  const hash = told.hash ?? (told.tx as AnswerFields | undefined)?.hash;
  if (meta === undefined || (lie.hash !== undefined && lie.hash !== hash)) return told;
  const change =
    lie.kind === "result"
      ? { TransactionResult: lie.result }
      : { delivered_amount: String(lie.drops) };
  return { ...told, meta: { ...meta, ...change } };
}

function otherHash(told: AnswerFields, from: number): AnswerFields {
  const index = Number(told.ledger_index ?? told.seq ?? -1);
  const isMeant = index >= from && index >= 0;
  const name = typeof told.ledger_hash === "string" ? "ledger_hash" : "hash";
  const isHashed =
    typeof told[name] === "string" && (name === "ledger_hash" || told.seq !== undefined);
  return isMeant && isHashed ? { ...told, [name]: sha512Half(String(told[name])) } : told;
}

function ahead(method: string, answer: Json, ledgers: number): Json {
  if (method !== "server_info" && method !== "fee") return answer;
  return walk(answer, (told) => ({
    ...told,
    ...(typeof told.seq === "number" ? { seq: told.seq + ledgers } : {}),
    ...(typeof told.ledger_current_index === "number"
      ? { ledger_current_index: told.ledger_current_index + ledgers }
      : {}),
  })) as Json;
}

function hidden(method: string, answer: Json, hashes: readonly string[] | undefined): Json {
  const isHidden = (hash: unknown): boolean =>
    hashes === undefined || hashes.includes(String(hash));
  if (method === "tx" && answer.validated === true && isHidden(answer.hash))
    return {
      error: "txnNotFound",
      error_code: 29,
      error_message: "Transaction not found.",
      searched_all: true,
    };
  if (method !== "account_tx" || !Array.isArray(answer.transactions)) return answer;
  const shown = (answer.transactions as readonly AnswerFields[]).filter(
    ({ tx }) => !isHidden((tx as AnswerFields).hash),
  );
  return { ...answer, transactions: shown };
}

function invented(method: string, answer: Json, drops: bigint): Json {
  const items =
    method === "account_tx" ? ((answer.transactions ?? []) as readonly AnswerFields[]) : [];
  const last = items.at(-1);
  if (last === undefined) return answer;
  const [tx, meta] = [last.tx as AnswerFields, last.meta as AnswerFields];
  const amounts = { Amount: String(drops), DeliverMax: String(drops) };
  const more = { ...last, tx: { ...tx, ...amounts, hash: sha512Half(String(tx.hash)) } };
  return {
    ...answer,
    transactions: [...items, { ...more, meta: { ...meta, delivered_amount: String(drops) } }],
  };
}

/** Every object of an answer, from the outside in. */
function walk(value: unknown, change: (told: AnswerFields) => AnswerFields): unknown {
  if (Array.isArray(value)) return value.map((one) => walk(one, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(change(value as AnswerFields)).map(([name, one]) => [name, walk(one, change)]),
  );
}
