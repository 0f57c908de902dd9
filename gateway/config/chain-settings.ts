/**
 * Reads the settings of a chain in gateway.config.json and runs the checks of the chain's family.
 */
import { resolve } from "node:path";
import { families } from "../../chains/families.ts";
import { type ChainId, type ConfiguredChain, familyNames } from "../../chains/family.ts";
import {
  type NodeLines,
  questionsPerHourMax,
  questionsPerHourMin,
  serversOf,
} from "../../chains/server-lines.ts";
import {
  integer,
  list,
  object,
  oneOf,
  type Reader,
  shapeFault,
  string,
} from "../../protocol/shape.ts";

export const urlReader: Reader<string> = (value, path) => {
  const text = string({ min: 1, max: 2048 })(value, path);
  let parsed: URL;
  try {
    parsed = new URL(text);
  } catch {
    throw shapeFault(path, "must be a URL");
  }
  if (parsed.protocol !== "http:" && parsed.protocol !== "https:")
    throw shapeFault(path, "must begin with http:// or https://");
  return text;
};

export const positiveReader = (max: number): Reader<number> => integer({ min: 1, max });

/** The family decides which kind of id a chain has. */
const chainId: Reader<ChainId> = (value, path) =>
  typeof value === "string"
    ? string({ min: 1, max: 64 })(value, path)
    : integer({ min: 0 })(value, path);

/** An address alone, or one with the lines of its server. */
const node: Reader<NodeLines> = (value, path) =>
  typeof value === "string" ? { url: urlReader(value, path) } : nodeObject(value, path);

const nodeObject = object(
  { url: urlReader },
  {
    headersFile: string({ min: 1, max: 4096 }),
    questionsPerHour: integer({ min: questionsPerHourMin, max: questionsPerHourMax }),
  },
);

export const chainShape = object(
  {
    family: oneOf(...familyNames),
    chainId,
    nodes: list(node, 8),
    confirmations: (value, path) =>
      (value === "finalized" ? "finalized" : positiveReader(10_000)(value, path)) as
        | number
        | "finalized",
  },
  { agentNodes: list(urlReader, 8), feeModel: string({ max: 32 }), explorer: urlReader },
);

/** The chain's id in its one spelling. Also checks the other settings that the family needs. */
export function chainIdOf(
  { family: name, chainId, feeModel, confirmations }: ReturnType<typeof chainShape>,
  path: string,
): ChainId {
  const family = families[name];
  const id = family.readChainId(chainId);
  if (id === null)
    throw shapeFault(`${path}.chainId`, `is the id of no chain of the family ${name}`);
  if (feeModel !== undefined && !family.feeModels.includes(feeModel)) {
    const { feeModels } = family;
    throw shapeFault(
      `${path}.feeModel`,
      feeModels.length === 0 ? "is not for this family" : `must be one of ${feeModels.join(", ")}`,
    );
  }
  if (confirmations !== "finalized" && !family.countsConfirmations)
    throw shapeFault(
      `${path}.confirmations`,
      'must be "finalized": this chain says by itself which blocks are final',
    );
  return id;
}

/** Addresses and further lines of a chain's nodes. `base` is the folder of relative paths. */
export function nodesIn(
  { nodes }: Pick<ReturnType<typeof chainShape>, "nodes">,
  path: string,
  base: string,
): Pick<ConfiguredChain, "servers"> & { readonly nodes: readonly string[] } {
  const urls = nodes.map((one) => one.url);
  if (urls.length === 0) throw shapeFault(`${path}.nodes`, "must name at least one node");
  const lines = nodes.map(({ headersFile, ...one }) =>
    headersFile === undefined ? one : { ...one, headersFile: resolve(base, headersFile) },
  );
  return { nodes: urls, ...serversOf(lines) };
}
