/**
 * The Transfer event of a token, read strictly. Offline. Source: TIP-20 (the event of EIP-20).
 */
import { addressBytes, addressOfHash } from "./address.ts";
import type { Log, Receipt } from "./answers.ts";

/** Keccak-256 of Transfer(address,address,uint256). */
const transferTopic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
const padding = "0".repeat(24);

export interface Transfer {
  readonly from: string;
  readonly to: string;
  readonly toKey: string; // the receiver's 21 bytes, lower-case hex
  readonly amountUnits: bigint;
  readonly index: number; // index of its log in the receipt
}

/**
 * The Transfers of a contract in a receipt, in order. Null stands for a Transfer in a form that
 * this contract should not have. The return value of a token call proves nothing: USDT returns
 * false.
 */
export function transfersOf(contract: string, { logs }: Receipt): readonly (Transfer | null)[] {
  const key = Buffer.from(addressBytes(contract)).toString("hex").slice(2);
  return logs.flatMap((log, index) => {
    const isTransfer = log.addressKey === key && log.topics[0] === transferTopic;
    return isTransfer ? [readTransfer(log, index)] : [];
  });
}

function readTransfer({ topics, data }: Log, index: number): Transfer | null {
  const [, from = "", to = ""] = topics;
  const isWhole =
    topics.length === 3 && from.startsWith(padding) && to.startsWith(padding) && data.length === 64;
  if (!isWhole) return null;
  return {
    get from() {
      return addressOfWord(from);
    },
    get to() {
      return addressOfWord(to);
    },
    toKey: `41${to.slice(padding.length)}`,
    amountUnits: BigInt(`0x${data}`),
    index,
  };
}

function addressOfWord(word: string): string {
  return addressOfHash(Buffer.from(word.slice(padding.length), "hex"));
}
