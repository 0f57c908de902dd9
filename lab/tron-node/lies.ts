/**
 * How a lying provider malforms its answers. A lie is told consistently: the same question gets the
 * same wrong answer.
 */

/**
 * amount: every amount is ten times what it is · success: what failed is shown as done · failure:
 * what was done is shown as failed · hides: these transactions, or all, are in no block and have no
 * receipt · other-hash: blocks from a number on have other ids · ahead: blocks claim to be made
 * later than they were · all-solid: the head is said to be solidified · moved: receipts name
 * another block · cheap, dear: chain parameters and energy are a tenth, or ten times · decimals:
 * contracts that say a figure below 32 say this one · no-internal: receipts name no internal
 * transactions, as with vm.saveInternalTx off · delegates: each receipt of a call names staked TRX
 * that is delegated to an address, as with vm.saveFeaturedInternalTx on · odd: every field of a
 * name has this value, of a form that no node should show
 */
export type Lie =
  | {
      readonly kind:
        | "amount"
        | "success"
        | "failure"
        | "all-solid"
        | "moved"
        | "cheap"
        | "dear"
        | "no-internal";
    }
  | {
      readonly kind: "delegates";
      readonly toHex: string;
      readonly sun: number;
      readonly note: string;
    }
  | { readonly kind: "hides"; readonly txIds?: readonly string[] }
  | { readonly kind: "other-hash"; readonly from: number }
  | { readonly kind: "ahead"; readonly ms: number }
  | { readonly kind: "decimals"; readonly decimals: number }
  | { readonly kind: "odd"; readonly name: string; readonly value: unknown };

type Fields = Record<string, unknown>;

export function lied(answer: unknown, lies: readonly Lie[]): unknown {
  return lies.reduce((told, lie) => malform(told, lie), answer);
}

function malform(value: unknown, lie: Lie): unknown {
  if (Array.isArray(value))
    return value.filter((one) => !isHidden(one, lie)).map((one) => malform(one, lie));
  if (typeof value !== "object" || value === null) return value;
  if (isHidden(value, lie)) return {};
  const fields = Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, malform(one, lie)]),
  );
  return malformFields(fields, lie);
}

function isHidden(value: unknown, lie: Lie): boolean {
  if (lie.kind !== "hides" || typeof value !== "object" || value === null) return false;
  const { txID, id } = value as Fields;
  const txId = txID ?? id;
  return typeof txId === "string" && (lie.txIds?.includes(txId) ?? true);
}

function malformFields(fields: Fields, lie: Lie): Fields {
  switch (lie.kind) {
    case "amount":
      return {
        ...fields,
        ...tenfold(fields, "amount"),
        ...logTenfold(fields),
        ...tenfold(fields, "balance"),
      };
    case "success":
      return unfailed(fields);
    case "failure":
      return failed(fields);
    case "other-hash":
      return otherHash(fields, lie.from);
    case "ahead":
      return "parentHash" in fields
        ? { ...fields, timestamp: Number(fields.timestamp) + lie.ms }
        : fields;
    case "moved":
      return "blockNumber" in fields
        ? { ...fields, blockNumber: Number(fields.blockNumber) - 1 }
        : fields;
    case "cheap":
      return scaled(fields, 1, 10);
    case "dear":
      return scaled(fields, 10, 1);
    case "no-internal":
      return withoutInternal(fields);
    case "delegates":
      return "contractResult" in fields ? delegated(fields, lie.toHex, lie.sun, lie.note) : fields;
    case "decimals":
      return otherDecimals(fields, lie.decimals);
    case "odd":
      return lie.name in fields ? { ...fields, [lie.name]: lie.value } : fields;
    case "hides":
    case "all-solid":
      return fields;
  }
}

function tenfold(fields: Fields, name: string): Fields {
  const { [name]: value } = fields;
  return typeof value === "number" || typeof value === "bigint"
    ? { [name]: BigInt(value) * 10n }
    : {};
}

function logTenfold({ topics, data }: Fields): Fields {
  if (topics === undefined || typeof data !== "string" || data === "") return {};
  return { data: (BigInt(`0x${data}`) * 10n).toString(16).padStart(64, "0") };
}

function unfailed(fields: Fields): Fields {
  const { result, resMessage, contractRet, ...others } = fields;
  if (contractRet !== undefined) return { ...others, contractRet: "SUCCESS" };
  if (result === "FAILED") return others;
  return typeof result === "string" ? { ...fields, result: "SUCCESS" } : fields;
}

function failed(fields: Fields): Fields {
  if (fields.contractRet === "SUCCESS") return { ...fields, contractRet: "REVERT" };
  if ("energy_usage_total" in fields) return { ...fields, result: "REVERT" };
  return "blockTimeStamp" in fields ? { ...fields, result: "FAILED" } : fields;
}

function otherHash(fields: Fields, from: number): Fields {
  const swap = (name: "blockID" | "parentHash"): Fields => {
    const id = fields[name];
    const isMalformed = typeof id === "string" && Number.parseInt(id.slice(0, 16), 16) >= from;
    return isMalformed ? { [name]: `${id.slice(0, 62)}${id.endsWith("00") ? "11" : "00"}` } : {};
  };
  return { ...fields, ...swap("blockID"), ...swap("parentHash") };
}

function otherDecimals(fields: Fields, decimals: number): Fields {
  const [said] = Array.isArray(fields.constant_result) ? fields.constant_result : [];
  if (typeof said !== "string" || !/^[0-9a-f]{64}$/.test(said) || BigInt(`0x${said}`) >= 32n)
    return fields;
  return { ...fields, constant_result: [decimals.toString(16).padStart(64, "0")] };
}

function withoutInternal({ internal_transactions: _, ...others }: Fields): Fields {
  return others;
}

function delegated(fields: Fields, toHex: string, sun: number, note: string): Fields {
  const { internal_transactions: listed = [], id } = fields;
  const entry = {
    ...{ hash: id, caller_address: fields.contract_address, transferTo_address: toHex },
    ...{ callValueInfo: [{ callValue: sun }], note: Buffer.from(note).toString("hex") },
  };
  return { ...fields, internal_transactions: [entry, ...(listed as readonly unknown[])] };
}

function scaled(fields: Fields, times: number, parts: number): Fields {
  const scale = (figure: unknown): bigint =>
    (BigInt(String(figure)) * BigInt(times)) / BigInt(parts);
  const { key, value, energy_used: used, energy_required: required } = fields;
  return {
    ...fields,
    ...(typeof key === "string" && typeof value === "number" ? { value: scale(value) } : {}),
    ...(used === undefined ? {} : { energy_used: scale(used) }),
    ...(required === undefined ? {} : { energy_required: scale(required) }),
  };
}
