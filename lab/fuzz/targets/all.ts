/**
 * Every target by its name, loaded when asked for: coverage has to be on before the code under test
 * is compiled.
 */
import type { Target } from "../target.ts";

const openers: Readonly<Record<string, () => Promise<Target>>> = {
  json: async () => (await import("./json.ts")).json,
  envelope: async () => (await import("./envelope.ts")).envelope,
  payload: async () => (await import("./envelope.ts")).payload,
  rlp: async () => (await import("./transaction.ts")).rlp,
  description: async () => (await import("./transaction.ts")).description,
  tron: async () => (await import("./tron.ts")).tron,
  "tron-transfers": async () => (await import("./tron.ts")).transfers,
  "ledger-images": async () => (await import("./ledger-images.ts")).ledgerImages,
  answers: async () => (await import("./answers.ts")).answers,
  config: async () => (await import("./config.ts")).openAgentConfig(),
  "gateway-config": async () => (await import("./config.ts")).gatewayConfig,
  verbs: async () => (await import("./verbs.ts")).verbs,
  hub: async () => (await import("./hub.ts")).hub,
  http: async () => (await import("./http.ts")).openHttp(),
  token: async () => (await import("./http.ts")).openToken(),
};

export const targetNames: readonly string[] = Object.keys(openers);

export async function openTarget(name: string): Promise<Target> {
  const open = openers[name];
  if (open === undefined) throw new Error(`there is no target ${name}`);
  return await open();
}
