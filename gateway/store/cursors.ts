/** How far the final blocks of each chain were read. */
import type { CursorRow } from "./rows.ts";
import type { Database } from "./store.ts";

/** The newest final block that was read; undefined before the first block. */
export function readCursor(database: Database, network: string): CursorRow | undefined {
  return database.get<CursorRow>("SELECT * FROM cursors WHERE network = ?", network);
}

export function moveCursor(database: Database, { network, block, hash }: CursorRow): void {
  const sql =
    "INSERT INTO cursors (network, block, hash) VALUES (?, ?, ?) ON CONFLICT (network) DO UPDATE SET block = excluded.block, hash = excluded.hash";
  database.run(sql, network, block, hash);
}
