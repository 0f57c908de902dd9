/**
 * Makes the fixture of the gateway's database: the product's own code of this tree plays a story of
 * four days, in which every kind of record reaches every stage, and the database that is left is
 * packed. Run `node dist/lab/store-fixture/make.js OUT` after a build; OUT is a folder. The files
 * under test/store-fixture were made once, at the tree that their names say, and are not made again
 * when the tables change: what migrates is a database of that tree.
 *
 * It writes gateway.db.br (compacted by VACUUM), gateway.db.addresses (the marks beside it),
 * chain.json (the Ethereum of the story, for commands that ask a node), shops.json (made-up API
 * keys), and prints the SHA-256 of the unpacked database.
 */
import crypto, { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { DatabaseSync } from "@photostructure/sqlite";
import { FixtureChain } from "./chain.ts";
import {
  type ChainName,
  configText,
  contracts,
  fixedRandom,
  networks,
  prepareFolder,
  storyBegins,
  storyEnds,
} from "./setting.ts";
import { openTheBooks, playBooks } from "./story/books.ts";
import { addReceivers, playCallbacks } from "./story/callbacks.ts";
import { playDeposits } from "./story/deposits.ts";
import { playKinds } from "./story/kinds.ts";
import { playOpen } from "./story/open.ts";
import { playFound, playKeys, playPeople } from "./story/people.ts";
import { playRestored } from "./story/restored.ts";
import { playSweeps } from "./story/sweeps.ts";
import { playWithdrawals } from "./story/withdrawals.ts";
import { Story } from "./story.ts";
import { type Chains, World } from "./world.ts";

const dayMs = 86_400_000;
const packedBytesMax = 200_000;

const decimals = new Map<string, number>(Object.values(contracts).map((contract) => [contract, 6]));

const chainsOf = (at: number): Chains => {
  const made = (name: ChainName, lag: number): FixtureChain =>
    new FixtureChain(networks[name], { lag, decimals, at });
  return {
    ethereum: made("ethereum", 2),
    tron: made("tron", 2),
    xrp: made("xrp", 0),
    bitcoin: made("bitcoin", 1),
  };
};

async function play(story: Story): Promise<void> {
  const { world } = story;
  await playRestored(story);
  const shop = story.openShop("Harbour & Söhne");
  playKeys(story, shop);
  const agent = await story.pair(shop, ["evm", "tron", "bitcoin", "xrp"]);
  const rich = {
    eth: "50",
    "usdt-erc20": "900",
    "eur-erc20": "300",
    trx: "9000",
    "usdt-trc20": "700",
    xrp: "4000",
    btc: "2",
  };
  for (const [currency, amount] of Object.entries(rich))
    story.grant(currency, agent.hot(story.currency(currency).network), amount);
  addReceivers(story, shop);
  await world.settle();
  await openTheBooks(story);
  await playDeposits(story, shop, agent);
  await playWithdrawals(story, shop, agent);
  await playSweeps(story, shop, agent);
  await playPeople(story);
  await playFound(story, story.shop("Mill Market"), "usdt-erc20");
  await playFound(story, shop, "usdt-trc20");
  await playBooks(story, shop, agent);
  await playCallbacks(story, shop);
  if (world.nowMs > storyEnds - dayMs / 8)
    throw new Error(`the story is too long: ${new Date(world.nowMs).toISOString()}`);
  world.nowMs = storyEnds - dayMs / 8;
  await world.settle();
  const toppedUp = await playKinds(story);
  await playOpen(story, shop, agent, [
    story.included(toppedUp.agent, toppedUp.out, toppedUp.signed),
  ]);
  if (world.nowMs > storyEnds - 60_000)
    throw new Error(`the story is too long: ${new Date(world.nowMs).toISOString()}`);
  world.nowMs = storyEnds - 10_000;
  await world.tell();
  await toppedUp.agent.disconnect();
  await agent.disconnect();
}

/** Every part of the program that asks this machine for random bytes gets fixed ones. */
function fixChance(): void {
  const random = fixedRandom("this machine");
  Object.assign(crypto, { randomBytes: (count: number): Buffer => Buffer.from(random(count)) });
  syncBuiltinESMExports();
}

/** Everything in one file, without free pages and without a write-ahead file. */
function compact(path: string): Buffer {
  const raw = new DatabaseSync(path);
  raw.exec(`VACUUM INTO '${path}.packed'`);
  raw.close();
  return readFileSync(`${path}.packed`);
}

async function make(out: string): Promise<void> {
  fixChance();
  const folder = mkdtempSync(join(tmpdir(), "store-fixture-"));
  try {
    const configFile = prepareFolder(folder, configText({ isStory: true }));
    const world = new World(configFile, chainsOf(storyBegins - dayMs), storyBegins);
    const story = new Story(world, configFile);
    await world.start(true);
    await play(story);
    await world.stop();
    const bytes = compact(join(folder, "gateway.db"));
    const packed = brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
    });
    mkdirSync(out, { recursive: true });
    writeFileSync(join(out, "gateway.db.br"), packed);
    copyFileSync(join(folder, "gateway.db.addresses"), join(out, "gateway.db.addresses"));
    writeFileSync(join(out, "chain.json"), `${JSON.stringify(world.chains.ethereum.kept())}\n`);
    const shops = [...story.shops.values()].map(
      ({ name, merchantId, shopKey, readKey = shopKey, interfaceKey }) => {
        return { name, merchantId, readKey, interfaceKey };
      },
    );
    writeFileSync(join(out, "shops.json"), `${JSON.stringify(shops, null, 2)}\n`);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    process.stdout.write(`${sha256}  gateway.db, ${bytes.length} bytes, packed ${packed.length}\n`);
    if (packed.length > packedBytesMax) throw new Error(`more than ${packedBytesMax} bytes`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await make(process.argv[2] ?? "store-fixture");
