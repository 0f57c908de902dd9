/**
 * Stands in for `ws`: both ends of a WebSocket as objects that the simulated network joins. Frames
 * are handed over whole; what happens to them between the ends is the network's affair.
 */
import { EventEmitter } from "node:events";
import { kernel } from "../kernel/kernel.ts";
import type { Owner } from "../kernel/scheduler.ts";

/** The wire between two ends. */
export interface Wire {
  frame(from: FakeSocket, bytes: Buffer): void;
  /** `isHard`: without the closing handshake. */
  close(from: FakeSocket, code: number, reason: string, isHard: boolean): void;
}

export class FakeSocket extends EventEmitter {
  static readonly CONNECTING = 0;
  static readonly OPEN = 1;
  static readonly CLOSING = 2;
  static readonly CLOSED = 3;
  readonly OPEN = 1;
  readyState = 0;
  bufferedAmount = 0;
  readonly owner: Owner = kernel.scheduler.current;
  wire: Wire | null = null;

  /** Without an address it is the end that was dialled. */
  constructor(address?: string) {
    super();
    if (address === undefined) return;
    kernel.dialler?.dial(this);
  }

  send(bytes: Uint8Array, _options: object, done?: (error?: Error | null) => void): void {
    const { scheduler } = kernel;
    if (this.readyState !== FakeSocket.OPEN) {
      scheduler.after(0, this.owner, () => done?.(new Error("the socket is not open")));
      return;
    }
    this.wire?.frame(this, Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length));
    if (done !== undefined) scheduler.after(0, this.owner, () => done(null));
  }

  close(code = 1005, reason = ""): void {
    if (this.readyState >= FakeSocket.CLOSING) return;
    this.readyState = FakeSocket.CLOSING;
    this.wire?.close(this, code, reason, false);
  }

  terminate(): void {
    if (this.readyState === FakeSocket.CLOSED) return;
    this.readyState = FakeSocket.CLOSING;
    this.wire?.close(this, 1006, "", true);
  }

  /** The connection stands: called by the network. */
  opened(wire: Wire): void {
    this.wire = wire;
    this.readyState = FakeSocket.OPEN;
  }

  /** The connection is over: called by the network, once. */
  ended(code: number, reason: string): void {
    if (this.readyState === FakeSocket.CLOSED) return;
    this.readyState = FakeSocket.CLOSED;
    this.emit("close", code, Buffer.from(reason));
  }
}

export default FakeSocket;

/**
 * The listening end, as far as a gateway uses it: it takes over what its HTTP server was asked to
 * upgrade.
 */
export class WebSocketServer {
  readonly clients = new Set<FakeSocket>();

  handleUpgrade(
    _request: object,
    wire: object,
    _rest: Buffer,
    taken: (socket: FakeSocket) => void,
  ): void {
    const socket = new FakeSocket();
    this.clients.add(socket);
    socket.once("close", () => this.clients.delete(socket));
    socket.opened(wire as Wire);
    taken(socket);
  }

  close(done: () => void): void {
    done();
  }
}
