/**
 * Places of connections at the gateway's listener that have not sent a whole request. An address
 * block (IPv4 /24, IPv6 /64) has 64 of them; the next newcomer closes its oldest. So one outsider
 * cannot use up the descriptors of a gateway that ends TLS itself. Without a limit are this
 * machine, the proxies of `trustProxy`, which bring everybody's connections, and blocks of paired
 * agents. An agent's upgrade goes on to the places of the hub. Source: docs/api.md, Limits.
 */
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { PendingConnections } from "../auth/pending-connections.ts";
import { networkBlock } from "../auth/rate.ts";

export const silentPerBlock = 64;

export interface PlacesOptions {
  readonly server: Server;
  /** True for an address without a limit: this machine's own, or a named proxy's. */
  readonly isUnlimited: (address: string) => boolean;
  /** True for a block from which a paired agent connects. */
  readonly isOfAgent: (block: string) => boolean;
  /** True for an upgrade that the hub takes over, with places of its own. */
  readonly isForHub: (request: IncomingMessage) => boolean;
  readonly onCrowded: (block: string) => void; // at each connection that was closed to make room
}

/**
 * The same for a TLS connection and the one beneath it. Empty for a connection that has gone
 * already.
 */
function nameOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return remoteAddress === undefined ? "" : `${remoteAddress} ${remotePort} ${localAddress}`;
}

/** Limits the connections from now on. */
export function limitSilentConnections({
  server,
  isUnlimited,
  isOfAgent,
  isForHub,
  onCrowded,
}: PlacesOptions): void {
  const pending = new PendingConnections<string>(
    { perBlock: silentPerBlock, inAll: Number.POSITIVE_INFINITY },
    isOfAgent,
  );
  const open = new Map<string, Socket>();
  const leave = (name: string): void => {
    pending.leave(name);
    open.delete(name);
  };
  server.on("connection", (socket: Socket) => {
    const { remoteAddress = "" } = socket;
    const name = nameOf(socket);
    if (name === "" || isUnlimited(remoteAddress)) return;
    open.set(name, socket);
    // A later connection may have the same ports, so only this socket's own place goes with it.
    socket.once("close", () => open.get(name) === socket && leave(name));
    const block = networkBlock(remoteAddress);
    const oldest = pending.enter(name, block);
    if (oldest === null) return;
    const closed = open.get(oldest);
    open.delete(oldest);
    closed?.destroy();
    onCrowded(block);
  });
  server.prependListener("request", (request: IncomingMessage) => {
    const name = nameOf(request.socket);
    const { "content-length": length = "0", "transfer-encoding": coding = "" } = request.headers;
    if (length === "0" && coding === "") leave(name);
    else request.once("end", () => leave(name));
  });
  server.prependListener("upgrade", (request: IncomingMessage) => {
    if (isForHub(request)) leave(nameOf(request.socket));
  });
}
