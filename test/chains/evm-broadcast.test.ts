/** The recorded answers of eight clients to a broadcast, and the meaning of each. */
import { expect, describe as group, it } from "vitest";
import { classifyBroadcastError, isCurableByFee, isRevert } from "../../chains/evm/broadcast.ts";
import { mergeBroadcasts } from "../../chains/providers/broadcasts.ts";
import { vectors } from "../support/evm-values.ts";

group("what nodes say to a broadcast", () => {
  const { texts } = vectors<{ texts: readonly (readonly [client: string, text: string, expected: string])[] }>("node-errors");

  it("the recorded answers are of eight clients at least", () => {
    expect(texts.length).toBeGreaterThanOrEqual(60);
    expect(new Set(texts.map(([client]) => client.split(" ")[0])).size).toBeGreaterThanOrEqual(8 + 1);
  });

  it.each(texts)("broadcasting by %s: %s", (_client, text, expected) => {
    expect(classifyBroadcastError(text)).toBe(expected);
    expect(classifyBroadcastError(text.toUpperCase())).toBe(expected);
  });

  it("a broadcast reports the most useful of several answers, and unsent only when all say so", () => {
    const merged = (...outcomes: Parameters<typeof mergeBroadcasts>[0][number]["outcome"][]): string =>
      mergeBroadcasts(outcomes.map((outcome) => ({ outcome, text: "" }))).outcome;
    expect(merged("unsent", "unsent")).toBe("unsent");
    expect(merged("unsent", "unknown")).toBe("unknown");
    expect(merged("unknown", "underpriced")).toBe("underpriced");
    expect(merged("expired", "unsent")).toBe("expired");
    expect(merged("expired", "unknown")).toBe("unknown");
    expect(merged("slot-consumed", "known")).toBe("known");
    expect(merged("known", "accepted")).toBe("accepted");
    expect(merged()).toBe("unsent");
  });

  const incurable: readonly (readonly [client: string, text: string])[] = [
    ["geth", "tx fee (2.10 ether) exceeds the configured cap (1.00 ether)"],
    ["geth", "in-flight transaction limit reached for delegated accounts"],
    ["geth", "gapped-nonce tx from delegated accounts"],
    ["geth", "authority already reserved"],
    ["geth", "address already reserved"],
    ["geth", "only replay-protected (EIP-155) transactions allowed over RPC"],
    ["geth", "invalid chain id for signer: have 5 want 1"],
    ["geth", "invalid sender"],
    ["geth", "transaction type not supported"],
    ["geth", "oversized data: transaction size 480186, limit 131072"],
    ["geth", "exceeds block gas limit"],
    ["geth", "transaction gas limit too high (cap: 16777216, tx: 20000000)"],
    ["geth", "nonce too high: address 0x5290, tx: 9 state: 3"],
    ["geth", "insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000"],
    ["erigon", "tx fee (2.10 ether) exceeds the configuration cap (1.00 ether)"],
    ["erigon", "sender not an eoa"],
    ["nethermind", "NonceGap, Future nonce. Expected nonce: 5"],
    ["nethermind", "GasLimitExceeded, Gas limit: 30000000, gas limit of rejected tx: 40000000"],
    ["nethermind", "SenderIsContract"],
    ["nethermind", "FailedToResolveSender"],
    ["nethermind", "NotSupportedTxType"],
    ["nethermind", "MaxTxSizeExceeded, tx size: 200000, max: 131072"],
    ["nethermind", "DelegatorHasPendingTx"],
    ["besu", "Transaction fee cap exceeded"],
    ["besu", "Transaction nonce is too distant from current sender nonce"],
    ["besu", "Upfront cost exceeds account balance"],
    ["reth", "tx fee (2100000000000000000 wei) exceeds the configured cap (1000000000000000000 wei)"],
    ["reth", "account has too many pending transactions for its limit: too many transactions from sender"],
    ["a provider", "the method eth_sendRawTransaction does not exist/is not available"],
    ["a provider", "sender is blacklisted"],
    ["a provider", "daily request count exceeded, request rate limited"],
  ];
  it.each(incurable)("no price cures the refusal by %s: %s", (_client, text) => {
    expect(isCurableByFee(text)).toBe(false);
  });

  const curable = [
    "txpool is full",
    "pending sub-pool is full",
    "fee too low",
    "something nobody has seen before",
    "internal error",
    "",
  ];
  it.each([...curable, ...texts.flatMap(([, text, kind]) => (kind === "underpriced" ? [text] : []))])(
    "a price may cure: %s",
    (text) => expect(isCurableByFee(text)).toBe(true),
  );

  it("a refusal of several nodes is one only where each of them refused, and curable where one is", () => {
    const refused = (text: string, refusal: "curable" | "incurable") =>
      ({ outcome: "unknown", text, refusal, node: text }) as const;
    const silent = { outcome: "unknown", text: "NODE_TIMEOUT: no answer" } as const;
    const unsent = { outcome: "unsent", text: "NODE_UNREACHABLE: ECONNREFUSED" } as const;
    const cap = refused("the cap", "incurable");
    const full = refused("the pool is full", "curable");
    expect(mergeBroadcasts([cap, unsent])).toEqual(cap);
    expect(mergeBroadcasts([cap, full])).toMatchObject({ refusal: "curable", text: "the pool is full" });
    expect(mergeBroadcasts([cap, silent]).refusal).toBeUndefined();
    expect(mergeBroadcasts([cap, { outcome: "accepted", text: "" }])).toEqual({ outcome: "accepted", text: "" });
    expect(mergeBroadcasts([unsent]).refusal).toBeUndefined();
  });

  it("a revert is told from want of funds and from trouble in the node", () => {
    expect(
      ["execution reverted", "execution reverted: balance too low", "VM execution error.", "Execution reverted"].every(isRevert),
    ).toBe(true);
    expect(
      ["insufficient funds for gas * price + value", "header not found", "gas required exceeds allowance (0)", ""].some(isRevert),
    ).toBe(false);
  });
});
