/**
 * Currencies of the EVM chains by name: the coin of each chain, USDT and USDC. An id names asset
 * and network and is never used for another. test/chains/presets.test.ts compares contracts and
 * their decimals with an EIP-55 checksum and viem's list. Agent and gateway compare them with the
 * contract itself while they run.
 */
import type { CurrencyPreset } from "./preset.ts";

const circle = "issued by Circle: developers.circle.com, USDC contract addresses";
const tether = "tether.to, supported protocols: issued by Tether";
const peg = "bscscan.com: Binance-Peg token, not issued by the stablecoin's own issuer";
const usdt0 = "docs.usdt0.to, deployments: USDT0, backed by Tether's USDT on Ethereum";
const superchain =
  "ethereum-optimism.github.io, token list: bridged by the standard bridge, not issued by Tether";
const faucet = "testnet.bscscan.com: the token of BNB Chain's faucet";

interface Coin {
  readonly name: string;
  readonly symbol: string;
  readonly market: string;
  readonly least: string;
}

function coin(chain: string, { name, symbol, market, least }: Coin): CurrencyPreset {
  const source = "viem's definition of the chain; wei has 18 decimals on each";
  return { chain, lines: { name, symbol, decimal: 18, market, minPaymentAmount: least }, source };
}

interface Token {
  readonly contract: string;
  readonly decimal: number;
  readonly source: string;
  readonly least?: string;
  readonly isTest?: boolean;
}

function token(
  symbol: "USDT" | "USDC",
  chain: string,
  { contract, decimal, source, least = "1", isTest }: Token,
): CurrencyPreset {
  const name = symbol === "USDT" ? "Tether USD" : "USD Coin";
  const market = isTest === true ? "" : symbol;
  const sweepLeast = chain === "ethereum" ? { sweepLeast: "50" } : {};
  return {
    chain,
    lines: { name, symbol, decimal, contract, market, minPaymentAmount: least },
    source,
    ...sweepLeast,
  };
}

const ether: Coin = { name: "Ether", symbol: "ETH", market: "ETH", least: "0.001" };
const bnb: Coin = { name: "BNB", symbol: "BNB", market: "BNB", least: "0.002" };

export const evmCurrencies: Readonly<Record<string, CurrencyPreset>> = {
  eth: coin("ethereum", { ...ether, least: "0.003" }),
  "usdt-erc20": token("USDT", "ethereum", {
    contract: "0xdAC17F958D2ee523a2206206994597C13D831ec7",
    decimal: 6,
    source: tether,
    least: "10",
  }),
  "usdc-erc20": token("USDC", "ethereum", {
    contract: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48",
    decimal: 6,
    source: circle,
    least: "10",
  }),
  bnb: coin("bnb-smart-chain", bnb),
  "usdt-bep20": token("USDT", "bnb-smart-chain", {
    contract: "0x55d398326f99059fF775485246999027B3197955",
    decimal: 18,
    source: peg,
  }),
  "usdc-bep20": token("USDC", "bnb-smart-chain", {
    contract: "0x8AC76a51cc950d9822D68b83fE1Ad97B32Cd580d",
    decimal: 18,
    source: peg,
  }),
  pol: coin("polygon", { name: "POL", symbol: "POL", market: "POL", least: "1" }),
  "usdt-polygon": token("USDT", "polygon", {
    contract: "0xc2132D05D31c914a87C6611C10748AEb04B58e8F",
    decimal: 6,
    source: usdt0,
  }),
  "usdc-polygon": token("USDC", "polygon", {
    contract: "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
    decimal: 6,
    source: circle,
  }),
  "eth-base": coin("base", ether),
  "usdt-base": token("USDT", "base", {
    contract: "0xfde4C96c8593536E31F229EA8f37b2ADa2699bb2",
    decimal: 6,
    source: superchain,
  }),
  "usdc-base": token("USDC", "base", {
    contract: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
    decimal: 6,
    source: circle,
  }),
  "eth-arbitrum": coin("arbitrum", ether),
  "usdt-arbitrum": token("USDT", "arbitrum", {
    contract: "0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9",
    decimal: 6,
    source: usdt0,
  }),
  "usdc-arbitrum": token("USDC", "arbitrum", {
    contract: "0xaf88d065e77c8cC2239327C5EDb3A432268e5831",
    decimal: 6,
    source: circle,
  }),
  "eth-optimism": coin("optimism", ether),
  "usdt-optimism": token("USDT", "optimism", {
    contract: "0x94b008aA00579c1307B0EF2c499aD98a8ce58e58",
    decimal: 6,
    source: superchain,
  }),
  "usdc-optimism": token("USDC", "optimism", {
    contract: "0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85",
    decimal: 6,
    source: circle,
  }),
  avax: coin("avalanche", { name: "Avalanche", symbol: "AVAX", market: "AVAX", least: "0.05" }),
  "usdt-avalanche": token("USDT", "avalanche", {
    contract: "0x9702230A8Ea53601f5cD2dc00fDBc13d4dF4A8c7",
    decimal: 6,
    source: tether,
  }),
  "usdc-avalanche": token("USDC", "avalanche", {
    contract: "0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E",
    decimal: 6,
    source: circle,
  }),
  "eth-sepolia": coin("sepolia", { ...ether, name: "Sepolia Ether", market: "" }),
  "usdc-sepolia": token("USDC", "sepolia", {
    contract: "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238",
    decimal: 6,
    source: circle,
    isTest: true,
  }),
  "bnb-testnet": coin("bsc-testnet", { ...bnb, name: "Test BNB", symbol: "tBNB", market: "" }),
  "usdt-bep20-testnet": token("USDT", "bsc-testnet", {
    contract: "0x337610d27c682E347C9cD60BD4b3b107C9d34dDd",
    decimal: 18,
    source: faucet,
    isTest: true,
  }),
  "usdc-bep20-testnet": token("USDC", "bsc-testnet", {
    contract: "0x64544969ed7EBf5f083679233325356EbE738930",
    decimal: 18,
    source: faucet,
    isTest: true,
  }),
};
