/**
 * Reports of nodes that answer no logs of their newest blocks, tried on the gateway's watcher:
 * ethereum/go-ethereum #24078, ethereum-optimism/op-geth #667.
 */
import { expect, it } from "vitest";
import { until } from "../support/until.ts";
import {
  chain,
  counting,
  eachTestItsChain,
  nodes,
  passes,
  payments,
  request,
  row,
  start,
  usd,
  usdPayment,
} from "../support/watched-chain.ts";

eachTestItsChain();

it("a payment whose logs and receipts both nodes leave out is late, never missed, and counts once", async () => {
  const { id, address } = request(0, usd);
  await start(2);
  let isBehind = true;
  let left = 0;
  const lie = counting((method, _, honest) => {
    const isTold =
      method !== "eth_getLogs" &&
      method !== "eth_getBlockReceipts" &&
      method !== "eth_getTransactionReceipt";
    if (!isBehind || isTold) return honest;
    left += 1;
    return method === "eth_getLogs" ? [] : null;
  });
  for (const node of nodes) node.lie = lie;
  chain.mine(usdPayment("a", address, 5_000_000n));
  chain.mineEmpty(6);
  await passes(5);
  expect(left).toBeGreaterThan(0);
  expect(row(id)).toMatchObject({ status: 0, receivedUnits: "0" });
  isBehind = false;
  await until(() => row(id).status === 1);
  expect(payments()).toHaveLength(1);
});
