/**
 * Reads the nodes of a chain in config.json: addresses alone, or addresses with the lines of their
 * server. Pure.
 */
import { isAbsolute } from "node:path";
import type { JsonValue } from "../../base/json.ts";
import {
  type NodeLines,
  questionsPerHourMax,
  questionsPerHourMin,
  serversOf,
} from "../../chains/server-lines.ts";
import type { ChainSettings } from "./settings.ts";
import {
  asInteger,
  asList,
  asObject,
  asText,
  configFault,
  parseUrl,
  requireField,
} from "./values.ts";

const nodesMax = 8;
const lineNames = ["url", "headersFile", "questionsPerHour"];

/** @throws AgentError CONFIG_* */
export function readNodes(
  value: JsonValue,
  path: string,
): Pick<ChainSettings, "nodes" | "servers"> {
  const read = asList(value, path, nodesMax).map((node, index) =>
    readNode(node, `${path}[${index}]`),
  );
  const nodes = read.map(({ url }) => url);
  if (nodes.length === 0)
    throw configFault(
      "CONFIG_VALUE",
      `${path} is empty: write the addresses of your own nodes there, two or more of different providers`,
    );
  if (new Set(nodes).size < nodes.length)
    throw configFault("CONFIG_VALUE", `${path} names one node twice`);
  return { nodes, ...serversOf(read) };
}

function readNode(value: JsonValue, path: string): NodeLines {
  const isAlone = typeof value === "string";
  const lines = isAlone ? { url: value } : asObject(value, path, lineNames);
  const url = asText(requireField(lines, "url", path), isAlone ? path : `${path}.url`);
  const [placeholder] = /<[^<>]*>/.exec(url) ?? [];
  if (placeholder !== undefined)
    throw configFault(
      "CONFIG_PLACEHOLDER",
      `still to be replaced with your own: ${placeholder} in ${path}`,
    );
  if (parseUrl(url) === null)
    throw configFault("CONFIG_NODE_URL", `${path} is not an http or https address`);
  const { headersFile, questionsPerHour } = lines;
  const hour = `${path}.questionsPerHour`;
  return {
    url,
    ...(headersFile === undefined
      ? {}
      : { headersFile: asPath(headersFile, `${path}.headersFile`) }),
    ...(questionsPerHour === undefined
      ? {}
      : {
          questionsPerHour: asInteger(
            questionsPerHour,
            hour,
            questionsPerHourMin,
            questionsPerHourMax,
          ),
        }),
  };
}

function asPath(value: JsonValue, path: string): string {
  const text = asText(value, path);
  if (!isAbsolute(text))
    throw configFault(
      "CONFIG_VALUE",
      `${path} must be a path from the root, such as /etc/crypto/node.headers`,
    );
  return text;
}
