/** Ends the open connections of a server that stops, because Node does not. */
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";

/** Time for a running request to be answered, including its connection. */
const closingMsMax = 3_000;

/**
 * Without this, a connection with no request or half a request delays the stop until its own time
 * limit, and the service manager kills a process that stops too slowly.
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
