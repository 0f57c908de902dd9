/**
 * Answers of Tron's HTTP API as a provider's settings and fields have them: internal entries left
 * out or in, receipts that come late, transactions of kinds that have no owner. Pure: an honest
 * answer in, the provider's out. Source: the reports that the profiles name.
 */
import type { WordedRefusal } from "./meter.ts";
import { type Profile, wordsOf } from "./profile.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Entries that java-tron keeps while vm.saveFeaturedInternalTx is off, as hex of their note. */
const movingNotes = new Set(
  ["call", "create", "suicide"].map((note) => Buffer.from(note, "utf8").toString("hex")),
);

/** Null where the path is answered. */
export function refusedPath({ missing }: Profile, path: string): WordedRefusal | null {
  if (missing === undefined || !missing.methods.some((one) => path.split("/").includes(one)))
    return null;
  return { refusal: missing.refusal, words: wordsOf(missing.refusal) };
}

/** The honest answer as the provider gives it. `head` is the newest block that the path shows. */
export function malformTron(
  profile: Profile,
  path: string,
  answer: unknown,
  head: number,
): unknown {
  const verb = path.split("/").at(-1) ?? "";
  if (verb.startsWith("gettransactioninfo")) return malformReceipts(profile, answer, head);
  const isBlock = verb === "getblockbynum" || verb === "getnowblock" || verb === "getblock";
  return isBlock && profile.odd?.includes("strange-contracts") === true
    ? withStrange(answer as Fields)
    : answer;
}

function malformReceipts(profile: Profile, answer: unknown, head: number): unknown {
  const { receiptsBehind = 0 } = profile;
  const isThere = ({ blockNumber }: Fields): boolean =>
    Number(blockNumber) <= head - receiptsBehind;
  if (!Array.isArray(answer)) {
    const info = answer as Fields;
    if (info.blockNumber === undefined) return info;
    return isThere(info) ? withInternal(profile, info) : {};
  }
  const infos = (answer as readonly Fields[])
    .filter(isThere)
    .map((info) => withInternal(profile, info));
  const [first] = infos;
  if (first === undefined || profile.odd?.includes("strange-contracts") !== true) return infos;
  const { blockNumber, blockTimeStamp } = first;
  const strange = strangeIds(Number(blockNumber)).map((id) => ({
    ...{ id, blockNumber, blockTimeStamp, contractResult: [""], receipt: { net_usage: 300 } },
  }));
  return [...strange, ...infos];
}

function withInternal({ internal = "featured" }: Profile, info: Fields): Fields {
  const { internal_transactions: entries, ...others } = info;
  if (entries === undefined || internal === "featured") return info;
  const kept =
    internal === "off"
      ? []
      : (entries as readonly Fields[]).filter(({ note }) => movingNotes.has(String(note)));
  return kept.length === 0 ? others : { ...others, internal_transactions: kept };
}

function strangeIds(block: number): readonly string[] {
  return ["5e", "de"].map((kind) => `${kind}${block.toString(16).padStart(62, "0")}`);
}

/**
 * A shielded transfer, which has no owner, and a delegation. A block that is empty stays so:
 * only blocks with transactions are asked for receipts.
 */
function withStrange(block: Fields): Fields {
  const { transactions } = block as { transactions?: readonly unknown[] };
  if (transactions === undefined || transactions.length === 0) return block;
  const { raw_data } = block.block_header as { readonly raw_data: { readonly number?: number } };
  const [shielded, delegation] = strangeIds(raw_data.number ?? 0);
  const kind = (txID: string | undefined, type: string, value: Fields): Fields => ({
    ...{ txID, ret: [{ contractRet: "SUCCESS" }], signature: [] },
    raw_data: {
      contract: [{ type, parameter: { value, type_url: `type.googleapis.com/protocol.${type}` } }],
    },
  });
  const owner = `41${"7a".repeat(20)}`;
  return {
    ...block,
    transactions: [
      kind(shielded, "ShieldedTransferContract", {
        from_amount: 1_000,
        spend_description: [{ anchor: "00" }],
      }),
      kind(delegation, "DelegateResourceContract", {
        owner_address: owner,
        balance: 1_000_000_000,
        resource: "ENERGY",
        lock: true,
      }),
      ...transactions,
    ],
  };
}
