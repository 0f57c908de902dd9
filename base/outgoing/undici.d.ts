/**
 * The one module of undici that this room loads. The package's main file would also load its fetch
 * and its WebSocket, and would replace the dispatcher of the runtime's own fetch.
 */
declare module "undici/lib/dispatcher/pool.js" {
  import type { Pool } from "undici";

  const pool: typeof Pool;
  export default pool;
}
