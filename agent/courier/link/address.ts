/**
 * The address of the link: the gateway's origin with the link's path and the kinds that we know.
 * Plaintext is only for loopback, on this side too.
 */
import { AgentError } from "../../../base/fault.ts";
import { isLoopback } from "../../../base/loopback.ts";
import { linkPathWithFormNumber } from "../../../protocol/messages.ts";

/**
 * @throws AgentError LINK_ADDRESS if it is not an http(s) origin; LINK_PLAINTEXT for http off
 * loopback
 */
export function linkAddress(gatewayUrl: string): string {
  let url: URL;
  try {
    url = new URL(gatewayUrl);
  } catch (error) {
    throw new AgentError(
      "LINK_ADDRESS",
      "none",
      "the gateway's address is not a URL",
      {},
      { cause: error },
    );
  }
  const isOrigin =
    url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (!isOrigin || !["http:", "https:"].includes(url.protocol)) {
    throw new AgentError(
      "LINK_ADDRESS",
      "none",
      "the gateway's address is not an http or https origin",
      { host: url.host },
    );
  }
  if (url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw new AgentError("LINK_PLAINTEXT", "none", "off loopback the link is TLS only", {
      host: url.host,
    });
  }
  return `${url.protocol === "https:" ? "wss:" : "ws:"}//${url.host}${url.pathname.replace(/\/$/, "")}${linkPathWithFormNumber}`;
}
