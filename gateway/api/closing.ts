/** Ends the connections of a server that stops, which Node leaves to whoever opened them. */
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** A request that is under way has this long to be answered, its connection included. */
const closingMsMax = 3_000;

/**
 * A connection that never asked anything, or asked half, would hold up the stop until its own
 * time is over, and the service manager kills who stops too long.
 */
export function endConnections(server: FastifyInstance): void {
  const open = new Set<Socket>();
  server.server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.addHook("preClose", async () => {
    setTimeout(() => {
      for (const socket of open) socket.destroy();
    }, closingMsMax).unref();
  });
}
