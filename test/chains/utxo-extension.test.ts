/**
 * Litecoin's extension blocks on a real litecoind: money goes in and comes out to an account.
 * Skipped, with the command that brings the daemon, where it is not there.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { missing } from "../../lab/utxo-node/daemon.ts";
import { openWallet, type Wallet } from "./utxo-wallet.ts";

const why = missing("litecoin");
const confirmations = 2;
/** The extension begins at this block, with the first money that goes in. */
const extensionFrom = 432;

describe.skipIf(why !== null)("Litecoin's extension", () => {
  if (why !== null) {
    process.stderr.write(`\n*** SKIPPED: ${why}\n\n`);
    it.skip(why, () => undefined);
    return;
  }
  let wallet: Wallet;

  beforeAll(async () => {
    wallet = await openWallet("litecoin", confirmations);
    const { node } = wallet.testNetwork;
    await wallet.fund(3);
    await node.ask("createwallet", "extension");
    const signed = await wallet.first({
      destination: await node.ask("getnewaddress"),
      amountUnits: 1_000_000_000n,
    });
    expect(await wallet.sender.broadcast(signed.raw)).toMatchObject({ standing: "taken" });
    await wallet.mine(extensionFrom - 1 - (await wallet.sender.tip()).number);
    await node.ask("sendtoaddress", await node.ask("getnewaddress", "", "mweb"), 9.9);
    await wallet.mine(10);
  });
  afterAll(() => wallet?.close());

  it("money out of the extension is a payment of its block, and a coin only six blocks deep, as the chain takes it", async () => {
    const { node } = wallet.testNetwork;
    const { address } = wallet.owner;
    await node.ask("sendtoaddress", address, 5);
    const [hash = ""] = await wallet.mine(1);
    const { number } = await wallet.sender.tip();
    const block = await wallet.watcher.block(number, true);
    const { tx } = await node.ask<{ tx: string[] }>("getblock", hash, 1);
    const { transactions } = block.content as {
      transactions: { txHash: string; isExtension: boolean }[];
    };
    expect(transactions.map(({ txHash, isExtension }) => [txHash, isExtension])).toEqual([
      [tx[0], false],
      [tx.at(-1), true],
    ]);
    const book = { size: 1, has: (one: string) => one === address, all: () => [address] };
    const named = { txHash: tx.at(-1), address, contract: "", block: number, blockHash: hash };
    expect((await wallet.watcher.payments([block], [""], book, true)).found).toEqual([
      { ...named, index: 1, amountUnits: 500_000_000n },
    ]);
    const id = `${tx.at(-1)}:1`;
    const depths: boolean[] = [];
    for (let depth = 1; depth <= 7; depth += 1) {
      const { coins } = await wallet.sender.chainState(address);
      depths.push(coins?.some((coin) => coin.id === id) === true);
      await wallet.mine(1);
    }
    expect(depths).toEqual([false, false, false, false, false, true, true]);
    // The node itself judges that the coin can be spent.
    const { satPerKvB, coins } = await wallet.market();
    const coin = coins.filter((one) => one.id === id);
    expect(satPerKvB).toBe(1_000n);
    const changeSat = 500_000_000n - 200_000n;
    const txParams = {
      coins: `${id}:${coin[0]?.units}`,
      changeSat: `${changeSat}`,
      feeSat: "200000",
    };
    const cancel = await wallet.sign(txParams, null);
    expect(await wallet.sender.broadcast(cancel.raw)).toMatchObject({
      standing: "taken",
      meaning: "",
    });
  });
});
