/**
 * Mutants of tags: a tag that is lost or not compared pays somebody else behind the same address.
 */
import type { Mutant } from "./mutant.ts";

const world = "sequences";

export const tagMutants: readonly Mutant[] = [
  {
    name: "job-without-its-tag",
    file: "gateway/withdrawals/jobs.ts",
    find: "    tag: transaction.tag,\n",
    replace: '    tag: "",\n',
    invariant:
      "The agent learns of no tag, and the payee of another tag, or nobody, has the money (payments).",
    world,
  },
  {
    name: "order-loses-its-tag",
    file: "gateway/withdrawals/withdrawals.ts",
    find: "tag: order.tag || payee.tag }",
    replace: "tag: payee.tag }",
    invariant:
      "The tag beside a plain address is dropped when the address is put into its spelling (payments).",
    world,
  },
  {
    name: "same-order-with-another-tag",
    file: "gateway/withdrawals/withdrawals.ts",
    find: "  const content = [mode, order.currency, order.amount, order.address, order.tag];",
    replace: "  const content = [mode, order.currency, order.amount, order.address];",
    invariant: "An order that comes again with another tag counts as the same one (orders).",
    world,
  },
  {
    name: "approval-replayed-without-tag",
    file: "agent/signer/policy/policy.ts",
    find: 'tag: record.tag ?? "", amountUnits',
    replace: 'tag: "", amountUnits',
    invariant:
      "Policy's yes is remembered without its tag, and no payment with one is like it (liveness).",
    world,
  },
  {
    name: "checkpoint-without-tags",
    file: "agent/signer/state/policy-state.ts",
    find: '        ...(tag === "" ? ([] as const) : ([tag] as const)),\n',
    replace: "        ...([] as const),\n",
    invariant:
      "After a start from a checkpoint an approved payment has lost its tag, and is never made (liveness).",
    world,
  },
  {
    name: "tag-zero-is-none",
    file: "chains/xrp/transactions.ts",
    find: "...(paid === null || paid.tag === null ? []",
    replace: "...(paid === null || !paid.tag ? []",
    invariant:
      "The tag 0 is left out of the bytes, so that a payment to it is never made or goes elsewhere (liveness).",
    world,
  },
];
